"""A run, or the seeds of an experiment, in a few numbers: the rows of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brns.metrics.coverage import grid
from brns.metrics.measures import MEASURES
from brns.metrics.recorded import Record


class Estimate(NamedTuple):
    """A number over seeds."""

    mean: float
    deviation: float
    """standard deviation over seeds (over n - 1); NaN for one seed"""
    seeds: int
    """how many runs have this number"""


def summary(record: Record, *, of_paths: bool = False) -> dict[str, float]:
    """The numbers of one run by name; the table of `measures` says what they mean.

    `of_paths` says that behaviors are planar paths. Cycling needs 2 states or more and `record.search`. Numbers that a
    run does not have are left out.
    """
    there = {
        "nothing": True,
        "grid": grid(record.behavior_space) is not None,
        "paths": of_paths,
        "generations": len(record.generations) > 1,
        "states": record.known_search is not None and len(record.snapshots) > 1,
    }
    found = {name: row.function(record) for name, row in MEASURES.items() if there[row.needs]}
    return {name: value for name, value in found.items() if value is not None}


def over_seeds(records: Sequence[Record], *, of_paths: bool = False) -> dict[str, Estimate]:
    """The same numbers over the runs of one experiment: mean, standard deviation and number of seeds of each."""
    if any(record.experiment != records[0].experiment for record in records):
        raise ValueError("these are runs of different experiments: summarize each experiment apart")
    rows = [summary(record, of_paths=of_paths) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: estimate([row[name] for row in rows if name in row]) for name in names}


def estimate(values: Sequence[float]) -> Estimate:
    """Mean, standard deviation and number of some seeds' values."""
    with np.errstate(invalid="ignore"):  # of an infinite value there is no deviation: NaN
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Estimate(float(np.mean(values)), deviation, len(values))
