"""What several seeds become in a picture: a line and a band, a bar and its whiskers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

QUARTILES = "\n(median and quartiles)"


class Line(NamedTuple):
    """The values of some runs, of one method in most pictures."""

    label: str
    x: Sequence[int]
    values: Float[np.ndarray, "_ _"]
    color: Any


def middles(
    groups: Sequence[Float[np.ndarray, "_ _"]], quartiles: bool = False
) -> tuple[list[Float[np.ndarray, "3 _"]], str]:
    """The mean over seeds and one standard deviation (over n - 1) below and above it; and what the axis says of them.

    Where the deviation would reach below 0 in a group without values below 0, all groups have their median and
    quartiles, and the text says so. `quartiles` asks for these, as a logarithmic axis does.
    """
    found = [_mean(values) for values in groups]
    several = any(len(values) > 1 for values in groups)
    below = any((one < 0).any() and not (values < 0).any() for one, values in zip(found, groups, strict=True))
    if below or (quartiles and several):
        return [np.quantile(values, (0.5, 0.25, 0.75), axis=0) for values in groups], QUARTILES
    return found, ""


def bands(ax: Axes, lines: Sequence[Line], quartiles: bool = False) -> str:
    """Draw lines with their bands; returns what the axis has to say of them."""
    found, note = middles([line.values for line in lines], quartiles)
    for line, (middle, low, high) in zip(lines, found, strict=True):
        # A line at 0 shows above the axis.
        ax.plot(line.x, middle, lw=1.5, color=line.color, label=line.label, clip_on=False)
        if len(line.values) > 1:
            ax.fill_between(line.x, low, high, color=line.color, alpha=0.18, lw=0)
    return note


def _mean(values: Float[np.ndarray, "_ _"]) -> Float[np.ndarray, "3 _"]:
    mean = values.mean(axis=0)
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    return np.stack([mean, mean - deviation, mean + deviation])
