"""What the metrics read of a run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array

from brns.metrics.numbers import ranges

Numbers = Array | np.ndarray
"""of JAX or of NumPy"""
Record = Any
"""a run: `brns.Record`, or what has those of its members that a measure reads, such as `column` and `generations`"""
NoveltySearch = Any
"""a search: `brns.NoveltySearch`, or what has its `task` and its `estimator`"""


def evaluated(record: Record, column: str) -> list[np.ndarray]:
    """A column of all who were evaluated, one array a generation: the founders, then each generation's offspring.

    Those who failed are left out.
    """
    rows = []
    for g in record.generations:
        living = ~record.column("offspring.failed", [g])[0]
        rows.append(record.column(f"offspring.{column}", [g])[0][living])
    return rows


def kept(
    record: Record, what: str, generations: Sequence[int] | None = None, least: int = 1
) -> list[int]:
    """The generations given, by default all, whose states `what` needs; a `ValueError` where they are not kept."""
    kept = record.snapshots
    wanted = kept if generations is None else list(generations)
    if len(wanted) < least or wanted != sorted(set(wanted) & set(kept)):
        raise ValueError(
            f"{what} needs the search's states, {least} or more and in order; asked for were {ranges(wanted)}, and "
            f"{record.path} keeps {ranges(kept)}. Run it again with checkpoint_every=1 (--checkpoint-every 1)"
        )
    return wanted
