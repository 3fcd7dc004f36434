"""Where a run or a batch may be made: a folder holds one of them, and none is written over."""

import operator
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import SupportsIndex

from brns.runs import facts as run_json
from brns.runs.bar import screen
from brns.runs.storage import RecordError

SEED = re.compile(r"seed\d+")
# What a start leaves that was ended before its founders were saved: nobody has seen anything of it.
LEFT = re.compile(r"lock|run\.json|(generations|states)(/000000\.npz)?|(.+/)?\.[^/]+\.\d+\.tmp(\.[a-z]+)?")


_TEMPORARY: list[tempfile.TemporaryDirectory] = []
"""the folders of runs that nobody gave a place; they go when this process ends"""


def place(out: str | os.PathLike | None, tell: bool) -> Path:
    """A run's directory: the one given, or a temporary one, which is told."""
    if out is not None:
        return Path(out)
    _TEMPORARY.append(tempfile.TemporaryDirectory(prefix="brns-", ignore_cleanup_errors=True))
    folder = Path(_TEMPORARY[-1].name)
    if tell:
        screen().print(f"Kept in {folder} until Python ends; give out= to keep it.", soft_wrap=True)
    return folder


def folders(out: Path, several: bool, seeds: Sequence[int]) -> list[Path]:
    """The folders of the runs."""
    return [out / f"seed{seed:04d}" for seed in seeds] if several else [out]


def chosen(seeds: SupportsIndex | Iterable[SupportsIndex]) -> tuple[bool, list[int]]:
    """Whether they are a batch, and the seeds in order; a `ValueError` where they are no seeds."""
    try:
        several, found = False, [operator.index(seeds)]  # ty: ignore[invalid-argument-type]
    except TypeError:
        several, found = True, list(seeds) if isinstance(seeds, Iterable) else [seeds]
    try:
        found = sorted(map(operator.index, found))
    except TypeError:
        raise ValueError(f"a seed is a whole number from 0 to 2**32 - 1; got {found[:5]}") from None
    if not found or len(set(found)) < len(found) or found[0] < 0:
        raise ValueError(f"a run needs one or more different seeds from 0 on; got {found}")
    if found[-1] >= 2**32:  # JAX's keys take 32 bits of a seed, so that 2**32 would be 0 again
        raise ValueError(f"a seed is at most 2**32 - 1; got {found[-1]}")
    return several, found


def refuse_taken(out: Path, paths: Sequence[Path]) -> None:
    """A `RecordError` where a new run or batch would be written over another, stand in it, or be mixed with it.

    `paths` are the folders of the runs: `out`, or one below it for each seed. What a start left that was ended before
    its founders were saved is in nobody's way.
    """
    here = Path(os.path.realpath(out))
    for above in here.parents:
        if (above / run_json.NAME).is_file():
            raise RecordError(f"{out} lies within a run, {above}; choose another place")
    for beside in here.parent.glob(f"seed[0-9]*/{run_json.NAME}"):
        if beside.parent != here and _seeds(beside.parent) > 1:
            raise RecordError(
                f"{out} lies within a batch of seeds, of which {beside.parent} is one; a folder holds one run or one "
                "batch: choose another place"
            )
    if unfinished(out):
        return
    for path in (out, *paths):
        if (path / run_json.NAME).exists():
            raise RecordError(f"{path} exists already; {_resume(path)}, remove it, or choose another place")
    for below in _runs(out):
        raise RecordError(
            f"{out} holds a run already, {below}; a folder holds one run or one batch: {_resume(below)}, "
            "or choose another place"
        )
    for path in paths:
        if _filled(path):
            raise RecordError(f"{path} exists already, and is no run; choose another place, or see what it holds")


def _resume(run: Path) -> str:
    """How to go on with a run, or with the batch to which it belongs."""
    whole = run.parent if _seeds(run) > 1 else run
    command = shlex.join(["brns", "resume", str(whole)])
    return f'resume it ({command}, or in Python brns.resume("{whole}") or exist="resume")'


def holds_runs(out: Path) -> bool:
    """Whether a run, or a batch of seeds, that has its founders stands in a directory."""
    return ((out / run_json.NAME).exists() or bool(_runs(out))) and not unfinished(out)


def unfinished(out: Path) -> list[Path]:
    """The folders of a run or a batch whose start was ended before all founders were saved; none where there is none.

    They hold nothing but what a start writes, so that they may be cleared.
    """
    if not out.is_dir():
        return []
    folders = [out]
    if not (out / run_json.NAME).exists():
        folders = [folder for folder in out.iterdir() if SEED.fullmatch(folder.name) and folder.is_dir()] or [out]
    if not all(_left(folder) for folder in folders):
        return []
    begun = [folder for folder in folders if _begun(folder)]
    return [] if begun and len(begun) == max(map(_seeds, begun)) else folders


def clear(folders: Sequence[Path]) -> None:
    """Remove what a start left in them, run.json first: what has none is no run."""
    for folder in folders:
        (folder / run_json.NAME).unlink(missing_ok=True)
    for folder in folders:
        for file in (*folder.glob("*/*.npz"), *folder.glob(".*.[0-9]*.tmp*"), *folder.glob("*/.*.[0-9]*.tmp*")):
            file.unlink(missing_ok=True)


def _filled(path: Path) -> bool:
    return path.exists() and any(path.iterdir() if path.is_dir() else [path])


def _left(folder: Path) -> bool:
    return all(
        LEFT.fullmatch(file.relative_to(folder).as_posix()) and not file.is_symlink() for file in folder.rglob("*")
    )


def _begun(folder: Path) -> bool:
    return all((folder / name).exists() for name in (run_json.NAME, "generations/000000.npz", "states/000000.npz"))


def _runs(out: Path) -> list[Path]:
    return run_json.below(out)


def _seeds(folder: Path) -> int:
    """How many seeds the batch has to which a run belongs; 0 where its run.json does not say."""
    try:
        return len(run_json.read(folder)["seeds"])
    except RecordError:
        return 0
