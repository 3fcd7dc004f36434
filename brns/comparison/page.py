"""A comparison as a page to read: tables, a picture, and where the numbers come from."""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from brns.comparison.markdown import (
    check_safe_to_overwrite,
    format_command_and_provenance,
    format_table,
)
from brns.comparison.measure import KEPT, MethodResult, find_generations_at_fractions
from brns.comparison.statistics import FRACTIONS, Comparison
from brns.comparison.worlds import World
from brns.formatting import format_csv, format_number
from brns.metrics.measures import compute_mean_and_deviation
from brns.pictures import style
from brns.pictures.lines import Line, draw_lines_and_describe_bands
from brns.pictures.records import choose_looks
from brns.pictures.style import Width
from brns.runs.files import write_bytes

HEADING = "# Methods compared"
MARKS = {"better": "**", "worse": "*"}
COLUMNS = 4
"""panels of the picture side by side"""


def resolve_page_path(out: Path) -> Path:
    """Where the page is, beside the folder OUT; a `ValueError` where that is another page."""
    out = out if out.name.strip(".") else Path(os.path.abspath(out))
    page = out.with_name(f"{out.name}.md")
    check_safe_to_overwrite(page, HEADING)
    return page


def write_page_figure_and_csv(comparison: Comparison) -> None:
    """Write the page beside the folder of a comparison, and in it the picture and all numbers."""
    out, page = comparison.out, resolve_page_path(comparison.out)
    write_bytes(out / "runs.csv", format_csv(comparison.rows).encode())
    figure = draw_coverage_comparison(comparison.worlds, comparison.results)
    style.save(figure, out / "comparison.png", dpi=75)
    style.save(figure, out / "comparison.pdf")
    write_bytes(page, format_page(comparison, quote(page.stem)).encode())


def format_page(comparison: Comparison, folder: str) -> str:
    """The page as Markdown; its pictures lie in `folder`."""
    reference = comparison.reference
    kappas = [facts.kappa for world in comparison.results.values() for facts in world.values()]
    unknown = np.isnan(kappas).all(axis=1).any()
    parts = [
        HEADING,
        f"{comparison}",
        f"![Coverage over evaluations, a panel a world]({folder}/comparison.png)",
        "Coverage is the share of the reachable cells in which any evaluated individual lies. "
        "*Better* and *worse* are differences that a test confirms: Wilcoxon's signed ranks of "
        "methods that share their seeds, two-sided, exact, p < 0.05 after Holm's correction over "
        "all methods and worlds at that point of the run. Intervals are from a bootstrap. The "
        "table above leaves out worlds that repeat another one in a larger box: for an estimator "
        "that ignores the box, both are the same runs. All numbers are in "
        f"[runs.csv]({folder}/runs.csv).",
        "## Worlds",
        f"Coverage divided by that of {reference}, ± the standard deviation over seeds, and in "
        "parentheses the share of seeds in which the method covers more; ties count half. "
        "**Bold**: confirmed better; *italic*: confirmed worse.",
        *(_format_share_of_reference_table(comparison, fraction) for fraction in FRACTIONS[::-1]),
        "## Cycling",
        "The largest over seeds of η, and of κ as the share of later generations in which a "
        "population became novel again by more than 1 % of its first novelty. They are over "
        f"{KEPT} generations of each run or more, or all of fewer."
        + (" pyribs' methods have none." if unknown else ""),
        _format_table_by_world(comparison, _format_worst_cycling_cell),
        "## First solution",
        "The number of seeds that solved it, and the median generation of their first solution.",
        _format_table_by_world(comparison, _format_solved_cell),
        "## Cost",
        "Milliseconds of wall time for one generation of one seed, its evaluation included. This "
        "is rough, since the machine may have had other work: compare only methods of one commit "
        "(below) and one row. The first generation is left out, since it is compiled.",
        _format_table_by_world(comparison, lambda facts: format_number(facts.milliseconds.mean())),
        "## What was compared",
        _format_world_table(comparison),
        format_command_and_provenance(f"{len(comparison.seeds)} seeds.", comparison.provenance),
    ]
    return "\n\n".join(parts) + "\n"


def _format_share_of_reference_table(comparison: Comparison, fraction: float) -> str:
    methods = dict.fromkeys(row.method for row in comparison.verdicts)
    lines = [[f"after {fraction:.0%}", f"{comparison.reference}, cells", *methods]]
    for name, facts in comparison.results.items():
        covered = facts[comparison.reference].get_covered_at(fraction)
        mean, deviation, _ = compute_mean_and_deviation(covered.tolist())
        cells = [name, f"{mean:.0f} ± {deviation:.0f}"]
        for row in comparison.verdicts:
            if (row.world, row.fraction) == (name, fraction):
                mark = MARKS.get(row.outcome, "")
                share = f"{mark}{row.share:.2f} ± {row.deviation:.2f}{mark}"
                cells.append(f"{share} ({row.effect:.2f})")
        lines.append(cells)
    return format_table(lines)


def _format_table_by_world(
    comparison: Comparison, format_cell: Callable[[MethodResult], str]
) -> str:
    rows = [["world", *next(iter(comparison.results.values()))]]
    for name, methods in comparison.results.items():
        rows.append([name, *map(format_cell, methods.values())])
    return format_table(rows)


def _format_worst_cycling_cell(facts: MethodResult) -> str:
    if not np.isfinite(facts.eta).any():
        return "-"
    return f"η {np.nanmax(facts.eta):.3f}, κ {np.nanmax(facts.kappa):.3f}"


def _format_solved_cell(facts: MethodResult) -> str:
    solved = facts.first_solved[np.isfinite(facts.first_solved)]
    return f"{len(solved)}: {np.median(solved):g}" if len(solved) else "-"


def _format_world_table(comparison: Comparison) -> str:
    rows = [["world", "what it is", "split", "individuals", "generations", "cells", "counted by"]]
    for name, world in comparison.worlds.items():
        sizes = [f"{world.population_size} + {world.offspring_size}", f"{world.generations}"]
        cells = [f"{world.cells.reachable}", world.cells.counted]
        rows.append([name, world.title, world.split, *sizes, *cells])
    return format_table(rows)


def draw_coverage_comparison(
    worlds: Mapping[str, World],
    results: Mapping[str, Mapping[str, MethodResult]],
    width: Width | None = None,
) -> Figure:
    """Coverage of the cells over evaluations, a panel a world.

    Args:
        worlds: `Comparison.worlds`.
        results: `Comparison.results`.
        width: for print, as in `brns.pictures.draw`.

    Returns:
        A figure that a notebook shows, and `brns.pictures.save` writes.
    """
    looks = choose_looks({name for methods in results.values() for name in methods})
    columns = min({"column": 1, "page": 3}.get(width or "", COLUMNS), len(results))
    rows = math.ceil(len(results) / columns)
    total = style.WIDTHS[width] if width else 3.1 * columns + 0.5
    with style.use_figure_style(width):
        figure = style.make_figure(total, 0.75 * total / columns * rows + 0.8)
        notes = {}
        for i, (name, methods) in enumerate(results.items()):
            ax, world = figure.add_subplot(rows, columns, i + 1), worlds[name]
            lines = []
            for method, facts in methods.items():
                finite = np.isfinite(facts.covered).all(axis=0)
                share = facts.covered[:, finite] / world.cells.reachable
                generations = np.array(find_generations_at_fractions(world.generations))[finite]
                evaluations = world.population_size + world.offspring_size * generations
                lines.append(Line(method, evaluations.tolist(), share, looks[method]))
            notes[name] = draw_lines_and_describe_bands(ax, lines, most=1.0)
            ax.set_title(name)
            ax.set_xlim(0, evaluations[-1])
            ax.set_ylim(bottom=0)
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(EngFormatter(sep=""))
            if i >= len(results) - columns:
                ax.set_xlabel("evaluations")
        if len(set(notes.values())) > 1:
            for ax, (name, note) in zip(figure.axes, notes.items(), strict=True):
                ax.set_title(f"{name}\n{note}")
        reachable = not any(each.cells.counted.startswith("all") for each in worlds.values())
        same = notes.popitem()[1] if len(set(notes.values())) == 1 else ""
        share = f"{'reachable ' if reachable else ''}cells covered"
        figure.supylabel(f"{share}\n{same}".strip(), fontsize="medium", multialignment="center")
        style.add_legend_below(figure, columns=8)
    return figure
