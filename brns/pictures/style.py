"""How the figures look: colours, type, legends and colour bars; what several seeds become, a line and a band."""

import io
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cycler import cycler
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from brns.metrics.numbers import number
from brns.pictures.records import LINES
from brns.runs.storage import replacing

INK = "#1f2430"
WALL = "#7b8190"
FLOOR = "#f5f6f8"
SOLVED = "#e6007e"
START = "#111111"  # no area has it
STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=LINES),
    "axes.facecolor": "none",
    "text.parse_math": False,  # a setting's text in a label is text
    "legend.frameon": False,
    "figure.dpi": 130.0,
    "savefig.dpi": 130.0,
    **dict.fromkeys(
        ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK
    ),
}
TIME = LinearSegmentedColormap.from_list("time", colormaps["YlGnBu"](np.linspace(0.3, 1, 256)))
"""colours of generations: light is early; those of novelty are others"""
NOVELTY = "viridis"
CELLS = (20, 20)
"""of elites"""


class Shown(Figure):
    """A figure that a notebook shows once, with or without a magic line."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def axes(ax: Axes | None) -> Axes:
    """The axes given, or pyplot's current ones."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.gca()


def by_rank(novelty: Float[np.ndarray, " n"]) -> Normalize:
    """A scale on which a novelty stands at the share of these that lie below it: a few large ones take few colours."""
    values, times = np.unique(novelty.astype(np.float64), return_counts=True)
    if len(values) < 2:
        return Normalize(values[0], values[0] + 1)
    ranks = (np.cumsum(times) - times / 2) / len(novelty)
    scale = (
        lambda value: np.interp(value, values, ranks),
        lambda rank: np.interp(rank, ranks, values),
    )
    return FuncNorm(scale, values[0], values[-1])


def colorbar(ax: Axes, shown: Any, label: str) -> Any:
    """A bar as high as its panel. A scale by rank tells the value of every quarter."""
    figure: Any = ax.figure
    bar = figure.colorbar(shown, cax=ax.inset_axes((1.02, 0.0, 0.04, 1.0)), label=label)
    if isinstance(shown.norm, FuncNorm):
        quarters = np.unique(shown.norm.inverse(np.linspace(0, 1, 5)))
        bar.set_ticks(quarters, labels=[number(value) for value in quarters])
        bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1)
    return bar


def columns(panels: int) -> int:
    """How many of these panels stand side by side: three, but four are a square."""
    return 2 if panels == 4 else min(panels, 3)


def titled(ax: Axes, text: str) -> None:
    """Put a text above a panel's title, in lines no longer than the panel is wide."""
    text = f"{text}\n{ax.get_title(loc='left')}".strip()
    place: Any = ax.get_subplotspec()
    figure: Any = ax.figure
    inches = (
        figure.get_figwidth() / place.get_gridspec().ncols - 0.9
    )  # without the axis' numbers and label
    most = int(inches / 0.085)  # letters of ten points
    ax.set_title("\n".join(textwrap.fill(line, most) for line in text.split("\n")))


def save(figure: Figure, path: str | os.PathLike, **options: Any) -> None:
    """Write a figure to a file, whole or not at all; its suffix says the format. `options` are those of `savefig`."""
    path = Path(path)
    if not path.suffix:
        raise ValueError(f"a figure's file ends in .png, .pdf or .svg; got {path.name!r}")
    with replacing(path) as temporary:
        figure.savefig(temporary, **options)


def legend_below(figure: Figure, columns: int = 4) -> None:
    """One legend for all axes, below them, in as many columns as the figure has room for."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if found:
        inches = 0.07 * max(map(len, found)) + 0.6  # of a label at nine points, with its handle
        columns = max(min(len(found), columns, int(figure.get_figwidth() / inches)), 1)
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)


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
    found = []
    for values in groups:
        mean = values.mean(axis=0)
        deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
        found.append(np.stack([mean, mean - deviation, mean + deviation]))
    several = any(len(values) > 1 for values in groups)
    below = any(
        (one < 0).any() and not (values < 0).any()
        for one, values in zip(found, groups, strict=True)
    )
    if below or (quartiles and several):
        return [
            np.quantile(values, (0.5, 0.25, 0.75), axis=0) for values in groups
        ], "\n(median and quartiles)"
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
