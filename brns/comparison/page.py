"""A comparison as a page to read: verdicts, shares by world, tests, cycling, cost, and where the numbers come from."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from brns.comparison.markdown import provenance_text, refuse_other, table
from brns.comparison.measure import KEPT, Facts
from brns.comparison.run import Comparison
from brns.comparison.statistics import FRACTIONS, at
from brns.metrics.numbers import number
from brns.metrics.summary import estimate
from brns.runs.provenance import here
from brns.runs.storage import write_bytes

HEADING = "# Methods compared"
HALVES = {
    "tune": "Worlds to choose settings by",
    "report": "Worlds to report by",
    "held out": "Worlds held out of the suite",
}
AGAIN = "Worlds once more, in a larger box"
MARKS = {"more": "**", "less": "*", "neither": ""}


def place(out: Path) -> Path:
    """OUT.md beside the folder OUT; a `ValueError` where that is another page."""
    out = out if out.name.strip(".") else Path(os.path.abspath(out))
    page = out.with_name(f"{out.name}.md")
    refuse_other(page, HEADING)
    return page


def write(comparison: Comparison, page: Path) -> None:
    """Write the page, which `place` gave, beside the folder OUT of a comparison."""
    write_bytes(page, text(comparison, quote(page.stem)).encode())


def text(comparison: Comparison, folder: str) -> str:
    """The page as Markdown; its pictures lie in `folder`."""
    reference, seeds = comparison.reference, len(comparison.seeds)
    parts = [
        HEADING,
        f"Coverage by everything evaluated, of the cells that can be reached, over {seeds} seeds; each share is of "
        f"what {reference} covers, ± the standard deviation over seeds. **Bold**: more than {reference}, confirmed; "
        "*italic*: less, confirmed (methods share their seeds: Wilcoxon's signed ranks, two-sided, p < 0.05 after "
        "Holm's correction over all methods and worlds at that point of the run). Intervals are a bootstrap's. The "
        f"tidy numbers are in [runs.csv]({folder}/runs.csv), effect sizes below.",
        "\n".join(f"- {line}." for line in comparison.verdicts),
        f"![Coverage over evaluations, a panel a world]({folder}/comparison.png)",
        *_sections(comparison),
        "## Effect sizes",
        f"The share of seeds in which a method covers more than {reference} at the end, ties half.",
        _by_world(comparison, lambda world, method: _effect(comparison, world, method)),
        "## Cycling",
        "η, and the share κ of later generations in which what was visited became novel again by 1 % of what it was "
        f"(over at least {KEPT} generations of each run): the largest over seeds.",
        _by_world(comparison, lambda world, method: _cycling(comparison.found[world][method])),
        "## First solution",
        "Seeds that solved it, and the median generation of the first success over those.",
        _by_world(comparison, lambda world, method: _first(comparison.found[world][method])),
        "## Cost",
        "Milliseconds of wall time for one generation of one seed, its evaluation included. Jobs ran side by side, and "
        "the machine may have had other work: a rough measure, by which only methods of one commit (below) and one row "
        "are compared.",
        _by_world(comparison, lambda world, method: number(comparison.found[world][method].milliseconds)),
        "## The worlds",
        _worlds(comparison),
        provenance_text({"provenance": here(), "made": comparison.made, "scale": f"{seeds} seeds."}),
    ]
    return "\n\n".join(parts) + "\n"


def _sections(comparison: Comparison) -> list[str]:
    """A section a half of the suite, and one of the worlds that no mean counts."""
    again = [name for name, world in comparison.worlds.items() if world.again in comparison.worlds]
    parts = []
    for half, title in HALVES.items():
        names = [name for name, world in comparison.worlds.items() if world.half == half and name not in again]
        if names:
            parts += [f"## {title}", *(_shares(comparison, names, fraction) for fraction in FRACTIONS[::-1])]
    if again:
        parts += [
            f"## {AGAIN}",
            "Another world each, its behavior box declared 10 or 100 times too large. To a novelty that does not see "
            "the box they are the same runs, so that no mean above counts them.",
            *(_shares(comparison, again, fraction) for fraction in FRACTIONS[::-1]),
        ]
    return parts


def _shares(comparison: Comparison, names: Sequence[str], fraction: float) -> str:
    reference = comparison.reference
    methods = [name for name in comparison.found[names[0]] if name != reference]
    judged = {(row.world, row.method): row for row in comparison.judged if row.fraction == fraction}
    rows = [[f"after {fraction:.0%}", f"{reference}, cells", *methods]]
    for name in names:
        mean, deviation, _ = estimate(at(comparison.found[name][reference], fraction).tolist())
        row = [comparison.worlds[name].title, f"{mean:.0f} ± {deviation:.0f}"]
        for method in methods:
            one = judged[name, method]
            mark = MARKS[one.confirmed]
            row.append(f"{mark}{one.share:.2f} ± {one.deviation:.2f}{mark}")
        rows.append(row)
    means = [np.mean([judged[name, method].share for name in names]) for method in methods]
    rows.append(["mean", "", *(f"{mean:.3f}" for mean in means)])
    return table(rows)


def _by_world(comparison: Comparison, cell: Callable[[str, str], str]) -> str:
    methods = list(next(iter(comparison.found.values())))
    rows = [["world", *methods]]
    rows += [[world.title, *(cell(name, m) for m in methods)] for name, world in comparison.worlds.items()]
    return table(rows)


def _effect(comparison: Comparison, world: str, method: str) -> str:
    ends = {(row.world, row.method): row for row in comparison.judged if row.fraction == 1.0}
    return f"{ends[world, method].effect:.2f}" if (world, method) in ends else "-"


def _cycling(facts: Facts) -> str:
    return f"η {facts.eta.max():.3f}, κ {facts.kappa.max():.3f}"


def _first(facts: Facts) -> str:
    solved = facts.first_solved[np.isfinite(facts.first_solved)]
    return f"{len(solved)}: {np.median(solved):g}" if len(solved) else "-"


def _worlds(comparison: Comparison) -> str:
    rows = [["world", "name", "half", "individuals", "generations", "cells", "counted by"]]
    for name, world in comparison.worlds.items():
        size = f"{world.individuals} + {world.born}"
        cells = world.cells
        rows.append([world.title, name, world.half, size, f"{world.generations}", f"{cells.reachable}", cells.counted])
    return table(rows)
