"""The search, generation by generation: a panel for each method, and one slider for all of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from matplotlib.colors import to_rgba_array
from PIL import Image
from plotly.subplots import make_subplots

from brns.pictures.report import traces
from brns.pictures.report.charts import TEMPLATE, text
from brns.pictures.scene import scene_of
from brns.pictures.style import WALL
from brns.runs.record import Record
from brns.tasks.scene import Scene

NUMBERS = 300_000
"""of all individuals together: they keep the page below 10 MB"""
MOST_FRAMES = 101
"""generations"""
MOST_VIEWS = 9
"""runs"""
COLUMNS = 3
HEIGHT = 600
"""of a row of panels, in pixels"""
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


def view(runs: Mapping[str, Sequence[Record]]) -> go.Figure:
    """The figure, for plotly: its data are the last generation's."""
    views = runs_shown(runs)
    world = scene_of(views[0].record)
    generations = generations_shown(views)
    figure = _panels(list(runs), world)
    seen = [_seen(one, world, figure) for one in views]
    figure.frames = [go.Frame(name=f"{g}", data=[trace for of_run in seen for trace in of_run(g)]) for g in generations]
    for one, of_run in zip(views, seen, strict=True):
        for trace in of_run(generations[-1]):
            trace.update(meta=one.seed, visible=one.seed == 0)
            figure.add_trace(trace, *_place(one.panel))
    for panel in range(len(runs)):
        _draw_world(figure, world, *_place(panel))
    figure.update_layout(sliders=[_slider(generations)], updatemenus=[_buttons(), _seeds(figure.data, views)])
    return figure


def _panels(names: Sequence[str], world: Scene) -> go.Figure:
    """A panel for each method, with room for a bar of colours."""
    columns = min(len(names), COLUMNS)
    rows = -(-len(names) // columns)
    figure = make_subplots(
        rows, columns, subplot_titles=[text(name) for name in names], horizontal_spacing=0.3 / columns
    )
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT * rows,
        margin={"l": 50, "r": 20, "t": 130, "b": 20},
        hovermode="closest",
        showlegend=False,
    )
    (left, low), (right, high) = world.low, world.high
    figure.update_xaxes(title_text=world.axes[0], range=[left, right], showgrid=False, constrain="domain")
    figure.update_yaxes(
        title_text=world.axes[1], range=[high, low] if world.down else [low, high], showgrid=False, constrain="domain"
    )
    if world.walls is not None:
        figure.for_each_yaxis(lambda axis: axis.update(scaleanchor=axis.anchor))
    return figure


def _place(panel: int) -> tuple[int, int]:
    """A panel's row and column, as plotly counts."""
    return panel // COLUMNS + 1, panel % COLUMNS + 1


def _seen(one: Shown, world: Scene, figure: go.Figure) -> Callable[[int], list[Any]]:
    """What is seen of a run in a generation; in those that it does not have, its last."""
    record = one.record
    kept = np.array(record.snapshots)
    panel: Any = figure.get_subplot(*_place(one.panel))
    right = panel.xaxis.domain[1]
    novelty_map = cache(partial(traces.novelty_map, record, world, right, panel.yaxis.domain))

    def of_generation(generation: int) -> list[Any]:
        now = min(generation, record.generations[-1])
        found = []
        if mapped(record):
            until = kept[kept <= now]
            found.append(novelty_map(int(until[-1] if until.size else kept[0])))
        if world.paths:
            found.append(traces.paths(record, world, now))
        return [*found, traces.population(record, world, now)]

    return of_generation


def _draw_world(figure: go.Figure, world: Scene, row: int, column: int) -> None:
    """The world's walls, areas and start in a panel."""
    if world.walls is not None:
        walls = world.walls if world.down else world.walls[::-1]  # of an image, the first row is the top
        color = np.round(255 * to_rgba_array(WALL)).astype(np.uint8)
        left, right, low, high = world.walls_extent
        figure.add_layout_image(
            source=Image.fromarray(np.where(walls[..., None], color, np.uint8(0))),
            x=left,
            y=low if world.down else high,
            sizex=right - left,
            sizey=high - low,
            sizing="stretch",
            layer="above",
            row=row,
            col=column,
        )
    for area in world.areas:
        low, high = (area.x - area.radius, area.y - area.radius), (area.x + area.radius, area.y + area.radius)
        ends = {"x0": low[0], "y0": low[1], "x1": high[0], "y1": high[1]}
        figure.add_shape(type="circle", **ends, line={"color": area.color}, row=row, col=column)
    if world.start is not None:
        figure.add_trace(traces.start(world), row, column)


def _slider(generations: Sequence[int]) -> dict[str, Any]:
    steps = [{"label": f"{g}", "method": "animate", "args": [[f"{g}"], AT_ONCE]} for g in generations]
    place = {"y": 1, "yanchor": "bottom", "pad": {"b": 30, "l": 150}}
    return {"steps": steps, "active": len(steps) - 1, "currentvalue": {"prefix": "generation "}, **place}


def _buttons() -> dict[str, Any]:
    play = {"label": "Play", "method": "animate", "args": [None, PLAYED]}
    pause = {"label": "Pause", "method": "animate", "args": [[None], AT_ONCE]}
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 60}, "direction": "left"}
    return {"type": "buttons", "buttons": [play, pause], "showactive": False, **place}


def _seeds(data: Sequence[Any], views: Sequence[Shown]) -> dict[str, Any]:
    """Which seed of each method is seen."""
    buttons = []
    for seed in range(max(one.seed for one in views) + 1):
        names = dict.fromkeys(f"{one.record.seed}" for one in views if one.seed == seed)
        seen = [trace.meta in (None, seed) for trace in data]
        buttons.append({"label": f"seed {' / '.join(names)}", "method": "restyle", "args": [{"visible": seen}]})
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 28}}
    return {"buttons": buttons, "visible": len(buttons) > 1, **place}
