"""The runs below a directory, each in one line, read from little: `run.json`, `progress.csv`, the last generation."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from brns.experiments import changes, has_paper_settings
from brns.parts import CLASSES
from brns.runs.locks import being_written
from brns.runs.progress import NEEDED, Progress, Row, read
from brns.runs.record import Record
from brns.runs.storage import RecordError, legible
from brns.settings import SettingsError


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
    """settings that are not those of the task's experiment: `estimator.epochs=5, task.steps=1000`"""
    solutions: int | None = None
    """successes so far, as far as the run's progress.csv has come"""
    first_solved: int | None = None
    """generation of the first success"""
    coverage: float | None = None
    """share of the behavior space's cells, 6 x 6 of a plane, in which anything evaluated lies"""


def listing(directory: str | os.PathLike) -> list[Listed]:
    """Every run in a directory or anywhere below it, in the order of their paths; `RecordError` where there is none."""
    found = [_listed(path) for path in sorted(_runs(Path(directory)))]
    if not found:
        raise RecordError(f"{directory} is not a run and holds none: there is no run.json in it or below")
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
    except RecordError as error:
        return Listed(path, "damaged", str(error))
    except Exception as error:  # one bad run does not end the listing of the others
        reason = f"{path / 'run.json'} cannot be understood ({type(error).__name__}: {error})"
        return Listed(path, "damaged", legible(reason))


def _read(path: Path) -> Listed:
    running = being_written(path)  # first: what ends meanwhile is told as running, not as interrupted
    record = Record(path)
    finished = record.generations
    last = finished[-1] if finished else None
    rows = read(record)[: len(finished)]
    if last is not None and not running:
        record.read(last, NEEDED)  # whole?
        rows = rows if len(rows) == len(finished) else _rows(record, rows)
    return Listed(
        path,
        "running" if running else "interrupted" if last is None or last < record.planned else "finished",
        planned=record.planned,
        generation=last,
        task=_name(record.world),
        estimator=_estimator(record.experiment["estimator"]),
        seed=record.seed,
        changed=_changed(record),
        solutions=rows[-1].solutions if rows else None,
        first_solved=next((row.generation for row in rows if row.solutions), None),
        coverage=rows[-1].coverage if rows else None,
    )


def _rows(record: Record, known: list[Row]) -> list[Row]:
    """All rows, from the record as a whole; those known where a part of it is the user's own."""
    try:
        space = record.behavior_space
    except SettingsError:  # a run made before the box was stored
        return known
    return Progress(record, space).rows(record.generations[-1])


def _changed(record: Record) -> str:
    found = changes({**record.experiment, "task": record.world})
    return legible(", ".join(f"{name}={value}" for name, value in found.items()))


def _estimator(part: dict[str, Any]) -> str:
    return "paper" if has_paper_settings(part) else _name(part)


def _name(part: dict[str, Any]) -> str:
    known = CLASSES.get(part["name"])
    return known.name if known else legible(part["name"])
