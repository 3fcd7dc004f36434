"""Locks: while one process writes to a run, no second one does."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import IO

from brns.runs.storage import RecordError

NAME = "lock"
_held: set[IO[bytes]] = set()
"""the lock files that this process has open"""


@contextlib.contextmanager
def locked(folders: Iterable[Path]) -> Generator[None, None, None]:
    """Meanwhile nobody else writes to the runs in these folders, which are made where they are missing.

    The system drops the lock when the process ends, in whatever way; processes forked from it have no part in it.
    """
    with contextlib.ExitStack() as opened:
        for folder in folders:
            make(folder)
            try:
                file = opened.enter_context(open(folder / NAME, "ab"))
                _held.add(file)
                opened.callback(_held.discard, file)
                _patiently(file)
            except BlockingIOError:
                raise RecordError(
                    f"{folder} is being written by another process, or by another part of this one; wait until "
                    "that ends, or stop it"
                ) from None
            except OSError as error:
                raise RecordError(f"could not write to {folder} ({error.strerror}): mend the folder") from error
        yield


def _patiently(file: IO[bytes]) -> None:
    """Lock a file that somebody may hold for a moment only, who looked whether it is held."""
    for _ in range(2):
        try:
            return _lock(file)
        except BlockingIOError:
            time.sleep(0.1)
    _lock(file)


def _leave() -> None:
    """In a forked child: a lock is its parent's, and must not outlive it."""
    for file in _held:
        file.close()
    _held.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_leave)


def make(folder: Path) -> None:
    """A folder and those above it; a `RecordError` where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"could not make {folder} ({error.strerror}): choose another place") from error


def being_written(path: Path) -> bool:
    """Whether a process holds the lock of the run in a directory."""
    try:
        with open(path / NAME, "rb") as file:
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
