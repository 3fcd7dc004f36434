"""Where a run or a batch stands: a folder holds one of them, none is written over, and one process writes at a time."""

import atexit
import contextlib
import operator
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import filelock
import numpy as np

from brns.runs import metadata
from brns.runs.storage import RecordError, sync

Seeds = SupportsIndex | Iterable[SupportsIndex]
"""how many, or which"""


def temporary_place() -> Path:
    """A folder that is there until Python ends."""
    folder = tempfile.mkdtemp(prefix="brns-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def folders(out: Path, several: bool, seeds: Sequence[int]) -> list[Path]:
    return [out / f"seed{seed:04d}" for seed in seeds] if several else [out]


def chosen(seed: SupportsIndex = 0, seeds: Seeds | None = None) -> tuple[bool, list[int]]:
    """Whether they are a batch, and the seeds in order: `seed` alone, so many from it on, or those given.

    Errors: `ValueError` where they are no seeds.
    """
    try:
        if seeds is None:
            found = [operator.index(seed)]
        elif np.iterable(seeds):
            found = sorted(map(operator.index, seeds))
        else:
            found = [operator.index(seed) + i for i in range(operator.index(seeds))]
    except TypeError:
        raise ValueError(
            f"a seed is a whole number from 0 to 2**32 - 1; got seed={seed}, seeds={seeds}"
        ) from None
    # JAX's keys take 32 bits of a seed, so that 2**32 would be 0 again
    if not found or found[0] < 0 or found[-1] >= 2**32 or len(set(found)) < len(found):
        raise ValueError(
            f"a run needs one or more different seeds from 0 to 2**32 - 1; got {found}"
        )
    return seeds is not None, found


def whole(name: str, value: Any, least: int = 1) -> int:
    """A number of generations as an integer; a `ValueError` where it is none from `least` on."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number from {least} on; got {value!r}")
    return number


def refuse_taken(out: Path) -> None:
    """A `RecordError` where a new run or batch would be written over something."""
    if out.exists() and not (out.is_dir() and next(out.iterdir(), None) is None):
        again = f"brns resume {shlex.quote(str(out))}"
        raise RecordError(
            f'{out} exists already: resume it ({again}, in Python exist="resume"), or choose another place'
        )


def holds_runs(out: Path) -> bool:
    """Whether a run, or a batch of seeds, stands in a directory."""
    return (out / metadata.NAME).exists() or bool(metadata.below(out))


@contextlib.contextmanager
def building(out: Path) -> Generator[Path, None, None]:
    """A hidden folder beside `out` in which a run is made; at the end it becomes `out` at once.

    After an error nothing is left. What a killed process leaves is ignored.
    """
    aside = out.with_name(f".{out.absolute().name}.{secrets.token_hex(4)}.tmp")
    try:
        aside.mkdir(parents=True)
        yield aside
        os.replace(aside, out)  # which an empty folder does not hinder, and any other does
        sync(out.resolve().parent)
    except OSError as error:
        if error.errno is None:  # not the system's
            raise
        raise RecordError(
            f"{out} was taken, or cannot be made ({error.strerror}): choose another place"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def locked(paths: Iterable[Path]) -> Generator[None, None, None]:
    """Meanwhile nobody else writes to the runs in these folders.

    The system drops the lock when the process ends, in whatever way.
    """
    with contextlib.ExitStack() as held:
        for folder in paths:
            try:
                held.enter_context(
                    filelock.FileLock(folder / "lock", timeout=0.2, thread_local=False)
                )
            except filelock.Timeout:
                raise RecordError(
                    f"{folder} is being written by another process or thread"
                ) from None
            except OSError as error:
                raise RecordError(
                    f"could not write to {folder} ({error.strerror}): choose another place"
                ) from error
        yield
