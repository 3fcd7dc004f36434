"""How a run goes: `progress.csv` beside its record, one row a generation, for spreadsheets, `tail -f` and plots.

It is made for watching. All that a row says but its seconds can be worked out from the record, which does not depend on
this file: one that is missing, cut short or spoiled is made again when the run is resumed, and a disk that refuses it
costs a warning. Each line ends with a check of itself and of the run's identifier, so that no number that was changed,
or is another run's, is believed.
"""

import logging
import operator
import time
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from brns.core import Box, Generation
from brns.metrics.coverage import cells, grid
from brns.runs.columns import TURNOVER, turnover
from brns.runs.record import Record
from brns.runs.storage import RecordError, replacing

NAME = "progress.csv"
NEEDED = ("offspring.id", "offspring.descriptor", *TURNOVER)
logger = logging.getLogger(__name__)


class Row(NamedTuple):
    """One generation of a run in numbers."""

    generation: int
    evaluations: int
    """so far, the founders included"""
    solutions: int
    """so far"""
    novelty_mean: float
    """of the survivors, as this and the next three"""
    novelty_max: float
    fitness_max: float
    age_mean: float
    """generations since birth"""
    survivors_new: int
    """survivors that were born in this generation"""
    coverage: float | None
    """share of the behavior space's cells, 6 x 6 of a plane, that anything evaluated so far lies in"""
    seconds: float | None
    """since the run was started or resumed; the one number that is not the same when a run is repeated"""


class Progress:
    """The rows of a run that goes on."""

    def __init__(self, record: Record, space: Box):
        self.record, self.space, self.file, self.began = record, space, record.path / NAME, time.monotonic()
        self.grid = grid(space)
        self.visited = np.zeros(self.grid or 1, bool)
        self.evaluations = self.solutions = 0
        self.refused = False

    def add(self, number: int, generation: Generation) -> Row:
        """The row of a generation that was saved, appended to the file."""
        row = self._row(number, {name: np.asarray(operator.attrgetter(name)(generation)) for name in NEEDED})
        row = row._replace(seconds=round(time.monotonic() - self.began, 3))
        try:
            if not self.refused:
                with open(self.file, "a" if number else "w", encoding="utf-8") as file:
                    file.write((_HEAD if not number else "") + _line(row, self.record))
        except OSError as error:
            self._warn(error)
        return row

    def restore(self, last: int) -> None:
        """Make the file hold the rows of generations 0 to `last`, and no others, from the record."""
        known = [row.seconds for row in read(self.record)] + [None] * (last + 1)
        rows: list[Row] = []
        for g in range(last + 1):
            try:
                rows.append(self._row(g, self.record.read(g, NEEDED))._replace(seconds=known[g]))
            except ValueError as error:  # damaged, or of shapes that no run has
                self._warn(error, "; coverage and totals so far are without that generation")
        if self.refused:
            return
        try:
            text = _HEAD + "".join(_line(row, self.record) for row in rows)
            with replacing(self.file) as temporary:
                temporary.write_text(text, encoding="utf-8")
        except (OSError, RecordError) as error:
            self._warn(error)

    def rows(self, last: int) -> list[Row]:
        """The rows of generations 0 to `last`, from the record, without their seconds."""
        return [self._row(g, self.record.read(g, NEEDED)) for g in range(last + 1)]

    def _row(self, number: int, columns: Mapping[str, np.ndarray]) -> Row:
        self.evaluations += len(columns["offspring.id"])
        numbers = turnover(number, columns)
        self.solutions += numbers["solved"]
        if self.grid:
            self.visited[tuple(cells(columns["offspring.descriptor"], self.space, self.grid).T)] = True
        return Row(
            generation=number,
            evaluations=self.evaluations,
            solutions=self.solutions,
            **{name: numbers[name] for name in Row._fields if name in numbers},
            coverage=float(self.visited.mean()) if self.grid else None,
            seconds=None,
        )

    def _warn(self, error: Exception, lost: str = "; the run is safe, and resuming it mends the file") -> None:
        self.refused = True
        logger.warning("%s is not written on (%s)%s", self.file, error, lost)


def read(record: Record) -> list[Row]:
    """The rows of a run's file from generation 0 up to the first that is missing or spoiled."""
    rows: list[Row] = []
    try:
        head, *lines = (record.path / NAME).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, ValueError):
        return rows
    for line in lines if head == _HEAD else ():
        try:
            row = _parsed(line, record)
        except ValueError:
            return rows
        if row.generation != len(rows):
            return rows
        rows.append(row)
    return rows


_HEAD = ",".join([*Row._fields, "check"]) + "\n"
_WHOLE = ("generation", "evaluations", "solutions", "survivors_new")
_MAY_LACK = ("coverage", "seconds")


def _line(row: Row, record: Record) -> str:
    texts = ("" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value) for value in row)
    text = ",".join(texts)
    return f"{text},{_sum(text, record)}\n"


def _sum(text: str, record: Record) -> str:
    """CRC-32 of the run's identifier and a line, as eight hexadecimal digits."""
    return f"{zlib.crc32(f'{record.identifier}:{text}'.encode()):08x}"


def _parsed(line: str, record: Record) -> Row:
    """The row that a line holds; a `ValueError` where it holds none."""
    text, _, told = line.removesuffix("\n").rpartition(",")
    if not line.endswith("\n") or told != _sum(text, record):
        raise ValueError("the line was cut short or changed, or is another run's")
    texts = zip(Row._fields, text.split(","), strict=True)
    return Row._make(
        int(text) if name in _WHOLE else None if name in _MAY_LACK and not text else float(text) for name, text in texts
    )
