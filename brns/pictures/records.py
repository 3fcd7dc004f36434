"""What pictures ask of runs: their method, how it and their task look, and their states."""

import itertools
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from brns.core import Box
from brns.estimators.archive import Archive
from brns.metrics import uniformity as uniformities
from brns.metrics.coverage import require_grid_shape
from brns.metrics.recorded import read_valid_rows_by_generation, require_states
from brns.runs.record import Record
from brns.settings.differences import (
    find_differences,
    format_changed_settings,
    format_diff,
    short_repr,
)
from brns.settings.parts import LOOKS, Look
from brns.tasks.chunked import unwrap_task
from brns.tasks.scene import Drawable, Scene, make_plain_scene

RANDOM = "random search"
Runs = Record | Sequence[Record]


def label_method(record: Record) -> str:
    """A run's method as the command line calls it.

    Args:
        record: the run.

    Returns:
        Its estimator, and the settings that were changed.
    """
    if record.experiment["mutate"]["name"] == "UniformResampling":
        return RANDOM
    changed = record.metadata.changed
    others = {name: value for name, value in changed.items() if not name.startswith("task.")}
    label = f"{record.metadata.estimator}, {format_changed_settings(others)}".rstrip(", ")
    return label.replace("estimator.", "")


def list_runs(records: Runs) -> list[Record]:
    """A run or runs as a list; a `ValueError` for none, and for what is no run."""
    alone = isinstance(records, Record | str | os.PathLike)
    listed: list[Any] = [records] if alone else list(records)
    if not listed:
        raise ValueError("a figure needs at least one run; got none")
    if strange := [each for each in listed if not isinstance(each, Record)]:
        raise ValueError(
            f"a figure needs runs, such as brns.records(path); got {short_repr(strange[0])}"
        )
    return listed


def group_by_method(records: Runs) -> dict[str, list[Record]]:
    """Runs by method.

    Args:
        records: a run or runs.

    Returns:
        The runs of one experiment by its label, the seeds in order.

    Raises:
        ValueError: for no run, runs of different tasks, and the same run given twice.
    """
    records = list_runs(records)
    first = records[0]
    groups: dict[str, dict[int, Record]] = {}
    for record in records:
        if different := find_differences(first.task_settings, record.task_settings):
            raise ValueError(
                f"{first.path} and {record.path} are runs of different tasks; compare runs of one "
                f"task: {format_diff(different)}"
            )
        # Workers and chunks change no answer.
        experiment = {**record.experiment, "task": record.task_settings}
        group = groups.setdefault(json.dumps(experiment, sort_keys=True), {})
        if record.seed in group:
            both = f"{group[record.seed].path} and {record.path}"
            raise ValueError(f"{both} are the same seed of the same experiment; give one of them")
        group[record.seed] = record
    by_label = {}
    for group in groups.values():
        seeds = [group[seed] for seed in sorted(group)]
        label = label_method(seeds[0])
        label = f"{label} ({len(by_label) + 1})" if label in by_label else label
        by_label[label] = seeds
    return by_label


def choose_looks(labels: Iterable[str]) -> dict[str, Look]:
    """The look of each method, in whatever order the labels come.

    Of methods that differ in settings alone the alphabet's first has the method's own look. The
    others, and methods that are not in the table of parts, have colours of methods that are not
    there, in the alphabet's order, with other dashes and markers than those have: what looks like a
    method is that method. Then the colours begin again.
    """
    looks: dict[str, Look] = {}
    labels = sorted(set(labels))
    for label in labels:
        base = LOOKS.get(label.partition(", ")[0])
        if base and base not in looks.values():
            looks[label] = base
    every = list(LOOKS.values())
    turns = [(1, look) for look in every if look not in looks.values()]
    turns += itertools.product(range(2, len(labels) + 2), every)
    others = [label for label in labels if label not in looks]
    for label, (turn, look) in zip(others, turns, strict=False):
        place = every.index(look)
        dashes = every[(place + turn) % len(every)].dashes
        marker = every[(place + 2 * turn + 1) % len(every)].marker
        looks[label] = look._replace(dashes=dashes, marker=marker)
    return looks


def find_scene(record: Record) -> Scene:
    """The scene that a run's task tells; where there is none, the box of its behavior space, of
    many dimensions the two in which the founders lie.
    """
    scene, space = _find_scene_of_task(record), record.behavior_space
    if scene is not None:
        return scene
    if space.dimension <= 2:
        return make_plain_scene(space)
    founders = record.column("survivors.descriptor", [0])[0]
    return make_plain_scene(space, find_two_widest_dimensions(founders, space))


def has_paths(record: Record) -> bool:
    """Whether the behaviors of a run are paths, as its task's scene tells."""
    scene = _find_scene_of_task(record)
    return scene is not None and scene.paths


def _find_scene_of_task(record: Record) -> Scene | None:
    task = record.search_or_none and unwrap_task(record.search.task)
    return task.scene() if isinstance(task, Drawable) else None


def find_two_widest_dimensions(points: Float[np.ndarray, "n d"], space: Box) -> tuple[int, int]:
    """The dimension in which points differ most, in widths of the box, and the one in which they do
    beside that: the first pivots of a QR decomposition.
    """
    from scipy.linalg import qr  # who draws no map need not wait for it

    widths = (points - points.mean(axis=0, dtype=np.float64)) / (space.high - space.low)
    _, order = qr(widths, mode="r", pivoting=True)
    x, y = sorted(order[:2].tolist())
    return x, y


def can_draw_novelty_map(record: Record) -> bool:
    """Whether there is a map of a run's novelty: of a plane, a state kept, the search known."""
    return (
        record.behavior_space.dimension == 2
        and bool(record.generations_with_states)
        and record.search_or_none is not None
    )


def pick_evenly(first: int, last: int, count: int) -> list[int]:
    """So many whole numbers, or all, evenly spread from the first to the last."""
    return np.unique(np.linspace(first, last, count).round().astype(int)).tolist()


def find_latest_generations_with_maps(record: Record, moments: Sequence[int]) -> list[int | None]:
    """The last generation up to each moment that has a map of novelty; None before the first."""
    stored = record.generations_with_states if can_draw_novelty_map(record) else []
    rows = np.searchsorted(stored, moments, "right").tolist()
    return [stored[row - 1] if row else None for row in rows]


def explain_figures_omitted_without_search(records: Iterable[Record]) -> str:
    """What is left out of runs whose search nobody gave, why, and how to have it."""
    unknown = next((record for record in records if record.search_or_none is None), None)
    if unknown is None:
        return ""
    return (
        "Left out: η, κ, maps of novelty and walls. They need the search that made "
        f"{unknown.path}: give it as --search module:object or record.search."
    )


def read_archive_entries(record: Record, generation: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The descriptors and generations of entry in a generation's archive; None without one."""
    state = record.state(generation).estimator
    if not isinstance(state, Archive):
        return None
    there = np.asarray(state.id) >= 0
    return np.asarray(state.descriptor)[there], np.asarray(state.entered)[there]


def find_least_fitness(records: Iterable[Record], what: str) -> float:
    """The least fitness that any of the runs met; a `ValueError` where all have one."""
    columns = (read_valid_rows_by_generation(record, "fitness") for record in records)
    fitness = np.concatenate(list(itertools.chain.from_iterable(columns)))
    least, most = fitness.min(), fitness.max()
    if least == most:
        raise ValueError(f"{what} needs a task with fitness, and every individual has {least:g}")
    return float(least)


def distance_to_uniform_of_archive_or_novelty(record: Record) -> np.ndarray:
    """Figure 3f of one run, in the generations kept; NaN where an archive is empty."""
    space = record.behavior_space
    cells = require_grid_shape(space)
    distances = []
    for generation in require_states(record, "uniformity"):
        entries = read_archive_entries(record, generation)
        if entries is None:
            return uniformities.grid_novelty_distance_to_uniform_of_record(record, cells)
        points, distance = entries[0], np.nan
        if len(points):
            distance = uniformities.distance_to_uniform_of_points(points, space, cells)
        distances.append(distance)
    return np.array(distances)
