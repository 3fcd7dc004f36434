"""A closed box: where genotypes or behaviors lie."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Key

FARTHEST = 1e12  # widths of a box, within which float32 tells behaviors near it from each other
WIDEST = 1e15  # of a box's bounds; a box is at least 1 / WIDEST wide
NEAREST = 1e-4  # bounds, as a share of the larger: float32 has some 800 numbers between them


class Box(eqx.Module):
    r"""A closed box $[low_1, high_1] \times \dots \times [low_d, high_d]$:
    a genotype space or a behavior space.

    Args:
        low: the least values, `(d,)`, kept in float32.
        high: the largest, above `low` in every dimension.

    Raises:
        ValueError: where they are no numbers, differ in shape, reach beyond 1e15,
            or lie less than 1e-15, or 1e-4 of the larger, apart in float32.
    """

    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __init__(self, low: Any, high: Any):
        if isinstance(low, Tracer) or isinstance(high, Tracer):
            # Computed of another box where JAX compiles; it was checked when the search was made.
            self.low, self.high = (jnp.array(x, jnp.float32, ndmin=1) for x in (low, high))
            return
        below = as_array_and_check_real("low", low, "a box needs")
        above = as_array_and_check_real("high", high, "a box needs")
        low, high = (np.array(cast_to_float32(x), ndmin=1) for x in (below, above))
        if low.ndim != 1 or low.shape != high.shape or not low.size:
            raise ValueError(
                f"a box needs low and high of one shape (d,), d >= 1; got {low.shape} and "
                f"{high.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            width, furthest = high - low, np.maximum(np.abs(low), np.abs(high))
        # Shares of widths, and sums and squares of such shares, are numbers of float32 then.
        sound = (furthest <= WIDEST) & (width >= 1 / WIDEST) & (width >= NEAREST * furthest)
        if not sound.all():
            i = np.argmin(sound)
            advice = (
                "give genes and behaviors in another unit, or their distance from a value nearby"
            )
            if not np.isfinite(furthest).all():
                advice = "choose finite bounds, about as wide as the values that occur"
            raise ValueError(
                f"a box needs low < high, within {WIDEST:g} of 0 and at least {1 / WIDEST:g}, and "
                f"{NEAREST:g} of the bounds, apart in float32; got {np.ravel(below)[i]} and "
                f"{np.ravel(above)[i]} in dimension {i + 1} of {low.size}; {advice}"
            )
        self.low, self.high = jax.device_put((low, high))  # for which nothing is compiled

    @property
    def dimension(self) -> int:
        return self.low.shape[-1]

    def uniform(self, key: Key[Array, ""], n: int) -> Float[Array, "n d"]:
        """`n` points drawn uniformly from the box.

        Args:
            key: all chance comes from it.
            n: how many.

        Returns:
            `(n, d)` in float32.
        """
        shape = (n, self.dimension)
        return jax.random.uniform(key, shape, jnp.float32, minval=self.low, maxval=self.high)


def is_within_numeric_range(
    points: Float[np.ndarray, "n d"], box: Box, widths: float = FARTHEST
) -> Bool[np.ndarray, " n"]:
    """Which points are finite, and within so many widths of the box in every dimension."""
    low, high = np.asarray(box.low, float), np.asarray(box.high, float)
    reach, most = widths * (high - low), np.finfo(np.float32).max
    # in float32, as the points are: a batch in float64 takes three times as long
    least = np.maximum(low - reach, -most).astype(np.float32)
    largest = np.minimum(high + reach, most).astype(np.float32)
    return np.all((points >= least) & (points <= largest), axis=1)


def cast_to_float32(numbers: Any) -> Any:
    """An array in float32: too large numbers become infinite and too small ones 0, also where NumPy
    was told to raise.
    """
    with np.errstate(over="ignore", under="ignore"):
        return numbers.astype(np.float32, copy=False)


def as_array_and_check_real(name: str, values: Any, error_start: str) -> Any:
    """Values of NumPy, JAX or any other kind as an array of real numbers, a copy, since JAX may
    read it later, when the caller has changed it; a `ValueError`, which begins with `error_start`
    and the name, where they are none or no array.
    """
    try:
        # PyTorch's arrays warn where NumPy itself asks them for a copy.
        column = values if isinstance(values, jax.Array) else np.array(np.asarray(values))
    except (ValueError, jax.errors.TracerArrayConversionError):  # rows of unequal length; a tuple
        raise ValueError(
            f"{error_start} {name} as one array, its rows of one shape; got {values!r:.80}"
        ) from None
    if np.ma.is_masked(values):
        raise ValueError(f"{error_start} {name} without masked values; got {values!r:.80}")
    real = any(jnp.issubdtype(column.dtype, kind) for kind in (bool, jnp.integer, jnp.floating))
    if not real or column.dtype.kind == "m":  # to NumPy a duration is an integer
        text = getattr(column.dtype, "kind", "key") in "OSU"
        what = f"{values!r:.80} ({column.dtype})" if text else column.dtype
        advice = ""
        if column.dtype == object:
            of_rows = "list(...)" if column.ndim == 1 else "..."  # a table's list has its columns
            convert = f": convert it with np.array({of_rows}, float)"
            advice = convert if column.ndim else ": give a list"
        raise ValueError(f"{error_start} {name} as real numbers; got {what}{advice}")
    return column
