"""The table of figures, which command line, report, reproduction and tests read; and whole figures
made of it.

A new figure is a function that gathers, one that paints, and an entry here.
"""

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.metrics.recorded import require_states
from brns.pictures import curves, gather, maps, style
from brns.pictures.curves import Over
from brns.pictures.records import Runs, has_map, method, methods
from brns.pictures.style import WIDTHS, Width, add_title, house_style, legend_below, new_figure
from brns.runs.record import Record
from brns.settings.parts import did_you_mean

Panel = tuple[str, Any]
"""the label of a part of a figure, and what was gathered for it"""


class Picture(NamedTuple):
    """One figure."""

    title: str
    caption: str
    """what is shown and how to read it"""
    gather: Callable[..., Any]
    """`gather(source, **options)` has the numbers of one panel"""
    paint: Callable[..., None] = curves.paint_curves
    """`paint(gathered, ax)` draws them"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    worlds: Literal["all", "planar", "paths"] = "all"
    """the behaviors that it can be drawn of: any, points of a plane, paths"""
    fitness: bool = False
    """whether it needs a task whose fitness is not the same for all"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one panel for all runs, one a method, one for each method's first seed, or three of it:
    early, middle, last"""
    archived: bool = False
    """whether methods without an archive are left out, if others have one"""
    options: tuple[str, ...] = ()
    """those of `draw` that it has"""
    timed: bool = False
    """whether it is measured when it is drawn, which takes a minute: reports do without"""

    @property
    def wide(self) -> bool:
        """Whether its panels are maps, not curves."""
        return self.panels in ("run", "states")


FIGURES: dict[str, Picture] = {
    "behaviors": Picture(
        "The world and what was tried",
        "Every behavior that was evaluated, of paths at most 1500, coloured by generation. "
        "Solutions are ringed; paths of three (the first, one halfway, the last) are drawn where "
        "the task can replay them. First seed of each method.",
        gather.behaviors,
        maps.paint_behaviors,
        paper=("2a", "2d"),
        panels="run",
    ),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        "Novelty after a generation at the centres of 60 × 60 cells, and the population that then "
        "lived, for an early, a middle and the last state kept. Colours are ranks, among the "
        "cells that can be reached where there are walls. First seed of each method.",
        gather.novelty_map,
        maps.paint_novelty_map,
        paper=("2c",),
        worlds="planar",
        panels="states",
        options=("generation",),
    ),
    "population": Picture(
        "The population",
        "The survivors of the last generation, coloured by the novelty by which they were "
        "selected. First seed of each method.",
        gather.population,
        maps.paint_population,
        panels="run",
        options=("generation",),
    ),
    "lineage": Picture(
        "The line of a solution",
        "The first solution and those from whom it descends, parent by parent from a founder on, "
        "coloured by generation; of a run without a solution the most novel survivor. First seed "
        "of each method.",
        gather.lineage,
        maps.paint_lineage,
        panels="run",
        options=("individual",),
    ),
    "archive": Picture(
        "The archive",
        "The behaviors in the archive at the end, coloured by the generation in which they "
        "entered. First seed.",
        gather.archive,
        maps.paint_archive,
        paper=("2b",),
        panels="run",
        archived=True,
    ),
    "coverage": Picture(
        "Coverage",
        "The share of cells that the populations of generations 0 to g have visited: 6 × 6 of a "
        "plane, or finer where a method fills those.",
        gather.coverage,
        paper=("3a",),
        worlds="planar",
        options=("shape", "individuals", "over"),
    ),
    "uniformity": Picture(
        "Uniformity",
        "Jensen–Shannon distance (base 2) to the uniform distribution on the cells of coverage: "
        "of the archive's entries for a method with an archive, of novelty at the cells' centres "
        "for the others, which is not the same quantity. Generations whose archive is empty are "
        "left out.",
        gather.uniformity,
        paper=("3f",),
        worlds="planar",
        options=("over",),
    ),
    "parent-distance": Picture(
        "Distance to the parent",
        "Euclidean distance in behavior space between an individual and its parent, mean over "
        "the population.",
        gather.parent_distance,
        paper=("3b",),
        options=("over",),
    ),
    "age": Picture(
        "Age",
        "Generations since birth, mean over the population.",
        gather.age,
        paper=("3c",),
        options=("over",),
    ),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        "The mean novelty that generation j gives to the population of generation i ≤ j, for "
        "three i; it falls in a search that remembers. Q has its estimator's unit: compare "
        "shapes, not heights. The axis is logarithmic where all of Q is above 0, with the median "
        "and the quartiles over the runs.",
        gather.q,
        paper=("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
        options=("over",),
    ),
    "eta": Picture(
        "η",
        "The mean of Q(i, j) / Q(i, i) over the kept generations j > i; below the dotted line, "
        "novelty fades.",
        gather.eta,
        paper=("4e",),
        options=("over",),
    ),
    "kappa": Picture(
        "κ",
        "How many kept generations j after the minimum i* of Q(i, ·) have Q(i, j) > Q(i, i*) + ε: "
        "how often what was visited became novel again. It grows with the number of states kept.",
        gather.kappa,
        paper=("4f",),
        options=("over",),
    ),
    "kappa-share": Picture(
        "κ per later generation",
        "κ(i) divided by the number of kept generations after i: runs of different length compare.",
        gather.kappa_share,
        options=("over",),
    ),
    "signature": Picture(
        "Spread of the paths",
        "Standard deviation of everything evaluated along the 6 terms of its path's signature, "
        "mean over the runs. The paper speaks of the solutions generated; we take every candidate "
        "solution, as a run may solve nothing.",
        gather.signature,
        curves.paint_bars,
        paper=("5",),
        worlds="paths",
    ),
    "cost": Picture(
        "What novelty costs",
        "CPU time of one generation of novelty, measured on this machine: 100 + 100 uniform "
        "behaviors of so many dimensions are scored and learned from. Archives are full.",
        gather.cost,
        curves.paint_costs,
        paper=("6",),
        timed=True,
    ),
    "elites": Picture(
        "Elites",
        "The fitness of the fittest in each of 20 × 20 cells of the behavior space. First seed "
        "of each method.",
        gather.elites,
        maps.paint_elites,
        worlds="planar",
        fitness=True,
        panels="run",
        options=("shape",),
    ),
    "qd-score": Picture(
        "QD score",
        "The fitness of the elites of 20 × 20 cells, summed above the least fitness that any of "
        "the runs met, so that a new cell never lowers the score.",
        gather.qd_score,
        worlds="planar",
        fitness=True,
        options=("shape", "over"),
    ),
}
PAPER: dict[str, str] = {
    number: name for name, figure in FIGURES.items() for number in figure.paper
}
"""the figures by their numbers in the paper"""
AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {"3a": {"shape": (6, 6)}}
"""options of figures that are asked for by their number"""


def figures_of(kind: Literal["planar", "paths"]) -> tuple[str, ...]:
    """The figures that can be drawn of any runs of a kind of task.

    Args:
        kind: whether behaviors are points of a plane, or paths.

    Returns:
        Their names, in the order of the table.
    """
    names = []
    for name, figure in FIGURES.items():
        if figure.worlds in ("all", kind) and not figure.fitness and not figure.timed:
            names.append(name)
    return tuple(names)


def overview(record: Runs) -> Figure:
    """A run at a glance: every behavior that it evaluated, by generation, and what is novel to it
    at the end, or its population where there is no map of novelty.

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
            maps.paint_behaviors(gather.behaviors(each), left)
            if has_map(each):
                maps.paint_novelty_map(gather.novelty_map(each), right)
            else:
                maps.paint_population(gather.population(each), right)
            add_title(left, f"{method(each)}, seed {each.seed}")
        legend_below(figure, columns=8)
    return figure


def draw(
    name: str,
    records: Runs,
    *,
    ax: Axes | None = None,
    width: Width | None = None,
    over: Over = "generations",
    **options: Any,
) -> Figure:
    """A figure by its name, or its number in the paper, of runs of one or several methods.

    Pictures of single runs, such as behaviors, show the first seed of each method.

    Args:
        name: one of `FIGURES`, such as "coverage", or "3a", which is coverage of 6 x 6 cells as
            in the paper.
        records: a run or runs.
        ax: axes of yours, on which one panel is drawn, in your style.
        width: for print: 3.5 inches ("column") or 7.2 ("page"), in type of 7 points.
        over: what x is, of curves.
        **options: `shape`, the number of cells in each dimension, of coverage, elites and qd-score;
            `individuals`, whose behaviors count for coverage, "survivors" or "evaluated";
            `generation` of a novelty map or a population; `individual`, by its id, of lineage.

    Returns:
        A figure that a notebook shows, and `save` writes; that of `ax`, if given.

    Raises:
        ValueError: for an unknown name, for options that the figure does not have, and where it
            cannot be drawn of these runs.
    """
    if width is not None and width not in WIDTHS:
        raise ValueError(f"width is one of {', '.join(WIDTHS)}, or none; got {width!r}")
    return prepare(name, records, over=over, last=ax is not None, **options).draw(ax, width)


def data(name: str, records: Runs, **options: Any) -> list[dict[str, Any]]:
    """The numbers of a figure.

    Args:
        name: as in `draw`.
        records: a run or runs.
        **options: as in `draw`.

    Returns:
        A row for each point of a line, bar, cell or individual that `draw` draws, with the values
        of every seed, of which the lines' middles and bands are made. `pandas.DataFrame` takes them
        as they are.

    Raises:
        ValueError: as `draw` does.
    """
    return prepare(name, records, **options).data()


class Prepared(NamedTuple):
    """A figure's numbers, gathered once to be drawn and written."""

    picture: Picture
    rows: list[list[Panel]]
    over: Over

    @property
    def panels(self) -> list[Panel]:
        """Those of all rows."""
        return list(itertools.chain.from_iterable(self.rows))

    def data(self) -> list[dict[str, Any]]:
        """What `brns.pictures.data` returns."""
        rows = []
        for label, gathered in self.panels:
            panel = {"panel": label} if label else {}
            rows += [panel | row for row in gathered.rows()]
        return rows

    def draw(self, ax: Axes | None = None, width: Width | None = None) -> Figure:
        """What `brns.pictures.draw` returns."""
        how: dict[str, Any] = {} if self.over == "generations" else {"over": self.over}
        panels = self.panels
        if self.picture.panels == "method":
            lines = [line.label for _, gathered in panels for line in gathered.series]
            how["looks"] = curves.looks_of_rows(lines)
        if ax is not None:
            if len(panels) > 1:
                labels = "; ".join(label for label, _ in panels)
                raise ValueError(f"one panel fits on ax; these runs have {len(panels)}: {labels}")
            self.picture.paint(panels[0][1], ax, **how)
            theirs: Any = ax.figure
            return theirs
        # In a column one below the other.
        rows = [[panel] for panel in panels] if width == "column" else self.rows
        across = max(map(len, rows))
        inches, ratio = (5.4, 0.87) if self.picture.wide else (5.6, 0.625)
        total = WIDTHS[width] if width else inches * across
        with house_style(width):
            figure = new_figure(total, ratio * total / across * len(rows) + (0.1 if width else 0.3))
            for row, line in enumerate(rows):
                for column, (label, gathered) in enumerate(line):
                    place = figure.add_subplot(len(rows), across, row * across + column + 1)
                    self.picture.paint(gathered, place, **how)
                    add_title(place, label)
            if self.picture.panels != "one" or not style.label_line_ends(figure.axes[0]):
                legend_below(figure)
        return figure


def prepare(
    name: str, records: Runs, *, over: Over = "generations", last: bool = False, **options: Any
) -> Prepared:
    """Gather what a figure shows; of several states the `last` alone. The rest is as in `draw`."""
    settings = AS_IN_THE_PAPER.get(name, {})
    name = PAPER.get(name, name)
    if name not in FIGURES:
        names = [*FIGURES, *sorted(PAPER)]
        raise ValueError(
            f"a figure is one of {', '.join(names)}; got {name!r}{did_you_mean(name, names)}"
        )
    options = {option: value for option, value in options.items() if value is not None}
    names = {*options} if over == "generations" else {*options, "over"}
    for option in sorted(names - set(FIGURES[name].options)):
        others = ", ".join(each for each, figure in FIGURES.items() if option in figure.options)
        words = "shape (--cells)" if option == "shape" else option
        of = others or "no figure"
        raise ValueError(f"{name} has no option {words}, which is of {of}; leave it out")
    if min(options.get("shape", (1,)), default=0) < 1:
        raise ValueError(f"cells are numbers from 1 on, one a dimension; got {options['shape']}")
    picture, options = FIGURES[name], settings | options
    if last and picture.panels == "states":
        options.setdefault("generation", None)
    return Prepared(picture, _panels(picture, records, options), over)


def _panels(picture: Picture, records: Runs, options: dict[str, Any]) -> list[list[Panel]]:
    """The panels of a figure, row by row."""
    runs = methods(records)
    if picture.panels == "one":
        return [[("", picture.gather(records, **options))]]
    if picture.panels == "method":
        sources: dict[str, Any] = dict(runs)
    else:
        sources = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if picture.panels == "states" and "generation" not in options:
        rows = []
        for label, record in sources.items():
            states = _pick_states(record)
            rows.append([(label, picture.gather(record, g, **options)) for g in states])
        return rows
    if picture.archived:
        archives = {}
        for label, record in sources.items():
            if record.experiment["estimator"]["name"] == "ArchiveKNN":
                archives[label] = record
        sources = archives or sources
    panels = [(label, picture.gather(each, **options)) for label, each in sources.items()]
    across = 2 if len(panels) == 4 else 3  # four are a square
    return [panels[i : i + across] for i in range(0, len(panels), across)]


def _pick_states(record: Record) -> list[int]:
    """An early, a middle and the last generation whose state is kept."""
    states = require_states(record, "a novelty map")
    last = len(states) - 1
    spaced = np.linspace(min(1, last), last, 3).round().astype(int)
    return [states[i] for i in np.unique(spaced)]
