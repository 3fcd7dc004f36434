"""Where a run or a batch may be made: a folder holds one of them, and none is written over."""

import re
from collections.abc import Sequence
from pathlib import Path

from brns.runs import facts as run_json
from brns.runs.storage import RecordError

SEED = re.compile(r"seed\d+")
# What a start leaves that was ended before its founders were saved: nobody has seen anything of it.
LEFT = re.compile(r"lock|run\.json|(generations|states)(/000000\.npz)?|(.+/)?\.[^/]+\.tmp(\.[a-z]+)?")


def refuse_taken(out: Path, paths: Sequence[Path]) -> None:
    """A `RecordError` where a new run or batch would be written over another, stand in it, or be mixed with it.

    `paths` are the folders of the runs: `out`, or one below it for each seed. What a start left that was ended before
    its founders were saved is in nobody's way.
    """
    for above in out.absolute().parents:
        if (above / run_json.NAME).is_file():
            raise RecordError(f"{out} lies within a run, {above}; choose another place")
    for beside in out.absolute().parent.glob(f"seed[0-9]*/{run_json.NAME}"):
        if beside.parent != out.absolute() and _seeds(beside.parent) > 1:
            raise RecordError(
                f"{out} lies within a batch of seeds, of which {beside.parent} is one; a folder holds one run or one "
                "batch: choose another place"
            )
    if unfinished(out):
        return
    for path in (out, *paths):
        if (path in paths and _filled(path)) or (path / run_json.NAME).exists():
            raise RecordError(
                f"{path} exists already; resume it (brns resume {path}), remove it, or choose another place"
            )
    for below in _runs(out):
        raise RecordError(
            f"{out} holds a run already, {below}; a folder holds one run or one batch: resume it (brns resume {out}), "
            "or choose another place"
        )


def unfinished(out: Path) -> list[Path]:
    """The folders of a run or a batch whose start was ended before all founders were saved; none where there is none.

    They hold nothing but what a start writes, so that they may be cleared.
    """
    if not out.is_dir():
        return []
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
        for file in (*folder.glob("*/*.npz"), *folder.glob(".*.tmp*"), *folder.glob("*/.*.tmp*")):
            file.unlink(missing_ok=True)


def _filled(path: Path) -> bool:
    return path.exists() and any(path.iterdir() if path.is_dir() else [path])


def _left(folder: Path) -> bool:
    files = list(folder.rglob("*"))
    return all(LEFT.fullmatch(file.relative_to(folder).as_posix()) and not file.is_symlink() for file in files)


def _begun(folder: Path) -> bool:
    return all((folder / name).exists() for name in (run_json.NAME, "generations/000000.npz", "states/000000.npz"))


def _runs(out: Path) -> list[Path]:
    return sorted(file.parent for file in out.glob(f"*/{run_json.NAME}"))


def _seeds(folder: Path) -> int:
    """How many seeds the batch has to which a run belongs; 0 where its run.json does not say."""
    try:
        return len(run_json.read(folder)["seeds"])
    except RecordError:
        return 0
