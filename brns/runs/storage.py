"""Files that no crash can spoil and that can run no code: arrays by name,
written whole or not at all.

A file is written under a temporary name and renamed, so that what has its final name is whole. A
file of arrays is an .npz; one array in it, `seal`, says what it belongs to.
"""

import contextlib
import errno
import io
import os
import zipfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from brns.formatting import escape_control

SEAL = "seal"
"""the array of every file that says what it belongs to, such as generation 7 of a run"""


class RecordError(ValueError):
    """A run's directory is not what it should be: the message names the file,
    what was expected and what to do.
    """

    def __init__(self, message: str):
        super().__init__(escape_control(message))


def named_leaves(tree: Any) -> dict[str, Any]:
    """Every leaf of a tree by its path, such as `estimator.predictor.layers[0].weight`."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def restore(like: Any, arrays: Mapping[str, np.ndarray], source: Path) -> Any:
    """A tree with arrays that were saved.

    Args:
        like: a tree of the same structure, shapes and types.
        arrays: by the names of `named_leaves`.
        source: the file that they are from, for errors.

    Raises:
        RecordError: where names, shapes or types differ.
    """
    leaves = named_leaves(like)
    if set(leaves) != set(arrays):
        odd = sorted(set(leaves) ^ set(arrays))
        raise RecordError(
            f"{source} does not fit these settings: it differs in {', '.join(odd[:5])}"
        )
    restored = []
    for name, leaf in leaves.items():
        array = arrays[name]
        if array.dtype.kind == "V" and array.dtype.itemsize == leaf.dtype.itemsize:
            array = array.view(leaf.dtype)  # NumPy's files do not name types such as bfloat16
        if array.shape != leaf.shape or array.dtype != leaf.dtype:
            expected = f"{leaf.dtype}{list(leaf.shape)}"
            actual = f"{array.dtype}{list(array.shape)}"
            raise RecordError(
                f"{source} does not fit these settings: {name} is {actual}, not {expected}"
            )
        restored.append(jnp.asarray(array))
    return jax.tree.unflatten(jax.tree.structure(like), restored)


def read_arrays(path: Path, seal: str, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, read-only.

    Python objects are never unpickled. Members are read whole, so that zipfile compares each with
    its checksum.

    Args:
        path: of the file.
        seal: where it must belong.
        names: those to read; by default all.

    Returns:
        Arrays by name.

    Raises:
        RecordError: where the file cannot be read, is damaged, or belongs elsewhere.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if (label := str(_array(archive, SEAL))) != seal:
                raise ValueError(f"it belongs to {label!r}; expected {seal!r}")
            members = [name.removesuffix(".npy") for name in archive.namelist()]
            return {name: _array(archive, name) for name in names or members if name != SEAL}
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror})") from None
    except Exception as error:  # there is no end to what zipfile and NumPy raise of a damaged file
        raise RecordError(
            f"{path} is damaged ({str(error) or type(error).__name__}). Take a copy of it; or "
            "remove it, and of a generation all generations and states from it on, then resume "
            "from the last state that is left"
        ) from None


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    array = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    array.flags.writeable = False
    return array


def write_arrays(path: Path, arrays: Mapping[str, Any], seal: str, synced: bool = True) -> None:
    """An .npz file of these arrays. The same arrays and seal give the same bytes.

    Args:
        path: of the file.
        arrays: by name.
        seal: where the file belongs.
        synced: whether the disk confirms it now.

    Raises:
        RecordError: where the system refuses.
    """
    content = io.BytesIO()  # zipfile's many small writes cost more at a file
    np.savez(content, allow_pickle=False, **arrays, **{SEAL: np.array(seal)})
    write_bytes(path, content.getvalue(), synced)


def to_table(columns: Any, names: Iterable[str]) -> np.ndarray:
    """Columns as a structured array.

    Args:
        columns: such as a population.
        names: of the attributes.

    Returns:
        A row for each individual.
    """
    arrays = {name: np.asarray(getattr(columns, name)) for name in names}
    fields = [(name, column.dtype, column.shape[1:]) for name, column in arrays.items()]
    rows = np.empty(len(next(iter(arrays.values()))), fields)
    for name, column in arrays.items():
        rows[name] = column
    return rows


def list_generations(folder: Path) -> list[int]:
    """The generations whose files a folder holds;
    a copy such as `000003 (1).npz` is none of them.
    """
    return sorted(int(file.stem) for file in folder.glob("*.npz") if file.stem.isdecimal())


def write_bytes(path: Path, content: bytes, synced: bool = True) -> None:
    """Write a file, whole or not at all.

    Args:
        path: of the file.
        content: all of it.
        synced: whether the disk confirms it now.

    Raises:
        RecordError: where the system refuses.
    """
    with replacing(path, synced) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replacing(path: Path, synced: bool = True) -> Generator[Path, None, None]:
    """A temporary name to write to, then renamed: what has the final name is whole.

    Args:
        path: the final name.
        synced: whether the disk confirms it; else a power failure may lose it.

    Returns:
        A context that gives the temporary name, of the same kind.

    Raises:
        RecordError: where the system refuses.
    """
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        with saving(path):
            yield temporary
            if synced:
                sync(temporary)
            os.replace(temporary, path)
            if synced:
                sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def saving(path: Path) -> Generator[None, None, None]:
    """Meanwhile an error of the system becomes one that names a file or folder.

    Args:
        path: its name.

    Raises:
        RecordError: for an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise RecordError(
            f"could not save {path} ({error.strerror or error}). What was saved before is safe: "
            "make room or mend the folder, then resume or try again"
        ) from error


def sync(path: Path) -> None:
    """Have the disk confirm a file, or the names in a folder, where the system can."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)
