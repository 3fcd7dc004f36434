"""The table of figures, with what each is called and its number in the paper; and whole figures
made of them.

A new figure is a function that gathers and one that draws, in files beside this one, and an entry
here: command line, report, reproduction and tests read this table. The first paragraph of the
drawing function's docstring is the figure's caption.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.metrics.recorded import require_states
from brns.pictures import curves, gather, maps
from brns.pictures.curves import Over
from brns.pictures.gather import Gathered
from brns.pictures.records import Runs, common, has_map, method, methods
from brns.pictures.style import (
    WIDTHS,
    Width,
    add_title,
    columns,
    house_style,
    label_ends,
    legend_below,
    new_figure,
)
from brns.runs.record import Record
from brns.settings import did_you_mean


class Picture(NamedTuple):
    """One figure."""

    title: str
    function: Callable[..., Axes]
    """`function(source, ax)` draws one panel"""
    gather: Callable[..., Gathered]
    """`gather(source)` has the numbers of one panel"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    worlds: Literal["all", "planar", "paths"] = "all"
    """the behaviors that it can be drawn of: any, points of a plane, paths"""
    fitness: bool = False
    """whether it needs a task whose fitness is not the same for all"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one panel for all runs, one a method, one for each method's first seed, or three of it:
    early, middle, last"""
    shaped: bool = False
    """whether it counts cells, of which `shape` tells how many there are"""

    @property
    def caption(self) -> str:
        """What is shown and how to read it."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def wide(self) -> bool:
        """Whether its panels are maps, not curves."""
        return self.panels in ("run", "states")


class Panel(NamedTuple):
    """One panel of a figure."""

    label: str
    source: Any
    """runs, or one"""
    options: dict[str, Any]
    """of drawing and gathering"""
    style: dict[str, Any]
    """of drawing alone"""


FIGURES: dict[str, Picture] = {
    "behaviors": Picture(
        "The world and what was tried", maps.behaviors, gather.behaviors, ("2a", "2d"), panels="run"
    ),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        maps.novelty_map,
        gather.novelty_map,
        ("2c",),
        worlds="planar",
        panels="states",
    ),
    "archive": Picture("The archive", maps.archive, gather.archive, ("2b",), panels="run"),
    "coverage": Picture(
        "Coverage", curves.coverage, gather.coverage, ("3a",), worlds="planar", shaped=True
    ),
    "uniformity": Picture(
        "Uniformity", curves.uniformity, gather.uniformity, ("3f",), worlds="planar"
    ),
    "parent-distance": Picture(
        "Distance to the parent", curves.parent_distance, gather.parent_distance, ("3b",)
    ),
    "age": Picture("Age", curves.age, gather.age, ("3c",)),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        curves.q,
        gather.q,
        ("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
    ),
    "eta": Picture("η", curves.eta, gather.eta, ("4e",)),
    "kappa": Picture("κ", curves.kappa, gather.kappa, ("4f",)),
    "kappa-share": Picture("κ per later generation", curves.kappa_share, gather.kappa_share),
    "signature": Picture(
        "Spread of the paths", curves.signature, gather.signature, ("5",), worlds="paths"
    ),
    "elites": Picture(
        "Elites",
        maps.elites,
        gather.elites,
        worlds="planar",
        fitness=True,
        panels="run",
        shaped=True,
    ),
    "qd-score": Picture(
        "QD score", curves.qd_score, gather.qd_score, worlds="planar", fitness=True, shaped=True
    ),
}
PAPER: dict[str, str] = {
    number: name for name, figure in FIGURES.items() for number in figure.paper
}
"""the figures by their numbers in the paper"""
AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {"3a": {"shape": (6, 6)}}
"""options of figures that are asked for by their number"""


def figures_of(kind: Literal["planar", "paths"]) -> tuple[str, ...]:
    """The names of the figures that can be drawn of any runs whose behaviors are points of a plane,
    or paths.

    Args:
        kind: which of the two.

    Returns:
        The names, in the order of the table.
    """
    return tuple(
        name
        for name, figure in FIGURES.items()
        if figure.worlds in ("all", kind) and not figure.fitness
    )


def overview(record: Runs) -> Figure:
    """A run at a glance: every behavior that it evaluated, by generation, and what is novel to it
    at the end.

    The population stands in for the map of novelty where behaviors have more than two dimensions,
    no state was kept, or the search is not known.

    Args:
        record: a run, or a list of runs: a row for each.

    Returns:
        A figure that a notebook shows.

    Raises:
        ValueError: for an empty list.
    """
    records = [record] if isinstance(record, Record) else list(record)
    if not records:
        raise ValueError("an overview needs a run; got none")
    with house_style():
        figure = new_figure(12.4, 5.6 * len(records) + 0.4)
        axes = figure.subplots(len(records), 2, squeeze=False)
        for (left, right), each in zip(axes, records, strict=True):
            maps.behaviors(each, left)
            draw_newest = maps.novelty_map if has_map(each) else maps.population
            draw_newest(each, right)
            add_title(left, f"{method(each)}, seed {each.seed}")
        legend_below(figure, columns=8)
    return figure


def draw(
    name: str,
    records: Runs,
    *,
    width: Width | None = None,
    over: Over = "generations",
    shape: Sequence[int] | None = None,
) -> Figure:
    """A whole figure by its name, or its number in the paper, of runs of one or several methods.

    Pictures of single runs (behaviors, archive, novelty-map, elites) show the first seed of each
    method.

    Args:
        name: one of `FIGURES`, such as "coverage", or "3a", which is coverage of 6 x 6 cells as
            in the paper.
        records: a run or runs.
        width: for print: 3.5 inches ("column") or 7.2 ("page"), in type of 7 points.
        over: what x is, of curves.
        shape: the number of cells in each dimension, of what counts cells: coverage, elites,
            qd-score.

    Returns:
        A figure that a notebook shows, and `save` writes.

    Raises:
        ValueError: for an unknown name, for options that the figure does not have, and where it
            cannot be drawn of these runs.
    """
    picture, options, style = _select(name, shape, over)
    if width is not None and width not in WIDTHS:
        raise ValueError(f"width is one of {', '.join(WIDTHS)}, or none; got {width!r}")
    panels = _panels(picture, records)
    # As many side by side as they are told to be; in a column of print one below the other.
    rows = [[panel] for line in panels for panel in line] if width == "column" else panels
    across = max(map(len, rows))
    inches, ratio = (5.4, 0.87) if picture.wide else (5.6, 0.625)
    total = WIDTHS[width] if width else inches * across
    with house_style(width):
        figure = new_figure(total, ratio * total / across * len(rows) + (0.1 if width else 0.3))
        for row, line in enumerate(rows):
            for column, panel in enumerate(line):
                ax = figure.add_subplot(len(rows), across, row * across + column + 1)
                picture.function(
                    panel.source, ax, **panel.options, **panel.style, **options, **style
                )
                add_title(ax, panel.label)
        if len(panels) > 1 or picture.panels != "one" or not label_ends(figure.axes[0]):
            legend_below(figure)
    return figure


def data(name: str, records: Runs, *, shape: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The numbers of a figure.

    Args:
        name: as in `draw`.
        records: a run or runs.
        shape: as in `draw`.

    Returns:
        A row for each point of a line, bar, cell or individual that `draw` draws, with the values
        of every seed, of which the lines' middles and bands are made. `pandas.DataFrame` takes them
        as they are.

    Raises:
        ValueError: as `draw` does.
    """
    picture, options, _ = _select(name, shape, "generations")
    rows = []
    for line in _panels(picture, records):
        for panel in line:
            label = {"panel": panel.label} if panel.label else {}
            gathered = picture.gather(panel.source, **panel.options, **options)
            rows += [label | row for row in gathered.rows()]
    return rows


def _select(
    name: str, shape: Sequence[int] | None, over: Over
) -> tuple[Picture, dict[str, Any], dict[str, Any]]:
    """The figure of a name or number, the options of what it gathers, and those of its drawing."""
    options = AS_IN_THE_PAPER.get(name, {})
    name = PAPER.get(name, name)
    if name == "6":
        raise ValueError(
            "figure 6 is measured, not drawn of runs: python -m reproduction timing, in a checkout"
        )
    if name not in FIGURES:
        current = [*FIGURES, *sorted(PAPER)]
        raise ValueError(
            f"a figure is one of {', '.join(current)}; got {name!r}{did_you_mean(name, current)}"
        )
    picture = FIGURES[name]
    if shape is not None and not picture.shaped:
        shaped = ", ".join(name for name, figure in FIGURES.items() if figure.shaped)
        raise ValueError(f"cells can be given for {shaped}; {name} counts none, so leave them out")
    if shape is not None and (min(shape, default=0) < 1):
        raise ValueError(f"cells are numbers from 1 on, one a dimension; got {tuple(shape)}")
    curved = "over" in inspect.signature(picture.function).parameters
    if over != "generations" and not curved:
        names = [
            n for n, p in FIGURES.items() if "over" in inspect.signature(p.function).parameters
        ]
        raise ValueError(
            f"x can be evaluations in {', '.join(names)}; {name} has no such axis, so leave it out"
        )
    if shape is not None:
        options = {"shape": tuple(shape)}
    return picture, options, {"over": over} if curved else {}


def _panels(picture: Picture, records: Runs) -> list[list[Panel]]:
    """The panels of a figure, row by row."""
    runs = methods(records)
    firsts = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if picture.panels == "states":
        rows = []
        for label, record in firsts.items():
            states = _pick_states(record)
            rows.append([Panel(label, record, {"generation": g}, {}) for g in states])
        return rows
    if picture.panels == "one":
        panels = [Panel("", records, {}, {})]
    elif picture.panels == "method":
        states = [common(record.snapshots for record in seeds) for seeds in runs.values()]
        rows = [gather.three(generations) for generations in states if generations]
        colors = curves.over_time(g for row in rows for g in row)
        panels = [Panel(label, seeds, {}, {"colors": colors}) for label, seeds in runs.items()]
    else:
        if picture is FIGURES["archive"]:
            archived = {
                k: r for k, r in firsts.items() if r.experiment["estimator"]["name"] == "ArchiveKNN"
            }
            firsts = archived or firsts
        panels = [Panel(label, record, {}, {}) for label, record in firsts.items()]
    across = columns(len(panels))
    return [panels[i : i + across] for i in range(0, len(panels), across)]


def _pick_states(record: Record) -> list[int]:
    """An early, a middle and the last generation whose state is kept."""
    states = require_states(record, "a novelty map")
    last = len(states) - 1
    spaced = np.linspace(min(1, last), last, 3).round().astype(int)
    return [states[i] for i in np.unique(spaced)]
