"""A run, or the seeds of an experiment, in a few numbers: the rows of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brns.metrics import coverage, cycling, dynamics, paths
from brns.metrics.recorded import NoveltySearch, Record, evaluated


class Estimate(NamedTuple):
    """A number over seeds."""

    mean: float
    deviation: float
    """standard deviation over seeds (over n - 1); NaN for one seed"""
    seeds: int
    """how many runs have this number"""


def summary(
    record: Record, grid: Sequence[int] | None = None, search: NoveltySearch | None = None, of_paths: bool = False
) -> dict[str, float]:
    """The numbers of one run.

    `generations`, `evaluations` and `solutions` are counts; `first_solved` is the generation of the first success,
    absent where there is none. `age` and `parent_distance` are means over generations 1 on, absent before there is
    one. `coverage_survivors` and `coverage_evaluated` are final shares of `grid`, by default 6 x 6 (paper, section
    5.1) over a planar behavior space and else absent. Where behaviors are planar paths (`of_paths`),
    `coverage_signatures` is the final share of signature space that was evaluated, and `uniformity_signatures` the
    mean over generations of how far the survivors' novelty is from uniform there (table I). `eta`, `kappa` and
    `kappa_share` are means over generations, `eta_below_one` the share of generations with eta < 1, `epsilon` kappa's
    margin: over the states kept, absent where fewer than 2 are, or where a part of the search is a user's own and
    `search` is not given.
    """
    search = search or _known(record)
    space = search.task.behavior_space if search else record.behavior_space
    solved = evaluated(record, "solved")
    row: dict[str, float] = {
        "generations": float(record.generations[-1]),
        "evaluations": float(sum(map(len, solved))),
        "solutions": float(sum(rows.sum() for rows in solved)),
    }
    when = [g for g, rows in zip(record.generations, solved, strict=True) if rows.any()]
    if when:
        row["first_solved"] = float(when[0])
    if grid is None and space.dimension == 2:
        grid = (6, 6)
    if grid is not None:
        row["coverage_survivors"] = float(coverage.of_record(record, grid, "survivors", search)[-1])
        row["coverage_evaluated"] = float(coverage.of_record(record, grid, "evaluated", search)[-1])
    if of_paths:
        row["coverage_signatures"] = float(paths.coverage_of_record(record, search)[-1])
        row["uniformity_signatures"] = float(paths.uniformity_of_record(record, search).mean())
    if len(record.generations) > 1:
        row["age"] = float(dynamics.age_of_record(record)[1:].mean())
        distance = dynamics.parent_distance_of_record(record)
        if np.isfinite(distance).any():
            row["parent_distance"] = float(np.nanmean(distance))
    if search and len(record.snapshots) > 1:
        found = cycling.of_record(record, search=search)
        row["eta"] = float(found.eta.mean())
        row["eta_below_one"] = cycling.share_below_one(found.eta)
        row["kappa"] = float(found.kappa.mean())
        row["kappa_share"] = float(found.kappa_share.mean())
        row["epsilon"] = found.epsilon
    return row


def _known(record: Record) -> NoveltySearch | None:
    """The search that made a run; None where a part of it is a user's own, which a record cannot rebuild."""
    try:
        return record.search
    except ValueError:
        return None


def over_seeds(
    records: Sequence[Record],
    grid: Sequence[int] | None = None,
    search: NoveltySearch | None = None,
    of_paths: bool = False,
) -> dict[str, Estimate]:
    """The same numbers over the runs of one experiment: mean, standard deviation and number of seeds of each."""
    if not records:
        raise ValueError("a summary over seeds needs at least one record; got none")
    for record in records[1:]:
        if record.experiment != records[0].experiment:
            raise ValueError(
                f"{records[0].path} and {record.path} are runs of different experiments (their run.json differ), which "
                "no mean should mix; summarise each experiment's seeds apart"
            )
    rows = [summary(record, grid, search, of_paths) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: estimate([row[name] for row in rows if name in row]) for name in names}


def estimate(values: Sequence[float]) -> Estimate:
    """Mean, standard deviation and number of some seeds' values."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Estimate(float(np.mean(values)), deviation, len(values))
