"""The table of measures: all numbers that are shown of a run, and their summaries over seeds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from brns.metrics import coverage, cycling, dynamics, paths, saturation
from brns.metrics.recorded import Record, count_evaluations, read_valid_rows_by_generation


class Measure(NamedTuple):
    """One number of a run."""

    title: str
    meaning: str
    function: Callable[[Record], float | None]
    """None where the run has no such number, such as a first solution"""
    needs: Literal["nothing", "grid", "paths", "generations", "states"] = "nothing"
    """what a run must have: cells over its behaviors, paths, 2 generations or 2 states"""


def _find_first_solved(record: Record) -> int | None:
    solved = [bool(rows.any()) for rows in read_valid_rows_by_generation(record, "solved")]
    return solved.index(True) if any(solved) else None


def _average_where_known(curve: np.ndarray) -> float | None:
    """The mean over generations that have a value."""
    return np.nanmean(curve) if np.isfinite(curve).any() else None


def _is_below_one(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """1 or 0 of each; NaN of NaN."""
    return np.where(np.isnan(values), np.nan, values < 1)


def _regained(record: Record) -> float | None:
    """None where no population was more novel than a tenth of the space: ranks say nothing then."""
    cycles = cycling.cycling_of_record(record)
    return cycles.regained.mean() if np.nanmax(cycles.r) > cycling.MARGIN else None


MEASURES = {
    "generations": Measure(
        "Generations", "finished after the founders", lambda record: record.generations[-1]
    ),
    "evaluations": Measure(
        "Evaluations",
        "evaluated individuals, founders included",
        lambda record: count_evaluations(record)[-1],
    ),
    "failed": Measure(
        "Failed",
        "individuals that the task could not evaluate: neither learned nor selected",
        lambda record: len(record.failures) or None,
    ),
    "solutions": Measure(
        "Solutions",
        "evaluated individuals that met the task's criterion",
        lambda record: np.concatenate(read_valid_rows_by_generation(record, "solved")).sum(),
    ),
    "first_solved": Measure(
        "First solution",
        "generation of the first solution, over the seeds that had one",
        _find_first_solved,
    ),
    "coverage_survivors": Measure(
        "Coverage, survivors",
        "share of the grid's cells that survivors visited; 6 × 6 in a plane",
        lambda record: coverage.coverage_of_record(record)[-1],
        "grid",
    ),
    "coverage_evaluated": Measure(
        "Coverage, evaluated",
        "share of the same cells that all evaluated individuals visited",
        lambda record: coverage.coverage_of_record(record, individuals="evaluated")[-1],
        "grid",
    ),
    "new": Measure(
        "New",
        "of the places visited, at every scale, the share first visited in the last half of the "
        "run",
        lambda record: saturation.fraction_new_in_last_half_of_record(record)[-1],
        "generations",
    ),
    "coverage_signatures": Measure(
        "Coverage, signatures",
        "share of the cells of signature space that all evaluated individuals visited",
        lambda record: paths.signature_coverage_of_record(record)[-1],
        "paths",
    ),
    "uniformity_signatures": Measure(
        "Uniformity, signatures",
        "Jensen–Shannon distance of the survivors' novelty from uniform over occupied cells, mean "
        "over generations",
        lambda record: _average_where_known(
            paths.signature_novelty_distance_to_uniform_of_record(record)
        ),
        "paths",
    ),
    "age": Measure(
        "Age",
        "generations since birth, mean over the population and over generations 1 on",
        lambda record: dynamics.survivors_age_of_record(record)[1:].mean(),
        "generations",
    ),
    "parent_distance": Measure(
        "Distance to parent",
        "in behavior space, mean over the population and over generations 1 on",
        lambda record: _average_where_known(dynamics.survivors_parent_distance_of_record(record)),
        "generations",
    ),
    "eta": Measure(
        "η",
        "mean over j > i of Q(i, j) / Q(i, i), and over the kept generations i; below 1 novelty "
        "fades",
        lambda record: _average_where_known(cycling.cycling_of_record(record).eta),
        "states",
    ),
    "eta_below_one": Measure(
        "Share with η < 1",
        "share of the kept generations i",
        lambda record: _average_where_known(_is_below_one(cycling.cycling_of_record(record).eta)),
        "states",
    ),
    "kappa": Measure(
        "κ",
        "kept generations after the minimum of Q(i, ·) that exceed it by more than ε, mean over i",
        lambda record: cycling.cycling_of_record(record).kappa.mean(),
        "states",
    ),
    "kappa_share": Measure(
        "κ per later generation",
        "the same, divided by the kept generations after i; in [0, 1]",
        lambda record: cycling.cycling_of_record(record).kappa_share.mean(),
        "states",
    ),
    "epsilon": Measure(
        "ε",
        "κ's margin: 0.1 × the median distance between the behaviors, or their embeddings; of "
        "novelty that is no distance 0.1 × the median Q(i, i)",
        lambda record: cycling.cycling_of_record(record).epsilon,
        "states",
    ),
    "regained": Measure(
        "Novelty regained",
        "share of the later kept generations in which a population is as novel again as in its own "
        "generation, after it was not, by its rank among uniform points; mean over i",
        _regained,
        "states",
    ),
}
"""by name, in the order in which they are shown"""


class Estimate(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    deviation: float
    """standard deviation over seeds (over n - 1); NaN for one seed"""
    seeds: int
    """how many runs have this number"""


def summarize_run(
    record: Record, *, of_paths: bool = False, without: Collection[str] = ()
) -> dict[str, float]:
    """The numbers of one run, without those that it does not have.

    Args:
        record: the run. Cycling needs two of its states or more, and `record.search`.
        of_paths: whether behaviors are planar paths.
        without: names of measures that are not computed.

    Returns:
        By name; `MEASURES` says what they mean.
    """
    there = {
        "nothing": True,
        "grid": coverage.choose_grid_shape_or_none(record.behavior_space) is not None,
        "paths": of_paths,
        "generations": len(record.generations) > 1,
        "states": record.search_or_none is not None and len(record.generations_with_states) > 1,
    }
    values = {
        name: row.function(record)
        for name, row in MEASURES.items()
        if there[row.needs] and name not in without
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def summarize_seeds(records: Sequence[Record], *, of_paths: bool = False) -> dict[str, Estimate]:
    """The numbers of `summarize_run` over the runs of one experiment.

    Args:
        records: the runs, one a seed.
        of_paths: whether behaviors are planar paths.

    Returns:
        Mean, standard deviation and number of seeds of each.

    Raises:
        ValueError: for runs of different experiments, and for two of one seed.
    """
    seeds = [record.seed for record in records]
    if len({*seeds}) < len(seeds):
        raise ValueError(f"each seed counts once; got runs of the seeds {sorted(seeds)}")
    if any(record.experiment != records[0].experiment for record in records):
        raise ValueError("these are runs of different experiments: summarize each experiment apart")
    rows = [summarize_run(record, of_paths=of_paths) for record in records]
    values = {name: list_seed_values(name, rows) for name in MEASURES}
    return {name: compute_mean_and_deviation(each) for name, each in values.items() if each}


def list_seed_values(name: str, rows: Sequence[Mapping[str, float]]) -> list[float]:
    """A measure of the runs that have it; 0 for a run without failures, which says nothing."""
    values = [row[name] for row in rows if name in row]
    zeros = len(rows) - len(values) if values and name == "failed" else 0
    return values + [0.0] * zeros


def compute_mean_and_deviation(values: Sequence[float]) -> Estimate:
    """Mean, standard deviation and number of some seeds' values.

    Args:
        values: one a seed.

    Returns:
        NaN as deviation of one seed, or of infinite values.
    """
    with np.errstate(invalid="ignore"):
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Estimate(float(np.mean(values)), deviation, len(values))
