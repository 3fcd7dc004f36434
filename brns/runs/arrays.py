"""Arrays by name in an .npz file, which can run no code; and trees and tables as such arrays.

One array of every file, `seal`, says what it belongs to, such as generation 7 of a run.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from brns.core.population import flatten_by_name
from brns.runs.files import RecordError, write_bytes

SEAL = "seal"


def read_arrays(path: Path, seal: str, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, read-only, or those of some names; a `RecordError` where it
    cannot be read, is damaged, or has another seal.

    Python objects are never unpickled. Members are read whole, so that zipfile compares each with
    its checksum.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if (label := str(_read_array(archive, SEAL))) != seal:
                raise RecordError(f"{path} belongs to {label!r}; expected {seal!r}")
            members = [name.removesuffix(".npy") for name in archive.namelist()]
            return {name: _read_array(archive, name) for name in names or members if name != SEAL}
    except RecordError:
        raise
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror})") from error
    except Exception as error:  # there is no end to what zipfile and NumPy raise of a damaged file
        reason = str(error) or type(error).__name__
        raise RecordError(f"{path} is damaged ({reason})") from None


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    array = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    array.flags.writeable = False
    return array


def write_arrays(path: Path, arrays: Mapping[str, Any], seal: str, synced: bool = True) -> None:
    """Write an .npz file. The same arrays and seal give the same bytes."""
    content = io.BytesIO()  # zipfile's many small writes cost more at a file
    np.savez(content, allow_pickle=False, **arrays, **{SEAL: np.array(seal)})
    write_bytes(path, content.getvalue(), synced)


def restore_tree(like: Any, arrays: Mapping[str, np.ndarray], source: object) -> Any:
    """A tree like `like` of saved arrays; a `RecordError` about `source` where they do not fit."""
    leaves = flatten_by_name(like)
    if odd := sorted(leaves.keys() ^ arrays.keys()):
        raise RecordError(
            f"{source} does not fit these settings: it is the state of another estimator, and "
            f"differs in {', '.join(odd[:5])}"
        )
    restored = []
    for name, leaf in leaves.items():
        array = arrays[name]
        if array.dtype.kind == "V" and array.dtype.itemsize == leaf.dtype.itemsize:
            array = array.view(leaf.dtype)  # NumPy's files do not name types such as bfloat16
        if array.shape != leaf.shape or array.dtype != leaf.dtype:
            raise RecordError(
                f"{source} does not fit these settings: {name} is "
                f"{array.dtype}{list(array.shape)}, not {leaf.dtype}{list(leaf.shape)}"
            )
        restored.append(jnp.asarray(array))
    return jax.tree.unflatten(jax.tree.structure(like), restored)


def to_structured_array(columns: Any, names: Iterable[str]) -> np.ndarray:
    """Columns, such as a population, as a structured array: a row for each individual."""
    arrays = {name: np.asarray(getattr(columns, name)) for name in names}
    fields = [(name, column.dtype, column.shape[1:]) for name, column in arrays.items()]
    return np.rec.fromarrays([*arrays.values()], dtype=fields)
