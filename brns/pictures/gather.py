"""What figures show, as arrays: each function reads records and draws nothing.

`curves`, `maps` and the report paint it. The `rows` of each, one a value, individual or cell, are
those of `brns figure --data`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from brns.metrics import coverage as coverages
from brns.metrics import cycling, dynamics, paths
from brns.metrics.elites import fittest
from brns.metrics.elites import qd_score as score_elites
from brns.metrics.lineage import ancestor_ids
from brns.metrics.recorded import evaluated_column, everyone, require_states
from brns.metrics.uniformity import novelty_of_cells
from brns.pictures.cost import NoveltyStep, measure_ms
from brns.pictures.records import (
    Runs,
    archive_entries,
    least_fitness,
    methods,
    scene,
    scene_of,
    uniformity_of_record,
)
from brns.pictures.scenes import open_cells
from brns.runs.progress import track
from brns.runs.record import Record
from brns.tasks.chunked import innermost
from brns.tasks.scene import Scene, Traced, plain

Row = dict[str, Any]
Individuals = Literal["survivors", "evaluated"]
MAP_CELLS = 60
"""of a novelty map along each side"""
ELITES = (20, 20)
"""cells of elites"""
SATURATED = 0.95
"""a coverage above which cells are halved, so that methods still differ"""
FINEST = 48
"""cells along each side of the finest grid of coverage"""
DIMENSIONS = (2, 4, 8, 16, 32, 64, 128, 256)
"""of behaviors, in which novelty is timed"""
INDIVIDUALS = 200
"""parents and offspring that are timed; figure 6"""
REPEATS = 5
"""of a timing, whose median counts"""


class Series(NamedTuple):
    """A quantity over generations; row s is the s-th seed."""

    label: str
    """a method, or a generation i of Q"""
    seeds: tuple[int, ...]
    generations: Int[np.ndarray, " x"]
    evaluations: Int[np.ndarray, " x"]
    """of the task until then, the founders included"""
    values: Float[np.ndarray, "s x"]


class Curves(NamedTuple):
    """Lines over generations."""

    quantity: str
    """on the axis"""
    series: tuple[Series, ...]
    generation: str = "generation"
    """what the generations are"""
    most: float | None = None
    """which the quantity cannot exceed"""
    reference: float | None = None
    """a value that it is held against"""
    column: Literal["method", "row"] = "method"
    """what the labels of the series are: methods, or rows of Q"""

    def rows(self) -> list[Row]:
        rows = []
        for line in self.series:
            columns = {self.column: line.label, "seed": np.array(line.seeds)[:, None]}
            at = {"generation": line.generations, "evaluations": line.evaluations}
            rows += _rows({**columns, **at, "value": line.values})
        return rows


class Bars(NamedTuple):
    """A quantity of each method and term; row s is the s-th seed."""

    quantity: str
    terms: tuple[str, ...]
    labels: tuple[str, ...]
    seeds: tuple[tuple[int, ...], ...]
    values: tuple[Float[np.ndarray, "s t"], ...]

    def rows(self) -> list[Row]:
        rows = []
        for label, seeds, values in zip(self.labels, self.seeds, self.values, strict=True):
            seed = np.array(seeds)[:, None]
            rows += _rows({"method": label, "seed": seed, "term": self.terms, "value": values})
        return rows


class Costs(NamedTuple):
    """Time of one generation of each method's novelty, by the dimension of behaviors."""

    dimensions: tuple[int, ...]
    labels: tuple[str, ...]
    ms: Float[np.ndarray, "methods dimensions"]
    """of CPU, the median of some repeats"""

    def rows(self) -> list[Row]:
        method = np.array(self.labels)[:, None]
        return _rows({"method": method, "d": self.dimensions, "ms": self.ms})


class Behaviors(NamedTuple):
    """All that a run evaluated."""

    scene: Scene
    descriptor: Float[np.ndarray, "n d"]
    born: Int[np.ndarray, " n"]
    solved: Bool[np.ndarray, " n"]
    paths: tuple[Float[np.ndarray, "times 2"], ...]
    """of the first solution, one halfway and the last, where the task can replay them"""

    def rows(self) -> list[Row]:
        return _rows_of(self, "born", "solved")


class Lineage(NamedTuple):
    """An individual and those from whom it descends, parent by parent, from the founder on."""

    scene: Scene
    others: Float[np.ndarray, "n d"]
    """the behaviors of all that was evaluated"""
    id: Int[np.ndarray, " m"]
    born: Int[np.ndarray, " m"]
    solved: Bool[np.ndarray, " m"]
    descriptor: Float[np.ndarray, "m d"]

    def rows(self) -> list[Row]:
        return _rows_of(self, "id", "born", "solved")


class Archived(NamedTuple):
    """The entries of an archive after a generation."""

    scene: Scene
    generation: int
    descriptor: Float[np.ndarray, "n d"]
    entered: Int[np.ndarray, " n"]
    """generation"""

    def rows(self) -> list[Row]:
        return _rows_of(self, "entered")


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

    def rows(self) -> list[Row]:
        return _rows_of(self, "id", "born", "parent", "novelty", "solved")


class NoveltyMap(NamedTuple):
    """Novelty at the centres of cells over the behavior space, and a population."""

    scene: Scene
    extent: tuple[float, float, float, float]
    """of the behavior space: a task may show more or less of its world"""
    generation: int
    """whose state gave the novelty"""
    novelty: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where no place of a cell can be reached"""
    living: Living

    def rows(self) -> list[Row]:
        people = [{"what": "individual"} | row for row in self.living.rows()]
        rows = _cells(self.extent, "novelty", self.novelty) + people
        return [{"generation": self.generation} | row for row in rows]


class Elites(NamedTuple):
    """The fitness of the fittest of each cell."""

    scene: Scene
    extent: tuple[float, float, float, float]
    """of the behavior space"""
    fitness: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where nothing was evaluated"""

    def rows(self) -> list[Row]:
        return _cells(self.extent, "fitness", self.fitness)


def _rows(columns: dict[str, Any]) -> list[Row]:
    """A row for each element of the columns, which are broadcast together."""
    arrays = np.broadcast_arrays(*columns.values())
    values = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def _rows_of(individuals: Any, *names: str) -> list[Row]:
    """A row for each individual: these columns and its behavior."""
    columns = {name: getattr(individuals, name) for name in names}
    axes = {f"behavior_{axis}": column for axis, column in enumerate(individuals.descriptor.T)}
    return _rows(columns | axes)


def _cells(extent: Sequence[float], name: str, values: Float[np.ndarray, "y x"]) -> list[Row]:
    height, width = values.shape
    left, right, bottom, top = extent
    x = left + (np.arange(width) + 0.5) / width * (right - left)
    y = bottom + (np.arange(height) + 0.5) / height * (top - bottom)
    return _rows({"what": "cell", "x": x, "y": y[:, None], name: values})


def coverage(
    records: Runs, shape: Sequence[int] | None = None, individuals: Individuals = "survivors"
) -> Curves:
    """Cumulative coverage; cells are by default halved as long as a method covers most of them."""
    groups = methods(records)
    space = next(iter(groups.values()))[0].behavior_space
    cells = tuple(coverages.cells_of(space, shape))
    who = "survivors" if individuals == "survivors" else "all evaluated"
    while True:
        statistic = partial(coverages.of_record, shape=cells, individuals=individuals)
        quantity = f"share of {_format_cells(cells)} cells, {who}"
        shares = _curves(groups, statistic, quantity)._replace(most=1.0)
        saturated = any(line.values[:, -1].mean() > SATURATED for line in shares.series)
        if shape or not saturated or 2 * min(cells) > FINEST:
            return shares
        cells = tuple(2 * side for side in cells)


def _format_cells(cells: Sequence[int]) -> str:
    return " × ".join(map(str, cells))


def qd_score(records: Runs, shape: Sequence[int] = ELITES) -> Curves:
    """The QD score above the least fitness that any of the runs met."""
    groups = methods(records)
    least = least_fitness([record for runs in groups.values() for record in runs], "a QD score")
    statistic = partial(score_elites, shape=shape, offset=least)
    quantity = f"QD score of {_format_cells(shape)} cells, above {least:.3g}"
    return _curves(groups, statistic, quantity)


def parent_distance(records: Runs) -> Curves:
    """The mean distance of survivors to their parents."""
    quantity = "distance to the parent in behavior space"
    return _curves(methods(records), dynamics.parent_distance_of_record, quantity)


def age(records: Runs) -> Curves:
    """The mean age of survivors."""
    return _curves(methods(records), dynamics.age_of_record, "age (generations)")


def uniformity(records: Runs) -> Curves:
    """The distance to uniform of archives, or of novelty, in the generations kept."""
    quantity = "Jensen–Shannon distance to uniform"
    curves = _curves(methods(records), uniformity_of_record, quantity, lambda run: run.snapshots)
    return curves._replace(most=1.0)


def eta(records: Runs) -> Curves:
    """η of the generations kept, but for the last."""
    return _cycling_curves(records, "eta", "η(i)")._replace(reference=1.0)


def kappa(records: Runs) -> Curves:
    """κ of the generations kept, but for the last."""
    return _cycling_curves(records, "kappa", "κ(i) (generations)")


def kappa_share(records: Runs) -> Curves:
    """κ divided by the number of kept generations after i."""
    return _cycling_curves(records, "kappa_share", "κ(i) per later generation")._replace(most=1.0)


def _cycling_curves(records: Runs, name: str, quantity: str) -> Curves:
    def statistic(record: Record) -> np.ndarray:
        return getattr(cycling.of_record(record), name)

    groups = methods(records)
    values = _curves(groups, statistic, quantity, lambda record: record.snapshots[:-1])
    return values._replace(generation="generation i")


def _curves(
    groups: dict[str, list[Record]],
    statistic: Callable[[Record], np.ndarray],
    quantity: str,
    at: Callable[[Record], Sequence[int]] = lambda record: record.generations,
) -> Curves:
    """A series for each method of a statistic `at` the generations that all of its runs have."""
    series = []
    for label, runs in groups.items():
        generations = _common(map(at, runs))
        rows = [statistic(record)[np.isin(at(record), generations)] for record in runs]
        values = np.array(rows, np.float64)
        if len(generations) < 2 or not np.isfinite(values).any():
            raise ValueError(
                f"a curve needs values of 2 generations or more; {runs[0].path} has too few"
            )
        series.append(_series(label, runs, generations, values))
    return Curves(quantity, tuple(series))


def _common(lists: Iterable[Sequence[int]]) -> list[int]:
    return sorted(set.intersection(*map(set, lists)))


def _series(
    label: str, runs: Sequence[Record], generations: Sequence[int], values: np.ndarray
) -> Series:
    sizes = [len(rows) for rows in evaluated_column(runs[0], "id")]
    at = np.array(generations, int)
    seeds = tuple(record.seed for record in runs)
    return Series(label, seeds, at, np.cumsum(sizes)[at], values)


def q(records: Runs) -> Curves:
    """An early, a middle and a later row of Q(i, j), of runs of one method, as Q has a unit."""
    (runs,) = methods(records).values()
    generations = _common(require_states(record, "Q(i, j)") for record in runs)
    matrices = np.stack([cycling.of_record(record, generations).q for record in runs])
    series = []
    for row in dict.fromkeys(int(len(generations) * part) for part in (0.1, 0.4, 0.7)):
        label = f"i = {generations[row]}"
        series.append(_series(label, runs, generations[row:], matrices[:, row, row:]))
    return Curves("Q(i, j), novelty", tuple(series), "generation j", column="row")


def signature(records: Runs) -> Bars:
    """The standard deviation of paths along the terms of their signature."""
    groups = methods(records)
    first = next(iter(groups.values()))[0]
    if not scene(first.search.task).paths:
        world = first.world["name"]
        raise ValueError(f"a signature needs descriptors that are paths; those of {world} are not")
    seeds, spreads = [], []
    for runs in groups.values():
        seeds.append(tuple(record.seed for record in runs))
        spreads.append(np.stack([paths.spread_of_record(record) for record in runs]))
    quantity = "standard deviation of all paths"
    return Bars(quantity, paths.TERMS, tuple(groups), tuple(seeds), tuple(spreads))


def cost(records: Runs) -> Costs:
    """What novelty costs on this machine, by the estimators of runs, whose archives are full."""
    groups = methods(records)
    ms = []
    for runs in groups.values():
        estimator = runs[0].search.estimator
        for d in track(DIMENSIONS, "Timing", len(DIMENSIONS)):
            step = NoveltyStep(estimator, d, INDIVIDUALS)
            ms.append(np.median([measure_ms(step)[0] for _ in range(REPEATS)]))
    return Costs(DIMENSIONS, tuple(groups), np.reshape(ms, (len(groups), -1)))


def behaviors(record: Record) -> Behaviors:
    """Every behavior that a run evaluated."""
    names = ("descriptor", "born", "solved")
    descriptor, born, solved = (np.concatenate(evaluated_column(record, name)) for name in names)
    paths = _paths_of_solutions(record) if solved.any() else ()
    return Behaviors(scene_of(record), descriptor, born, solved, paths)


def _paths_of_solutions(record: Record) -> tuple[np.ndarray, ...]:
    task = record.known_search and innermost(record.search.task)
    if not isinstance(task, Traced):
        return ()
    genotypes = record.solutions().genotype
    some = np.unique(np.linspace(0, len(genotypes) - 1, 3).round().astype(int))
    return tuple(np.asarray(task.trajectory(genotypes[some]))[..., :2])


def lineage(record: Record, individual: int | None = None) -> Lineage:
    """The line of an individual, by default the first solution or else the most novel survivor."""
    columns = everyone(record, ("id", "parent", "born", "solved", "descriptor", "failed"))
    if individual is None:
        last = population(record)
        first = columns["solved"].argmax()
        individual = int(first if columns["solved"].any() else last.id[last.novelty.argmax()])
    line = ancestor_ids(record, columns, individual, mates=False)
    others = columns["descriptor"][~columns["failed"]]
    rows = [columns[name][line] for name in ("id", "born", "solved", "descriptor")]
    return Lineage(scene_of(record), others, *rows)


def archive(record: Record) -> Archived:
    """The entries of a run's archive in the last state that was kept."""
    generation = require_states(record, "the archive's picture")[-1]
    entries = archive_entries(record, generation)
    if entries is None:
        estimator = record.experiment["estimator"]["name"]
        raise ValueError(f"{record.path} has no archive: its estimator is {estimator}")
    return Archived(scene_of(record), generation, *entries)


def population(record: Record, generation: int | None = None) -> Living:
    """The survivors of a generation, by default the last."""
    now = record.last if generation is None else generation
    columns = [record.column(f"survivors.{name}", [now])[0] for name in Living._fields[2:]]
    return Living(scene_of(record), now, *columns)


def novelty_map(
    record: Record, generation: int | None = None, cells: int = MAP_CELLS
) -> NoveltyMap:
    """Novelty and the population after a generation whose state is kept, by default the last."""
    now = require_states(record, "a novelty map")[-1] if generation is None else generation
    people = population(record, now)
    novelty, space = novelty_grid(record, now, cells), record.behavior_space
    novelty = np.where(open_cells(people.scene, space, cells), novelty, np.nan)
    return NoveltyMap(people.scene, plain(space).extent, now, novelty, people)


def novelty_grid(
    record: Record, generation: int, cells: int = MAP_CELLS
) -> Float[np.ndarray, "y x"]:
    """Omega^g at the centres of cells over a planar behavior space; row 0 is at the lowest y.

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
    return novelty_of_cells(record, (cells, cells), generation).reshape(cells, cells).T


def elites(record: Record, shape: Sequence[int] = ELITES) -> Elites:
    """The fitness of the fittest in each cell of a plane."""
    _check_planar(record, "a map of elites")
    least_fitness([record], "a map of elites")
    best = fittest(record, shape)
    fitness = np.full(shape, np.nan)
    at = coverages.cells(best["descriptor"], record.behavior_space, shape)
    fitness[tuple(at.T)] = best["fitness"]
    return Elites(scene_of(record), plain(record.behavior_space).extent, fitness.T)


def _check_planar(record: Record, what: str) -> None:
    d = record.behavior_space.dimension
    if d != 2:
        raise ValueError(f"{what} needs a behavior space of 2 dimensions; {record.path} has {d}")
