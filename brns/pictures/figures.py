"""The table of figures, with what each is called and its number in the paper; and whole figures made of them.

A new figure is a function in a file beside this one, and an entry here: command line, report, reproduction and tests
read this table. The first paragraph of a function's docstring is the figure's caption.
"""

import inspect
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.metrics.recorded import kept
from brns.pictures import curves, worlds
from brns.pictures.records import common, mapped, method, methods
from brns.pictures.style import STYLE, Shown, columns, legend_below, titled
from brns.runs.record import Record
from brns.settings import near

Panel = tuple[str, Callable[..., Axes]]
"""a label, and a function of `ax`"""


class Picture(NamedTuple):
    """One figure."""

    title: str
    function: Callable[..., Axes]
    """`function(source, ax)` draws one panel"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    worlds: Literal["all", "planar", "paths"] = "all"
    """the behaviors that it can be drawn of: any, points of a plane, paths"""
    fitness: bool = False
    """whether it needs a task whose fitness is not the same for all"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one panel for all runs, one a method, one for each method's first seed, or three of it: early, middle, last"""

    @property
    def caption(self) -> str:
        """What is shown and how to read it."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")


FIGURES: dict[str, Picture] = {
    "maze": Picture("The world and what was tried", worlds.maze, ("2a", "2d"), panels="run"),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        worlds.novelty_map,
        ("2c",),
        worlds="planar",
        panels="states",
    ),
    "archive": Picture("The archive", worlds.archive, ("2b",), panels="run"),
    "coverage": Picture("Coverage", curves.coverage, ("3a",), worlds="planar"),
    "uniformity": Picture("Uniformity", curves.uniformity, ("3f",), worlds="planar"),
    "parent-distance": Picture("Distance to the parent", curves.parent_distance, ("3b",)),
    "age": Picture("Age", curves.age, ("3c",)),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        curves.q,
        ("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
    ),
    "eta": Picture("η", curves.eta, ("4e",)),
    "kappa": Picture("κ", curves.kappa, ("4f",)),
    "kappa-share": Picture("κ per later generation", curves.kappa_share),
    "signature": Picture("Spread of the paths", curves.signature, ("5",), worlds="paths"),
    "elites": Picture("Elites", worlds.elites, worlds="planar", fitness=True, panels="run"),
    "qd-score": Picture("QD score", curves.qd_score, worlds="planar", fitness=True),
}
PAPER: dict[str, str] = {
    number: name for name, figure in FIGURES.items() for number in figure.paper
}
"""the figures by their numbers in the paper"""


def figures_of(kind: Literal["planar", "paths"]) -> tuple[str, ...]:
    """The names of the figures that can be drawn of any runs whose behaviors are points of a plane, or paths."""
    return tuple(
        name
        for name, figure in FIGURES.items()
        if figure.worlds in ("all", kind) and not figure.fitness
    )


def overview(record: Record) -> Figure:
    """A run at a glance: every behavior that it evaluated, by generation, and what is novel to it at the end.

    The population stands in for the map of novelty where behaviors have more than two dimensions, no state was kept, or
    the search is not known.
    """
    with matplotlib.rc_context(STYLE):
        figure = Shown(figsize=(12.4, 6.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        worlds.maze(record, left)
        if mapped(record):
            worlds.novelty_map(record, right)
        else:
            worlds.population(record, right)
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
                titled(ax, label)
        legend_below(figure)
    return figure


def _panels(picture: Picture, records: Sequence[Record]) -> list[list[Panel]]:
    """The panels of a figure, row by row."""
    function, runs = picture.function, methods(records)
    firsts = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if picture.panels == "states":
        return [_states(function, label, record) for label, record in firsts.items()]
    panels: list[Panel]
    if picture.panels == "one":
        panels = [("", partial(function, records))]
    elif picture.panels == "method":
        states = map(_common_states, runs.values())
        shown = itertools.chain.from_iterable(map(curves.three, filter(None, states)))
        colors = curves.over_time(shown)
        panels = [(label, partial(function, seeds, colors=colors)) for label, seeds in runs.items()]
    else:
        if picture is FIGURES["archive"]:
            archived = {
                k: r for k, r in firsts.items() if r.experiment["estimator"]["name"] == "ArchiveKNN"
            }
            firsts = archived or firsts
        panels = [(label, partial(function, record)) for label, record in firsts.items()]
    across = columns(len(panels))
    return [panels[i : i + across] for i in range(0, len(panels), across)]


def _states(function: Callable[..., Axes], label: str, record: Record) -> list[Panel]:
    """A row of a run's early, middle and last state."""
    return [(label, partial(function, record, generation=g)) for g in _spaced(record)]


def _common_states(records: Sequence[Record]) -> list[int]:
    return common(record.snapshots for record in records)


def _spaced(record: Record) -> list[int]:
    """An early, a middle and the last generation whose state is kept."""
    states = kept(record, "a novelty map")
    last = len(states) - 1
    spaced = np.linspace(min(1, last), last, 3).round().astype(int)
    return [states[i] for i in np.unique(spaced)]
