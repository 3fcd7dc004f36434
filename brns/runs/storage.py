"""Files that no crash can spoil and that can run no code: arrays by name, written whole or not at all.

A file is written under a temporary name, synced and renamed, so that what has its final name is whole. A file of
arrays is an .npz. Its zip comment is its seal, as JSON: the run and the generation that it belongs to,
and a digest of both and of every array. A file in another's place, or with another's arrays, is noticed when read.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Container, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from brns.runs.npz import DEFLATED, STORED, npz

UNPACKED = 2**26
"""bytes that the arrays of a file may have in all, however short it is; of a longer file, as many as it has"""


class RecordError(ValueError):
    """A run's directory is not what it should be: the message names the file, what was expected and what to do."""

    def __init__(self, message: str):
        super().__init__(legible(message))


class Seal(NamedTuple):
    """Where a file of arrays belongs."""

    run: str | None
    """the run's identifier; None for runs made before there were any, whose files may have no seal"""
    generation: int


def legible(text: str) -> str:
    """The text with control characters shown, not sent: a name in a file may hold what moves a terminal's cursor."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def named_leaves(tree: Any) -> dict[str, Any]:
    """Every leaf of a tree under the name of its path, such as `estimator.predictor.layers[0].weight`."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def restore(like: Any, arrays: Mapping[str, np.ndarray], source: Path) -> Any:
    """A tree of the structure, shapes and types of `like` with the arrays of those names; others are an error."""
    leaves = named_leaves(like)
    if set(leaves) != set(arrays):
        odd = sorted(set(leaves) ^ set(arrays))
        raise RecordError(f"{source} belongs to another experiment: it differs in {', '.join(odd[:5])}")
    for name, leaf in leaves.items():
        if arrays[name].dtype.kind == "V" and arrays[name].dtype.itemsize == leaf.dtype.itemsize:
            arrays = {**arrays, name: arrays[name].view(leaf.dtype)}  # NumPy's files do not name types such as bfloat16
        if arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype:
            raise RecordError(
                f"{source} belongs to another experiment: {name} should be {leaf.dtype}{list(leaf.shape)} "
                f"and is {arrays[name].dtype}{list(arrays[name].shape)}"
            )
    return jax.tree.unflatten(jax.tree.structure(like), [jnp.asarray(arrays[name]) for name in leaves])


def read_arrays(path: Path, seal: Seal, names: Iterable[str] = ()) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, all or those named that are there.

    Nothing in the file can run code or take more memory than the file is long, or 64 MiB: each array is not of objects,
    is as long as its header says, and is inflated no further than the file's directory says. Anything else is a
    `RecordError`, as are a flipped byte and a file that belongs elsewhere. A member with a comment or an extra field is
    refused too: a flipped length there hides the members after it.
    """
    wanted, arrays = set(names), {}
    try:
        with zipfile.ZipFile(path) as archive:
            inside = archive.infolist()
            claimed, most = sum(member.file_size for member in inside), max(os.path.getsize(path), UNPACKED)
            if claimed > most:
                raise ValueError(f"its arrays claim {claimed} bytes, and such a file holds at most {most}")
            for member in inside:
                if member.compress_type not in (STORED, DEFLATED) or member.comment or member.extra:
                    raise ValueError(f"{member.filename} is packed in another way, or has a comment or an extra field")
            _check(archive, seal)
            for member in inside:
                name = member.filename.removesuffix(".npy")
                if not wanted or name in wanted:
                    with archive.open(member) as stream:  # `archive.read` would inflate as long as there is anything
                        arrays[name] = _array(name, stream.read(member.file_size))
    except FileNotFoundError:
        raise RecordError(f"{path} is missing") from None
    except (OSError, MemoryError) as error:
        if getattr(error, "errno", None) == errno.EINVAL:  # a seek to nowhere, as a file that was cut short asks for
            raise _damaged(path, error) from None
        raise RecordError(f"{path} cannot be read ({str(error) or type(error).__name__})") from None
    except Exception as error:  # there is no end to what zipfile and NumPy raise of a damaged file
        raise _damaged(path, error) from None
    return arrays


def _damaged(path: Path, error: Exception) -> RecordError:
    told = {
        "generations": "Finished generations before it stay readable; to go on from the last whole state, remove the "
        "damaged file and all later ones in generations/ and states/, then resume",
        "states": "Only this state is lost: remove the file, and the run goes on from the state before",
    }
    advice = told.get(path.parent.name, "Take a copy of it, or make it anew")
    return RecordError(f"{path} is damaged ({str(error) or type(error).__name__}). {advice}")


def sealed(path: Path) -> Seal:
    """The seal that a file has, to read it by where its settings are held against others; an empty one if none."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = json.loads(archive.comment)
        return Seal(found["run"], found["generation"])
    except Exception:  # there is no end to what zipfile raises of a damaged file
        return Seal(None, 0)  # which `read_arrays` tells


def _check(archive: zipfile.ZipFile, seal: Seal) -> None:
    """A `ValueError` where a file's seal is not the one expected. Only files of old runs may have none."""
    if not archive.comment and seal.run is None:
        return
    if not archive.comment:
        raise ValueError("it does not say to which run it belongs: this version of brns did not write it")
    found = json.loads(archive.comment)
    if found.get("run") != seal.run:
        raise ValueError(f"it belongs to another run: to {found.get('run')}, and this one is {seal.run}")
    if found.get("generation") != seal.generation:
        raise ValueError(f"it belongs to generation {found.get('generation')} and stands for {seal.generation}")
    if archive.comment != comment(seal, archive):
        raise ValueError("its arrays are not those that it was sealed with")


def comment(seal: Seal, archive: zipfile.ZipFile) -> bytes:
    """A file's seal as JSON: the run, the generation, and the SHA-256 of both and of every array's name and checksum.

    The checksums are the CRC-32 of the zip directory, which zipfile compares with what it reads.
    """
    return _sealed(seal, [(member.filename, member.CRC) for member in archive.infolist()])


def _sealed(seal: Seal, sums: list[tuple[str, int]]) -> bytes:
    digest = hashlib.sha256(json.dumps([*seal, sorted(sums)]).encode()).hexdigest()
    return json.dumps({**seal._asdict(), "sha256": digest}).encode()


def _array(name: str, content: bytes) -> np.ndarray:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects, which are never loaded")
    body = content[stream.tell() :]
    if len(body) != int(np.prod(shape, dtype=object)) * dtype.itemsize:
        raise ValueError(f"{name} claims shape {shape} and holds {len(body)} bytes")
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran_order else "C")


def members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def write_arrays(path: Path, arrays: Mapping[str, Any], seal: Seal, deflated: Container[str] = ()) -> None:
    """An .npz file of these arrays, some of them deflated, sealed. The same arrays and seal give the same bytes."""
    if sum(np.asarray(array).nbytes for array in arrays.values()) > UNPACKED // 2:
        deflated = ()  # so that it is no shorter than what it unpacks to, and can be read
    try:
        content = npz(arrays, lambda sums: _sealed(seal, sums), deflated)
    except ValueError as error:
        raise RecordError(f"could not save {path}: {error}") from None
    write_bytes(path, content)


def file_name(number: int) -> str:
    """What the file of a generation is called: `000123.npz`."""
    return f"{number:06d}.npz"


def numbers_in(folder: Path) -> list[int]:
    """The generations whose files a folder holds; a copy such as `000003 (1).npz` is none of them."""
    numbered = [file.name for file in folder.glob("*.npz") if file.stem.isdecimal()]
    return sorted(int(name[:-4]) for name in numbered if name == file_name(int(name[:-4])))


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path, None, None]:
    """A temporary name of the same kind to write to, then synced and renamed: what has the final name is whole."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise RecordError(
            f"could not save {path} ({error.strerror or error}). What was saved before is safe: make room or mend the "
            "folder, then resume or try again"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(path: Path) -> None:
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # as file systems say whose folders cannot be synced
                raise
        finally:
            os.close(folder)
