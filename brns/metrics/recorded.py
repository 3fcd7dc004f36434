"""What the metrics read of a run; values that are not finite are refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Record = Any
"""a run: `brns.Record`, or what has those of its members that a measure reads, such as `column` and `generations`"""
NoveltySearch = Any
"""a search: `brns.NoveltySearch`, or what has its `task` and its `estimator`"""


def survivors(record: Record, column: str, generations: Sequence[int] | None = None) -> np.ndarray:
    """A column of the survivors, `(g, mu, ...)`, of the generations given, by default all."""
    generations = _some(record) if generations is None else generations
    return _finite(record, column, generations, record.column(f"survivors.{column}", generations))


def evaluated(record: Record, column: str) -> list[np.ndarray]:
    """A column of all who were evaluated, one array a generation: the founders, then each generation's offspring."""
    first, *later = _some(record)
    parts = [[first], later] if later else [[first]]  # founders and offspring may differ in number
    found = (_finite(record, column, part, record.column(f"offspring.{column}", part)) for part in parts)
    return [rows for part in found for rows in part]


def _some(record: Record) -> list[int]:
    if not record.generations:
        raise ValueError(f"{record.path} holds no finished generation; let it run, or resume it")
    return list(record.generations)


def _finite(record: Record, column: str, generations: Sequence[int], values: np.ndarray) -> np.ndarray:
    bad = [g for g, rows in zip(generations, values, strict=True) if not np.isfinite(rows).all()]
    if bad:
        raise ValueError(
            f"{record.path} has values of {column} that are not finite in generations {bad[:5]} ({len(bad)} of "
            f"{len(generations)})"
        )
    return values
