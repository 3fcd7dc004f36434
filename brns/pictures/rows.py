"""Numbers of a figure as rows, as `brns figure --data` writes them."""

from typing import Any

import numpy as np

Row = dict[str, Any]


def to_rows(columns: dict[str, Any]) -> list[Row]:
    """A row for each element of the columns, which are broadcast together."""
    arrays = np.broadcast_arrays(*columns.values())
    values = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]
