"""Curves over generations, and bars, of the runs of each method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from brns.metrics import coverage as coverages
from brns.metrics import cycling, dynamics, paths
from brns.metrics.elites import qd_score as scores
from brns.metrics.recorded import kept
from brns.pictures.records import (
    Runs,
    colors_of,
    common,
    least_fitness,
    methods,
    scene,
    uniformity_of_record,
)
from brns.pictures.style import CELLS, INK, TIME, Line, axes, bands, middles
from brns.runs.record import Record


def coverage(records: Runs, ax: Axes | None = None) -> Axes:
    """The share of the cells, 6 × 6 of a plane, that the populations of generations 0 to g have visited."""
    ax = _lines(records, coverages.of_record, ax, "cells covered by the survivors", top=1.03)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return ax


def qd_score(records: Runs, ax: Axes | None = None) -> Axes:
    """The fitness of the elites of 20 × 20 cells, summed above the least fitness that any of the runs met.

    Thus a new cell never lowers the score. Errors: `ValueError` where all have one fitness.
    """
    least = least_fitness(
        [record for runs in methods(records).values() for record in runs], "a QD score"
    )
    ax = _lines(
        records, lambda record: scores(record, CELLS, least), ax, f"QD score above {least:.3g}"
    )
    ax.autoscale(axis="y")
    return ax


def parent_distance(records: Runs, ax: Axes | None = None) -> Axes:
    """Euclidean distance in behavior space between an individual and its parent, mean over the population."""
    return _lines(records, dynamics.parent_distance_of_record, ax, "distance to parent")


def age(records: Runs, ax: Axes | None = None) -> Axes:
    """Generations since birth, mean over the population."""
    return _lines(records, dynamics.age_of_record, ax, "age (generations)")


def uniformity(records: Runs, ax: Axes | None = None) -> Axes:
    """Jensen–Shannon distance (base 2) to the uniform distribution on the cells of coverage: of the archive's entries
    for a method with an archive, of novelty at the cells' centres for the others, which is not the same quantity.

    Generations whose archive is empty are left out.
    """
    return _lines(
        records,
        uniformity_of_record,
        ax,
        "JS distance to uniform",
        at=lambda record: record.snapshots,
    )


def eta(records: Runs, ax: Axes | None = None) -> Axes:
    """The mean of Q(i, j) / Q(i, i) over the kept generations j > i; below the dotted line, novelty fades."""
    ax = _cycling(records, "eta", ax, "η(i)")
    ax.axhline(1, color=INK, lw=0.8, ls=":")
    ax.autoscale(axis="y")
    ax.set_ylim(0, None)
    return ax


def kappa(records: Runs, ax: Axes | None = None) -> Axes:
    """How many kept generations j after the minimum i* of Q(i, ·) have Q(i, j) > Q(i, i*) + ε: how often what was
    visited became novel again. It grows with the number of states kept."""
    return _cycling(records, "kappa", ax, "κ(i)")


def kappa_share(records: Runs, ax: Axes | None = None) -> Axes:
    """κ(i) divided by the number of kept generations after i: runs of different length compare."""
    return _cycling(records, "kappa_share", ax, "κ(i) per later generation", top=1.03)


def q(records: Runs, ax: Axes | None = None, colors: Mapping[int, Any] | None = None) -> Axes:
    """The mean novelty that generation j gives to the population of generation i ≤ j, for three i; it falls in a
    search that remembers. Q has its estimator's unit: compare shapes, not heights.

    The records are runs of one method. `colors` are those of the i. The axis is logarithmic where all of Q is above 0,
    with the median and the quartiles over the runs.
    """
    ax = axes(ax)
    groups = methods(records)
    if len(groups) > 1:
        raise ValueError(
            f"Q has the unit of its estimator; draw one method on an axes, not {'; '.join(groups)}"
        )
    (runs,) = groups.values()
    generations = common(kept(record, "Q(i, j)") for record in runs)
    colors = colors or over_time(three(generations))
    lines = []
    for i in three(generations):
        row = generations.index(i)
        values = np.stack([cycling.of_record(record, generations).q[row, row:] for record in runs])
        lines.append(Line(f"i = {i}", generations[row:], values, colors[i]))
    logarithmic = all((line.values > 0).all() for line in lines)
    note = bands(ax, lines, quartiles=logarithmic)
    ax.set(xlabel="generation j", ylabel=f"Q(i, j), novelty{note}")
    if logarithmic:
        _logarithmic(ax)
    else:
        ax.set_ylim(0, None)
    return ax


def three(kept: Sequence[int]) -> list[int]:
    """An early, a middle and a later generation of those kept."""
    return list(dict.fromkeys(kept[int(len(kept) * part)] for part in (0.1, 0.4, 0.7)))


def over_time(generations: Iterable[int]) -> dict[int, Any]:
    """Colours from early to late."""
    ordered = sorted(set(generations))
    return dict(zip(ordered, TIME(np.linspace(0.2, 0.75, len(ordered))), strict=True))


def signature(records: Runs, ax: Axes | None = None) -> Axes:
    """Standard deviation of everything evaluated along the 6 terms of its path's signature; mean over the runs.

    The paper speaks of the solutions generated; we take every candidate solution, as a run may solve nothing.
    """
    ax = axes(ax)
    runs = methods(records)
    first = next(iter(runs.values()))[0]
    if not scene(first.search.task).paths:
        raise ValueError(
            f"a signature needs descriptors that are paths; those of {first.world['name']} are not"
        )
    values = [np.stack(list(map(paths.spread_of_record, seeds))) for seeds in runs.values()]
    found, note = middles(values)
    shades = colors_of(runs)
    width = 0.8 / len(runs)
    for place, (name, (middle, low, high)) in enumerate(zip(runs, found, strict=True)):
        x = np.arange(6) + (place + 0.5) * width - 0.4
        label = _seeds(name, runs[name])
        ax.bar(
            x,
            middle,
            width * 0.92,
            yerr=[middle - low, high - middle],
            color=shades[name],
            label=label,
        )
    ax.set_xticks(range(len(paths.TERMS)), paths.TERMS)
    ax.set(xlabel="dimension of the signature", ylabel=f"standard deviation{note}")
    _logarithmic(ax)
    return ax


def _logarithmic(ax: Axes) -> None:
    """A logarithmic axis with numbers, not the code of formulas."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _cycling(
    records: Runs, name: str, ax: Axes | None, ylabel: str, top: float | None = None
) -> Axes:
    """Lines of what has a value for every kept generation but the last."""

    def statistic(record: Record) -> np.ndarray:
        return getattr(cycling.of_record(record), name)

    ax = _lines(records, statistic, ax, ylabel, top, at=lambda record: record.snapshots[:-1])
    ax.set_xlabel("generation i")
    return ax


def _lines(
    records: Runs,
    statistic: Callable[[Record], np.ndarray],
    ax: Axes | None,
    ylabel: str,
    top: float | None = None,
    at: Callable[[Record], Sequence[int]] = lambda record: record.generations,
) -> Axes:
    """A line for each method of a statistic `at` the generations that all of its runs have."""
    ax = axes(ax)
    lines = []
    groups = methods(records)
    shades = colors_of(groups)
    for name, runs in groups.items():
        generations = common(at(record) for record in runs)
        values = np.array([statistic(record)[np.isin(at(record), generations)] for record in runs])
        if len(generations) < 2 or not np.isfinite(values).any():
            raise ValueError(
                f"a curve needs values of 2 generations or more; {runs[0].path} has too few"
            )
        lines.append(Line(_seeds(name, runs), generations, values, shades[name]))
    note = bands(ax, lines)
    ax.set(xlabel="generation", ylabel=f"{ylabel}{note}", ylim=(0, top))
    ax.locator_params("x", integer=True)
    return ax


def _seeds(name: str, runs: Sequence[Record]) -> str:
    return f"{name} ({len(runs)} seeds)" if len(runs) > 1 else name
