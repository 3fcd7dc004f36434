"""Figures by their names: gathered, then drawn or written as numbers."""

import math
from typing import Any, NamedTuple, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brns.metrics.recorded import require_states
from brns.pictures import gather_maps, paint_curves, paint_maps, style
from brns.pictures.lines import label_line_ends_if_room
from brns.pictures.paint_curves import Over
from brns.pictures.records import (
    Runs,
    can_draw_novelty_map,
    group_by_method,
    label_method,
    list_runs,
    pick_evenly,
)
from brns.pictures.style import Width
from brns.pictures.table import AS_IN_THE_PAPER, FIGURES, PAPER, Picture
from brns.settings.parts import check_name

Panel = tuple[str, Any]
"""the label of a part of a figure, and what was gathered for it"""


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
    records = list_runs(record)
    with style.use_figure_style():
        figure = style.make_figure(12.4, 5.6 * len(records) + 0.4)
        axes = figure.subplots(len(records), 2, squeeze=False)
        for (left, right), each in zip(axes, records, strict=True):
            paint_maps.paint_behaviors(gather_maps.gather_behaviors(each), left)
            if can_draw_novelty_map(each):
                paint_maps.paint_novelty_map(gather_maps.gather_novelty_map(each), right)
            else:
                paint_maps.paint_population(gather_maps.gather_population(each), right)
            style.prepend_to_title(left, f"{label_method(each)}, seed {each.seed}")
        style.add_legend_below(figure, columns=8)
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
        **options: `cells`, as many as a grid has in each dimension, of coverage, elites and
            qd-score (of the first and the last also the centres of a tessellation);
            `individuals`, whose behaviors count for coverage, "survivors" or "evaluated";
            `generation` of a novelty map or a population; `individual`, by its id, of lineage.

    Returns:
        A figure that a notebook shows, and `save` writes; that of `ax`, if given.

    Raises:
        ValueError: for an unknown name, for options that the figure does not have, and where it
            cannot be drawn of these runs.
    """
    if not isinstance(name, str):
        raise ValueError("a figure's name comes first, as in draw('coverage', records)")
    check_name("over", over, get_args(Over))
    if width is not None:
        check_name("width", width, style.WIDTHS)
    if not isinstance(ax, Axes | None):
        raise ValueError(f"ax must be one axes, as in axes[0, 0] of plt.subplots; got {ax!r:.80}")
    return prepare_figure(name, records, over=over, last=ax is not None, **options).draw(ax, width)


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
    return prepare_figure(name, records, **options).data()


class Prepared(NamedTuple):
    """A figure's numbers, gathered once to be drawn and written."""

    picture: Picture
    panels: list[Panel]
    across: int
    """panels side by side"""
    how: dict[str, Any]
    """options of painting"""

    def data(self) -> list[dict[str, Any]]:
        """What `brns.pictures.data` returns."""
        rows = []
        for label, gathered in self.panels:
            panel = {"panel": label} if label else {}
            rows += [panel | row for row in gathered.to_rows()]
        return rows

    def draw(self, ax: Axes | None = None, width: Width | None = None) -> Figure:
        """What `brns.pictures.draw` returns."""
        how, panels = self.how, self.panels
        if self.picture.panels == "method":
            lines = [line.label for _, gathered in panels for line in gathered.series]
            how = how | {"looks": paint_curves.choose_looks_of_q_rows_by_time(lines)}
        if ax is not None:
            if len(panels) > 1:
                labels = "; ".join(label for label, _ in panels)
                raise ValueError(f"one panel fits on ax; these runs have {len(panels)}: {labels}")
            self.picture.paint(panels[0][1], ax, **how)
            theirs: Any = ax.figure
            return theirs.figure  # of a subfigure the whole
        across = 1 if width == "column" else self.across
        down = math.ceil(len(panels) / across)
        inches, ratio = (5.4, 0.87) if self.picture.shows_maps else (5.6, 0.625)
        total = style.WIDTHS[width] if width else inches * across
        with style.use_figure_style(width):
            figure = style.make_figure(
                total, ratio * total / across * down + (0.1 if width else 0.3)
            )
            for place, (label, gathered) in enumerate(panels, 1):
                panel = figure.add_subplot(down, across, place)
                self.picture.paint(gathered, panel, **how)
                style.prepend_to_title(panel, label)
            if self.picture.panels != "one" or not label_line_ends_if_room(figure.axes[0]):
                style.add_legend_below(figure)
        return figure


def prepare_figure(
    name: str, records: Runs, *, over: Over = "generations", last: bool = False, **options: Any
) -> Prepared:
    """Gather what a figure shows; of several states the `last` alone. The rest is as in `draw`."""
    settings = AS_IN_THE_PAPER.get(name, {})
    name = PAPER.get(name, name)
    check_name("a figure", name, [*FIGURES, *sorted(PAPER)])
    picture = FIGURES[name]
    how = {} if over == "generations" else {"over": over}
    requested = {option: value for option, value in options.items() if value is not None}
    for option in sorted({*requested, *how}.difference(picture.options)):
        known = ", ".join(picture.options) or "none"
        raise ValueError(f"{name} has no option {option}; its options are: {known}")
    if isinstance(cells := requested.get("cells"), int):
        raise ValueError(f"cells must be one number a dimension, as in ({cells}, {cells}); got one")
    if last and picture.panels == "states":
        requested.setdefault("generation", None)
    return Prepared(picture, *_gather_panels(picture, records, settings | requested), how)


def _gather_panels(
    picture: Picture, records: Runs, options: dict[str, Any]
) -> tuple[list[Panel], int]:
    """The panels of a figure, and how many of them stand side by side."""
    runs = group_by_method(records)
    if picture.panels == "one":
        return [("", picture.gather(records, **options))], 1
    if picture.panels == "method":
        sources: dict[str, Any] = dict(runs)
    else:
        sources = {f"{label}, seed {seeds[0].seed}": seeds[0] for label, seeds in runs.items()}
    if picture.archived:
        archives = {}
        for label, record in sources.items():
            if record.experiment["estimator"]["name"] == "ArchiveKNN":
                archives[label] = record
        sources = archives or sources
    if picture.panels == "states" and "generation" not in options:
        states = {label: require_states(each, "a novelty map") for label, each in sources.items()}
        across = max(1, min(3, *(len(numbers) - 1 for numbers in states.values())))
        panels = []
        for label, numbers in states.items():
            last = len(numbers) - 1
            for row in pick_evenly(min(1, last), last, across):
                panels.append((label, picture.gather(sources[label], numbers[row])))
        return panels, across
    panels = [(label, picture.gather(each, **options)) for label, each in sources.items()]
    across = 2 if len(panels) == 4 else 3  # four are a square
    return panels, min(across, len(panels))
