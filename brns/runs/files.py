"""Files that no crash can spoil: written under a temporary name, then renamed."""

import contextlib
import errno
import os
import secrets
from collections.abc import Generator
from pathlib import Path

from brns.formatting import escape_control


class RecordError(ValueError):
    """A run or its directory is not as expected; the message says why, and what to do."""

    def __init__(self, message: str):
        super().__init__(escape_control(message))


def write_bytes(path: Path, content: bytes, synced: bool = True) -> None:
    """Write a file, whole or not at all. Unsynced, a power failure may lose it."""
    with make_file_atomically(path, synced) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def make_file_atomically(path: Path, synced: bool = True) -> Generator[Path, None, None]:
    """A temporary name to write to, of the same kind, which is renamed at the end; a link stays."""
    path = path.resolve() if path.is_symlink() else path
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.tmp{path.suffix}")
    try:
        with explain_save_errors(path):
            yield temporary
            if synced:
                sync_to_disk(temporary)
            os.replace(temporary, path)
            if synced:
                sync_to_disk(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def explain_save_errors(path: Path) -> contextlib.AbstractContextManager[None]:
    """Around what writes a file or folder: an error of the system becomes a `RecordError`."""
    return explain_os_errors(
        f"could not save {path}",
        "make room, mend the folder or choose another place, then resume or try again. What was "
        "saved before is safe; of a run that was moved, it is where the run is now",
    )


@contextlib.contextmanager
def explain_os_errors(failed: str, advice: str) -> Generator[None, None, None]:
    """Meanwhile an error of the system becomes a `RecordError`: what failed, why, what to do."""
    try:
        yield
    except OSError as error:
        raise RecordError(f"{failed} ({error.strerror or error}): {advice}") from error


def sync_to_disk(path: Path) -> None:
    """Have the disk confirm a file, or the names in a folder, where the system can."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)
