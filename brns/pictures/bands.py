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
    style: str = "-"


class Middle(NamedTuple):
    """The middle of seeds' values, and how far they spread below and above it."""

    middle: Float[np.ndarray, " _"]
    low: Float[np.ndarray, " _"]
    high: Float[np.ndarray, " _"]


def middles(groups: Sequence[Float[np.ndarray, "_ _"]], quartiles: bool = False) -> tuple[list[Middle], str]:
    """The mean over seeds with one standard deviation (over n - 1) to either side, and what to say of it on the axis.

    Where that would reach below 0 for a group that has no value below 0, it promises what cannot be: then all groups
    have their median and quartiles, and the text says so. `quartiles` asks for these, as a logarithmic axis does.
    """
    found = [_mean(values) for values in groups]
    several = any(len(values) > 1 for values in groups)
    below = any((one.low < 0).any() and not (values < 0).any() for one, values in zip(found, groups, strict=True))
    if below or (quartiles and several):
        return [Middle(*np.quantile(values, (0.5, 0.25, 0.75), axis=0)) for values in groups], QUARTILES
    return found, ""


def bands(ax: Axes, lines: Sequence[Line], quartiles: bool = False) -> str:
    """Draw lines with their bands; returns what the axis has to say of them."""
    found, note = middles([line.values for line in lines], quartiles)
    for line, one in zip(lines, found, strict=True):
        # A line at 0 shows above the axis.
        ax.plot(line.x, one.middle, lw=1.5, ls=line.style, color=line.color, label=line.label, clip_on=False)
        if len(line.values) > 1:
            ax.fill_between(line.x, one.low, one.high, color=line.color, alpha=0.18, lw=0)
    return note


def _mean(values: Float[np.ndarray, "_ _"]) -> Middle:
    mean = values.mean(axis=0)
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return Middle(mean, mean - deviation, mean + deviation)
