"""Whole figures: a run at a glance, and any figure of the table with its panels, titles and legend."""

from collections.abc import Callable, Sequence
from functools import partial

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.pictures.curves import over_time, three
from brns.pictures.figures import FIGURES, PAPER, Picture
from brns.pictures.methods import method, methods
from brns.pictures.scene import common, last_state, mapped
from brns.pictures.style import STYLE, Shown, columns, legend_below, titled
from brns.pictures.worlds import maze, novelty_map, population
from brns.runs.record import Record
from brns.settings import near

Panel = tuple[str, Callable[..., Axes]]
"""a label, and a function of `ax`"""


def overview(record: Record) -> Figure:
    """A run at a glance: every behavior that it evaluated, by generation, and what is novel to it at the end.

    The population stands in for the map of novelty where behaviors have more than two dimensions, no state was kept, or
    the search is not known.
    """
    with matplotlib.rc_context(STYLE):
        figure = Shown(figsize=(12.4, 6.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        maze(record, left)
        if mapped(record):
            novelty_map(record, right)
        else:
            population(record, right)
        titled(left, f"{method(record)}, seed {record.seed}")
        legend_below(figure, columns=8)
    return figure


def draw(name: str, records: Sequence[Record]) -> Figure:
    """A whole figure by its name, or its number in the paper, of runs of one or several methods.

    Pictures of single runs (maze, archive, novelty-map, elites) show the first seed of each method.
    """
    name = PAPER.get(name, name)
    if name not in FIGURES:
        known = [*FIGURES, *sorted(PAPER)]
        raise ValueError(f"a figure is one of {', '.join(known)}; got {name!r}{near(name, known)}")
    picture = FIGURES[name]
    panels = _panels(picture, records)
    rows = len(panels)
    across = max(map(len, panels))
    width, height = (5.4, 4.7) if picture.panels in ("run", "states") else (5.6, 3.5)
    with matplotlib.rc_context(STYLE):
        figure = Shown(figsize=(width * across, height * rows + 0.3), layout="constrained")
        for row, line in enumerate(panels):
            for column, (label, panel) in enumerate(line):
                ax = panel(ax=figure.add_subplot(rows, across, row * across + column + 1))
                if label:
                    titled(ax, label)
        legend_below(figure)
    return figure


def _panels(picture: Picture, records: Sequence[Record]) -> list[list[Panel]]:
    function, runs = picture.function, methods(records)
    if picture.panels == "one":
        return [[("", partial(function, records))]]
    if picture.panels == "method":
        kept = [common(record.snapshots for record in seeds) for seeds in runs.values()]
        colors = over_time(g for generations in kept if generations for g in three(generations))
        return _wrapped([(label, partial(function, seeds, colors=colors)) for label, seeds in runs.items()])
    firsts = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if picture is FIGURES["archive"]:
        archived = {k: r for k, r in firsts.items() if r.experiment["estimator"]["name"] == "ArchiveKNN"}
        firsts = archived or firsts
    if picture.panels == "run":
        return _wrapped([(label, partial(function, record)) for label, record in firsts.items()])
    return [
        [(label, partial(function, record, generation=g)) for g in _spaced(record)] for label, record in firsts.items()
    ]


def _wrapped(panels: list[Panel]) -> list[list[Panel]]:
    across = columns(len(panels))
    return [panels[i : i + across] for i in range(0, len(panels), across)]


def _spaced(record: Record) -> list[int]:
    """An early, a middle and the last generation whose state is kept."""
    last_state(record, "a novelty map")
    last = len(record.snapshots) - 1
    spaced = np.linspace(min(1, last), last, 3).round().astype(int)
    return [record.snapshots[i] for i in np.unique(spaced)]
