"""Lines over the seeds of a run: their middles and bands, and their names at their ends."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from brns.pictures.style import compute_size_factor, make_line_style
from brns.settings.parts import Look

MARKS = 0.12
"""of an axes' diagonal between two markers of a line"""
NAMES = 0.36
"""of a figure's width that the names at the ends of lines may take"""


class Line(NamedTuple):
    """The values of some runs, of one method in most pictures."""

    label: str
    x: Sequence[float]
    values: Float[np.ndarray, "s x"]
    look: Look


def compute_and_describe_bands(
    groups: Sequence[Float[np.ndarray, "_ _"]], quartiles: bool = False, most: float | None = None
) -> tuple[list[Float[np.ndarray, "3 _"]], str]:
    """The mean over seeds, rows of each group, with one standard deviation (over n - 1) to either
    side: middle, lower and upper end; and what these are in words, none for single seeds.

    All groups have their median and quartiles where the deviation would reach below 0 in a group
    without values below 0, or above the most that there can be; and where these are asked for, as a
    logarithmic axis does. Seeds without a value, which is NaN, do not count there.
    """
    several = any(len(values) > 1 for values in groups)
    deviations = []
    for values in groups:
        finite = np.ma.masked_invalid(values)
        mean, deviation = finite.mean(axis=0), finite.std(axis=0, ddof=1).filled(0.0)
        deviations.append(np.ma.stack([mean, mean - deviation, mean + deviation]).filled(np.nan))
    beyond = any(
        ((band < 0).any() and not (values < 0).any()) or (most is not None and (band > most).any())
        for band, values in zip(deviations, groups, strict=True)
    )
    if not several:
        return deviations, ""
    numbers = {len(values) for values in groups}
    seeds = f"{numbers.pop()} seeds" if len(numbers) == 1 else "over seeds"
    if beyond or quartiles:
        with warnings.catch_warnings(action="ignore"):  # of columns that have no value
            ends = [np.nanquantile(values, (0.5, 0.25, 0.75), axis=0) for values in groups]
        return ends, f"median and quartiles, {seeds}"
    return deviations, f"mean ± deviation, {seeds}"


def draw_lines_and_describe_bands(
    ax: Axes, lines: Sequence[Line], quartiles: bool = False, most: float | None = None
) -> str:
    """Draw lines with their bands; what these are in words the axis has to say."""
    bands, words = compute_and_describe_bands([line.values for line in lines], quartiles, most)
    for place, (line, band) in enumerate(zip(lines, bands, strict=True)):
        draw_line_with_band(ax, line.label, line.x, band, line.look, place / len(lines))
    return words


def draw_line_with_band(
    ax: Axes,
    label: str,
    x: Sequence[float | int],
    band: Float[np.ndarray, "3 x"],
    look: Look,
    place: float = 0.0,
) -> None:
    """Draw a line with its band, and the first marker a share of the way to the second."""
    ax.set_facecolor("white")
    middle, low, high = band
    style: dict[str, Any] = make_line_style(look, compute_size_factor(ax)) | {
        "markevery": (MARKS * place, MARKS) if np.isfinite(middle).any() else None
    }
    ax.plot(x, middle, label=label, clip_on=False, **style)  # a line at 0 shows above the axis
    ax.fill_between(x, low, high, color=look.color, alpha=0.15, lw=0)


def label_line_ends_if_room(ax: Axes) -> bool:
    """Write the name of each line beside its end; True where there was room, so no legend."""
    figure: Any = ax.figure
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    labels = [str(line.get_label()) for line in lines]
    ends = [np.asarray(line.get_xydata(), float)[-1] for line in lines]
    points = matplotlib.rcParams["font.size"]
    inches = 0.0078 * points * max(map(len, labels), default=0)
    gap = 1.25 * points / 72 / (0.7 * figure.get_figheight())
    roomy = len(lines) * gap <= 1 and inches <= NAMES * figure.get_figwidth()
    if not roomy or len({x for x, _ in ends}) != 1 or not np.isfinite(ends).all():
        return False
    ax.set_xlim(right=ends[0][0])
    heights = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    # the colour of an axes' own text, which a user's style may make light
    ink: Any = ax.xaxis.label.get_color()
    place: Any = {"transform": ax.transAxes}
    for i, beside in enumerate(move_apart(heights.tolist(), gap)):
        color = lines[i].get_color()
        ax.plot([1.0, 1.03], [heights[i], beside], color=color, lw=0.8, clip_on=False, **place)
        ax.text(1.04, beside, labels[i], va="center", color=ink, **place)
    return True


def move_apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights within 0 and 1, in their order, moved apart until neighbours have a gap."""
    order = np.argsort(heights, kind="stable")
    places = list(heights)
    least, highest = 0.0, 1.0
    for i in order:
        places[i] = max(places[i], least)
        least = places[i] + gap
    for i in reversed(order):
        places[i] = min(places[i], highest)
        highest = places[i] - gap
    return places
