"""What the metrics read of a run."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Record = Any
"""a run: `brns.Record`, or what has those of its members that a measure reads, such as `column` and `generations`"""
NoveltySearch = Any
"""a search: `brns.NoveltySearch`, or what has its `task` and its `estimator`"""


def survivors(record: Record, column: str, generations: Sequence[int] | None = None) -> np.ndarray:
    """A column of the survivors, `(g, mu, ...)`, of the generations given, by default all."""
    return record.column(f"survivors.{column}", record.generations if generations is None else generations)


def evaluated(record: Record, column: str) -> list[np.ndarray]:
    """A column of all who were evaluated, one array a generation: the founders, then each generation's offspring."""
    first, *later = record.generations
    parts = [[first], later] if later else [[first]]  # founders and offspring may differ in number
    return [rows for part in parts for rows in record.column(f"offspring.{column}", part)]
