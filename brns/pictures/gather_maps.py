"""The data of maps of one run, as arrays; nothing is drawn here.

`paint_maps`, the movie and the report draw it. The `rows` of each, one an individual or cell, are
those of `brns figure --data`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from brns.metrics.coverage import find_cell_coordinates, is_tessellation
from brns.metrics.elites import read_elites_without_genotypes
from brns.metrics.lineage import find_ancestor_ids
from brns.metrics.recorded import read_all_evaluated, read_valid_rows_by_generation, require_states
from brns.metrics.uniformity import compute_novelty_of_cells
from brns.pictures.gather_curves import ELITES, Row, to_rows
from brns.pictures.records import find_least_fitness, find_scene, pick_evenly, read_archive_entries
from brns.pictures.scenes import find_reachable_cells
from brns.runs.record import Record
from brns.tasks.chunked import unwrap_task
from brns.tasks.scene import Scene, Traced, make_plain_scene

MAP_CELLS = 60
"""of a novelty map along each side"""


def _to_rows_of_individuals(individuals: Any) -> list[Row]:
    """A row for each individual: what there is one number of for each, and its behavior."""
    columns = {}
    for name, column in individuals._asdict().items():
        if isinstance(column, np.ndarray) and column.ndim == 1:
            columns[name] = column
    axes = {f"behavior_{axis}": column for axis, column in enumerate(individuals.descriptor.T)}
    return to_rows(columns | axes)


class Behaviors(NamedTuple):
    """All that a run evaluated."""

    scene: Scene
    descriptor: Float[np.ndarray, "n d"]
    born: Int[np.ndarray, " n"]
    solved: Bool[np.ndarray, " n"]
    paths: tuple[Float[np.ndarray, "times 2"], ...]
    """of the first solution, one halfway and the last, where the task can replay them"""

    to_rows = _to_rows_of_individuals


class Lineage(NamedTuple):
    """An individual and those from whom it descends, parent by parent, from the founder on."""

    scene: Scene
    others: Float[np.ndarray, "n d"]
    """the behaviors of all that was evaluated"""
    id: Int[np.ndarray, " m"]
    born: Int[np.ndarray, " m"]
    solved: Bool[np.ndarray, " m"]
    descriptor: Float[np.ndarray, "m d"]

    to_rows = _to_rows_of_individuals


class Archived(NamedTuple):
    """The entries of an archive after a generation."""

    scene: Scene
    generation: int
    descriptor: Float[np.ndarray, "n d"]
    entered: Int[np.ndarray, " n"]
    """generation"""

    to_rows = _to_rows_of_individuals


class Living(NamedTuple):
    """The survivors of a generation, and the novelty by which they were selected."""

    scene: Scene
    generation: int
    descriptor: Float[np.ndarray, "n d"]
    id: Int[np.ndarray, " n"]
    born: Int[np.ndarray, " n"]
    parent: Int[np.ndarray, " n"]
    novelty: Float[np.ndarray, " n"]
    solved: Bool[np.ndarray, " n"]

    to_rows = _to_rows_of_individuals


class NoveltyMap(NamedTuple):
    """Novelty at the centres of cells over the behavior space, and a population."""

    scene: Scene
    extent: tuple[float, float, float, float]
    """of the behavior space: a scene may show more or less"""
    generation: int
    """whose state gave the novelty"""
    novelty: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where no place of a cell can be reached"""
    living: Living

    def to_rows(self) -> list[Row]:
        people = [{"what": "individual"} | row for row in self.living.to_rows()]
        rows = _to_rows_of_cells(self.extent, "novelty", self.novelty) + people
        return [{"generation": self.generation} | row for row in rows]


class Elites(NamedTuple):
    """The fitness of the fittest of each cell."""

    scene: Scene
    extent: tuple[float, float, float, float]
    """of the behavior space"""
    fitness: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where nothing was evaluated"""

    def to_rows(self) -> list[Row]:
        return _to_rows_of_cells(self.extent, "fitness", self.fitness)


def _to_rows_of_cells(
    extent: Sequence[float], name: str, values: Float[np.ndarray, "y x"]
) -> list[Row]:
    height, width = values.shape
    left, right, bottom, top = extent
    x = left + (np.arange(width) + 0.5) / width * (right - left)
    y = bottom + (np.arange(height) + 0.5) / height * (top - bottom)
    return to_rows({"what": "cell", "x": x, "y": y[:, None], name: values})


def gather_behaviors(record: Record) -> Behaviors:
    """Every behavior that a run evaluated."""
    columns = []
    for name in ("descriptor", "born", "solved"):
        columns.append(np.concatenate(read_valid_rows_by_generation(record, name)))
    paths = _simulate_solution_paths(record) if columns[-1].any() else ()
    return Behaviors(find_scene(record), *columns, paths)


def _simulate_solution_paths(record: Record) -> tuple[np.ndarray, ...]:
    task = record.search_or_none and unwrap_task(record.search.task)
    if not isinstance(task, Traced):
        return ()
    genotypes = record.solutions().genotype
    some = pick_evenly(0, len(genotypes) - 1, 3)
    return tuple(np.asarray(task.trajectory(genotypes[some]))[..., :2])


def gather_lineage(record: Record, individual: int | None = None) -> Lineage:
    """The line of an individual, by default the first solution or else the most novel survivor."""
    columns = read_all_evaluated(record, ("id", "parent", "born", "solved", "descriptor", "failed"))
    if individual is None:
        last = gather_population(record)
        first = np.argmax(columns["solved"])
        individual = int(first if columns["solved"].any() else last.id[np.argmax(last.novelty)])
    line = find_ancestor_ids(record, columns, individual, mates=False)
    others = columns["descriptor"][~columns["failed"]]
    rows = [columns[name][line] for name in ("id", "born", "solved", "descriptor")]
    return Lineage(find_scene(record), others, *rows)


def gather_archive(record: Record) -> Archived:
    """The entries of a run's archive in the last state that was kept."""
    generation = require_states(record, "the archive's picture")[-1]
    entries = read_archive_entries(record, generation)
    if entries is None:
        estimator = record.experiment["estimator"]["name"]
        raise ValueError(f"{record.path} has no archive: its estimator is {estimator}")
    return Archived(find_scene(record), generation, *entries)


def gather_population(
    record: Record, generation: int | None = None, scene: Scene | None = None
) -> Living:
    """The survivors of a generation, by default the last; where a `scene` is not given, in that of
    the run.
    """
    now = record.last_generation if generation is None else generation
    columns = [record.column(f"survivors.{name}", [now])[0] for name in Living._fields[2:]]
    return Living(scene or find_scene(record), now, *columns)


def gather_novelty_map(
    record: Record, generation: int | None = None, cells: int = MAP_CELLS
) -> NoveltyMap:
    """Novelty and the population after a generation whose state is kept, by default the last."""
    now = require_states(record, "a novelty map")[-1] if generation is None else generation
    people = gather_population(record, now)
    novelty, space = compute_novelty_grid(record, now, cells), record.behavior_space
    novelty = np.where(find_reachable_cells(people.scene, space, cells), novelty, np.nan)
    return NoveltyMap(people.scene, make_plain_scene(space).extent, now, novelty, people)


def compute_novelty_grid(
    record: Record, generation: int, cells: int = MAP_CELLS
) -> Float[np.ndarray, "y x"]:
    """The novelty at the centers of cells over a planar behavior space; row 0 is at the lowest y.

    Args:
        record: a run in a plane.
        generation: one whose state is kept.
        cells: along each side.

    Returns:
        Novelty in the estimator's unit.

    Raises:
        ValueError: where the behavior space is no plane.
    """
    _check_planar(record, "a novelty map")
    novelty = compute_novelty_of_cells(record, (cells, cells), generation)
    return novelty.reshape(cells, cells).T.copy()


def gather_elites(record: Record, cells: Sequence[int] = ELITES) -> Elites:
    """The fitness of the fittest in each cell of a plane."""
    _check_planar(record, "a map of elites")
    if is_tessellation(cells):
        raise ValueError(
            "a map of elites has the cells of a grid, as in cells=(20, 20); got centres, whose "
            "elites are those of brns.metrics.elites.elites(record, centres)"
        )
    find_least_fitness([record], "a map of elites")
    best = read_elites_without_genotypes(record, cells)
    fitness = np.full(cells, np.nan)
    at = find_cell_coordinates(best["descriptor"], record.behavior_space, cells)
    fitness[tuple(at.T)] = best["fitness"]
    return Elites(find_scene(record), make_plain_scene(record.behavior_space).extent, fitness.T)


def _check_planar(record: Record, what: str) -> None:
    d = record.behavior_space.dimension
    if d != 2:
        raise ValueError(f"{what} needs a behavior space of 2 dimensions; {record.path} has {d}")
