"""What the metrics read of a run, and the check that it can be counted on."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from brns.core import Box, NoveltyEstimator, Task


class NoveltySearch(Protocol):
    """What the metrics ask of an experiment: `brns.NoveltySearch` is one."""

    @property
    def task(self) -> Task: ...
    @property
    def estimator(self) -> NoveltyEstimator: ...


class Record(Protocol):
    """What the metrics read of a run: `brns.Record` is one."""

    path: Path

    @property
    def generations(self) -> list[int]: ...
    @property
    def snapshots(self) -> list[int]: ...
    @property
    def behavior_space(self) -> Box: ...
    @property
    def search(self) -> Any: ...
    def column(self, name: str, generations: Iterable[int] | None = None) -> np.ndarray: ...
    def state(self, number: int, search: Any = None) -> Any: ...
    def genotypes(self, ids: np.ndarray, born: np.ndarray) -> np.ndarray: ...


if not TYPE_CHECKING:  # what is checked as the tests run would ask a record for its search
    Record = NoveltySearch = Any


def survivors(record: Record, column: str, generations: Sequence[int] | None = None) -> np.ndarray:
    """A column of the survivors P_g, `(g, mu, ...)`, of the generations given, by default all."""
    generations = _some(record) if generations is None else generations
    return _finite(record, column, generations, record.column(f"survivors.{column}", generations))


def evaluated(record: Record, column: str) -> list[np.ndarray]:
    """A column of all who were evaluated, one array a generation: the founders, then each generation's offspring."""
    first, *later = _some(record)
    blocks = [record.column(f"offspring.{column}", [first])]
    if later:  # Founders and offspring may differ in number, so that one stack does not hold both.
        blocks.append(record.column(f"offspring.{column}", later))
    return [
        rows
        for block, generations in zip(blocks, ([first], later), strict=False)
        for rows in _finite(record, column, generations, block)
    ]


def _some(record: Record) -> list[int]:
    if not record.generations:
        raise ValueError(f"{record.path} holds no finished generation; let it run, or resume it")
    return list(record.generations)


def _finite(record: Record, column: str, generations: Sequence[int], values: np.ndarray) -> np.ndarray:
    bad = [g for g, rows in zip(generations, values, strict=True) if not np.isfinite(rows).all()]
    if bad:
        raise ValueError(
            f"{record.path} has values of {column} that are not finite in generations {bad[:5]} ({len(bad)} of "
            f"{len(generations)}); the task or the estimator went wrong there, and no statistic can use them"
        )
    return values
