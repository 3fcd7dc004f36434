"""What figures show, as arrays: each function reads records and draws nothing.

`curves`, `maps` and the report paint what they get from here. The `rows` of each are those of `brns
figure --data`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from brns.metrics import coverage as coverages
from brns.metrics import cycling, dynamics, paths
from brns.metrics.elites import fittest
from brns.metrics.elites import qd_score as score_elites
from brns.metrics.recorded import evaluated_column, require_states
from brns.metrics.uniformity import novelty_of_cells
from brns.pictures.records import (
    Runs,
    archive_entries,
    common,
    least_fitness,
    methods,
    scene,
    scene_of,
    uniformity_of_record,
)
from brns.pictures.scenes import open_cells, over_box
from brns.runs.record import Record
from brns.tasks.scene import Scene, Traced
from brns.tasks.workers import innermost

Row = dict[str, Any]
MAP_CELLS = 60
"""of a novelty map along each side"""
ELITES = (20, 20)
"""cells of elites"""
SATURATED = 0.95
"""a coverage above which cells are halved, so that methods still differ"""
FINEST = 48
"""cells along each side of the finest grid of coverage"""


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
    column: str = "method"
    """what the labels of the series are"""

    def rows(self) -> Iterator[Row]:
        """One for each value."""
        for line in self.series:
            for seed, values in zip(line.seeds, line.values, strict=True):
                moments = zip(line.generations, line.evaluations, values, strict=True)
                for generation, evaluations, value in moments:
                    yield {
                        self.column: line.label,
                        "seed": seed,
                        "generation": int(generation),
                        "evaluations": int(evaluations),
                        "value": float(value),
                    }


class Bars(NamedTuple):
    """A quantity of each method and term; row s is the s-th seed."""

    quantity: str
    terms: tuple[str, ...]
    labels: tuple[str, ...]
    seeds: tuple[tuple[int, ...], ...]
    values: tuple[Float[np.ndarray, "s t"], ...]

    def rows(self) -> Iterator[Row]:
        """One for each value."""
        for label, seeds, values in zip(self.labels, self.seeds, self.values, strict=True):
            for seed, row in zip(seeds, values, strict=True):
                for term, value in zip(self.terms, row.tolist(), strict=True):
                    yield {"method": label, "seed": seed, "term": term, "value": value}


class Behaviors(NamedTuple):
    """All that a run evaluated."""

    scene: Scene
    descriptor: Float[np.ndarray, "n d"]
    born: Int[np.ndarray, " n"]
    solved: Bool[np.ndarray, " n"]
    ways: tuple[Float[np.ndarray, "times 2"], ...]
    """of the first solution, one halfway and the last, where the task can replay them"""

    def rows(self) -> Iterator[Row]:
        """One for each individual."""
        for born, solved, descriptor in zip(self.born, self.solved, self.descriptor, strict=True):
            yield {"born": int(born), "solved": bool(solved), **_with_labels(descriptor)}


class Archived(NamedTuple):
    """The entries of an archive after a generation."""

    scene: Scene
    generation: int
    descriptor: Float[np.ndarray, "n d"]
    entered: Int[np.ndarray, " n"]
    """generation"""

    def rows(self) -> Iterator[Row]:
        """One for each entry."""
        for entered, descriptor in zip(self.entered, self.descriptor, strict=True):
            yield {"entered": int(entered), **_with_labels(descriptor)}


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

    def rows(self) -> Iterator[Row]:
        """One for each individual."""
        columns = self.id, self.born, self.parent, self.novelty, self.solved
        names = "id", "born", "parent", "novelty", "solved"
        for descriptor, *values in zip(self.descriptor, *columns, strict=True):
            plain = (value.item() for value in values)
            yield {**dict(zip(names, plain, strict=True)), **_with_labels(descriptor)}


class NoveltyMap(NamedTuple):
    """Novelty at the centres of cells over the behavior space, and a population."""

    scene: Scene
    over: Scene
    """the scene over the behavior space alone"""
    generation: int
    """whose state gave the novelty"""
    novelty: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where no place of a cell can be reached"""
    living: Living

    @property
    def walled(self) -> bool:
        """Whether there are cells that cannot be reached."""
        return bool(np.isnan(self.novelty).any())

    def rows(self) -> Iterator[Row]:
        """One for each cell, then one for each individual."""
        yield from _cells(self.over, "novelty", self.novelty)
        for row in self.living.rows():
            yield {"what": "individual", **row}


class Elites(NamedTuple):
    """The fitness of the fittest of each cell."""

    scene: Scene
    over: Scene
    fitness: Float[np.ndarray, "y x"]
    """row 0 is at the lowest y; NaN where nothing was evaluated"""

    def rows(self) -> Iterator[Row]:
        """One for each cell."""
        yield from _cells(self.over, "fitness", self.fitness)


Gathered = Curves | Bars | Behaviors | Archived | Living | NoveltyMap | Elites


def _with_labels(descriptor: np.ndarray) -> dict[str, float]:
    return {f"behavior_{i}": float(value) for i, value in enumerate(descriptor)}


def _cells(over: Scene, name: str, values: Float[np.ndarray, "y x"]) -> Iterator[Row]:
    (left, bottom), (right, top) = over.low, over.high
    height, width = values.shape
    for (row, column), value in np.ndenumerate(values):
        x = left + (column + 0.5) / width * (right - left)
        y = bottom + (row + 0.5) / height * (top - bottom)
        yield {"what": "cell", "x": float(x), "y": float(y), name: float(value)}


def coverage(
    records: Runs,
    shape: Sequence[int] | None = None,
    individuals: Literal["survivors", "evaluated"] = "survivors",
) -> Curves:
    """Cumulative coverage.

    Args:
        records: runs of one or several methods.
        shape: the number of cells in each dimension of the behavior space. By default those of
            `brns.metrics.coverage.grid`, 6 x 6 of a plane, with sides halved as long as a method
            covers more than 95 % of them and there are less than 48 along a side.
        individuals: whose behaviors count.

    Returns:
        A series for each method.

    Raises:
        ValueError: if the space has more than 3 dimensions and no shape is given.
    """
    groups = methods(records)
    space = next(iter(groups.values()))[0].behavior_space
    cells = tuple(coverages.cells_of(space, shape))

    def curves(cells: tuple[int, ...]) -> Curves:
        side = " × ".join(map(str, cells))
        quantity = f"share of {side} cells covered by {_WHO[individuals]}"

        def covered(record: Record) -> np.ndarray:
            return coverages.of_record(record, cells, individuals)

        return _curves(groups, covered, quantity, most=1.0)

    shares = curves(cells)
    while shape is None and _saturated(shares) and 2 * min(cells) <= FINEST:
        cells = tuple(2 * side for side in cells)
        shares = curves(cells)
    return shares


_WHO = {"survivors": "the survivors", "evaluated": "all that was evaluated"}


def _saturated(curves: Curves) -> bool:
    return any(run.values[:, -1].mean() > SATURATED for run in curves.series)


def qd_score(records: Runs, shape: Sequence[int] | None = None) -> Curves:
    """The QD score above the least fitness that any of the runs met.

    Args:
        records: runs of one or several methods.
        shape: the number of cells in each dimension, by default 20 x 20.

    Returns:
        A series for each method.

    Raises:
        ValueError: where all have one fitness.
    """
    groups = methods(records)
    least = least_fitness([record for runs in groups.values() for record in runs], "a QD score")
    cells = tuple(shape or ELITES)
    quantity = f"QD score of {' × '.join(map(str, cells))} cells, fitness above {least:.3g}"
    return _curves(groups, lambda record: score_elites(record, cells, least), quantity)


def parent_distance(records: Runs) -> Curves:
    """The mean distance of survivors to their parents."""
    quantity = "distance to the parent in behavior space"
    return _curves(methods(records), dynamics.parent_distance_of_record, quantity)


def age(records: Runs) -> Curves:
    """The mean age of survivors."""
    return _curves(methods(records), dynamics.age_of_record, "age (generations)")


def uniformity(records: Runs) -> Curves:
    """The distance to uniform of archives, or of novelty, in the generations kept."""
    groups = methods(records)
    quantity = "Jensen–Shannon distance to uniform"
    return _curves(
        groups, uniformity_of_record, quantity, lambda record: record.snapshots, most=1.0
    )


def eta(records: Runs) -> Curves:
    """η of the generations kept, but for the last."""
    return _cycling(records, "eta", "η(i)")


def kappa(records: Runs) -> Curves:
    """κ of the generations kept, but for the last."""
    return _cycling(records, "kappa", "κ(i) (generations)")


def kappa_share(records: Runs) -> Curves:
    """κ divided by the number of kept generations after i."""
    return _cycling(records, "kappa_share", "κ(i) per later generation", most=1.0)


def _cycling(records: Runs, name: str, quantity: str, most: float | None = None) -> Curves:
    def statistic(record: Record) -> np.ndarray:
        return getattr(cycling.of_record(record), name)

    def but_the_last(record: Record) -> Sequence[int]:
        return record.snapshots[:-1]

    values = _curves(methods(records), statistic, quantity, but_the_last, most)
    return values._replace(generation="generation i")


def _curves(
    groups: dict[str, list[Record]],
    statistic: Callable[[Record], np.ndarray],
    quantity: str,
    at: Callable[[Record], Sequence[int]] = lambda record: record.generations,
    most: float | None = None,
) -> Curves:
    """A series for each method of a statistic `at` the generations that all of its runs have."""
    series = []
    for label, runs in groups.items():
        by_generation = [dict(zip(at(record), statistic(record), strict=True)) for record in runs]
        generations = common(by_generation)
        rows = [[values[g] for g in generations] for values in by_generation]
        values = np.array(rows, np.float64)
        if len(generations) < 2 or not np.isfinite(values).any():
            raise ValueError(
                f"a curve needs values of 2 generations or more; {runs[0].path} has too few"
            )
        series.append(_series(label, runs, generations, values))
    return Curves(quantity, tuple(series), most=most)


def _series(
    label: str, runs: Sequence[Record], generations: Sequence[int], values: np.ndarray
) -> Series:
    sizes = [len(rows) for rows in evaluated_column(runs[0], "id")]
    at = np.array(generations, int)
    seeds = tuple(record.seed for record in runs)
    return Series(label, seeds, at, np.cumsum(sizes)[at], values)


def q(records: Runs) -> Curves:
    """Three rows of Q(i, j), of runs of one method.

    Args:
        records: runs of one method whose states were kept.

    Returns:
        A series for each i, over j.

    Raises:
        ValueError: for runs of several methods, as Q has the unit of its estimator.
    """
    groups = methods(records)
    if len(groups) > 1:
        raise ValueError(
            f"Q has the unit of its estimator; draw one method on an axes, not {'; '.join(groups)}"
        )
    (runs,) = groups.values()
    generations = common(require_states(record, "Q(i, j)") for record in runs)
    matrices = np.stack([cycling.of_record(record, generations).q for record in runs])
    series = []
    for i in three(generations):
        row = generations.index(i)
        series.append(_series(f"i = {i}", runs, generations[row:], matrices[:, row, row:]))
    return Curves("Q(i, j), novelty", tuple(series), "generation j", column="row")


def three(kept: Sequence[int]) -> list[int]:
    """An early, a middle and a later generation of those kept."""
    return list(dict.fromkeys(kept[int(len(kept) * part)] for part in (0.1, 0.4, 0.7)))


def signature(records: Runs) -> Bars:
    """The standard deviation of paths along the terms of their signature.

    Args:
        records: runs of one or several methods whose behaviors are paths.

    Returns:
        A row for each seed and method.

    Raises:
        ValueError: where behaviors are no paths.
    """
    groups = methods(records)
    first = next(iter(groups.values()))[0]
    if not scene(first.search.task).paths:
        raise ValueError(
            f"a signature needs descriptors that are paths; those of {first.world['name']} are not"
        )
    spreads = []
    for runs in groups.values():
        spreads.append(np.stack([paths.spread_of_record(record) for record in runs]))
    seeds = tuple(tuple(record.seed for record in runs) for runs in groups.values())
    quantity = "standard deviation of all paths"
    return Bars(quantity, paths.TERMS, tuple(groups), seeds, tuple(spreads))


def behaviors(record: Record) -> Behaviors:
    """Every behavior that a run evaluated."""
    world = scene_of(record)
    names = ("descriptor", "born", "solved")
    descriptor, born, solved = (np.concatenate(evaluated_column(record, name)) for name in names)
    ways = _ways(record) if solved.any() else ()
    return Behaviors(world, descriptor, born, solved, ways)


def _ways(record: Record) -> tuple[np.ndarray, ...]:
    task = record.known_search and innermost(record.search.task)
    if not isinstance(task, Traced):
        return ()
    genotypes = record.solutions().genotype
    some = np.unique(np.linspace(0, len(genotypes) - 1, 3).round().astype(int))
    return tuple(np.asarray(task.trajectory(genotypes[some]))[..., :2])


def archive(record: Record) -> Archived:
    """The entries of a run's archive at the end.

    Args:
        record: a run whose estimator is an archive, with a state kept.

    Returns:
        The entries.

    Raises:
        ValueError: where the estimator has no archive, or no state was kept.
    """
    generation = require_states(record, "the archive's picture")[-1]
    entries = archive_entries(record, generation)
    if entries is None:
        estimator = record.experiment["estimator"]["name"]
        raise ValueError(f"{record.path} has no archive: its estimator is {estimator}")
    return Archived(scene_of(record), generation, *entries)


def population(record: Record, generation: int | None = None) -> Living:
    """The survivors of a generation, by default the last."""
    now = record.last if generation is None else generation
    names = Living._fields[2:]
    columns = {name: record.column(f"survivors.{name}", [now])[0] for name in names}
    return Living(scene_of(record), now, **columns)


def novelty_map(
    record: Record,
    generation: int | None = None,
    living: int | None = None,
    cells: int = MAP_CELLS,
) -> NoveltyMap:
    """Novelty over the behavior space, and a population.

    Args:
        record: a run in a plane.
        generation: one whose state is kept, by default the last.
        living: the population's generation, where it is another.
        cells: along each side.

    Returns:
        The map.

    Raises:
        ValueError: where the behavior space is no plane, or the state was not kept.
    """
    now = require_states(record, "a novelty map")[-1] if generation is None else generation
    people = population(record, now if living is None else living)
    over = over_box(people.scene, record.behavior_space)
    novelty = novelty_grid(record, now, cells)
    novelty = np.where(open_cells(over, cells), novelty, np.nan)
    return NoveltyMap(people.scene, over, now, novelty, people)


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
    check_planar(record, "a novelty map")
    return novelty_of_cells(record, (cells, cells), generation).reshape(cells, cells).T


def elites(record: Record, shape: Sequence[int] | None = None) -> Elites:
    """The fitness of the fittest in each cell of a plane.

    Args:
        record: a run in a plane whose task has fitness.
        shape: the number of cells along x and along y, by default 20 x 20.

    Returns:
        The map.

    Raises:
        ValueError: where the behavior space is no plane, or all have one fitness.
    """
    check_planar(record, "a map of elites")
    least_fitness([record], "a map of elites")
    cells = tuple(shape or ELITES)
    best = fittest(record, cells)
    fitness = np.full(cells, np.nan)
    at = coverages.cells(best["descriptor"], record.behavior_space, cells)
    fitness[tuple(at.T)] = best["fitness"]
    world = scene_of(record)
    return Elites(world, over_box(world, record.behavior_space), fitness.T)


def check_planar(record: Record, what: str) -> None:
    """A `ValueError` where a run's behavior space is no plane."""
    dimension = record.behavior_space.dimension
    if dimension != 2:
        raise ValueError(
            f"{what} needs a behavior space of 2 dimensions; {record.path} has {dimension}"
        )
