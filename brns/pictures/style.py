"""How the figures look: colours, type, legends and colour bars."""

from pathlib import Path
from typing import Any

from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.runs.storage import replacing

INK = "#1f2430"
WALL = "#7b8190"
FLOOR = "#f5f6f8"
SOLVED = "#e6007e"
START = "#e03131"
LINES = ("#2f7fd1", "#e07b16", "#1d9a74", "#c2559d", "#8a6fd1", "#a58a1f", "#4aa3b8", "#cf4a4a")
STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=LINES),
    "axes.facecolor": "none",
    "text.parse_math": False,  # A setting's text in a label is text.
    "legend.frameon": False,
    "figure.dpi": 130.0,
    "savefig.dpi": 130.0,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
}


def colorbar(ax: Axes, shown: Any, label: str) -> None:
    figure: Any = ax.figure
    bar = figure.colorbar(shown, ax=ax, label=label, shrink=0.9, pad=0.02)
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1)


def save(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure to a file, whole or not at all; its suffix says the format."""
    with replacing(path) as temporary:
        figure.savefig(temporary, **options)


def legend_below(figure: Figure, columns: int = 4) -> None:
    """One legend for all axes, outside of the data, in at most so many columns as the figure is wide enough for."""
    found = {label: handle for ax in figure.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if found:
        inches = 0.07 * max(map(len, found)) + 0.6  # of a label at nine points, with its handle
        columns = max(min(len(found), columns, int(figure.get_figwidth() / inches)), 1)
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)
