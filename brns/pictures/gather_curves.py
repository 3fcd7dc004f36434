"""The data of curves over generations, for each method, as arrays; nothing is drawn here.

`paint_curves` draws it. The `rows` of each, one a value, are those of `brns figure --data`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from brns.metrics import coverage as coverages
from brns.metrics import cycling, dynamics, paths
from brns.metrics.coverage import Cells, Individuals
from brns.metrics.elites import qd_score as score_elites
from brns.metrics.recorded import (
    count_evaluations,
    read_valid_rows_by_generation,
    require_states,
)
from brns.metrics.tessellation import make_tessellation
from brns.pictures.cost import NoveltyStep, measure_cpu_and_wall_milliseconds
from brns.pictures.records import (
    Runs,
    distance_to_uniform_of_archive_or_novelty,
    find_least_fitness,
    group_by_method,
    has_paths,
    list_runs,
    pick_evenly,
)
from brns.progress import show_progress_of
from brns.runs.record import Record
from brns.tasks.chunked import unwrap_task

Row = dict[str, Any]
ELITES = (20, 20)
"""cells of elites"""
SATURATED = 0.95
"""a coverage above which cells are halved, so that methods still differ"""
FINEST = 48
"""cells along each side of the finest grid of coverage"""
TESSELLATION = 1000
"""cells of coverage in many dimensions"""
PLACING = 70_000
"""behaviors at most among which they are placed"""
DIMENSIONS = (2, 4, 8, 16, 32, 64, 128, 256)
"""of behaviors, in which novelty is timed"""
INDIVIDUALS = 200
"""parents and offspring that are timed; figure 6"""
REPEATS = 5
"""of a timing, whose median counts"""


def to_rows(columns: dict[str, Any]) -> list[Row]:
    """A row for each element of the columns, which are broadcast together."""
    arrays = np.broadcast_arrays(*columns.values())
    values = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


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

    def to_rows(self) -> list[Row]:
        rows = []
        for line in self.series:
            columns = {self.column: line.label, "seed": np.array(line.seeds)[:, None]}
            at = {"generation": line.generations, "evaluations": line.evaluations}
            rows += to_rows({**columns, **at, "quantity": self.quantity, "value": line.values})
        return rows


class Curve(NamedTuple):
    """A statistic of a run over generations, and what its axes say."""

    statistic: Callable[[Record], np.ndarray]
    quantity: str
    at: Callable[[Record], Sequence[int]] = lambda record: record.generations
    """the generations of its values"""
    generation: str = "generation"
    """as of `Curves`, like the next two"""
    most: float | None = None
    reference: float | None = None
    slow: bool = False
    """whether to show how many runs are done"""

    def gather(self, records: Runs) -> Curves:
        """A series for each method, at the generations that all of its runs have."""
        series = []
        for label, runs in group_by_method(records).items():
            generations = _find_common_generations(map(self.at, runs))
            rows = []
            for each in show_progress_of(runs, "measuring", len(runs), visible=self.slow):
                rows.append(self.statistic(each)[np.isin(self.at(each), generations)])
            values = np.array(rows, np.float64)
            if len(generations) < 2 or not np.isfinite(values).any():
                none = "has none" if len(generations) > 1 else "has too few"
                raise ValueError(
                    f"a curve needs values of 2 generations or more; {runs[0].path} {none}"
                )
            series.append(_make_series(label, runs, generations, values))
        return Curves(self.quantity, tuple(series), self.generation, self.most, self.reference)


def _find_common_generations(lists: Iterable[Sequence[int]]) -> list[int]:
    return sorted(set.intersection(*map(set, lists)))


def _make_series(
    label: str, runs: Sequence[Record], generations: Sequence[int], values: np.ndarray
) -> Series:
    at = np.array(generations, int)
    spent = np.mean([count_evaluations(record)[at] for record in runs], axis=0)
    seeds = tuple(record.seed for record in runs)
    return Series(label, seeds, at, spent.round().astype(int), values)


def _make_cycling_curve(name: str, quantity: str, **bounds: Any) -> Curve:
    """η or κ of the generations kept, but for the last."""
    return Curve(
        lambda record: getattr(cycling.cycling_of_record(record), name),
        quantity,
        lambda record: record.generations_with_states[:-1],
        "generation i",
        **bounds,
    )


CURVES = {
    "uniformity": Curve(
        distance_to_uniform_of_archive_or_novelty,
        "Jensen–Shannon distance to uniform",
        lambda record: record.generations_with_states,
        most=1.0,
    ),
    "parent-distance": Curve(
        dynamics.survivors_parent_distance_of_record, "distance to the parent in behavior space"
    ),
    "age": Curve(dynamics.survivors_age_of_record, "age (generations)"),
    "eta": _make_cycling_curve("eta", "η(i)", reference=1.0),
    "kappa": _make_cycling_curve("kappa", "κ(i) (generations)"),
    "kappa-share": _make_cycling_curve("kappa_share", "κ(i) per later generation", most=1.0),
}
"""by the names of their figures"""


class Bars(NamedTuple):
    """A quantity of each method and term; row s is the s-th seed."""

    quantity: str
    terms: tuple[str, ...]
    labels: tuple[str, ...]
    seeds: tuple[tuple[int, ...], ...]
    values: tuple[Float[np.ndarray, "s t"], ...]

    def to_rows(self) -> list[Row]:
        rows = []
        for label, seeds, values in zip(self.labels, self.seeds, self.values, strict=True):
            seed = np.array(seeds)[:, None]
            columns = {"method": label, "seed": seed, "term": self.terms}
            rows += to_rows({**columns, "quantity": self.quantity, "value": values})
        return rows


class Costs(NamedTuple):
    """Time of one generation of each method's novelty, by the dimension of behaviors."""

    dimensions: tuple[int, ...]
    labels: tuple[str, ...]
    ms: Float[np.ndarray, "methods dimensions"]
    """of CPU, the median of some repeats"""

    def to_rows(self) -> list[Row]:
        method = np.array(self.labels)[:, None]
        return to_rows({"method": method, "d": self.dimensions, "ms": self.ms})


def gather_coverage(
    records: Runs, cells: Cells | None = None, individuals: Individuals = "survivors"
) -> Curves:
    """Cumulative coverage; a grid's cells are by default halved as long as a method covers most of
    them.
    """
    who = "survivors" if individuals == "survivors" else "all evaluated"
    finer = cells is None
    cells = choose_cells(records) if cells is None else cells
    while True:
        statistic = partial(coverages.coverage_of_record, cells=cells, individuals=individuals)
        quantity = f"share of {_format_cells(cells)}, {who}"
        slow = coverages.is_tessellation(cells)
        shares = Curve(statistic, quantity, most=1.0, slow=slow).gather(records)
        finer = finer and not slow and 2 * min(cells) <= FINEST
        if not finer or all(line.values[:, -1].mean() <= SATURATED for line in shares.series):
            return shares
        cells = tuple(2 * side for side in cells)


def gather_qd_score(records: Runs, cells: Cells | None = None) -> Curves:
    """The QD score above the least fitness that any of the runs met."""
    least = find_least_fitness(list_runs(records), "a QD score")
    if cells is None:
        planar = list_runs(records)[0].behavior_space.dimension == 2
        cells = ELITES if planar else choose_cells(records)
    statistic = partial(score_elites, cells=cells, offset=least)
    quantity = f"QD score of {_format_cells(cells)}, above {least:.3g}"
    return Curve(statistic, quantity, slow=coverages.is_tessellation(cells)).gather(records)


def choose_cells(records: Runs) -> Cells:
    """The paper's grid; in more than 3 dimensions the centres of a tessellation of what these runs
    evaluated, to which each method adds as many behaviors.
    """
    groups, space = group_by_method(records), list_runs(records)[0].behavior_space
    if grid := coverages.choose_grid_shape_or_none(space):
        return grid
    width, points = np.asarray(space.high - space.low), []
    for runs in groups.values():
        for record in runs:
            everyone = np.concatenate(read_valid_rows_by_generation(record, "descriptor"))
            rows = pick_evenly(0, len(everyone) - 1, PLACING // len(groups) // len(runs))
            points.append(everyone[rows] / width)
    return make_tessellation(np.concatenate(points), TESSELLATION) * width


def _format_cells(cells: Cells) -> str:
    if coverages.is_tessellation(cells):
        return f"{len(cells)} cells among these runs' behaviors"
    return f"{' × '.join(map(str, cells))} cells"


def gather_three_rows_of_q_matrix(records: Runs) -> Curves:
    """An early, a middle and a later row of Q(i, j), of runs of one method, as Q has a unit."""
    (runs,) = group_by_method(records).values()
    generations = _find_common_generations(require_states(record, "Q(i, j)") for record in runs)
    matrices = np.stack([cycling.cycling_of_record(record, generations).q for record in runs])
    series = []
    for row in dict.fromkeys(int(len(generations) * part) for part in (0.1, 0.4, 0.7)):
        label = f"i = {generations[row]}"
        series.append(_make_series(label, runs, generations[row:], matrices[:, row, row:]))
    return Curves("Q(i, j), novelty", tuple(series), "generation j", column="row")


def gather_signature_spread_by_term(records: Runs) -> Bars:
    """The standard deviation of paths along the terms of their signature."""
    groups = group_by_method(records)
    first = next(iter(groups.values()))[0]
    task_name = type(unwrap_task(first.search.task)).__name__
    if not has_paths(first):
        raise ValueError(
            f"a signature needs descriptors that are paths; those of {task_name} are not"
        )
    seeds, spreads = [], []
    for runs in groups.values():
        seeds.append(tuple(record.seed for record in runs))
        spreads.append(np.stack([*map(paths.signature_spread_by_term_of_record, runs)]))
    quantity = "standard deviation of all paths"
    return Bars(quantity, paths.TERMS, tuple(groups), tuple(seeds), tuple(spreads))


def measure_estimator_time_by_dimension(records: Runs) -> Costs:
    """What novelty costs on this machine, by the estimators of runs, whose archives are full."""
    groups = group_by_method(records)
    ms = []
    for runs in groups.values():
        estimator = runs[0].search.estimator
        for d in show_progress_of(DIMENSIONS, "Timing", len(DIMENSIONS)):
            step = NoveltyStep(estimator, d, INDIVIDUALS)
            times = [measure_cpu_and_wall_milliseconds(step).cpu for _ in range(REPEATS)]
            ms.append(np.median(times))
    return Costs(DIMENSIONS, tuple(groups), np.reshape(ms, (len(groups), -1)))
