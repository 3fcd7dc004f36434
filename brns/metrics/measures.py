"""The table of measures: every number of a run that summaries, reports and reproductions show."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from brns.metrics import coverage, cycling, dynamics, paths
from brns.metrics.recorded import NoveltySearch, Record, evaluated


class Measured:
    """A run, with what several measures share computed once."""

    def __init__(self, record: Record, search: NoveltySearch | None, grid: Sequence[int] | None):
        self.record, self.search, self.grid = record, search, grid

    @cached_property
    def solved(self) -> list[np.ndarray]:
        """Whether each individual evaluated solved the task, by generation."""
        return evaluated(self.record, "solved")

    @cached_property
    def cycling(self) -> cycling.Cycling:
        return cycling.of_record(self.record, search=self.search)


class Measure(NamedTuple):
    """One number of a run."""

    title: str
    meaning: str
    function: Callable[[Measured], float | None]
    """None where the run has no such number, such as a first solution"""
    needs: Literal["nothing", "grid", "paths", "generations", "states"] = "nothing"
    """what a run must have: cells over its behavior space, behaviors that are paths, 2 generations, 2 states"""


def _first_solved(run: Measured) -> float | None:
    return next((float(g) for g, rows in enumerate(run.solved) if rows.any()), None)


def _covered(run: Measured, individuals: Literal["survivors", "evaluated"]) -> float:
    return float(coverage.of_record(run.record, run.grid, individuals, run.search)[-1])


def _mean(curve: np.ndarray) -> float | None:
    """The mean over generations that have a value."""
    return float(np.nanmean(curve)) if np.isfinite(curve).any() else None


def _regained(run: Measured) -> float | None:
    """None where no population was more novel than a tenth of the space: ranks say nothing then."""
    return float(run.cycling.regained.mean()) if np.nanmax(run.cycling.r) > cycling.MARGIN else None


MEASURES = {
    "generations": Measure(
        "Generations",
        "finished after the founders",
        lambda run: float(len(run.solved) - 1),
    ),
    "evaluations": Measure(
        "Evaluations",
        "individuals that the task was asked about, the founders included",
        lambda run: float(sum(map(len, run.solved))),
    ),
    "solutions": Measure(
        "Solutions",
        "evaluated individuals that met the task's success criterion",
        lambda run: float(sum(rows.sum() for rows in run.solved)),
    ),
    "first_solved": Measure(
        "First solution",
        "generation of the first success, over the seeds that had one",
        _first_solved,
    ),
    "coverage_survivors": Measure(
        "Coverage, survivors",
        "share of the grid's cells that the populations visited; 6 × 6 of a plane",
        lambda run: _covered(run, "survivors"),
        "grid",
    ),
    "coverage_evaluated": Measure(
        "Coverage, evaluated",
        "share of the same cells that anything evaluated visited",
        lambda run: _covered(run, "evaluated"),
        "grid",
    ),
    "coverage_signatures": Measure(
        "Coverage, signatures",
        "share of the cells of signature space that was evaluated",
        lambda run: float(paths.coverage_of_record(run.record, run.search)[-1]),
        "paths",
    ),
    "uniformity_signatures": Measure(
        "Uniformity, signatures",
        "Jensen–Shannon distance of the survivors' novelty from uniform over occupied cells, mean over generations",
        lambda run: _mean(paths.uniformity_of_record(run.record, run.search)),
        "paths",
    ),
    "age": Measure(
        "Age",
        "generations since birth, mean over the population and over generations 1 on",
        lambda run: float(dynamics.age_of_record(run.record)[1:].mean()),
        "generations",
    ),
    "parent_distance": Measure(
        "Distance to parent",
        "in behavior space, mean over the population and over generations 1 on",
        lambda run: _mean(dynamics.parent_distance_of_record(run.record)),
        "generations",
    ),
    "eta": Measure(
        "η",
        "mean over j > i of Q(i, j) / Q(i, i), and over the kept generations i; below 1 novelty fades",
        lambda run: float(run.cycling.eta.mean()),
        "states",
    ),
    "eta_below_one": Measure(
        "Share with η < 1",
        "of the kept generations i",
        lambda run: float(np.mean(run.cycling.eta < 1)),
        "states",
    ),
    "kappa": Measure(
        "κ",
        "kept generations after the minimum of Q(i, ·) that exceed it by more than ε, mean over i",
        lambda run: float(run.cycling.kappa.mean()),
        "states",
    ),
    "kappa_share": Measure(
        "κ per later generation",
        "the same, divided by the kept generations after i; in [0, 1]",
        lambda run: float(run.cycling.kappa_share.mean()),
        "states",
    ),
    "epsilon": Measure(
        "ε",
        "κ's margin: 0.1 × the median distance between the behaviors, or their embeddings; of novelty that is no "
        "distance 0.1 × the median Q(i, i)",
        lambda run: run.cycling.epsilon,
        "states",
    ),
    "regained": Measure(
        "Novelty regained",
        "share of the later kept generations in which a population ranks as novel again among uniform points as when "
        "it lived, after it had not; without unit, mean over i",
        _regained,
        "states",
    ),
}
"""by name, in the order in which they are shown"""
