"""What is seen of a run in one generation, as plotly draws it: novelty's map, paths, the population."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from brns.metrics.numbers import number
from brns.metrics.recorded import survivors
from brns.pictures.style import INK, NOVELTY, SOLVED, by_rank
from brns.pictures.worlds import novelty_grid, open_cells, over_box, with_start
from brns.runs.record import Record
from brns.tasks.scene import Scene

MAP_CELLS = 40
"""of novelty's maps, along each side"""
BORN = "#ff9f1c"
PATH = "rgba(70, 130, 200, 0.35)"
SCALE = ", ".join(to_hex(color) for color in colormaps[NOVELTY](np.linspace(0, 1, 12)))
POINTED_AT = (
    "<b>individual %{customdata[0]}</b><br>born in %{customdata[1]}<br>age %{customdata[2]}<br>"
    "parent %{customdata[3]}<br>novelty %{customdata[4]}<br>solves the task: %{customdata[5]}<br>"
    "(%{x:.4~g}, %{y:.4~g})<extra></extra>"
)


def population(record: Record, world: Scene, now: int) -> dict[str, Any]:
    """The survivors of a generation: who they are, which were born in it, which solve the task."""
    names = ("descriptor", "id", "born", "parent", "novelty", "solved")
    column = {name: survivors(record, name, [now])[0] for name in names}
    x, y = world.place(column["descriptor"]).T
    people = zip(*(column[name].tolist() for name in names[1:]), strict=True)
    told = [
        [who, born, now - born, "none" if parent < 0 else parent, f"{novelty:.4g}", "yes" if solved else "no"]
        for who, born, parent, novelty, solved in people
    ]
    edge = {"width": 1.3, "color": _packed(column["solved"], "u1"), **_two_colors("#11141a", SOLVED)}
    fill = {"size": 8, "color": _packed(column["born"] == now, "u1"), **_two_colors("white", BORN)}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": _packed(x, "f4"),
        "y": _packed(y, "f4"),
        "customdata": told,
        "hovertemplate": POINTED_AT,
        "marker": {**fill, "line": edge},
    }


def paths(record: Record, world: Scene, now: int) -> dict[str, Any]:
    """The survivors' paths from the start on; each of their places tells whose it is."""
    descriptors, who = (survivors(record, name, [now])[0] for name in ("descriptor", "id"))
    ways = with_start(world, descriptors)
    ended = np.concatenate([ways, np.full_like(ways[:, :1], np.nan)], axis=1)
    x, y = ended.reshape(-1, 2).T
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _packed(x, "f4"),
        "y": _packed(y, "f4"),
        "customdata": _packed(np.repeat(who, ended.shape[1]), "i4"),
        "hovertemplate": "on the way of individual %{customdata}<extra></extra>",
        "line": {"width": 1, "color": PATH},
    }


def novelty_map(record: Record, world: Scene, right: float, height: Sequence[float], kept: int) -> dict[str, Any]:
    """Novelty after a generation whose state was kept: ranks from 1 to 255 among the cells in reach, 0 for others."""
    over = over_box(world, record.behavior_space)
    novelty = novelty_grid(record, kept, MAP_CELLS)
    reached = open_cells(over, MAP_CELLS)
    scale = by_rank(novelty[reached])
    levels = np.where(reached, 1 + np.round(254 * np.asarray(scale(novelty), np.float64)), 0)
    quarters = np.asarray(scale.inverse(np.linspace(0, 1, 5)), np.float64)
    wide, tall = ((high - low) / MAP_CELLS for low, high in zip(over.low, over.high, strict=True))
    colors = SCALE.split(", ")
    shades = [[place, color] for place, color in zip(np.linspace(1, 255, 12) / 255, colors, strict=True)]
    clear = [[0, "rgba(0, 0, 0, 0)"], [0.5 / 255, "rgba(0, 0, 0, 0)"], [0.5 / 255, colors[0]]]
    return {
        "type": "heatmap",
        "z": _packed(levels, "u1"),
        "x0": over.low[0] + wide / 2,
        "dx": wide,
        "y0": over.low[1] + tall / 2,
        "dy": tall,
        "zmin": 0,
        "zmax": 255,
        "colorscale": clear + shades,
        "hoverinfo": "skip",
        "colorbar": {
            "title": {"text": f"novelty after generation {kept}, by rank", "side": "right"},
            "x": right,
            "y": sum(height) / 2,
            "len": height[1] - height[0],
            "thickness": 12,
            "outlinewidth": 0,
            "tickvals": np.linspace(1, 255, 5),
            "ticktext": [number(value) for value in quarters],
        },
    }


def start(world: Scene) -> dict[str, Any]:
    """Where all begin."""
    assert world.start is not None
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [world.start[0]],
        "y": [world.start[1]],
        "hovertemplate": "start<extra></extra>",
        "marker": {"size": 13, "symbol": "star", "color": "white", "line": {"width": 1.5, "color": INK}},
    }


def _two_colors(no: str, yes: str) -> dict[str, Any]:
    return {"colorscale": [[0, no], [1, yes]], "cmin": 0, "cmax": 1}


def _packed(values: np.ndarray, kind: str) -> dict[str, str]:
    """An array as plotly reads it, in few bytes."""
    content = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes()
    shape = ", ".join(map(str, values.shape))
    return {"dtype": kind, "bdata": base64.b64encode(content).decode(), "shape": shape}
