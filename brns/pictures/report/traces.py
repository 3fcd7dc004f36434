"""What is seen of a run in one generation, as plotly draws it: novelty's map, paths, the population."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib import colormaps
from matplotlib.colors import to_hex

from brns.metrics.numbers import number
from brns.metrics.recorded import survivors
from brns.pictures.report.charts import CLEAR
from brns.pictures.style import INK, NOVELTY, SOLVED, by_rank
from brns.pictures.worlds import novelty_grid, open_cells, over_box, with_start
from brns.runs.record import Record
from brns.tasks.scene import Scene

MAP_CELLS = 40
"""of novelty's maps, along each side"""
BORN = "#ff9f1c"
PATH = "rgba(70, 130, 200, 0.35)"
SCALE = [to_hex(color) for color in colormaps[NOVELTY](np.linspace(0, 1, 12))]
POINTED_AT = (
    "<b>individual %{customdata[0]}</b><br>born in %{customdata[1]}<br>age %{customdata[2]}<br>"
    "parent %{customdata[3]}<br>novelty %{customdata[4]}<br>solves the task: %{customdata[5]}<br>"
    "(%{x:.4~g}, %{y:.4~g})<extra></extra>"
)


def population(record: Record, world: Scene, now: int) -> go.Scatter:
    """The survivors of a generation: who they are, which were born in it, which solve the task."""
    names = ("descriptor", "id", "born", "parent", "novelty", "solved")
    column = {name: survivors(record, name, [now])[0] for name in names}
    x, y = world.place(column["descriptor"]).T
    people = zip(*(column[name].tolist() for name in names[1:]), strict=True)
    told = [
        [who, born, now - born, "none" if parent < 0 else parent, f"{novelty:.4g}", "yes" if solved else "no"]
        for who, born, parent, novelty, solved in people
    ]
    edge = {"width": 1.3, **_two_colors(column["solved"], "#11141a", SOLVED)}
    marker = {"size": 8, "line": edge, **_two_colors(column["born"] == now, "white", BORN)}
    return go.Scatter(x=x, y=y, mode="markers", customdata=told, hovertemplate=POINTED_AT, marker=marker)


def _two_colors(which: np.ndarray, no: str, yes: str) -> dict[str, Any]:
    return {"color": which.astype(np.uint8), "colorscale": [[0, no], [1, yes]], "cmin": 0, "cmax": 1}


def paths(record: Record, world: Scene, now: int) -> go.Scatter:
    """The survivors' paths from the start on; each of their places tells whose it is."""
    descriptors, who = (survivors(record, name, [now])[0] for name in ("descriptor", "id"))
    ways = with_start(world, descriptors)
    ended = np.concatenate([ways, np.full_like(ways[:, :1], np.nan)], axis=1)
    x, y = ended.reshape(-1, 2).T
    told = "on the way of individual %{customdata}<extra></extra>"
    whose = np.repeat(who, ended.shape[1])
    return go.Scatter(x=x, y=y, mode="lines", customdata=whose, hovertemplate=told, line={"width": 1, "color": PATH})


def novelty_map(record: Record, world: Scene, right: float, height: Sequence[float], kept: int) -> go.Heatmap:
    """Novelty after a generation whose state was kept: ranks from 1 to 255 among the cells in reach, 0 for others.

    The bar of its colours stands beside a panel that ends at `right` and has this `height`, from low to high.
    """
    over = over_box(world, record.behavior_space)
    novelty = novelty_grid(record, kept, MAP_CELLS)
    reached = open_cells(over, MAP_CELLS)
    scale = by_rank(novelty[reached])
    levels = np.where(reached, 1 + np.round(254 * np.asarray(scale(novelty), np.float64)), 0)
    quarters = np.asarray(scale.inverse(np.linspace(0, 1, 5)), np.float64)
    wide, tall = ((high - low) / MAP_CELLS for low, high in zip(over.low, over.high, strict=True))
    bar = {
        "title": {"text": f"novelty after generation {kept}, by rank", "side": "right"},
        "x": right,
        "y": sum(height) / 2,
        "len": height[1] - height[0],
        "thickness": 12,
        "outlinewidth": 0,
        "tickvals": np.linspace(1, 255, 5),
        "ticktext": [number(value) for value in quarters],
    }
    return go.Heatmap(
        z=levels.astype(np.uint8),
        x0=over.low[0] + wide / 2,
        dx=wide,
        y0=over.low[1] + tall / 2,
        dy=tall,
        zmin=0,
        zmax=255,
        colorscale=[[0, CLEAR], *zip(np.linspace(1, 255, 12) / 255, SCALE, strict=True)],
        hoverinfo="skip",
        colorbar=bar,
    )


def start(world: Scene) -> go.Scatter:
    """Where all begin."""
    assert world.start is not None
    x, y = world.start
    star = {"size": 13, "symbol": "star", "color": "white", "line": {"width": 1.5, "color": INK}}
    return go.Scatter(x=[x], y=[y], mode="markers", hovertemplate="start<extra></extra>", marker=star)
