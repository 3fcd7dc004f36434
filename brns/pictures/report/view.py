"""The search, generation by generation: a panel for each method, and one slider for all of them."""

import html
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib import colormaps
from matplotlib.colors import to_hex
from PIL import Image, ImageColor
from plotly.subplots import make_subplots

from brns.pictures.gather import novelty_grid
from brns.pictures.records import mapped, scene_of
from brns.pictures.scenes import open_cells, over_box, with_start
from brns.pictures.style import INK, NOVELTY, SOLVED, WALL, by_rank, columns
from brns.runs.record import Record
from brns.tasks.scene import Scene

NUMBERS = 300_000
"""of all individuals together: they keep the page below 10 MB"""
MOST_FRAMES = 101
"""generations"""
MAP_CELLS = 40
"""of novelty's maps, along each side"""
CLEAR = "rgba(0, 0, 0, 0)"
AXIS = {"showgrid": False, "zeroline": False, "automargin": True, "constrain": "domain"}
BORN = "#ff9f1c"
PATH = "rgba(70, 130, 200, 0.35)"
SCALE = [to_hex(color) for color in colormaps[NOVELTY](np.linspace(0, 1, 12))]
POINTED_AT = (
    "<b>individual %{customdata[0]}</b><br>born in %{customdata[1]}<br>age %{customdata[2]}<br>"
    "parent %{customdata[3]}<br>novelty %{customdata[4]}<br>solves the task: %{customdata[5]}<br>"
    "(%{x:.4~g}, %{y:.4~g})<extra></extra>"
)
AT_ONCE = {"mode": "immediate", "frame": {"duration": 0}, "transition": {"duration": 0}}
PLAYED = {"fromcurrent": True, "frame": {"duration": 200}, "transition": {"duration": 0}}


def generations_shown(records: Sequence[Record]) -> list[int]:
    """Generations of the longest run, evenly spread, the first and the last included."""
    last = max(record.last for record in records)
    sizes = [record.column("survivors.descriptor", [0]).shape[1:] for record in records]
    numbers = sum(individuals * (dimension + 4) for individuals, dimension in sizes)
    most = min(max(NUMBERS // numbers, 2), MOST_FRAMES, last + 1)
    return np.linspace(0, last, most).round().astype(int).tolist()


def view(runs: Mapping[str, Record]) -> go.Figure:
    """The figure, for plotly, of a run of each method: its data are the last generation's."""
    world = scene_of(next(iter(runs.values())))
    generations = generations_shown(list(runs.values()))
    seen = [_seen(record, world, generations) for record in runs.values()]
    across = columns(len(runs))
    rows = -(-len(runs) // across)
    titles = [html.escape(f"{name}, seed {record.seed}") for name, record in runs.items()]
    figure = make_subplots(rows, across, subplot_titles=titles)
    for panel, of_run in enumerate(seen):
        figure.add_traces(of_run[-1], rows=panel // across + 1, cols=panel % across + 1)
    figure.frames = [
        go.Frame(name=f"{g}", data=list(itertools.chain(*traces)))
        for g, *traces in zip(generations, *seen, strict=True)
    ]
    _draw_world(figure, world)
    figure.update_layout(
        template="none",  # the page says the colour of texts
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"family": "inherit", "size": 12},
        height=130 + rows * min(100 + 900 // across, 700),
        margin={"l": 50, "r": 20, "t": 130, "b": 20},
        hovermode="closest",
        showlegend=False,
        **_controls(generations),
    )
    return figure


def _seen(record: Record, world: Scene, generations: Sequence[int]) -> list[list[Any]]:
    """What is seen of a run in each generation; in those that it does not have, its last."""
    now = np.minimum(generations, record.last).tolist()
    seen: list[list[Any]] = [[_population(record, world, g)] for g in now]
    if world.paths:
        seen = [[_paths(record, world, g), *traces] for g, traces in zip(now, seen, strict=True)]
    if mapped(record):
        kept = np.array(record.snapshots)
        until = kept[(np.searchsorted(kept, now, "right") - 1).clip(0)].tolist()
        maps = {g: _novelty_map(record, world, g) for g in set(until)}
        seen = [[maps[g], *traces] for g, traces in zip(until, seen, strict=True)]
    return seen


def _population(record: Record, world: Scene, now: int) -> go.Scatter:
    names = ("descriptor", "id", "born", "parent", "novelty", "solved")
    column = {name: record.column(f"survivors.{name}", [now])[0] for name in names}
    x, y = world.place(column["descriptor"]).T
    people = zip(*(column[name].tolist() for name in names[1:]), strict=True)
    told = [
        [
            who,
            born,
            now - born,
            "none" if parent < 0 else parent,
            f"{novelty:.4g}",
            "yes" if solved else "no",
        ]
        for who, born, parent, novelty, solved in people
    ]
    edge = {"width": 1.3, "color": np.where(column["solved"], SOLVED, INK)}
    marker = {"size": 8, "line": edge, "color": np.where(column["born"] == now, BORN, "white")}
    return go.Scatter(
        x=x, y=y, mode="markers", customdata=told, hovertemplate=POINTED_AT, marker=marker
    )


def _paths(record: Record, world: Scene, now: int) -> go.Scatter:
    """The survivors' paths from the start on; each of their places tells whose it is."""
    who = record.column("survivors.id", [now])[0]
    ways = with_start(world, record.column("survivors.descriptor", [now])[0])
    ended = np.concatenate([ways, np.full_like(ways[:, :1], np.nan)], axis=1)
    x, y = ended.reshape(-1, 2).T
    told = "on the way of individual %{customdata}<extra></extra>"
    whose = np.repeat(who, ended.shape[1])
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        customdata=whose,
        hovertemplate=told,
        line={"width": 1, "color": PATH},
    )


def _novelty_map(record: Record, world: Scene, kept: int) -> go.Heatmap:
    """Novelty after a generation: ranks from 1 to 255 among the cells in reach, 0 for others."""
    over = over_box(world, record.behavior_space)
    novelty = novelty_grid(record, kept, MAP_CELLS)
    reached = open_cells(over, MAP_CELLS)
    ranks = np.asarray(by_rank(novelty[reached])(novelty), np.float64)
    levels = np.where(reached, 1 + np.round(254 * ranks), 0)
    wide, tall = ((high - low) / MAP_CELLS for low, high in zip(over.low, over.high, strict=True))
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
        showscale=False,
    )


def _draw_world(figure: go.Figure, world: Scene) -> None:
    """The axes, walls, areas and start of the world, in every panel."""
    everywhere: Any = {"row": "all", "col": "all", "exclude_empty_subplots": True}
    (left, low), (right, high) = world.low, world.high
    up = [high, low] if world.down else [low, high]
    figure.update_xaxes(title_text=world.axes[0], range=[left, right], **AXIS)
    figure.update_yaxes(title_text=world.axes[1], range=up, **AXIS)
    if world.walls is not None:
        figure.for_each_yaxis(lambda axis: axis.update(scaleanchor=axis.anchor))
        walls = (
            world.walls if world.down else world.walls[::-1]
        )  # of an image, the first row is the top
        color = np.array([*ImageColor.getrgb(WALL), 255], np.uint8)
        left, right, low, high = world.walls_extent
        figure.add_layout_image(
            source=Image.fromarray(walls[..., None] * color),
            x=left,
            y=low if world.down else high,
            sizex=right - left,
            sizey=high - low,
            sizing="stretch",
            layer="above",
            **everywhere,
        )
    for area in world.areas:
        ends = {"x0": area.x - area.radius, "x1": area.x + area.radius}
        ends |= {"y0": area.y - area.radius, "y1": area.y + area.radius}
        figure.add_shape(type="circle", **ends, line={"color": area.color}, **everywhere)
    if world.start is not None:
        x, y = world.start
        star = {
            "size": 13,
            "symbol": "star",
            "color": "white",
            "line": {"width": 1.5, "color": INK},
        }
        start = go.Scatter(
            x=[x], y=[y], mode="markers", name="start", hoverinfo="name", marker=star
        )
        figure.add_trace(start, **everywhere)


def _controls(generations: Sequence[int]) -> dict[str, Any]:
    """The slider over generations, and the buttons beside it."""
    steps = [
        {"label": f"{g}", "method": "animate", "args": [[f"{g}"], AT_ONCE]} for g in generations
    ]
    place = {"y": 1, "yanchor": "bottom", "pad": {"b": 30, "l": 150}}
    slider = {
        "steps": steps,
        "active": len(steps) - 1,
        "currentvalue": {"prefix": "generation "},
        **place,
    }
    play = {"label": "Play", "method": "animate", "args": [None, PLAYED]}
    pause = {"label": "Pause", "method": "animate", "args": [[None], AT_ONCE]}
    place = {
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 40},
        "direction": "left",
    }
    buttons = {"type": "buttons", "buttons": [play, pause], "showactive": False, **place}
    return {"sliders": [slider], "updatemenus": [buttons]}
