"""What pictures ask of a run beside its record: how its world looks, its search, and what its states hold."""

from collections.abc import Iterable

import numpy as np

from brns.core import Task
from brns.estimators.archive import Archive
from brns.metrics import evaluated
from brns.metrics import uniformity as uniformities
from brns.metrics.coverage import cells_of
from brns.runs.record import Record
from brns.tasks.scene import Drawable, Scene, plain
from brns.tasks.workers import innermost


def scene(task: Task) -> Scene:
    """The scene that a task tells of itself, or the box of its behavior space."""
    task = innermost(task)
    return task.scene() if isinstance(task, Drawable) else plain(task.behavior_space)


def scene_of(record: Record) -> Scene:
    """The scene of a run's task; of a task that nobody gave, the box of its behavior space."""
    search = record.known_search
    return plain(record.behavior_space) if search is None else scene(search.task)


def mapped(record: Record) -> bool:
    """Whether a run's novelty can be mapped: it is a plane's, a state was kept, and the search is known."""
    return record.behavior_space.dimension == 2 and bool(record.snapshots) and record.known_search is not None


def without_search(records: Iterable[Record]) -> str:
    """What is left out of runs whose search nobody gave, why, and how to have it."""
    unknown = next((record for record in records if record.known_search is None), None)
    if unknown is None:
        return ""
    return (
        f"Left out: η, κ, maps of novelty and walls. They need the search that made {unknown.path}: "
        "give it as --search module:object or record.search."
    )


def archive_entries(record: Record, generation: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The archive's descriptors and generations of entry after a generation; None without an archive."""
    state = record.state(generation).estimator
    if not isinstance(state, Archive):
        return None
    there = np.asarray(state.id) >= 0
    return np.asarray(state.descriptor)[there], np.asarray(state.entered)[there]


def least_fitness(records: Iterable[Record], what: str) -> float:
    """The least fitness that any of the runs met; a `ValueError` where all have one."""
    found = np.concatenate([rows for record in records for rows in evaluated(record, "fitness")])
    if found.min() == found.max():
        raise ValueError(f"{what} needs a task with fitness, and every individual has {found.min():g}")
    return float(found.min())


def uniformity_of_record(record: Record) -> np.ndarray:
    """Figure 3f of one run: the distance to uniform in the generations kept; NaN where an archive is empty."""
    space = record.behavior_space
    cells = cells_of(space, None)
    archives = [archive_entries(record, generation) for generation in record.snapshots]
    if not archives or archives[0] is None:
        return uniformities.of_record(record, cells)
    return np.array([uniformities.of_points(a[0], space, cells) if a and len(a[0]) else np.nan for a in archives])


def common(lists: Iterable[Iterable[int]]) -> list[int]:
    """The generations that are in all lists."""
    return sorted(set.intersection(*map(set, lists)))
