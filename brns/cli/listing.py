"""The runs below a directory, each in one line, read from little: `run.json`, `progress.csv` and names of files.

Nothing is imported that takes time, and nothing is written.
"""

import csv
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from brns.settings import CLASSES, SettingsError, parts


class Listed(NamedTuple):
    """What is known of a run without reading it as a whole."""

    path: Path
    state: Literal["running", "finished", "interrupted", "damaged"]
    """running: its lock is held; finished: it has all generations that it was last asked for"""
    reason: str = ""
    """what is wrong with a damaged run, of which nothing else is said"""
    planned: int = 0
    """generations that it was last asked for"""
    generation: int | None = None
    """the last finished one"""
    task: str = ""
    estimator: str = ""
    seed: int = 0
    changed: str = ""
    """settings that are not defaults: `estimator.epochs=5, task.steps=1000`"""
    solutions: int | None = None
    """successes so far"""
    first_solved: int | None = None
    """generation of the first success"""
    coverage: float | None = None
    """share of the behavior space's cells, 6 x 6 of a plane, in which anything evaluated lies"""


def listing(directory: str | os.PathLike) -> list[Listed]:
    """Every run in a directory or anywhere below it, in the order of their paths."""
    found = [_listed(path) for path in sorted(_runs(Path(directory)))]
    if not found:
        raise SettingsError(f"{directory} is not a run and holds none: there is no run.json in it or below")
    return found


def _runs(directory: Path) -> Iterator[Path]:
    for folder, below, files in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if "run.json" in files:
            below.clear()  # a run's folders hold its files and no other runs
            yield Path(folder)
        links = (Path(folder, name) for name in below if os.path.islink(os.path.join(folder, name)))
        yield from (link for link in links if (link / "run.json").is_file())  # a run that was moved and linked to


def _listed(path: Path) -> Listed:
    try:
        return _read(path)
    except Exception as error:  # one bad run does not end the listing of the others
        return Listed(path, "damaged", f"{path}: {error or type(error).__name__}")


def _read(path: Path) -> Listed:
    running = _is_running(path)  # first: what ends meanwhile is told as running, not as interrupted
    facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    files = sorted(path.glob("generations/[0-9][0-9][0-9][0-9][0-9][0-9].npz"))
    last = len(files) - 1 if files else None
    if files and int(files[-1].stem) != last:
        raise ValueError(f"a generation before {files[-1].stem} is missing")
    if files and not running and not (zipfile.is_zipfile(files[-1]) and zipfile.ZipFile(files[-1]).testzip() is None):
        raise ValueError(f"{files[-1].name} is damaged")
    rows = _rows(path / "progress.csv")[: len(files)]
    task, estimator, changed = _told(facts)
    return Listed(
        path,
        "running" if running else "interrupted" if last is None or last < facts["generations"] else "finished",
        planned=facts["generations"],
        generation=last,
        task=task,
        estimator=estimator,
        seed=facts["seed"],
        changed=changed,
        solutions=int(rows[-1]["solutions"]) if rows else None,
        first_solved=next((int(row["generation"]) for row in rows if int(row["solutions"])), None),
        coverage=float(rows[-1]["coverage"]) if rows and rows[-1]["coverage"] else None,
    )


def _is_running(path: Path) -> bool:
    try:
        import fcntl

        with open(path / "lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ImportError):  # never locked, or not to be read; on Windows nobody knows
        pass
    return False


def _rows(file: Path) -> list[dict[str, str]]:
    """The lines of a run's progress; none where the file is missing."""
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    except OSError:
        return []


def _told(facts: dict[str, Any]) -> tuple[str, str, str]:
    """What task, estimator and settings are called, the task without its chunks."""
    task, estimator = facts["experiment"]["task"], facts["experiment"]["estimator"]["name"]
    changed = {name.replace("task.task", "task"): value for name, value in facts.get("changed", {}).items()}
    while task["name"] == "Chunked":
        task = task["task"]
    names = {one.attribute: one.name for one in CLASSES.values()}
    name = names.get(estimator, estimator)
    for preset in parts("preset").values():
        own = {f"estimator.{key}": value for key, value in preset.settings.items()}
        if preset.attribute == estimator and all(key in changed and changed[key] == own[key] for key in own):
            name, changed = preset.name, {key: changed[key] for key in changed if key not in own}
    settings = (f"{key}={value}" for key, value in changed.items() if key not in ("task", "estimator"))
    return names.get(task["name"], task["name"]), name, ", ".join(settings)
