"""Where a run or a batch may stand: a folder holds one of them, and none is written over."""

import atexit
import contextlib
import operator
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import SupportsIndex

import numpy as np

from brns.runs.files import RecordError, explain_os_errors, sync_to_disk
from brns.runs.store import NAME, list_run_or_child_runs

Seeds = SupportsIndex | Iterable[SupportsIndex]
"""how many, or which"""
MOST_SEEDS = 100_000
"""a larger number of seeds is a seed"""
ELSEWHERE = "choose another place"


def resolve_seeds(seed: SupportsIndex = 0, seeds: Seeds | None = None) -> list[int]:
    """The seeds that these two arguments of a run mean, in order."""
    try:
        if seeds is None:
            numbers = [operator.index(seed)]
        elif np.iterable(seeds):
            numbers = sorted(map(operator.index, seeds)) if operator.index(seed) == 0 else []
        else:
            count = operator.index(seeds)
            numbers = [operator.index(seed) + i for i in range(min(count, MOST_SEEDS + 1))]
    except TypeError:
        numbers = []
    # JAX's keys take 32 bits of a seed, so that 2**32 would be 0 again
    allowed = 1 <= len(numbers) <= MOST_SEEDS and numbers[0] >= 0 and numbers[-1] < 2**32
    if not allowed or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"a run needs 1 to {MOST_SEEDS:,} different seeds, whole numbers from 0 to 2**32 - 1, "
            "and no seed beside a list of seeds (seed is which one, seeds how many or which); got "
            f"seed={seed}, seeds={seeds}"
        )
    return numbers


def resolve_output_folder(out: str | os.PathLike) -> Path:
    """The folder that a path means now; of a link what it points to."""
    path = expand_home(out)
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def expand_home(path: str | os.PathLike) -> Path:
    """The path, absolute and without a tilde; a `RecordError` where nobody can tell it."""
    if not isinstance(path, str | os.PathLike):
        advice = ": take one of them, as in records[0]" if isinstance(path, list) else ""
        raise ValueError(f"a path must be a text, a path or a record; got {path!r:.80}{advice}")
    try:
        return Path(path).expanduser().absolute()
    except (FileNotFoundError, RuntimeError) as error:
        raise RecordError(
            f"{path} begins in a home or working directory that is not there ({error}): give an "
            "absolute path"
        ) from error


def make_temporary_folder() -> Path:
    """A folder that is there until Python ends."""
    folder = tempfile.mkdtemp(prefix="brns-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def check_not_taken(out: Path) -> None:
    """A `RecordError` where a new run or batch would be written over something."""
    if out.exists() and not (out.is_dir() and next(out.iterdir(), None) is None):
        again = f'resume it (brns resume {shlex.quote(str(out))}, in Python exist="resume"), or '
        other = "it is no folder" if not out.is_dir() else "it holds something else than a run"
        runs = list_run_or_child_runs(out)
        together = runs == [out] or all(run.name.startswith("seed") for run in runs)
        if runs and together:
            advice = f": {again}"
        else:
            advice = f", and {'holds runs of its own' if runs else other}: "
        raise RecordError(f"{out} exists already{advice}{ELSEWHERE}")


def check_output_folder(out: Path) -> None:
    """A `RecordError` where no run can be made, before anything is computed for it.

    A run is made beside its place and then renamed, which needs a folder around it that can be
    written. An empty folder that is there already must be one that can be replaced: not a mounted
    volume, nor where this process works.
    """
    with explain_folder_errors(out):
        check_not_taken(out)
        for parent in out.parents:
            if (parent / NAME).exists():
                raise RecordError(f"{parent} is a run, which cannot hold another one: {ELSEWHERE}")
    below = f"give a folder below it, such as {shlex.quote(str(out / 'run'))}"
    if out.exists() and os.path.samefile(out, os.curdir):
        raise RecordError(f"{out} is the working directory, which a run cannot replace: {below}")
    if out.exists() and not os.access(out, os.W_OK):
        raise RecordError(f"{out} cannot be written to (Permission denied): {ELSEWHERE}")
    with explain_folder_errors(out, below if out.exists() else ELSEWHERE):
        temporary = _hidden_path_beside(out)
        temporary.mkdir(parents=True)
        temporary.rmdir()
        if out.exists():  # a mounted volume is not to be renamed
            os.rename(out, temporary)
            os.rename(temporary, out)


@contextlib.contextmanager
def make_directory_atomically(out: Path) -> Generator[Path, None, None]:
    """A hidden folder, which becomes `out` at the end; after an error nothing is left."""
    temporary = _hidden_path_beside(out)
    try:
        with explain_folder_errors(out):
            temporary.mkdir(parents=True)
            if out.exists():  # the empty folder that it takes the place of keeps its rights
                with contextlib.suppress(PermissionError):  # of a group that one is not in
                    os.chown(temporary, -1, out.stat().st_gid)
                shutil.copymode(out, temporary)
        yield temporary
        check_not_taken(out)  # another process may have made a run there meanwhile
        with explain_folder_errors(out):
            os.replace(temporary, out)  # which an empty folder does not hinder, and any other does
            sync_to_disk(out.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _hidden_path_beside(out: Path) -> Path:
    """A new name beside a folder, which listings leave out."""
    return out.with_name(f".{out.name[:50]}.{secrets.token_hex(4)}.tmp")  # as long as names may be


def explain_folder_errors(
    out: Path, advice: str = ELSEWHERE
) -> contextlib.AbstractContextManager[None]:
    """Around what makes a folder: an error of the system becomes one that says what to do."""
    return explain_os_errors(f"{out} was taken, or cannot be made", advice)
