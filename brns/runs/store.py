"""The files of a run: what is where, and how it is written, read, listed, pruned and locked.

Nobody else knows. It needs NumPy only to read and write arrays, so that `brns runs` is quick.
"""

import contextlib
import csv
import datetime
import errno
import fcntl
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from brns.formatting import read_csv
from brns.runs.files import (
    RecordError,
    explain_os_errors,
    explain_save_errors,
    sync_to_disk,
    write_bytes,
)

Kind = Literal["generations", "states", "failed"]
"""of a generation: its facts, the estimator's state after it, and who failed in it"""
NAME = "run.json"
REPAIR = (
    "put back a copy, or remove all generations and states from there on and resume from the last "
    "state that is left"
)
OPEN = "ask its owner for the right to read it (chmod), or give another path"
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO, errno.EINVAL)
"""what file systems without locks answer"""


def list_run_or_child_runs(folder: Path) -> list[Path]:
    """The run in a folder, or else those one folder below, by name.

    Those that are being made have hidden names, and are left out. A `RecordError` where the folder
    cannot be read.
    """
    with explain_os_errors(f"{folder} cannot be read", OPEN):
        if (folder / NAME).exists():
            return [folder]
        return sorted(file.parent for file in folder.glob(f"[!.]*/{NAME}"))


class Store:
    """A run's directory.

    Every method raises `RecordError` where the system refuses, or where what it reads is missing
    or damaged.
    """

    def __init__(self, path: Path):
        self.path = path
        self.locked: os.stat_result | None = None
        """the file of the lock that is held"""

    def read_run_json_bytes(self) -> bytes:
        """What `run.json` holds."""
        with explain_os_errors(f"{self.path / NAME} cannot be read", OPEN):
            if self.path.is_file():
                raise RecordError(f"{self.path} is a file: give the run's folder")
            try:
                return (self.path / NAME).read_bytes()
            except FileNotFoundError:
                below = list_run_or_child_runs(self.path)
                batch = f"; it holds runs, such as {below[0]}" if below else ""
                raise RecordError(f"{self.path} is not a run: it has no {NAME}{batch}") from None

    def write_run_json_bytes(self, content: bytes) -> None:
        """Write `run.json`, whole or not at all."""
        self._check_not_replaced()
        write_bytes(self.path / NAME, content)

    def list_generations(self, kind: Kind) -> list[int]:
        """The generations that have a file of a kind, in order; `000003 (1).npz` is none."""
        numbers = self._list_folder(kind)
        last = max(numbers, default=-1)
        if kind == "generations" and len(numbers) <= last:
            # One that was saved meanwhile may be listed without the one before it.
            numbers |= self._list_folder(kind) & {*range(last)}
        return sorted(numbers)

    def _list_folder(self, kind: Kind) -> set[int]:
        files = (self.path / kind).glob("*.npz")
        return {int(file.stem) for file in files if file.stem.isdecimal()}

    def read(self, kind: Kind, number: int, seal: str, names: Sequence[str] = ()) -> dict[str, Any]:
        """The arrays of a generation, or those of some names, read-only; a file has its seal."""
        from brns.runs.arrays import read_arrays

        try:
            return read_arrays(self.get_file_path(kind, number), seal, names)
        except RecordError as error:
            closed = isinstance(error.__cause__, PermissionError)
            raise RecordError(f"{error}: {OPEN if closed else REPAIR}") from None

    def write(
        self, kind: Kind, number: int, seal: str, arrays: Mapping[str, Any], synced: bool = True
    ) -> None:
        """Write the arrays of a generation, whole or not at all; synced, the disk confirms them."""
        from brns.runs.arrays import write_arrays

        self._check_not_replaced()
        self.make_folder(kind)
        write_arrays(self.get_file_path(kind, number), arrays, seal, synced)

    def sync_generations(self, numbers: Iterable[int]) -> None:
        """Have the disk confirm the facts of generations that were written unsynced."""
        with explain_save_errors(self.path / "generations"):
            for number in numbers:
                sync_to_disk(self.get_file_path("generations", number))
            sync_to_disk(self.path / "generations")

    def remove(self, kind: Kind, number: int) -> None:
        """Remove the file of a generation, if there is one."""
        self._check_not_replaced()
        self.get_file_path(kind, number).unlink(missing_ok=True)

    def remove_temporary_files(self) -> None:
        """Remove what a killed process left of its writing."""
        for pattern in (".run.*.tmp.json", "*/.*.tmp.npz"):
            for file in self.path.glob(pattern):
                file.unlink(missing_ok=True)

    def read_rows(self) -> list[dict[str, str]]:
        """The lines of `progress.csv`, by column; none where it was removed."""
        return read_csv(self.path / "progress.csv")

    def write_rows(self, rows: Iterable[Iterable[Any]], mode: Literal["w", "a"] = "a") -> None:
        """Add lines to `progress.csv` in the order of its columns, or begin it anew (`w`)."""
        self._check_not_replaced()
        path = self.path / "progress.csv"
        with explain_save_errors(path), open(path, mode, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def last_saved_at(self) -> datetime.datetime:
        """When the last generation was saved."""
        numbers = self.list_generations("generations")
        file = self.get_file_path("generations", numbers[-1]) if numbers else self.path / NAME
        return datetime.datetime.fromtimestamp(file.stat().st_mtime, datetime.UTC)

    def parse_session_times(
        self, began: str, ended: str | None
    ) -> tuple[datetime.datetime, datetime.datetime]:
        """When a session began, and when it ended or else last saved a generation."""
        begin = datetime.datetime.fromisoformat(began)
        if ended is None:
            return begin, max(begin, self.last_saved_at())
        return begin, max(begin, datetime.datetime.fromisoformat(ended))  # a clock can be set back

    @contextlib.contextmanager
    def lock(self) -> Generator[bool, None, None]:
        """Meanwhile nobody else writes to the run; gives whether the file system has locks."""
        import filelock

        file = self.path / "lock"
        lock = filelock.FileLock(file, 0.2, thread_local=False, fallback_to_soft=False)
        locked = True
        try:
            lock.acquire()
        except filelock.Timeout:
            raise RecordError(
                f"{self.path} is being written by another process, or by a loop of this process "
                "that was left: close it (loop.close())"
            ) from None
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in NO_LOCKS:
                raise RecordError(
                    f"could not write to {self.path} ({error.strerror}): copy the run to where you "
                    "can write, and go on there"
                ) from error
            locked = False
        try:
            with explain_save_errors(file):
                self.locked = file.stat() if locked else None
            yield locked
        finally:
            self.locked = None
            lock.release()

    def _check_not_replaced(self) -> None:
        """A `RecordError` where another run stands in the place of the one that is locked."""
        if self.locked is None:
            return
        with explain_save_errors(self.path), contextlib.suppress(FileNotFoundError):
            if not os.path.samestat(self.locked, (self.path / "lock").stat()):
                raise RecordError(
                    f"another run stands in {self.path}, where this one was: nothing more is saved "
                    "of this one. If it was moved, resume it where it is now"
                )

    def is_running(self) -> bool:
        """Whether a process holds the lock; where there are no locks nobody is seen."""
        try:
            with open(self.path / "lock", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:  # any other says that it was never locked
            return isinstance(error, BlockingIOError)
        return False

    def get_file_path(self, kind: Kind, number: int) -> Path:
        """Where a generation's file of a kind is."""
        return self.path / kind / f"{number:06d}.npz"

    def make_folder(self, kind: Kind | Literal[""] = "") -> None:
        """Make the directory or a folder in it, but none above: a moved run is not begun anew."""
        folder = self.path / kind
        if not folder.exists():
            with explain_save_errors(folder):
                folder.mkdir()
                sync_to_disk(folder.parent)
