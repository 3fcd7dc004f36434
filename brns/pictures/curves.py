"""Curves over generations, and bars: the mean of a method's runs, and one standard deviation over seeds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatter, PercentFormatter

from brns.metrics import coverage as coverages
from brns.metrics import dynamics, paths
from brns.metrics.recorded import evaluated
from brns.metrics.spread import spread
from brns.pictures.measured import GRID, common, cycling_of, cycling_of_record, generations_kept, uniformity_of_record
from brns.pictures.methods import Runs, methods
from brns.pictures.scene import scene
from brns.pictures.style import INK
from brns.runs.record import Record


def coverage(records: Runs, ax: Axes, shape: Sequence[int] = GRID) -> Axes:
    """Figure 3a: the share of the grid's cells that the populations have visited up to each generation."""

    def statistic(record: Record):
        return record.generations, coverages.of_record(record, shape)

    _curves(records, statistic, ax)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set(ylabel=f"coverage of {' × '.join(map(str, shape))} cells", ylim=(0, 1.03))
    return ax


def signature_coverage(records: Runs, ax: Axes) -> Axes:
    """Table I over time: the share of signature space that everything evaluated up to each generation has visited."""
    _only_paths(records)
    _curves(records, lambda record: (record.generations, paths.coverage_of_record(record)), ax)
    ax.set(ylabel="coverage of signature space", ylim=(0, None))
    ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    return ax


def signature_uniformity(records: Runs, ax: Axes) -> Axes:
    """Table I over time: how far the survivors' novelty is from uniform over the signature cells they occupy."""
    _only_paths(records)
    _curves(records, lambda record: (record.generations, paths.uniformity_of_record(record)), ax)
    ax.set(ylabel="JS distance to uniform", ylim=(0, None))
    return ax


def parent_distance(records: Runs, ax: Axes) -> Axes:
    """Figure 3b: the mean distance in behavior space from the population to its parents."""
    _curves(records, lambda record: (record.generations, dynamics.parent_distance_of_record(record)), ax)
    ax.set(ylabel="distance to parent", ylim=(0, None))
    return ax


def age(records: Runs, ax: Axes) -> Axes:
    """Figure 3c: the mean age of the population, in generations since birth."""
    _curves(records, lambda record: (record.generations, dynamics.age_of_record(record)), ax)
    ax.set(ylabel="age (generations)", ylim=(0, None))
    return ax


def uniformity(records: Runs, ax: Axes, shape: Sequence[int] = GRID) -> Axes:
    """Figure 3f: the Jensen-Shannon distance to the uniform distribution.

    As in the paper, of the archive's occupancy of the grid where there is an archive, else of novelty at the cells'
    centres, as a distribution. Generations whose archive is empty are left out.
    """
    _curves(records, lambda record: uniformity_of_record(record, shape), ax)
    ax.set(ylabel="JS distance to uniform", ylim=(0, None))
    return ax


def q(records: Runs, ax: Axes, generations: Sequence[int] | None = None) -> Axes:
    """Figures 3d, 3e and 4a-d: Q(i, j), the mean novelty that generation j gives to the population of generation i.

    For some i, by default three of those kept, and all kept j >= i. The records are runs of one method, since Q has
    the unit of its estimator.
    """
    runs = _one_method(records)
    kept = common(record.snapshots for record in runs)
    _two(kept, runs[0], "Q(i, j) needs the states of")
    chosen = [kept[int(len(kept) * part)] for part in (0.1, 0.4, 0.7)] if generations is None else generations
    missing = sorted(set(chosen) - set(kept))
    if missing:
        raise ValueError(f"Q(i, j) needs i among the generations whose states all runs keep: {kept}; got {missing}")
    for i in dict.fromkeys(chosen):
        row = kept.index(i)
        values = np.stack([cycling_of(record, tuple(kept)).q[row, row:] for record in runs])
        _band(ax, kept[row:], values, f"i = {i}")
    ax.set(xlabel="generation j", ylabel="Q(i, j), novelty", ylim=(0, None))
    return ax


def eta(records: Runs, ax: Axes) -> Axes:
    """Figure 4e: eta(i), the mean of Q(i, j) / Q(i, i) over the kept generations j > i; below 1 novelty fades."""
    _curves(records, lambda record: (generations_kept(record)[:-1], cycling_of_record(record).eta), ax)
    ax.axhline(1, color=INK, lw=0.8, ls=":")
    ax.set(xlabel="generation i", ylabel="η(i)", ylim=(0, None))
    return ax


def kappa(records: Runs, ax: Axes) -> Axes:
    """Figure 4f: kappa(i), how many kept generations after the minimum of Q(i, .) exceed it by more than epsilon."""
    _curves(records, lambda record: (generations_kept(record)[:-1], cycling_of_record(record).kappa), ax)
    ax.set(xlabel="generation i", ylabel="κ(i)", ylim=(0, None))
    return ax


def kappa_share(records: Runs, ax: Axes) -> Axes:
    """kappa(i) per kept generation after i, in [0, 1]: comparable between runs of different length and stride."""
    _curves(records, lambda record: (generations_kept(record)[:-1], cycling_of_record(record).kappa_share), ax)
    ax.set(xlabel="generation i", ylabel="κ(i) per later generation", ylim=(0, 1.03))
    return ax


def signature(records: Runs, ax: Axes) -> Axes:
    """Figure 5: the standard deviation of everything evaluated along each dimension of its paths' signature, level 2.

    The paper speaks of the solutions generated; we take every candidate solution, as a run may solve nothing. Bars are
    means over the runs, their whiskers one standard deviation over seeds.
    """
    runs = _only_paths(records)
    for place, (name, seeds) in enumerate(runs.items()):
        found = [np.concatenate(evaluated(record, "descriptor")) for record in seeds]
        values = [spread(paths.signatures(descriptors)) for descriptors in found]
        height, whisker = np.mean(values, axis=0), _deviation(np.stack(values))
        width = 0.8 / len(runs)
        ax.bar(
            np.arange(6) + (place + 0.5) * width - 0.4, height, width * 0.92, yerr=whisker, label=_seeds(name, values)
        )
    ax.set_xticks(range(len(paths.TERMS)), paths.TERMS)
    ax.set(xlabel="dimension of the signature", ylabel="standard deviation", yscale="log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.4)))  # some of them, in plain numbers
    return ax


def _curves(records: Runs, statistic: Callable[[Record], tuple[Sequence[int], np.ndarray]], ax: Axes) -> None:
    for name, runs in methods(records).items():
        for record in runs:
            _two(record.generations, record, "a curve over generations needs")
        known = [dict(zip(*statistic(record), strict=True)) for record in runs]
        generations = common(known)
        values = np.array([[one[g] for g in generations] for one in known])
        if not np.isfinite(values).any():
            raise ValueError(f"{runs[0].path} has no value to draw in any generation")
        _band(ax, generations, values, _seeds(name, runs))
    ax.set(xlabel="generation")


def _band(ax: Axes, x: Sequence[int], values: Float[np.ndarray, "seeds g"], label: str) -> None:
    mean, deviation = values.mean(axis=0), _deviation(values)
    (line,) = ax.plot(x, mean, lw=1.5, label=label, clip_on=False)  # A line at 0 shows above the axis.
    if len(values) > 1:
        ax.fill_between(x, mean - deviation, mean + deviation, color=line.get_color(), alpha=0.18, lw=0)


def _deviation(values: np.ndarray) -> np.ndarray:
    """Standard deviation over seeds (over n - 1), 0 for one seed."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])


def _seeds(name: str, runs: Sequence[Any]) -> str:
    return f"{name} ({len(runs)} seeds)" if len(runs) > 1 else name


def _one_method(records: Runs) -> list[Record]:
    runs = methods(records)
    if len(runs) > 1:
        raise ValueError(f"Q has the unit of its estimator; draw one method on an axes, not {'; '.join(runs)}")
    return next(iter(runs.values()))


def _only_paths(records: Runs) -> dict[str, list[Record]]:
    """The runs by method, of a task whose behaviors are paths."""
    runs = methods(records)
    first = next(iter(runs.values()))[0]
    if not scene(first.search.task).paths:
        raise ValueError(
            f"a signature needs descriptors that are paths; those of {first.experiment['task']['name']} are not"
        )
    return runs


def _two(generations: Sequence[int], record: Record, what: str) -> None:
    if len(generations) < 2:
        raise ValueError(
            f"{what} 2 generations or more; {record.path} has {len(generations)}. Let it run on (brns resume), or keep "
            "more states with `brns run ... --keep-every 1`"
        )
