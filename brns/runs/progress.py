"""How a run goes: `progress.csv` beside its record, one row a generation, for spreadsheets, `tail -f` and plots.

The file is for watching. All that it says comes from the record, which does not depend on it: it is written again when
the run is resumed.
"""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brns.core import Box, Generation
from brns.metrics.coverage import cells, grid
from brns.metrics.saturation import Seen
from brns.runs.storage import saving


class Row(NamedTuple):
    """One generation of a run in numbers."""

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
    coverage: float | None
    """share of the behavior space's cells, 6 x 6 of a plane, that anything evaluated so far lies in"""


class Rows:
    """The rows of a run, worked out one generation after another."""

    def __init__(self, space: Box):
        self.space, self.grid = space, grid(space)
        self.visited = np.zeros(self.grid or 1, bool)
        self.evaluations = self.solutions = 0
        self.seen = Seen(space)

    def row(self, number: int, tables: Mapping[str, Any]) -> Row:
        """The row of the generation with these tables of offspring and survivors, each with columns by name."""
        offspring, survivors = tables["offspring"], tables["survivors"]
        novelty, fitness, born = (survivors[name] for name in ("novelty", "fitness", "born"))
        self.evaluations += len(offspring["id"])
        self.solutions += int(offspring["solved"].sum())
        if self.grid:
            self.visited[tuple(cells(offspring["descriptor"], self.space, self.grid).T)] = True
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
            new=self.seen.new(offspring["descriptor"]),
            coverage=float(self.visited.mean()) if self.grid else None,
        )


class Progress:
    """The file of a run that goes on: at first the rows of these generations, from 0 on."""

    def __init__(self, folder: Path, space: Box, generations: Iterable[Mapping[str, Any]]):
        self.file, self.rows = folder / "progress.csv", Rows(space)
        done = [self.rows.row(g, tables) for g, tables in enumerate(generations)]
        self.row = done[-1]
        self._write("w", [Row._fields, *done])

    def add(self, number: int, generation: Generation) -> Row:
        """Append the row of a generation that was saved."""
        tables = {"offspring": generation.offspring._asdict(), "survivors": generation.survivors._asdict()}
        self.row = self.rows.row(number, tables)
        self._write("a", [self.row])
        return self.row

    def _write(self, mode: str, lines: Iterable[Iterable[Any]]) -> None:
        with saving(self.file), open(self.file, mode, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
