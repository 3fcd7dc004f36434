"""Curves over generations or evaluations, and bars, of the runs of each method."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import (
    EngFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    PercentFormatter,
)

from brns.pictures import gather
from brns.pictures.gather import Bars, Curves
from brns.pictures.records import LOOKS, Runs, looks_of
from brns.pictures.style import INK, TIME, Line, axes, bands, draw_lines, wrapped
from brns.settings import Look

Over = Literal["generations", "evaluations"]


def coverage(
    records: Runs,
    ax: Axes | None = None,
    *,
    shape: Sequence[int] | None = None,
    individuals: Literal["survivors", "evaluated"] = "survivors",
    over: Over = "generations",
) -> Axes:
    """The share of cells that the populations of generations 0 to g have visited: 6 × 6 of a plane,
    or finer where a method fills those.

    Args:
        records: runs of one or several methods.
        ax: where to draw, by default pyplot's current axes.
        shape: the number of cells in each dimension. By default those of
            `brns.metrics.coverage.grid`, with sides halved as long as a method covers more than
            95 %; figure 3a of the paper has 6 x 6.
        individuals: whose behaviors count: the survivors' or those of all who were evaluated.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: if the space has more than 3 dimensions and no shape is given.
    """
    return paint(gather.coverage(records, shape, individuals), ax, over=over)


def qd_score(
    records: Runs,
    ax: Axes | None = None,
    *,
    shape: Sequence[int] | None = None,
    over: Over = "generations",
) -> Axes:
    """The fitness of the elites of 20 × 20 cells, summed above the least fitness that any of the
    runs met.

    Thus a new cell never lowers the score.

    Args:
        records: runs of one or several methods.
        ax: where to draw, by default pyplot's current axes.
        shape: the number of cells in each dimension.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: where all have one fitness.
    """
    return paint(gather.qd_score(records, shape), ax, over=over)


def parent_distance(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """Euclidean distance in behavior space between an individual and its parent, mean over the
    population.

    Args:
        records: runs of one or several methods.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.
    """
    return paint(gather.parent_distance(records), ax, over=over)


def age(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """Generations since birth, mean over the population.

    Args:
        records: runs of one or several methods.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.
    """
    return paint(gather.age(records), ax, over=over)


def uniformity(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """Jensen–Shannon distance (base 2) to the uniform distribution on the cells of coverage: of the
    archive's entries for a method with an archive, of novelty at the cells' centres for the others,
    which is not the same quantity.

    Generations whose archive is empty are left out.

    Args:
        records: runs of one or several methods whose states were kept.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: where no states were kept.
    """
    return paint(gather.uniformity(records), ax, over=over)


def eta(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """The mean of Q(i, j) / Q(i, i) over the kept generations j > i; below the dotted line, novelty
    fades.

    Args:
        records: runs of one or several methods whose states were kept.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: where less than 3 states were kept.
    """
    ax = paint(gather.eta(records), ax, over=over)
    ax.axhline(1, color=INK, lw=0.8, ls=":")
    ax.autoscale(axis="y")
    ax.set_ylim(0, None)
    return ax


def kappa(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """How many kept generations j after the minimum i* of Q(i, ·) have Q(i, j) > Q(i, i*) + ε: how
    often what was visited became novel again. It grows with the number of states kept.

    Args:
        records: runs of one or several methods whose states were kept.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: where less than 3 states were kept.
    """
    return paint(gather.kappa(records), ax, over=over)


def kappa_share(records: Runs, ax: Axes | None = None, *, over: Over = "generations") -> Axes:
    """κ(i) divided by the number of kept generations after i: runs of different length compare.

    Args:
        records: runs of one or several methods whose states were kept.
        ax: where to draw, by default pyplot's current axes.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: where less than 3 states were kept.
    """
    return paint(gather.kappa_share(records), ax, over=over)


def q(
    records: Runs,
    ax: Axes | None = None,
    *,
    colors: Mapping[int, str] | None = None,
    over: Over = "generations",
) -> Axes:
    """The mean novelty that generation j gives to the population of generation i ≤ j, for three i;
    it falls in a search that remembers. Q has its estimator's unit: compare shapes, not heights.

    The axis is logarithmic where all of Q is above 0, with the median and the quartiles over the
    runs.

    Args:
        records: runs of one method whose states were kept.
        ax: where to draw, by default pyplot's current axes.
        colors: those of the i.
        over: what x is.

    Returns:
        The axes.

    Raises:
        ValueError: for runs of several methods, and where less than 2 states were kept.
    """
    rows = gather.q(records)
    colors = colors or over_time(line.generations[0] for line in rows.series)
    shapes = list(LOOKS.values())
    looks = {}
    for place, line in enumerate(rows.series):
        looks[line.label] = shapes[place]._replace(color=colors[int(line.generations[0])])
    logarithmic = all((line.values > 0).all() for line in rows.series)
    ax = paint(rows, ax, looks, over=over, quartiles=logarithmic)
    if logarithmic:
        ax.set_ylim(auto=True)
        ax.autoscale(axis="y")
        _logarithmic(ax)
    return ax


def over_time(generations: Iterable[int]) -> dict[int, str]:
    """Colours from early to late."""
    ordered = sorted({int(generation) for generation in generations})
    shades = map(to_hex, TIME(np.linspace(0.2, 0.75, len(ordered))))
    return dict(zip(ordered, shades, strict=True))


def signature(records: Runs, ax: Axes | None = None) -> Axes:
    """Standard deviation of everything evaluated along the 6 terms of its path's signature; mean
    over the runs.

    The paper speaks of the solutions generated; we take every candidate solution, as a run may
    solve nothing.

    Args:
        records: runs of one or several methods whose behaviors are paths.
        ax: where to draw, by default pyplot's current axes.

    Returns:
        The axes.

    Raises:
        ValueError: where behaviors are no paths.
    """
    return paint_bars(gather.signature(records), ax)


def paint(
    curves: Curves,
    ax: Axes | None = None,
    looks: Mapping[str, Look] | None = None,
    *,
    over: Over = "generations",
    quartiles: bool = False,
) -> Axes:
    """Draw curves.

    Args:
        curves: from one of the functions of `gather`.
        ax: where to draw, by default pyplot's current axes.
        looks: of the series, by default those of their methods.
        over: what x is.
        quartiles: draw the median and the quartiles in any case.

    Returns:
        The axes.
    """
    ax = axes(ax)
    labels = [line.label for line in curves.series]
    looks = looks or looks_of(labels)
    lines = []
    names = _names(labels, [line.seeds for line in curves.series])
    for name, line in zip(names, curves.series, strict=True):
        lines.append(Line(name, getattr(line, over).tolist(), line.values, looks[line.label]))
    words = draw_lines(ax, lines, quartiles, curves.most)
    xlabel = curves.generation
    if over == "evaluations":
        xlabel = "evaluations" if xlabel == "generation" else f"evaluations until {xlabel}"
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    else:
        ax.locator_params("x", integer=True)
    ylabel = wrapped(ax, curves.quantity, words)
    top = None if curves.most is None else 1.03 * curves.most
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, top))
    if curves.quantity.startswith("share"):
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return ax


def paint_bars(bars: Bars, ax: Axes | None = None) -> Axes:
    """Draw bars, side by side for each term, on a logarithmic axis.

    Args:
        bars: from `gather.signature`.
        ax: where to draw, by default pyplot's current axes.

    Returns:
        The axes.
    """
    ax = axes(ax)
    ax.set_facecolor("white")
    drawn = bands(bars.values)
    looks = looks_of(bars.labels)
    width = 0.8 / len(bars.labels)
    names = _names(bars.labels, bars.seeds)
    for place, (middle, low, high) in enumerate(drawn.middles):
        x = np.arange(len(bars.terms)) + (place + 0.5) * width - 0.4
        ends = [middle - low, high - middle]
        color = looks[bars.labels[place]].color
        ax.bar(x, middle, width * 0.92, yerr=ends, color=color, label=names[place])
    ax.set_xticks(range(len(bars.terms)), bars.terms)
    ylabel = wrapped(ax, bars.quantity, drawn.words)
    ax.set(xlabel="term of the signature", ylabel=ylabel)
    _logarithmic(ax)
    return ax


def _logarithmic(ax: Axes) -> None:
    """A logarithmic axis with numbers, not the code of formulas."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if high > 10 * low else MaxNLocator(5))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _names(labels: Sequence[str], seeds: Sequence[Sequence[int]]) -> list[str]:
    """Labels, with the number of seeds where it is not the same for all."""
    numbers = [len(each) for each in seeds]
    if len(set(numbers)) == 1:
        return list(labels)
    counted = []
    for label, number in zip(labels, numbers, strict=True):
        counted.append(f"{label} ({number} {'seeds' if number > 1 else 'seed'})")
    return counted
