"""A run in numbers, a row for each generation: the lines of `progress.csv`, which is for
spreadsheets, `tail -f` and plots. All that it says comes from the record.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from brns.core import Box
from brns.metrics.coverage import choose_grid_shape_or_none, find_cell_coordinates
from brns.metrics.saturation import VisitedCells


class Row(NamedTuple):
    """One line of `progress.csv`: a generation in numbers."""

    generation: int
    evaluations: int
    """so far, the founders included"""
    solutions: int
    """so far"""
    novelty_mean: float
    """of the survivors, as this and the next four"""
    novelty_max: float
    fitness_mean: float
    fitness_max: float
    age_mean: float
    """generations since birth"""
    survivors_new: int
    """survivors that were born in this generation"""
    new: float
    """of the places visited so far, the share that was first visited in the last half of the run"""
    coverage_evaluated: float | None
    """share of the cells, 6 x 6 in a plane, that all individuals evaluated so far visited"""
    coverage_survivors: float | None
    """share of the same cells that the survivors of any generation so far lie in"""
    failed: int
    """individuals so far that the task could not evaluate"""


class Rows:
    """The rows of a run, worked out one generation after another."""

    def __init__(self, space: Box):
        self.space, self.grid = space, choose_grid_shape_or_none(space)
        self.visited = {who: np.zeros(self.grid or 1, bool) for who in ("offspring", "survivors")}
        self.evaluations = self.solutions = self.failed = 0
        self.seen = VisitedCells(space)

    def summarize_generation(self, number: int, tables: Mapping[str, Any]) -> Row:
        """The row of the next generation, of which `tables` are those of its file."""
        offspring, survivors = tables["offspring"], tables["survivors"]
        novelty, fitness, born = (survivors[name] for name in ("novelty", "fitness", "born"))
        replaced = int(tables["failed"]) if number == 0 else 0  # founders that are in no table
        self.evaluations += len(offspring["id"]) + replaced
        self.solutions += int(offspring["solved"].sum())
        self.failed += int(tables["failed"])
        living = offspring["descriptor"][~offspring["failed"]]
        reached = {"offspring": living, "survivors": survivors["descriptor"]}
        coverage = dict.fromkeys(reached)
        if self.grid:
            for who, visited in self.visited.items():
                visited[tuple(find_cell_coordinates(reached[who], self.space, self.grid).T)] = True
                coverage[who] = float(visited.mean())
        return Row(
            generation=number,
            evaluations=self.evaluations,
            solutions=self.solutions,
            novelty_mean=float(novelty.mean(dtype=np.float64)),
            novelty_max=float(novelty.max()),
            fitness_mean=float(fitness.mean(dtype=np.float64)),
            fitness_max=float(fitness.max()),
            age_mean=float((number - born).mean()),
            survivors_new=int((born == number).sum()),
            new=self.seen.update_new_cell_fraction(living),
            coverage_evaluated=coverage["offspring"],
            coverage_survivors=coverage["survivors"],
            failed=self.failed,
        )
