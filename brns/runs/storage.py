"""Files that no crash can spoil and that can run no code: arrays by name, written whole or not at all, and locks.

A file is written under a temporary name, synced and renamed, so that what has its final name is whole.
"""

import contextlib
import errno
import io
import os
import sys
import zipfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import jax
import jax.numpy as jnp
import numpy as np


class RecordError(ValueError):
    """A run's directory is not what it should be: the message names the file, what was expected and what to do."""


def named_leaves(tree: Any) -> dict[str, np.ndarray]:
    """Every array of a tree under the name of its path, such as `estimator.predictor.layers[0].weight`."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf) for path, leaf in leaves}


def restore(like: Any, arrays: Mapping[str, np.ndarray], source: Path) -> Any:
    """A tree of the structure, shapes and types of `like` with the arrays of those names; others are an error."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))
        raise RecordError(f"{source} belongs to another experiment: it differs in {', '.join(odd[:5])}")
    for name, (_, leaf) in zip(names, leaves, strict=True):
        if arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype:
            raise RecordError(
                f"{source} belongs to another experiment: {name} should be {leaf.dtype}{list(leaf.shape)} "
                f"and is {arrays[name].dtype}{list(arrays[name].shape)}"
            )
    return jax.tree.unflatten(structure, [jnp.asarray(arrays[name]) for name in names])


def read_arrays(path: Path, names: Iterable[str] = ()) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, all or those named that are there.

    Nothing in the file can run code or claim more memory than the file is long: every array is stored, not compressed,
    is not of objects, and is as long as its header says; anything else, a flipped byte included, is a `RecordError`.
    A member with a comment or an extra field is refused too: a flipped length swallows the members after it.
    """
    wanted, arrays = set(names), {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > os.path.getsize(path):
                    raise ValueError(f"{name} is compressed or longer than the file")
                if member.comment or member.extra:
                    raise ValueError(f"{name} has a comment or an extra field")
                if wanted and name not in wanted:
                    continue
                arrays[name] = _array(name, archive.read(member))
    except FileNotFoundError:
        raise RecordError(f"{path} is missing") from None
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, OSError, RuntimeError) as error:
        raise RecordError(
            f"{path} is damaged ({error}). Finished generations before it stay readable; to go on from the last whole "
            "state, remove the damaged file and all later ones in generations/ and states/, then resume"
        ) from None
    return arrays


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
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran_order else "C").copy()


def members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
    write_bytes(path, buffer.getvalue())


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
        finally:
            os.close(folder)


_OPEN_LOCKS: set[IO[bytes]] = set()


def _close_locks() -> None:
    for file in _OPEN_LOCKS:
        file.close()
    _OPEN_LOCKS.clear()


if hasattr(os, "register_at_fork"):  # a forked child would hold its parent's locks as long as it lives
    os.register_at_fork(after_in_child=_close_locks)


@contextlib.contextmanager
def locked(runs: Sequence[Path]) -> Generator[None, None, None]:
    """Meanwhile nobody else writes to the runs in these folders.

    The system drops the lock when the process ends, in whatever way.
    """
    with contextlib.ExitStack() as opened:
        for path in runs:
            try:
                file = opened.enter_context(open(path / "lock", "ab"))
                _OPEN_LOCKS.add(file)
                opened.callback(_OPEN_LOCKS.discard, file)
                _lock(file)
            except BlockingIOError:
                raise RecordError(
                    f"{path} is being written by another process, or by another part of this one; wait until "
                    "that ends, or stop it"
                ) from None
            except OSError as error:
                raise RecordError(f"could not write to {path} ({error.strerror}): mend the folder") from error
        yield


def being_written(path: Path) -> bool:
    """Whether a process holds the lock of the run in a directory."""
    try:
        with open(path / "lock", "rb") as file:
            _lock(file, shared=True)  # so that two who ask at once do not take each other for a run
    except BlockingIOError:
        return True
    except OSError:  # it was never locked, or may not be read
        return False
    return False


def _lock(file: IO[bytes], shared: bool = False) -> None:
    """Lock a file as long as it is open; `BlockingIOError` where somebody has."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
    else:
        import fcntl

        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            without_locks = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)  # as some file systems of clusters are
            if error.errno not in without_locks:
                raise
