"""Figures: records in, one figure a function, numbered as in the paper.

A line over generations is the mean over the runs of a method, its band one standard deviation over seeds to either
side; only generations that all runs of the method have are drawn. `draw` makes a whole figure by name.

For a task or an estimator of your own, first set `record.search` to the experiment that made the run.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.pictures.curves import (
    age,
    coverage,
    eta,
    kappa,
    kappa_share,
    parent_distance,
    q,
    signature,
    signature_coverage,
    signature_uniformity,
    uniformity,
)
from brns.pictures.measured import last_state
from brns.pictures.methods import method, methods
from brns.pictures.style import STYLE, legend_below, save
from brns.pictures.times import read_times, time
from brns.pictures.worlds import archive, maze, novelty_grid, novelty_map, population
from brns.runs.record import Record

__all__ = [  # beside `draw` and `overview`, the functions of which whole figures are made
    "FIGURES",
    "PAPER",
    "age",
    "archive",
    "coverage",
    "draw",
    "eta",
    "kappa",
    "kappa_share",
    "maze",
    "method",
    "methods",
    "novelty_grid",
    "novelty_map",
    "overview",
    "parent_distance",
    "population",
    "q",
    "read_times",
    "save",
    "signature",
    "signature_coverage",
    "signature_uniformity",
    "time",
    "uniformity",
]

FIGURES: dict[str, Callable[..., Axes]] = {
    "maze": maze,
    "archive": archive,
    "novelty-map": novelty_map,
    "coverage": coverage,
    "parent-distance": parent_distance,
    "age": age,
    "q": q,
    "uniformity": uniformity,
    "eta": eta,
    "kappa": kappa,
    "kappa-share": kappa_share,
    "signature": signature,
    "signature-coverage": signature_coverage,
    "signature-uniformity": signature_uniformity,
    "time": time,
}
PAPER = {
    **{"2a": "maze", "2b": "archive", "2c": "novelty-map", "2d": "maze"},
    **{"3a": "coverage", "3b": "parent-distance", "3c": "age", "3d": "q", "3e": "q", "3f": "uniformity"},
    **{"4a": "q", "4b": "q", "4c": "q", "4d": "q", "4e": "eta", "4f": "kappa", "5": "signature", "6": "time"},
}
"""the figures by their numbers in the paper"""


def overview(record: Record) -> Figure:
    """A run at a glance: every behavior that it evaluated, by generation, and what is novel to it at the end."""
    planar = record.search.task.behavior_space.dimension == 2
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 6.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        maze(record, left)
        if planar and record.snapshots:
            novelty_map(record, right, record.snapshots[-1])
        else:
            population(record, right)
        left.set_title(f"{method(record)}, seed {record.seed}\n{left.get_title(loc='left')}")
        legend_below(figure, columns=8)
    return figure


def draw(name: str, source: Sequence[Record] | Sequence[Mapping[str, Any]]) -> Figure:
    """A whole figure by its name, or its number in the paper, of runs of one or several methods.

    `source` is records, or for "time" the rows that `read_times` gives. Pictures of single runs (maze, archive,
    novelty-map) show the first seed of each method.
    """
    name = PAPER.get(name, name)
    if name not in FIGURES:
        raise ValueError(f"a figure is one of {', '.join(FIGURES)}, or {', '.join(PAPER)}; got {name!r}")
    panels = _panels(name, source)
    size = (5.4, 4.7) if name in ("maze", "archive", "novelty-map") else (5.6, 3.5)
    with matplotlib.rc_context(STYLE):
        rows, columns = len(panels), max(map(len, panels))
        figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.3), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for row, line in zip(axes, panels, strict=True):
            for ax in row[len(line) :]:
                ax.remove()
            for ax, (label, panel) in zip(row, line, strict=False):
                panel(ax=ax)
                if label:
                    ax.set_title(f"{label}\n{ax.get_title(loc='left')}".removesuffix("\n"))
        legend_below(figure)
    return figure


def _panels(name: str, source: Any) -> list[list[tuple[str, Callable[..., Axes]]]]:
    """Rows of panels: a label and a function of `ax` each."""
    figure = FIGURES[name]
    if name == "time":
        return [[("", partial(figure, source))]]
    runs = methods(source)
    if name == "q":
        return _wrapped([(label, partial(q, seeds)) for label, seeds in runs.items()])
    firsts = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if name == "archive":
        firsts = {k: r for k, r in firsts.items() if r.experiment["estimator"]["name"] == "ArchiveKNN"} or firsts
    if name == "novelty-map":
        columns = max(min(len(record.snapshots), 3) for record in firsts.values())
        return [
            [(label, partial(figure, record, generation=g)) for g in _spaced(record, columns)]
            for label, record in firsts.items()
        ]
    if name in ("maze", "archive"):
        return _wrapped([(label, partial(figure, record)) for label, record in firsts.items()])
    return [[("", partial(figure, [record for seeds in runs.values() for record in seeds]))]]


def _wrapped(panels: list[Any]) -> list[list[Any]]:
    """At most three panels in a row."""
    return [panels[i : i + 3] for i in range(0, len(panels), 3)]


def _spaced(record: Record, number: int) -> list[int]:
    """An early, a middle and the last generation whose state is kept."""
    last_state(record, None, "a novelty map")
    at = np.linspace(min(1, len(record.snapshots) - 1), len(record.snapshots) - 1, number).round().astype(int)
    return [record.snapshots[i] for i in at]
