"""What figures need of the states that a run keeps: the archive, Q, uniformity; errors say what is missing."""

from collections.abc import Iterable, Sequence

import numpy as np

from brns.estimators.archive import Archive
from brns.metrics import cycling
from brns.metrics import uniformity as uniformities
from brns.metrics.coverage import cells_of
from brns.metrics.recorded import evaluated
from brns.pictures.scene import search_for
from brns.runs.record import Record


def last_state(record: Record, generation: int | None, what: str) -> int:
    """The generation given, or by default the last whose state is kept; an error where none is."""
    if not record.snapshots:
        raise ValueError(
            f"{what} needs the search's states, and {record.path} keeps none; "
            "run it again with `brns run ... --checkpoint-every 1`"
        )
    return record.snapshots[-1] if generation is None else generation


def two(generations: Sequence[int], record: Record, what: str) -> None:
    """Refuse a curve of less than two generations."""
    if len(generations) < 2:
        raise ValueError(
            f"{what} needs 2 generations or more; {record.path} has {len(generations)}. Let it run on (brns resume), "
            "or keep more states with `brns run ... --checkpoint-every 1`"
        )


def archive_entries(record: Record, generation: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The archive's descriptors and their generations of entry after a generation; None without an archive."""
    state = record.state(generation, search_for(record, "the archive")).estimator
    if not isinstance(state, Archive):
        return None
    there = np.asarray(state.id) >= 0
    return np.asarray(state.descriptor)[there], np.asarray(state.entered)[there]


def cycling_of_record(record: Record, generations: Sequence[int] | None = None) -> cycling.Cycling:
    """Q and what follows from it over generations whose states are kept, by default all."""
    return cycling.of_record(record, generations, search_for(record, "Q(i, j), and with it η and κ,"))


def least_fitness(records: Iterable[Record], what: str) -> float:
    """The least fitness that any of the runs met; a `ValueError` where all have one."""
    found = np.concatenate([rows for record in records for rows in evaluated(record, "fitness")])
    if found.min() == found.max():
        raise ValueError(f"{what} needs a task with fitness, and every individual has {found.min():g}")
    return float(found.min())


def uniformity_of_record(record: Record, shape: Sequence[int] | None = None) -> tuple[list[int], np.ndarray]:
    """Figure 3f of one run: the generations kept, and the distance to uniform; NaN where an archive is empty."""
    space = search_for(record, "uniformity over time").task.behavior_space
    last_state(record, None, "uniformity over time")
    kept = record.snapshots
    shape = cells_of(space, shape)
    archives = [archive_entries(record, generation) for generation in kept]
    if archives[0] is None:
        return kept, uniformities.of_record(record, shape)
    occupied = [uniformities.of_points(a[0], space, shape) if a and len(a[0]) else np.nan for a in archives]
    return kept, np.array(occupied)


def common(lists: Iterable[Iterable[int]]) -> list[int]:
    """The generations that are in all lists."""
    return sorted(set.intersection(*map(set, lists)))
