"""How a run goes: `progress.csv` beside its record, one row a generation, for spreadsheets, `tail -f` and plots.

It is made for watching. All that a row says but its seconds is worked out from the record, which does not depend on
this file: it is made again when the run is resumed, and a disk that refuses it costs a warning.
"""

import csv
import io
import logging
import operator
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brns.core import Box, Generation
from brns.metrics.coverage import cells, grid
from brns.runs.storage import RecordError, write_bytes

NAME = "progress.csv"
NEEDED = (
    "offspring.id",
    "offspring.descriptor",
    "offspring.solved",
    "survivors.novelty",
    "survivors.fitness",
    "survivors.born",
)
"""the columns of a generation of which its row is made"""
logger = logging.getLogger(__name__)


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
    coverage: float | None
    """share of the behavior space's cells, 6 x 6 of a plane, that anything evaluated so far lies in"""
    seconds: float | None
    """since the run was started or resumed; the one number that is not the same when a run is repeated"""


class Rows:
    """The rows of a run, worked out one generation after another."""

    def __init__(self, space: Box):
        self.space, self.grid = space, grid(space)
        self.visited = np.zeros(self.grid or 1, bool)
        self.evaluations = self.solutions = 0

    def row(self, number: int, columns: Mapping[str, np.ndarray]) -> Row:
        """The row of the generation with these columns."""
        novelty, fitness, born = (columns[f"survivors.{name}"] for name in ("novelty", "fitness", "born"))
        self.evaluations += len(columns["offspring.id"])
        self.solutions += int(columns["offspring.solved"].sum())
        if self.grid:
            self.visited[tuple(cells(columns["offspring.descriptor"], self.space, self.grid).T)] = True
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
            coverage=float(self.visited.mean()) if self.grid else None,
            seconds=None,
        )


class Progress:
    """The file of a run that goes on, and its rows."""

    def __init__(self, folder: Path, space: Box):
        self.file, self.rows, self.began = folder / NAME, Rows(space), time.monotonic()
        self.refused = False

    def add(self, number: int, generation: Generation) -> Row:
        """The row of a generation that was saved, appended to the file."""
        row = self.rows.row(number, {name: np.asarray(operator.attrgetter(name)(generation)) for name in NEEDED})
        row = row._replace(seconds=round(time.monotonic() - self.began, 3))
        if number == 0:
            self._write([row])
        elif not self.refused:
            try:
                with open(self.file, "a", encoding="utf-8", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(_text(row))
            except OSError as error:
                self._warn(error)
        return row

    def restore(self, generations: list[Mapping[str, np.ndarray]]) -> None:
        """Make the file hold the rows of these generations, from 0 on, and no others, with the seconds that it has."""
        known = {row.generation: row.seconds for row in read(self.file.parent)}
        rows = [self.rows.row(number, columns) for number, columns in enumerate(generations)]
        self._write([row._replace(seconds=known.get(row.generation)) for row in rows])

    def _write(self, rows: list[Row]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([Row._fields, *map(_text, rows)])
        try:
            write_bytes(self.file, text.getvalue().encode())
        except RecordError as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        self.refused = True
        logger.warning("%s is not written on (%s); the run is safe, and resuming it mends the file", self.file, error)


def _text(row: Row) -> list[str]:
    return ["" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value) for value in row]


WHOLE = ("generation", "evaluations", "solutions", "survivors_new")


def read(folder: Path) -> list[Row]:
    """The rows of a run's file; none where it is missing or spoiled."""
    try:
        head, *lines = csv.reader((folder / NAME).read_text(encoding="utf-8").splitlines())
        if tuple(head) != Row._fields:
            return []
        return [
            Row._make(
                int(text) if name in WHOLE else float(text) if text else None
                for name, text in zip(Row._fields, line, strict=True)
            )
            for line in lines
        ]
    except (OSError, ValueError):
        return []
