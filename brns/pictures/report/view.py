"""The search, generation by generation: a map for each method, and one slider for all of them."""

import functools
import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import to_rgba_array

from brns.pictures.report import traces
from brns.pictures.report.charts import AXIS, LAYOUT, pixels
from brns.pictures.scene import scene_of
from brns.pictures.style import WALL
from brns.runs.record import Record
from brns.tasks.scene import Area, Scene

NUMBERS = 300_000
"""of all individuals together: they keep the page below 10 MB"""
MOST_FRAMES = 101
"""generations"""
MOST_VIEWS = 9
"""runs"""
COLUMNS = 3
HEIGHT = 600
"""of a row of panels, in pixels"""
MOVING = ("x", "y", "z", "customdata", "marker", "colorbar")
"""what a generation changes"""
AT_ONCE = {"mode": "immediate", "frame": {"duration": 0}, "transition": {"duration": 0}}
PLAYED = {"fromcurrent": True, "frame": {"duration": 200}, "transition": {"duration": 0}}


class Shown(NamedTuple):
    """A run in the view: methods stand side by side, and one seed of each is seen at a time."""

    record: Record
    panel: int
    seed: int


def runs_shown(runs: Mapping[str, Sequence[Record]]) -> list[Shown]:
    """The first seeds of each method, as many as there is room for."""
    each = max(1, MOST_VIEWS // len(runs))
    return [
        Shown(record, panel, seed)
        for panel, seeds in enumerate(runs.values())
        for seed, record in enumerate(seeds[:each])
    ]


def generations_shown(views: Sequence[Shown]) -> list[int]:
    """Generations of the longest run, evenly spread, the first and the last included."""
    last = max(one.record.generations[-1] for one in views)
    sizes = [one.record.column("survivors.descriptor", [0]).shape[1:] for one in views]
    numbers = sum(individuals * (dimension + 4) for individuals, dimension in sizes)
    most = min(max(NUMBERS // numbers, 2), MOST_FRAMES, last + 1)
    return np.linspace(0, last, most).round().astype(int).tolist()


def mapped(record: Record) -> bool:
    """Whether the run's novelty can be mapped."""
    planar = record.behavior_space.dimension == 2
    return planar and bool(record.snapshots) and record.known_search is not None


def view(runs: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The figure, for plotly: its data are the last generation's, its frames have what changes."""
    views = runs_shown(runs)
    world = scene_of(views[0].record)
    generations = generations_shown(views)
    layout = _panels(list(runs), world, barred=mapped(views[0].record))
    each = (_traces(one, world, generations, layout) for one in views)
    drawn = [list(chain.from_iterable(together)) for together in zip(*each, strict=True)]
    starts = [] if world.start is None else [traces.start(world) | axes_of(panel) for panel in range(len(runs))]
    data = drawn[-1] + starts
    frames = [
        {"name": f"{g}", "data": [{name: trace[name] for name in MOVING if name in trace} for trace in together]}
        for g, together in zip(generations, drawn, strict=True)
    ]
    layout |= {"sliders": [_slider(generations)], "updatemenus": [_buttons(), _seeds(data, views)]}
    return {"data": data, "layout": layout, "frames": frames}


def axes_of(panel: int) -> dict[str, str]:
    """What plotly calls the axes of a panel."""
    number = panel + 1 if panel else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def _traces(
    one: Shown, world: Scene, generations: Sequence[int], layout: Mapping[str, Any]
) -> Iterator[list[dict[str, Any]]]:
    """What is seen of a run in each generation; in those that it does not have, its last."""
    record = one.record
    kept = np.array(record.snapshots)
    axes = axes_of(one.panel)
    right = layout[f"xaxis{axes['xaxis'][1:]}"]["domain"][1]
    height = layout[f"yaxis{axes['yaxis'][1:]}"]["domain"]
    novelty_map = functools.cache(functools.partial(traces.novelty_map, record, world, right, height))
    for generation in generations:
        now = min(generation, record.generations[-1])
        found = []
        if mapped(record):
            until = kept[kept <= now]
            found.append(novelty_map(int(until[-1] if until.size else kept[0])))
        if world.paths:
            found.append(traces.paths(record, world, now))
        found.append(traces.population(record, world, now))
        yield [trace | axes | {"meta": one.seed, "visible": one.seed == 0} for trace in found]


def _panels(names: Sequence[str], world: Scene, barred: bool) -> dict[str, Any]:
    """The layout: a panel for each method, with room for a bar of colours, its title, walls and areas."""
    columns = min(len(names), COLUMNS)
    rows = -(-len(names) // columns)
    layout: dict[str, Any] = {
        **LAYOUT,
        "height": HEIGHT * rows,
        "margin": {"l": 50, "r": 20, "t": 110, "b": 20},
        "hovermode": "closest",
        "showlegend": False,
    }
    layout |= {"images": [], "shapes": [], "annotations": []}
    upward = [world.high[1], world.low[1]] if world.down else [world.low[1], world.high[1]]
    common = {**AXIS, "showgrid": False, "constrain": "domain"}
    for panel, name in enumerate(names):
        row, column = divmod(panel, columns)
        x, y = axes_of(panel).values()
        layout[f"xaxis{x[1:]}"] = {
            **common,
            "title": {"text": world.axes[0]},
            "range": [world.low[0], world.high[0]],
            "domain": [column / columns, (column + (0.8 if barred else 0.92)) / columns],
            "anchor": y,
        }
        layout[f"yaxis{y[1:]}"] = {
            **common,
            "title": {"text": world.axes[1]},
            "range": upward,
            "domain": [1 - (row + 0.85) / rows, 1 - row / rows],
            "anchor": x,
        }
        layout["annotations"].append(_title(name, x, y))
        layout["shapes"] += [_ring(area) | {"xref": x, "yref": y} for area in world.areas]
        if world.walls is not None:
            layout["images"].append(_walls(world) | {"xref": x, "yref": y})
            layout[f"yaxis{y[1:]}"]["scaleanchor"] = x
    return layout


def _title(name: str, x: str, y: str) -> dict[str, Any]:
    place = {"xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    return {"text": f"<b>{html.escape(name)}</b>", "showarrow": False, **place}


def _walls(world: Scene) -> dict[str, Any]:
    """The walls as a picture, clear where there are none, whose first row is the top."""
    assert world.walls is not None
    walls = world.walls if world.down else world.walls[::-1]
    color = np.round(255 * to_rgba_array(WALL)).astype(np.uint8)
    left, right, low, high = world.walls_extent
    size = {"sizex": right - left, "sizey": high - low, "sizing": "stretch", "layer": "above"}
    picture = pixels(np.where(walls[..., None], color, np.uint8(0)))
    return {"source": picture, "x": left, "y": low if world.down else high, **size}


def _ring(area: Area) -> dict[str, Any]:
    left, right = area.x - area.radius, area.x + area.radius
    low, high = area.y - area.radius, area.y + area.radius
    return {"type": "circle", "x0": left, "x1": right, "y0": low, "y1": high, "line": {"color": area.color}}


def _slider(generations: Sequence[int]) -> dict[str, Any]:
    steps = [{"label": f"{g}", "method": "animate", "args": [[f"{g}"], AT_ONCE]} for g in generations]
    place = {"y": 1, "yanchor": "bottom", "pad": {"b": 30, "l": 150}}
    return {"steps": steps, "active": len(steps) - 1, "currentvalue": {"prefix": "generation "}, **place}


def _buttons() -> dict[str, Any]:
    play = {"label": "Play", "method": "animate", "args": [None, PLAYED]}
    pause = {"label": "Pause", "method": "animate", "args": [[None], AT_ONCE]}
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 60}, "direction": "left"}
    return {"type": "buttons", "buttons": [play, pause], "showactive": False, **place}


def _seeds(data: Sequence[Mapping[str, Any]], views: Sequence[Shown]) -> dict[str, Any]:
    """Which seed of each method is seen."""
    buttons = []
    for seed in range(max(one.seed for one in views) + 1):
        names = dict.fromkeys(f"{one.record.seed}" for one in views if one.seed == seed)
        seen = [trace.get("meta", seed) == seed for trace in data]
        buttons.append({"label": f"seed {' / '.join(names)}", "method": "restyle", "args": [{"visible": seen}]})
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 28}}
    return {"buttons": buttons, "visible": len(buttons) > 1, **place}
