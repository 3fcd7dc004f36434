"""Figures: records in, one figure a function, numbered as in the paper.

A line over generations is the mean over the runs of a method, its band one standard deviation over seeds to either
side; only generations that all runs of the method have are drawn. `draw` makes a whole figure by name.

For a task or an estimator of your own, first set `record.search` to the experiment that made the run.
"""

import csv
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import matplotlib
import numpy as np
from cycler import cycler
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import PercentFormatter

from brns.core import Population
from brns.estimators.nearest import Archive
from brns.experiments import paper_recognition
from brns.metrics import coverage as coverages
from brns.metrics import cycling, dynamics, paths
from brns.metrics import uniformity as uniformities
from brns.metrics.recorded import evaluated, survivors
from brns.metrics.spread import spread
from brns.record import Record
from brns.scene import Scene, scene, trajectories
from brns.settings import describe

INK = "#1f2430"
WALL = "#7b8190"
FLOOR = "#f5f6f8"
SOLVED = "#e6007e"
START = "#e03131"
LINES = ("#2f7fd1", "#e07b16", "#1d9a74", "#c2559d", "#8a6fd1", "#a58a1f", "#4aa3b8", "#cf4a4a")
STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=LINES),
    "axes.facecolor": "none",
    "text.parse_math": False,  # A setting's text in a label is text.
    "legend.frameon": False,
    "figure.dpi": 130.0,
    "savefig.dpi": 130.0,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
}
NAMES = {
    "BehaviorRecognition": "BR-NS",
    "ArchiveKNN": "archive k-NN",
    "PopulationKNN": "population k-NN",
    "GridCounts": "grid counts",
}
PAPER_SETTINGS = "BR-NS, paper's settings"
GRID = (6, 6)  # cells of coverage and uniformity over a plane; paper, section 5.1
MAP_CELLS = 60  # cells of a novelty map along each side
MOST_PATHS = 1500  # more lines than that cover each other

Runs = Record | Sequence[Record]


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
    kept = _common(record.snapshots for record in runs)
    _two(kept, runs[0], "Q(i, j) needs the states of")
    chosen = [kept[int(len(kept) * part)] for part in (0.1, 0.4, 0.7)] if generations is None else generations
    missing = sorted(set(chosen) - set(kept))
    if missing:
        raise ValueError(f"Q(i, j) needs i among the generations whose states all runs keep: {kept}; got {missing}")
    for i in dict.fromkeys(chosen):
        row = kept.index(i)
        values = np.stack([_cycling(record, tuple(kept)).q[row, row:] for record in runs])
        _band(ax, kept[row:], values, f"i = {i}")
    ax.set(xlabel="generation j", ylabel="Q(i, j), novelty", ylim=(0, None))
    return ax


def eta(records: Runs, ax: Axes) -> Axes:
    """Figure 4e: eta(i), the mean of Q(i, j) / Q(i, i) over the kept generations j > i; below 1 novelty fades."""
    _curves(records, lambda record: (_kept(record)[:-1], cycling_of_record(record).eta), ax)
    ax.axhline(1, color=INK, lw=0.8, ls=":")
    ax.set(xlabel="generation i", ylabel="η(i)", ylim=(0, None))
    return ax


def kappa(records: Runs, ax: Axes) -> Axes:
    """Figure 4f: kappa(i), how many kept generations after the minimum of Q(i, .) exceed it by more than epsilon."""
    _curves(records, lambda record: (_kept(record)[:-1], cycling_of_record(record).kappa), ax)
    ax.set(xlabel="generation i", ylabel="κ(i)", ylim=(0, None))
    return ax


def kappa_share(records: Runs, ax: Axes) -> Axes:
    """kappa(i) per kept generation after i, in [0, 1]: comparable between runs of different length and stride."""
    _curves(records, lambda record: (_kept(record)[:-1], cycling_of_record(record).kappa_share), ax)
    ax.set(xlabel="generation i", ylabel="κ(i) per later generation", ylim=(0, 1.03))
    return ax


def maze(record: Record, ax: Axes) -> Axes:
    """Figure 2a: the world, and every behavior that was evaluated in it, coloured by generation; solvers are ringed.

    The ways of three solvers through the maze are drawn: of the first, one halfway and the last. Where descriptors
    are paths, at most 1500 of them are drawn, spread evenly over the run.
    """
    world = scene(record.search.task)
    generations = evaluated(record, "descriptor")
    born = np.repeat(record.generations, [len(rows) for rows in generations])
    behaviors, solved = np.concatenate(generations), np.concatenate(evaluated(record, "solved"))
    last = max(record.generations[-1], 1)
    if world.paths:
        some = np.linspace(0, len(behaviors) - 1, min(len(behaviors), MOST_PATHS)).astype(int)
        shown = _draw_paths(ax, world, behaviors[some], born[some], lw=0.6, alpha=0.7)
        shown.set_clim(0, last)
    else:
        x, y = world.place(behaviors).T
        shown = ax.scatter(x, y, c=born, s=5, lw=0, alpha=0.8, vmin=0, vmax=last, rasterized=True)
    _colorbar(ax, shown, "generation of birth")
    _draw_world(ax, world)
    if solved.any():
        x, y = world.place(behaviors[solved]).T
        ax.scatter(x, y, s=24, facecolor="none", edgecolor=SOLVED, lw=0.9, label="solvers", rasterized=True)
        found = record.solutions()
        some = np.unique(np.linspace(0, len(found.id) - 1, 3).round().astype(int))
        for number, way in enumerate(trajectories(record.search.task, found.genotype[some])):
            ax.plot(*way.T, color=SOLVED, lw=1.0, alpha=0.8, label="_" if number else "ways of three solvers")
    ax.set_title(f"{len(behaviors)} behaviors in {record.generations[-1]} generations, {solved.sum()} solvers")
    return ax


def archive(record: Record, ax: Axes, generation: int | None = None) -> Axes:
    """Figure 2b: the archive's behaviors, coloured by the generation in which they entered."""
    generation = _snapshot(record, generation, "the archive's picture")
    entries = _entries(record, generation)
    if entries is None:
        raise ValueError(f"{record.path} has no archive: its estimator is {record.experiment['estimator']['name']}")
    descriptor, entered = entries
    if not len(descriptor):
        raise ValueError(
            f"{record.path}: the archive is empty after generation {generation}; choose a later one of record.snapshots"
        )
    world = scene(record.search.task)
    if world.paths:
        shown = _draw_paths(ax, world, descriptor, entered, lw=0.6, alpha=0.7)
    else:
        x, y = world.place(descriptor).T
        shown = ax.scatter(x, y, c=entered, s=9, lw=0, rasterized=True)
    shown.set_clim(0, max(generation, 1))
    _colorbar(ax, shown, "generation of entry")
    _draw_world(ax, world)
    ax.set_title(f"archive of {len(descriptor)} after generation {generation}")
    return ax


def novelty_map(record: Record, ax: Axes, generation: int | None = None) -> Axes:
    """Figure 2c: novelty after a generation over the behavior space, and the population that then lived.

    Omega^g at the cells' centres, in the estimator's own unit; the colours span what the cells outside of walls have.
    `generation` is one whose state is kept, by default the last.
    """
    generation = _snapshot(record, generation, "a novelty map")
    world, novelty = scene(record.search.task), novelty_grid(record, generation)
    top = novelty[~walled(world, len(novelty))].max()
    shown = ax.imshow(novelty, origin="lower", extent=world.extent, vmin=0, vmax=top or 1, interpolation="nearest")
    _colorbar(ax, shown, "novelty")
    _draw_world(ax, world)
    x, y = world.place(survivors(record, "descriptor", [generation])[0]).T
    ax.scatter(x, y, s=15, facecolor="white", edgecolor="black", lw=0.7, label="population", zorder=4)
    ax.set_title(f"novelty after generation {generation}")
    return ax


def novelty_grid(record: Record, generation: int, cells: int = MAP_CELLS) -> Float[np.ndarray, "y x"]:
    """Omega^g at the centres of `cells` x `cells` cells over a planar behavior space; row 0 is at the lowest y."""
    search = record.search
    space = search.task.behavior_space
    if space.dimension != 2:
        raise ValueError(f"a novelty map needs a behavior space of 2 dimensions; {record.path} has {space.dimension}")
    state, centers = record.state(generation, search), coverages.centers(space, (cells, cells))
    novelty = np.asarray(_score(search.estimator, state.estimator, jnp.asarray(centers), state.population))
    if not np.isfinite(novelty).all():
        raise ValueError(
            f"{record.path}: novelty after generation {generation} is not finite everywhere; the estimator went wrong"
        )
    return novelty.reshape(cells, cells).T


def population(record: Record, ax: Axes, generation: int | None = None) -> Axes:
    """The survivors of a generation, by default the last, coloured by the novelty by which they were selected."""
    generation = record.generations[-1] if generation is None else generation
    world = scene(record.search.task)
    descriptors = survivors(record, "descriptor", [generation])[0]
    novelty = survivors(record, "novelty", [generation])[0]
    if world.paths:
        _draw_paths(ax, world, descriptors, novelty, lw=0.9, alpha=0.9)
    x, y = world.place(descriptors).T
    shown = ax.scatter(x, y, c=novelty, s=22, edgecolor="black", lw=0.5, label="population", zorder=4)
    _colorbar(ax, shown, "novelty")
    _draw_world(ax, world)
    ax.set_title(f"population of generation {generation}")
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
    return ax


def time(rows: Sequence[Mapping[str, Any]], ax: Axes) -> Axes:
    """Figure 6: time of one generation's novelty against the descriptor's dimension, of rows that `read_times` gives.

    A line for each method and number of archive entries: the median of its rows, the band from the least to the most.
    Of rows for several numbers of individuals, those of the largest are drawn: the paper has 100 + 100.
    """
    most = max(row.get("individuals", 0) for row in rows)
    rows = [row for row in rows if row.get("individuals", 0) == most]
    lines: dict[tuple[str, int], dict[int, list[float]]] = {}
    for row in rows:
        line = lines.setdefault((row["method"], row["entries"]), {})
        line.setdefault(row["d"], []).append(row["ms"])
    for (name, entries), line in lines.items():
        d = sorted(line)
        (drawn,) = ax.plot(
            d,
            [np.median(line[n]) for n in d],
            marker="o",
            ms=4,
            label=f"{name}, {entries} entries" if entries else name,
        )
        ax.fill_between(
            d, [min(line[n]) for n in d], [max(line[n]) for n in d], color=drawn.get_color(), alpha=0.18, lw=0
        )
    ax.set(xscale="log", yscale="log", xlabel="dimension of the descriptor", ylabel="ms per generation")
    ax.yaxis.set_major_formatter("{x:g}")
    ticks = sorted({row["d"] for row in rows})
    ax.set_xticks(ticks, map(str, ticks))
    ax.minorticks_off()
    return ax


def read_times(path: str | os.PathLike) -> list[dict[str, Any]]:
    """The rows of a CSV of timings: the columns method, d, entries and ms, and individuals where it is there."""
    kinds = {"method": str, "d": int, "entries": int, "ms": float}
    with open(path, newline="") as stream:
        reader = csv.DictReader(stream)
        missing = set(kinds) - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{path} needs the columns {', '.join(kinds)}; it lacks {', '.join(sorted(missing))}")
        if "individuals" in (reader.fieldnames or ()):
            kinds["individuals"] = int
        rows = []
        for row in reader:
            try:
                rows.append({name: kind(row[name]) for name, kind in kinds.items()})
            except (ValueError, TypeError):
                raise ValueError(
                    f"{path}, line {reader.line_num}: d and entries are counts, ms a number; got {row}"
                ) from None
            if not np.isfinite(rows[-1]["ms"]):
                raise ValueError(f"{path}, line {reader.line_num}: ms must be a finite number; got {row['ms']}")
    if not rows:
        raise ValueError(f"{path} holds no timings below its header")
    return rows


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


def method(record: Record) -> str:
    """A run's method as a reader calls it."""
    estimator = record.experiment["estimator"]
    if estimator == describe(paper_recognition()):
        return PAPER_SETTINGS
    return NAMES.get(estimator["name"], estimator["name"])


def methods(records: Runs) -> dict[str, list[Record]]:
    """Runs by method, the seeds of each in order.

    Runs of one method have the same experiment; methods of one name are told apart by the settings in which they
    differ. Runs of different tasks are a `ValueError`, and so is the same run given twice.
    """
    records = [records] if isinstance(records, Record) else list(records)
    if not records:
        raise ValueError("a figure needs at least one run; got none")
    first = records[0]
    groups: list[list[Record]] = []
    for record in records:
        if record.experiment["task"] != first.experiment["task"]:
            raise ValueError(
                f"{first.path} and {record.path} are runs of different tasks, {_text(first.experiment['task'])} and "
                f"{_text(record.experiment['task'])}; compare runs of one task"
            )
        if not record.generations:
            raise ValueError(f"{record.path} holds no finished generation; let it run, or resume it")
        group = next((g for g in groups if g[0].experiment == record.experiment), None)
        if group is None:
            groups.append([record])
        elif any(other.seed == record.seed for other in group):
            raise ValueError(f"{record.path} is seed {record.seed} of its experiment once more; give each run once")
        else:
            group.append(record)
    settings = [leaves(group[0].experiment) for group in groups]
    differing = [
        k for k in dict.fromkeys(k for s in settings for k in s) if len({_text(s.get(k)) for s in settings}) > 1
    ]
    labels: list[str] = []
    for group, values in zip(groups, settings, strict=True):
        name = method(group[0])
        same = [s for g, s in zip(groups, settings, strict=True) if method(g[0]) == name]
        told = [k for k in differing if len({_text(s.get(k)) for s in same}) > 1]
        label = _short(", ".join([name, *(f"{k.removeprefix('estimator.')}={_text(values.get(k))}" for k in told)]))
        labels.append(f"{label} ({len(labels) + 1})" if label in labels else label)
    return {label: sorted(group, key=lambda r: r.seed) for label, group in zip(labels, groups, strict=True)}


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


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
    _snapshot(record, None, "a novelty map")
    at = np.linspace(min(1, len(record.snapshots) - 1), len(record.snapshots) - 1, number).round().astype(int)
    return [record.snapshots[i] for i in at]


def _curves(records: Runs, statistic: Callable[[Record], tuple[Sequence[int], np.ndarray]], ax: Axes) -> None:
    for name, runs in methods(records).items():
        for record in runs:
            _two(record.generations, record, "a curve over generations needs")
        known = [dict(zip(*statistic(record), strict=True)) for record in runs]
        generations = _common(known)
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


def _common(lists: Iterable[Iterable[int]]) -> list[int]:
    """The generations that are in all lists."""
    return sorted(reduce(set.intersection, map(set, lists)))


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


def _kept(record: Record) -> list[int]:
    return _common([record.snapshots, record.generations])


def cycling_of_record(record: Record) -> cycling.Cycling:
    """Q and what follows from it over all generations kept, computed once for all figures of a report."""
    return _cycling(record, tuple(_kept(record)))


@lru_cache(maxsize=256)
def _cycling(record: Record, generations: tuple[int, ...]) -> cycling.Cycling:
    return cycling.of_record(record, generations)


def uniformity_of_record(record: Record, shape: Sequence[int] = GRID) -> tuple[list[int], np.ndarray]:
    """Figure 3f of one run: the generations kept, and the distance to uniform; NaN where an archive is empty."""
    space, kept = record.search.task.behavior_space, record.snapshots
    _snapshot(record, None, "uniformity over time")
    archives = [_entries(record, g) for g in kept]
    if archives[0] is None:
        return kept, uniformities.of_record(record, shape)
    occupied = [uniformities.of_points(a[0], space, shape) if a and len(a[0]) else np.nan for a in archives]
    return kept, np.array(occupied)


def _entries(record: Record, generation: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The archive's descriptors and their generations of entry after a generation; None without an archive."""
    state = record.state(generation, record.search).estimator
    if not isinstance(state, Archive):
        return None
    there = np.asarray(state.id) >= 0
    return np.asarray(state.descriptor)[there], np.asarray(state.entered)[there]


def _snapshot(record: Record, generation: int | None, what: str) -> int:
    if not record.snapshots:
        raise ValueError(
            f"{what} needs the search's states, and {record.path} keeps none; "
            "run it again with `brns run ... --keep-every 1`"
        )
    return record.snapshots[-1] if generation is None else generation


@eqx.filter_jit
def _score(estimator: Any, state: Any, points: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
    return estimator.score(state, points, population)


def _draw_world(ax: Axes, world: Scene) -> None:
    ax.set_facecolor(FLOOR)
    if world.walls is not None:
        image, color = np.where(world.walls, 1.0, np.nan), ListedColormap([WALL])
        ax.imshow(image, origin="lower", extent=world.walls_extent, cmap=color, interpolation="nearest", zorder=2)
    for area in world.areas:
        ring = Circle((area.x, area.y), area.radius, fill=False, ec=area.color, lw=2.0, label=area.name, zorder=3)
        ring.set_path_effects([Stroke(linewidth=3.6, foreground="white"), Normal()])
        ax.add_patch(ring)
    if world.start is not None:
        ax.plot(*world.start, "o", color=START, mec="white", ms=8, ls="", label="start", zorder=5)
    (left, bottom), (right, top) = world.low, world.high
    ax.set(xlim=(left, right), ylim=(top, bottom) if world.down else (bottom, top))
    ax.set(xlabel=world.axes[0], ylabel=world.axes[1])
    ax.set_aspect("auto" if world.walls is None else "equal")


def _draw_paths(ax: Axes, world: Scene, descriptors: np.ndarray, values: np.ndarray, **style: Any) -> LineCollection:
    points = descriptors.reshape(len(descriptors), -1, 2)
    if world.start is not None:
        points = np.concatenate([np.broadcast_to(world.start, (len(points), 1, 2)), points], axis=1)
    lines = LineCollection(list(points), array=values, rasterized=True, **style)
    ax.add_collection(lines)
    return lines


def walled(world: Scene, cells: int) -> np.ndarray:
    """The cells of a map whose centres lie in walls, `(cells, cells)`."""
    if world.walls is None:
        return np.zeros((cells, cells), bool)
    left, right, bottom, top = world.walls_extent
    height, width = world.walls.shape
    x, y = (a + (np.arange(cells) + 0.5) / cells * (b - a) for a, b in zip(world.low, world.high, strict=True))
    column = np.clip((x - left) / (right - left) * width, 0, width - 1).astype(int)
    row = np.clip((y - bottom) / (top - bottom) * height, 0, height - 1).astype(int)
    return world.walls[np.ix_(row, column)]


def _colorbar(ax: Axes, shown: Any, label: str) -> None:
    figure: Any = ax.figure
    bar = figure.colorbar(shown, ax=ax, label=label, shrink=0.9, pad=0.02)
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1)


def legend_below(figure: Figure, columns: int = 4) -> None:
    """One legend for all axes, outside of the data, in at most so many columns as the figure is wide enough for."""
    found = {label: handle for ax in figure.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if found:
        inches = 0.07 * max(map(len, found)) + 0.6  # of a label at nine points, with its handle
        columns = max(min(len(found), columns, int(figure.get_figwidth() / inches)), 1)
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)


def leaves(tree: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of an experiment by their dotted names."""
    if isinstance(tree, Mapping):
        return {k: v for name, part in tree.items() for k, v in leaves(part, f"{prefix}.{name}").items()}
    return {prefix.lstrip("."): tree}


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value.get('name')}({', '.join(f'{k}={_text(v)}' for k, v in value.items() if k != 'name')})"
    return str(value)
