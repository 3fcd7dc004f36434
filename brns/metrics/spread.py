"""Spread: how far individuals reach along each dimension of a feature space."""

import numpy as np
from jaxtyping import Array, Float


def spread(points: Float[Array | np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """The standard deviation of n points along each dimension (over n, not n - 1).

    Figure 5 is that of the solutions' signatures: `spread(signature(record.solutions().descriptor.reshape(n, -1, 2)))`.
    """
    points = np.asarray(points, np.float64)
    if len(points) == 0:
        raise ValueError("the spread of no points is undefined; was the task never solved?")
    if not np.isfinite(points).all():
        raise ValueError(f"points must be finite; {np.sum(~np.isfinite(points).all(axis=1))} of {len(points)} are not")
    return points.std(axis=0)
