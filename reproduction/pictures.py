"""The figures that are drawn of what is stored: curves, the ablation, and what novelty costs."""

from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, PercentFormatter

from brns.formatting import read_csv
from brns.metrics.coverage import coverage_of_record
from brns.metrics.paths import TERMS
from brns.pictures import gather_curves, style
from brns.pictures.gather_curves import Bars, Curve
from brns.pictures.lines import draw_line_with_band, label_line_ends_if_room
from brns.pictures.paint_curves import append_unequal_seed_counts, paint_bars
from brns.pictures.records import RANDOM, choose_looks
from brns.settings.parts import LOOKS
from reproduction.costs import BRUTE, KNN, TREE, Costs
from reproduction.plan import Timing
from reproduction.results import read_json

CURVES = {
    "coverage": Curve(
        coverage_of_record, "share of 6 × 6 cells covered by the survivors", most=1.0
    ),
    **gather_curves.CURVES,
}
"""what is drawn of curves.csv, by the names of `brns figure`"""
PANELS = {
    "first_solved": "first solution (generation)",
    "full_coverage_evaluated": "full coverage, evaluated (generation)",
    "coverage_evaluated_at_50": "coverage at 50, evaluated",
    "kappa_share": "κ per later generation",
}
"""of the ablation"""
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


def draw_all(out: Path) -> None:
    """Draw all that can be drawn of the results in `out`."""
    for folder in (out / "maze", out / "ant"):
        rows = read_csv(folder / "curves.csv")
        for name, curve in CURVES.items():
            measure = "coverage_survivors" if name == "coverage" else name.replace("-", "_")
            of_measure = [row for row in rows if row["measure"] == measure]
            if of_measure:
                style.save(draw_curve(curve, of_measure), folder / f"{name}.png")
    if (out / "ant" / "results.json").exists():
        results = read_json(out / "ant" / "results.json")
        style.save(draw_signature_spread(results), out / "ant" / "signature.png")
    if (out / "ablation" / "results.json").exists():
        variants = read_json(out / "ablation" / "results.json")["variants"]
        style.save(draw_ablation(variants), out / "ablation" / "ablation.png")
    if (out / "timing" / "results.json").exists():
        plan = Timing(**read_json(out / "timing" / "results.json")["asked"])
        costs = Costs(out / "timing", plan)
        for name, figure in OF_COSTS.items():
            style.save(figure(costs), out / "timing" / f"{name}.png")


def get_method_label(name: str) -> str:
    """A method of the comparisons as the command line calls it."""
    name = name.replace("archive-", "archive, capacity=")
    return RANDOM if name == "random" else name


def draw_curve(curve: Curve, rows: list[dict[str, str]]) -> Figure:
    """Means over seeds, and a standard deviation to either side as far as values can lie."""
    methods: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row["method"] != "random":  # which has no novelty of its own
            methods.setdefault(get_method_label(row["method"]), []).append(row)
    seeds = [int(rows_of_method[-1]["seeds"]) for rows_of_method in methods.values()]
    looks = choose_looks(methods)
    with style.use_figure_style():
        figure = style.make_figure(6.4, 4.2)
        ax = figure.subplots()
        names = append_unequal_seed_counts(list(methods), seeds)
        triples = zip(names, methods, methods.values(), strict=True)
        for place, (name, method, rows_of_method) in enumerate(triples):
            generations = [int(row["generation"]) for row in rows_of_method]
            mean = np.array([float(row["mean"]) for row in rows_of_method])
            deviation = np.nan_to_num([float(row["deviation"] or 0) for row in rows_of_method])
            band = np.stack([mean, mean - deviation, mean + deviation])
            band = band.clip(min(mean.min(), 0.0), curve.most)
            draw_line_with_band(ax, name, generations, band, looks[method], place / len(methods))
        if curve.reference is not None:
            ax.axhline(curve.reference, color=style.INK, lw=0.8, ls=":")
        number = f"{seeds[0]} seeds" if len(set(seeds)) == 1 else "over seeds"
        words = style.wrap_texts_to_panel_height(ax, curve.quantity, f"mean ± deviation, {number}")
        ax.set(xlabel=curve.generation, ylabel=words)
        ax.set_ylim(0, None if curve.most is None else 1.03 * curve.most)
        if curve.quantity.startswith("share"):
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        if not label_line_ends_if_room(ax):
            style.add_legend_below(figure)
    return figure


def draw_signature_spread(results: Mapping[str, Any]) -> Figure:
    """Figure 5: the spread of paths along the terms of their signature."""
    methods = results["methods"]
    deviations = itemgetter(*(f"deviation_{term}" for term in TERMS))
    values = [np.array(list(map(deviations, method["rows"]))) for method in methods.values()]
    seeds = tuple(tuple(method["seeds"]) for method in methods.values())
    labels, quantity = tuple(map(get_method_label, methods)), "standard deviation of all paths"
    bars = Bars(quantity, TERMS, labels, seeds, tuple(values))
    with style.use_figure_style():
        figure = style.make_figure(6.4, 4.2)
        paint_bars(bars, figure.subplots())
        style.add_legend_below(figure)
    return figure


def draw_ablation(rows: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Every variant a line, every seed a dot, a bar at the mean over the dots.

    Crosses on the right are seeds without the event. Colours are groups of variants.
    """
    groups = dict.fromkeys(row["group"] for row in rows.values())
    colors = {group: LOOKS[name].color for group, name in zip(groups, OF_GROUPS, strict=False)}
    with style.use_figure_style():
        figure = style.make_figure(12.4, 0.27 * len(rows) + 1.5)
        axes = figure.subplots(1, len(PANELS), sharey=True)
        for ax, (measure, title) in zip(axes, PANELS.items(), strict=True):
            crosses = []
            for y, row in enumerate(rows.values()):
                numbers = [seed.get(measure) for seed in row["rows"]]
                values = [number for number in numbers if number is not None]
                heights = y + np.linspace(-0.25, 0.25, len(numbers))
                color = colors[row["group"]]
                dot: Any = {"ms": 3, "mew": 0, "alpha": 0.7, "color": color}
                ax.plot(values, heights[: len(values)], "o", **dot)
                if values:
                    ax.plot([np.mean(values)] * 2, [y - 0.38, y + 0.38], color=style.INK, lw=1.4)
                crosses += [(height, color) for height in heights[len(values) :]]
            edge = ax.dataLim.xmax * 1.08 if np.isfinite(ax.dataLim.xmax) else 1.08
            for height, color in crosses:
                ax.plot(edge, height, "x", ms=4, color=color)
            ax.set(xlabel=title, ylim=(len(rows) - 0.4, -0.6))
            ax.grid(axis="y", lw=0.3)
        axes[0].set_yticks(range(len(rows)), [row["label"] for row in rows.values()])
        for group, color in colors.items():
            axes[0].plot([], [], "o", ms=4, color=color, label=f"a seed: {group}")
        axes[0].plot([], [], "|", ms=10, mew=1.4, color=style.INK, label="mean over the dots")
        axes[0].plot([], [], "x", ms=4, color=style.INK, label="a seed that never did")
        style.add_legend_below(figure, columns=5)
    return figure


def draw_cost_by_dimension(costs: Costs) -> Figure:
    """Figure 6: the cost of a generation against d, with about the paper's number of entries."""
    entries = min(costs.entries, key=lambda n: abs(n - 10_000))
    lines = dict.fromkeys(costs.estimators, 0) | {KNN: entries, BRUTE: entries, TREE: entries}
    styles = _make_styles(costs)

    def draw_cost_panel(ax: Axes, individuals: int) -> None:
        for name, n in lines.items():
            ms = [costs.medians[name, d, n, individuals] for d in costs.dimensions]
            words = f"{name}, {n} entries" if n else name
            ax.plot(costs.dimensions, ms, label=words, **styles[name])
        ax.set(xscale="log", yscale="log")
        ax.set(xlabel="dimension of the descriptor", ylabel="CPU ms per generation")
        ax.set_xticks(costs.dimensions, map(str, costs.dimensions))
        ax.set_title(f"{individuals // 2} + {individuals // 2} individuals")

    return _draw_two_panels(draw_cost_panel, 50, 200)


def draw_cost_by_entries(costs: Costs) -> Figure:
    """The cost of a generation of 25 + 25 against the archive's size, for two values of d."""
    styles = _make_styles(costs)

    def draw_entries_panel(ax: Axes, d: int) -> None:
        for name in (TREE, BRUTE, KNN, *costs.estimators):
            entries = [0 if name in costs.estimators else n for n in costs.entries]
            ms = [costs.medians[name, d, n, 50] for n in entries]
            ax.plot(costs.entries, ms, label=name, **styles[name])
        ax.set(xscale="log", yscale="log", title=f"d = {d}")
        ax.set(xlabel="entries of the archive", ylabel="CPU ms per generation")

    return _draw_two_panels(
        draw_entries_panel, min(costs.dimensions, key=lambda d: abs(d - 32)), costs.dimensions[-1]
    )


def draw_crossovers(costs: Costs) -> Figure:
    """Archive sizes above which a method without is cheaper; triangles: beyond those measured."""
    styles = _make_styles(costs)
    titles = {TREE: "a KD-tree, rebuilt", "exact": "the best exact k-NN"}
    marks = {"<": "v", ">": "^", "": "o"}

    def draw_crossover_panel(ax: Axes, theirs: str) -> None:
        for name in costs.estimators:
            points = [costs.find_crossover(name, theirs, d, 50) for d in costs.dimensions]
            line: dict[str, Any] = styles[name] | {"marker": ""}
            ax.plot(costs.dimensions, [point.entries for point in points], label=name, **line)
            for d, point in zip(costs.dimensions, points, strict=True):
                ax.plot(d, point.entries, marks[point.open], color=line["color"], ms=6)
        ax.set(xscale="log", yscale="log")
        ax.set(xlabel="dimension of the descriptor", ylabel="entries of the archive")
        ax.set_xticks(costs.dimensions, map(str, costs.dimensions))
        ax.set_yticks(costs.entries, map(str, costs.entries))
        ax.set_title(
            f"A method without an archive is cheaper above its line\nthan {titles[theirs]} (25 + "
            "25 individuals)"
        )
        ax.set_ylim(costs.entries[0] / 1.3, costs.entries[-1] * 1.3)
        ax.yaxis.set_major_locator(FixedLocator(costs.entries))

    return _draw_two_panels(draw_crossover_panel, *titles)


def draw_cost_over_time(costs: Costs) -> Figure:
    """The cost of a generation, and the memory that the method keeps, over a long search."""
    styles = _make_styles(costs)
    lines: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in costs.over_time:
        lines.setdefault((row["method"], row["session"]), []).append(row)

    def draw_quantity_panel(ax: Axes, quantity: str) -> None:
        for (name, _), rows in lines.items():
            memory = quantity == "MB kept"
            rows = rows[1:] if memory else rows
            values = [float(row["bytes"]) / 1e6 if memory else float(row["ms"]) for row in rows]
            # the control is timed in every call
            words = None if name in ax.get_legend_handles_labels()[1] else name
            generations = [int(row["generation"]) for row in rows]
            ax.plot(generations, values, label=words, **styles[name], markevery=0.1)
        ax.set(xlabel="generation", ylabel=quantity, yscale="log")

    return _draw_two_panels(draw_quantity_panel, "CPU ms per generation", "MB kept")


OF_COSTS: dict[str, Callable[[Costs], Figure]] = {
    "by-dimension": draw_cost_by_dimension,
    "by-entries": draw_cost_by_entries,
    "crossover": draw_crossovers,
    "over-time": draw_cost_over_time,
}


def _draw_two_panels(panel: Callable[[Axes, Any], None], left: Any, right: Any) -> Figure:
    """Two panels, each drawn by `panel` of its value, with plain numbers on logarithmic axes."""
    with style.use_figure_style():
        figure = style.make_figure(11.2, 4.2)
        for ax, value in zip(figure.subplots(1, 2), (left, right), strict=True):
            panel(ax, value)
            for axis in (ax.xaxis, ax.yaxis):
                if axis.get_scale() == "log":
                    style.use_plain_tick_labels(axis)
            ax.minorticks_off()
        style.add_legend_below(figure)
    return figure


def _make_styles(costs: Costs) -> dict[str, dict[str, Any]]:
    """Every method's own line."""
    timed = [*costs.estimators, KNN, BRUTE, TREE, *(row["method"] for row in costs.over_time)]
    names = {name: METHODS.get(name, name) for name in timed}
    looks = choose_looks(names.values())
    return {name: style.make_line_style(looks[method]) for name, method in names.items()}
