"""The figures that are not of single runs: the ablation, and what novelty costs."""

from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from brns.pictures.records import colors_of
from brns.pictures.style import INK, LINES, STYLE, legend_below
from reproduction.costs import BRUTE, KNN, TREE, Costs

PANELS = {
    "first_solved": "first solution (generation)",
    "full_coverage_evaluated": "full coverage, evaluated",
    "coverage_evaluated_at_50": "coverage at 50, evaluated",
    "kappa_share": "κ per later generation",
}


def ablation(rows: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Every variant a line, every seed a dot, a bar at the mean; crosses on the right are seeds without the event."""
    names = list(rows)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12.4, 0.27 * len(names) + 1.2), layout="constrained")
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
                color = LINES[
                    list(dict.fromkeys(r["group"] for r in rows.values())).index(row["group"])
                ]
                ax.plot(values, y + spread[: len(values)], "o", ms=3, mew=0, alpha=0.7, color=color)
                ax.plot([edge] * never, y + spread[len(values) :], "x", ms=4, color=color)
                if values:
                    ax.plot([np.mean(values)] * 2, [y - 0.38, y + 0.38], color=INK, lw=1.4)
            ax.set(title=title, ylim=(len(names) - 0.4, -0.6))
            ax.grid(axis="y", lw=0.3)
        axes[0].set_yticks(range(len(names)), [row["label"] for row in rows.values()])
    return figure


def by_dimension(costs: Costs) -> Figure:
    """Figure 6: the cost of a generation against d, with about as many entries as the paper's archive."""
    entries = min(costs.entries, key=lambda n: abs(n - 10_000))
    lines = dict.fromkeys(costs.estimators, 0) | {KNN: entries, BRUTE: entries, TREE: entries}
    shades = _shades(costs)

    def panel(ax: Axes, individuals: int) -> None:
        for name, n in lines.items():
            ms = [costs.ms(name, d, n, individuals) for d in costs.dimensions]
            label = f"{name}, {n} entries" if n else name
            ax.plot(costs.dimensions, ms, marker="o", ms=4, label=label, color=shades[name])
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
    """The cost of a generation of 25 + 25 against the archive's size, in two dimensions of the descriptor."""
    shades = _shades(costs)

    def panel(ax: Axes, d: int) -> None:
        for name in (TREE, BRUTE, KNN):
            ms = [costs.ms(name, d, n, 50) for n in costs.entries]
            ax.plot(costs.entries, ms, marker="o", ms=4, label=name, color=shades[name])
        for name, style in zip(
            costs.estimators, cycle(("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))), strict=False
        ):
            ax.axhline(costs.ms(name, d, 0, 50), color=shades[name], ls=style, lw=1.5, label=name)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="entries of the archive",
            ylabel="CPU ms per generation",
        )
        ax.set_title(f"d = {d}")

    return _panels(panel, min(costs.dimensions, key=lambda d: abs(d - 32)), costs.dimensions[-1])


def crossover(costs: Costs) -> Figure:
    """The archive size above which a method without archive is cheaper; triangles: beyond the sizes measured."""
    shades = _shades(costs)
    titles = {TREE: "a KD-tree, rebuilt", "exact": "the best exact k-NN"}

    def panel(ax: Axes, theirs: str) -> None:
        for name in costs.estimators:
            points = [costs.crossover(name, theirs, d, 50) for d in costs.dimensions]
            ax.plot(
                costs.dimensions,
                [point.entries for point in points],
                color=shades[name],
                lw=1.4,
                label=name,
            )
            for d, point in zip(costs.dimensions, points, strict=True):
                ax.plot(
                    d,
                    point.entries,
                    {"<": "v", ">": "^", "": "o"}[point.open],
                    color=shades[name],
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
            f"A method without an archive is cheaper above its line\nthan {titles[theirs]} (25 + 25 individuals)"
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
            ax.plot(
                [int(row["generation"]) for row in rows],
                values,
                lw=1.3,
                color=shades[name],
                label=label,
            )
            drawn.add(name)
        ax.set(
            xlabel="generation", ylabel="MB kept" if kept else "CPU ms per generation", yscale="log"
        )

    return _panels(panel, False, True)


def _panels(panel: Callable[[Axes, Any], None], left: Any, right: Any) -> Figure:
    """Two panels, each drawn by `panel` of its value, with plain numbers on logarithmic axes."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.2, 4.2), layout="constrained")
        for ax, value in zip(figure.subplots(1, 2), (left, right), strict=True):
            panel(ax, value)
            for axis in (ax.xaxis, ax.yaxis):
                if axis.get_scale() == "log":
                    axis.set_major_formatter("{x:g}")
            ax.minorticks_off()
        legend_below(figure)
    return figure


def _shades(costs: Costs) -> dict[str, str]:
    """Every method's own colour."""
    timed = dict.fromkeys(
        [*costs.estimators, KNN, BRUTE, TREE, *(row["method"] for row in costs.over_time)]
    )
    names = {name: "archive" if name == KNN else name for name in timed}
    shades = colors_of(names.values())
    return {name: shades[called] for name, called in names.items()}
