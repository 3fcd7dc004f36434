"""A comparison as a picture: a panel a world, a band a method."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from brns.comparison.measure import Facts, moments
from brns.comparison.worlds import World
from brns.pictures.bands import Line, bands
from brns.pictures.methods import colors_of
from brns.pictures.style import STYLE, legend_below

COLUMNS = 4


def picture(worlds: Mapping[str, World], found: Mapping[str, Mapping[str, Facts]]) -> Figure:
    """Coverage of the reachable cells over evaluations, with the bands of `brns.pictures`."""
    names = list(dict.fromkeys(name for methods in found.values() for name in methods))
    colors = colors_of(names)
    columns = min(COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(3.1 * columns + 0.5, 2.4 * rows + 0.8), layout="constrained")
        for i, (name, methods) in enumerate(found.items()):
            ax, world = figure.add_subplot(rows, columns, i + 1), worlds[name]
            lines = []
            for method, facts in methods.items():
                known = np.isfinite(facts.covered).all(axis=0)
                share = facts.covered[:, known] / world.cells.reachable
                evaluations = world.individuals + world.born * np.array(moments(world.generations))[known]
                lines.append(Line(method, evaluations.tolist(), share, colors[method]))
            ax.set_title(f"{name}{bands(ax, lines)}", fontsize=8.5)
            ax.set_xlim(0, evaluations[-1])
            ax.set_ylim(bottom=0)
            ax.tick_params(labelsize=7)
            ax.xaxis.set_major_locator(MaxNLocator(4))
            if i >= len(found) - columns:
                ax.set_xlabel("evaluations", fontsize=8)
        figure.supylabel("share of the reachable cells", fontsize=9)
        legend_below(figure, columns=8)
    return figure
