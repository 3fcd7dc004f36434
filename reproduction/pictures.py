"""The figures that are not of single runs: the ablation, and what novelty costs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from brns.pictures.records import LOOKS, looks_of
from brns.pictures.style import INK, house_style, legend_below, line_style
from reproduction.costs import BRUTE, KNN, TREE, Costs

PANELS = {
    "first_solved": "first solution (generation)",
    "full_coverage_evaluated": "full coverage, evaluated",
    "coverage_evaluated_at_50": "coverage at 50, evaluated",
    "kappa_share": "κ per later generation",
}


OF_GROUPS = ("paper", "recognition", "archive")
"""the methods whose colours the groups of the ablation have, in their order"""
METHODS = {
    KNN: "archive",
    "BR-NS, width 3d": "paper",
    "BR-NS, default": "recognition",
    "exact recognition": "exact",
    "visit counts": "counts",
}
"""what the table of parts calls what is timed"""


def ablation(rows: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Every variant a line, every seed a dot, a bar at the mean over the dots.

    Crosses on the right are seeds without the event. Colours are groups of variants.
    """
    names = list(rows)
    groups = list(dict.fromkeys(row["group"] for row in rows.values()))
    colors = dict(zip(groups, (LOOKS[name].color for name in OF_GROUPS), strict=False))
    with house_style():
        figure = Figure(figsize=(12.4, 0.27 * len(names) + 1.5), layout="constrained")
        axes = figure.subplots(1, len(PANELS), sharey=True)
        for ax, (measure, title) in zip(axes, PANELS.items(), strict=True):
            found = [
                value
                for row in rows.values()
                for seed in row["rows"]
                if (value := seed.get(measure)) is not None
            ]
            edge = max(found, default=1.0) * 1.08
            for y, row in enumerate(rows.values()):
                values = [seed[measure] for seed in row["rows"] if seed.get(measure) is not None]
                never = len(row["rows"]) - len(values)
                spread = np.linspace(-0.25, 0.25, len(row["rows"]))
                color = colors[row["group"]]
                ax.plot(values, y + spread[: len(values)], "o", ms=3, mew=0, alpha=0.7, color=color)
                ax.plot([edge] * never, y + spread[len(values) :], "x", ms=4, color=color)
                if values:
                    ax.plot([np.mean(values)] * 2, [y - 0.38, y + 0.38], color=INK, lw=1.4)
            ax.set(xlabel=title, ylim=(len(names) - 0.4, -0.6))
            ax.grid(axis="y", lw=0.3)
        axes[0].set_yticks(range(len(names)), [row["label"] for row in rows.values()])
        for group, color in colors.items():
            axes[0].plot([], [], "o", ms=4, color=color, label=f"a seed: {group}")
        axes[0].plot([], [], "|", ms=10, mew=1.4, color=INK, label="mean over the dots")
        axes[0].plot([], [], "x", ms=4, color=INK, label="a seed that never did")
        legend_below(figure, columns=5)
    return figure


def by_dimension(costs: Costs) -> Figure:
    """Figure 6: the cost of a generation against d,
    with about as many entries as the paper's archive.
    """
    entries = min(costs.entries, key=lambda n: abs(n - 10_000))
    lines = dict.fromkeys(costs.estimators, 0) | {KNN: entries, BRUTE: entries, TREE: entries}
    shades = _shades(costs)

    def panel(ax: Axes, individuals: int) -> None:
        for name, n in lines.items():
            ms = [costs.ms(name, d, n, individuals) for d in costs.dimensions]
            label = f"{name}, {n} entries" if n else name
            ax.plot(costs.dimensions, ms, label=label, **shades[name])
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="dimension of the descriptor",
            ylabel="CPU ms per generation",
        )
        ax.set_xticks(costs.dimensions, map(str, costs.dimensions))
        ax.set_title(f"{individuals // 2} + {individuals // 2} individuals")

    return _panels(panel, 50, 200)


def by_entries(costs: Costs) -> Figure:
    """The cost of a generation of 25 + 25 against the archive's size,
    in two dimensions of the descriptor.
    """
    shades = _shades(costs)

    def panel(ax: Axes, d: int) -> None:
        for name in (TREE, BRUTE, KNN):
            ms = [costs.ms(name, d, n, 50) for n in costs.entries]
            ax.plot(costs.entries, ms, label=name, **shades[name])
        for name in costs.estimators:
            ms = [costs.ms(name, d, 0, 50)] * len(costs.entries)
            ax.plot(costs.entries, ms, label=name, **shades[name])
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="entries of the archive",
            ylabel="CPU ms per generation",
        )
        ax.set_title(f"d = {d}")

    return _panels(panel, min(costs.dimensions, key=lambda d: abs(d - 32)), costs.dimensions[-1])


def crossover(costs: Costs) -> Figure:
    """The archive size above which a method without archive is cheaper; triangles:
    beyond the sizes measured.
    """
    shades = _shades(costs)
    titles = {TREE: "a KD-tree, rebuilt", "exact": "the best exact k-NN"}

    def panel(ax: Axes, theirs: str) -> None:
        for name in costs.estimators:
            points = [costs.crossover(name, theirs, d, 50) for d in costs.dimensions]
            line: dict[str, Any] = shades[name] | {"marker": ""}
            ax.plot(costs.dimensions, [point.entries for point in points], label=name, **line)
            for d, point in zip(costs.dimensions, points, strict=True):
                ax.plot(
                    d,
                    point.entries,
                    {"<": "v", ">": "^", "": "o"}[point.open],
                    color=shades[name]["color"],
                    ms=6,
                )
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="dimension of the descriptor",
            ylabel="entries of the archive",
        )
        ax.set_xticks(costs.dimensions, map(str, costs.dimensions))
        ax.set_yticks(costs.entries, map(str, costs.entries))
        ax.set_title(
            f"A method without an archive is cheaper above its line\nthan {titles[theirs]} (25 + "
            "25 individuals)"
        )
        ax.set_ylim(costs.entries[0] / 1.3, costs.entries[-1] * 1.3)
        ax.yaxis.set_major_locator(FixedLocator(costs.entries))

    return _panels(panel, *titles)


def over_time(costs: Costs) -> Figure:
    """The cost of a generation, and the memory that the method keeps, over a long search."""
    shades = _shades(costs)
    lines: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in costs.over_time:
        lines.setdefault((row["method"], row["session"]), []).append(row)

    def panel(ax: Axes, kept: bool) -> None:
        drawn = set()
        for (name, _), rows in lines.items():
            rows = rows[1:] if kept else rows
            values = [float(row["bytes"]) / 1e6 if kept else float(row["ms"]) for row in rows]
            label = None if name in drawn else name  # the control is timed in every call
            generations = [int(row["generation"]) for row in rows]
            ax.plot(generations, values, label=label, **shades[name], markevery=0.1)
            drawn.add(name)
        ax.set(
            xlabel="generation", ylabel="MB kept" if kept else "CPU ms per generation", yscale="log"
        )

    return _panels(panel, False, True)


def _panels(panel: Callable[[Axes, Any], None], left: Any, right: Any) -> Figure:
    """Two panels, each drawn by `panel` of its value, with plain numbers on logarithmic axes."""
    with house_style():
        figure = Figure(figsize=(11.2, 4.2), layout="constrained")
        for ax, value in zip(figure.subplots(1, 2), (left, right), strict=True):
            panel(ax, value)
            for axis in (ax.xaxis, ax.yaxis):
                if axis.get_scale() == "log":
                    axis.set_major_formatter("{x:g}")
            ax.minorticks_off()
        legend_below(figure)
    return figure


def _shades(costs: Costs) -> dict[str, dict[str, Any]]:
    """Every method's own line."""
    timed = dict.fromkeys(
        [*costs.estimators, KNN, BRUTE, TREE, *(row["method"] for row in costs.over_time)]
    )
    names = {name: METHODS.get(name, name) for name in timed}
    looks = looks_of(names.values())
    return {name: line_style(looks[method]) for name, method in names.items()}
