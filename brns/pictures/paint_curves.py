"""Curves over generations or evaluations, and bars, of the runs of each method."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, PercentFormatter

from brns.pictures import style
from brns.pictures.gather_curves import INDIVIDUALS, Bars, Costs, Curves
from brns.pictures.lines import Line, compute_and_describe_bands, draw_lines_and_describe_bands
from brns.pictures.records import choose_looks
from brns.settings.parts import LOOKS, Look

Over = Literal["generations", "evaluations"]


def paint_curves(
    curves: Curves, ax: Axes, looks: Mapping[str, Look] | None = None, over: Over = "generations"
) -> None:
    """Draw lines with their bands, and rows of Q above 0 on a logarithmic axis, with quartiles."""
    logarithmic = curves.column == "row" and all((line.values > 0).all() for line in curves.series)
    labels = [line.label for line in curves.series]
    looks = looks or choose_looks(labels)
    names = append_unequal_seed_counts(labels, [len(line.seeds) for line in curves.series])
    lines = []
    for name, line in zip(names, curves.series, strict=True):
        x = getattr(line, over).tolist()
        lines.append(Line(name, x, line.values, looks[line.label]))
    words = draw_lines_and_describe_bands(ax, lines, logarithmic, curves.most)
    if over == "evaluations":
        until = "" if curves.generation == "generation" else f" until {curves.generation}"
        ax.set_xlabel(f"evaluations{until}")
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    else:
        ax.set_xlabel(curves.generation)
        ax.locator_params("x", integer=True)
    ax.set_ylabel(style.wrap_texts_to_panel_height(ax, curves.quantity, words))
    if curves.reference is not None:
        ax.axhline(curves.reference, color=style.INK, lw=0.8, ls=":")
    if logarithmic:
        _make_y_axis_logarithmic(ax)
    else:
        # Where all is 0 there is no scale to choose.
        nothing = not any(line.values.any() for line in curves.series)
        most = 1.0 if nothing else curves.most
        if not any((line.values < 0).any() for line in curves.series):
            ax.set_ylim(0, None if most is None else 1.03 * most)
    if curves.quantity.startswith("share"):
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))


def choose_looks_of_q_rows_by_time(labels: Iterable[str]) -> dict[str, Look]:
    """The looks of rows of Q, labelled as "i = 10": from early to late."""
    ordered = sorted(set(labels), key=lambda label: int(label.partition("= ")[2]))
    shades = map(to_hex, style.TIME(np.linspace(0.2, 0.75, len(ordered))))
    shapes = list(LOOKS.values())
    looks = {}
    for place, (label, shade) in enumerate(zip(ordered, shades, strict=True)):
        looks[label] = shapes[place % len(shapes)]._replace(color=shade)
    return looks


def paint_bars(bars: Bars, ax: Axes) -> None:
    """Draw bars, side by side for each term, on a logarithmic axis."""
    ax.set_facecolor("white")
    drawn, words = compute_and_describe_bands(bars.values)
    looks = choose_looks(bars.labels)
    width = 0.8 / len(bars.labels)
    names = append_unequal_seed_counts(bars.labels, list(map(len, bars.seeds)))
    for place, (middle, low, high) in enumerate(drawn):
        x = np.arange(len(bars.terms)) + (place + 0.5) * width - 0.4
        ends = [middle - low, high - middle]
        color = looks[bars.labels[place]].color
        ax.bar(x, middle, width * 0.92, yerr=ends, color=color, label=names[place])
    ax.set_xticks(range(len(bars.terms)), bars.terms)
    ylabel = style.wrap_texts_to_panel_height(ax, bars.quantity, words)
    ax.set(xlabel="term of the signature", ylabel=ylabel)
    _make_y_axis_logarithmic(ax)


def paint_costs_by_dimension(costs: Costs, ax: Axes) -> None:
    """Draw times by dimension, on logarithmic axes."""
    ax.set_facecolor("white")
    looks = choose_looks(costs.labels)
    for label, ms in zip(costs.labels, costs.ms, strict=True):
        look = style.make_line_style(looks[label], style.compute_size_factor(ax))
        ax.plot(costs.dimensions, ms, label=label, **look)
    ax.set_xscale("log", base=2)
    ax.set_xticks(costs.dimensions, map(str, costs.dimensions))
    half = INDIVIDUALS // 2
    ax.set_xlabel("dimensions of behavior")
    text = f"CPU time per generation of {half} + {half} (ms)"
    ax.set_ylabel(style.wrap_texts_to_panel_height(ax, text))
    _make_y_axis_logarithmic(ax)


def _make_y_axis_logarithmic(ax: Axes) -> None:
    """A logarithmic axis with numbers, not the code of formulas."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    steps = (1, 2, 5) if high < 1000 * low else (1,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps) if high > 10 * low else MaxNLocator(5))
    style.use_plain_tick_labels(ax.yaxis)


def append_unequal_seed_counts(labels: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Labels for a legend, with their numbers of seeds where these differ."""
    if len(set(numbers)) == 1:
        return list(labels)
    pairs = zip(labels, numbers, strict=True)
    return [f"{label} ({number} {'seeds' if number > 1 else 'seed'})" for label, number in pairs]
