"""A comparison as a page to read: the bars and whether they were reached, shares by world, cycling, cost."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from brns.comparison.bars import bars
from brns.comparison.markdown import provenance_text, refuse_other, table
from brns.comparison.measure import Facts
from brns.comparison.run import Comparison
from brns.comparison.statistics import FRACTIONS, Judged, at
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


def place(out: Path) -> Path:
    """OUT.md beside the folder OUT; a `ValueError` where that is no page of a comparison, and would be lost."""
    out = out if out.name.strip(".") else Path(os.path.abspath(out))
    page = out.with_name(f"{out.name}.md")
    refuse_other(page, HEADING)
    return page


def write(comparison: Comparison) -> Path:
    """Write OUT.md beside the folder OUT of a comparison, and return its path."""
    page = place(comparison.out)
    write_bytes(page, text(comparison, quote(page.stem)).encode())
    return page


def text(comparison: Comparison, folder: str) -> str:
    """The page as Markdown; its pictures lie in `folder`."""
    judged, reference, seeds = comparison.judged, comparison.reference, len(comparison.seeds)
    kept = next(iter(next(iter(comparison.found.values())).values())).q.shape[1]
    parts = [
        HEADING,
        f"Coverage by everything evaluated, of the cells that can be reached, over {seeds} seeds; each share is of "
        f"what {reference} covers, ± the standard deviation over seeds. **Bold**: more than {reference}, confirmed; "
        "*italic*: less, confirmed (Mann-Whitney, two-sided, p < 0.05 after Holm's correction over all methods and "
        f"worlds at that point of the run). The tidy numbers are in [runs.csv]({folder}/runs.csv), effect sizes below.",
        *(f"- {line}." for line in comparison.verdicts),
        f"![Coverage over evaluations, a panel a world]({folder}/comparison.png)",
    ]
    if len(comparison.worlds) > 1:
        parts += [
            "## The bars",
            "What one setting for all worlds must reach, and what was measured. A world with a loose box is another "
            "one once more, its box declared 10 or 100 times too large: to novelty without a unit, such as the "
            "archive's, the same runs.",
            _bars(comparison),
        ]
    for half, title in HALVES.items():
        names = [name for name, world in comparison.worlds.items() if world.half == half]
        if names:
            parts += [f"## {title}"]
            parts += [_shares(comparison, judged, names, fraction) for fraction in FRACTIONS[::-1]]
    parts += [
        "## Effect sizes",
        f"A of Vargha and Delaney at the end: how probably a seed covers more than one of {reference}.",
        _by_world(comparison, lambda world, method: _effect(judged, world, method)),
        "## Cycling",
        f"η, and the share κ of later generations in which what was visited became novel again by 1 % of what it was "
        f"(over {kept} generations of each run): the largest over seeds.",
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
    lines = "\n\n".join(parts).replace(".\n\n- ", ".\n- ")
    return lines + "\n"


def _bars(comparison: Comparison) -> str:
    methods = [name for name in next(iter(comparison.found.values())) if name != comparison.reference]
    columns = {method: bars(comparison, method) for method in methods}
    rows = [["bar", *methods]]
    for i, first in enumerate(columns[methods[0]] if methods else []):
        cells = [columns[method][i] for method in methods]
        rows.append([first.text, *(f"{one.measured} {'✓' if one.reached else '✗'}" for one in cells)])
    return table(rows)


def _shares(comparison: Comparison, judged: Sequence[Judged], names: Sequence[str], fraction: float) -> str:
    reference = comparison.reference
    methods = [name for name in comparison.found[names[0]] if name != reference]
    rows = [[f"after {fraction:.0%}", f"{reference}, cells", *methods]]
    shares: dict[str, list[float]] = {method: [] for method in methods}
    for name in names:
        mean, deviation, _ = estimate(at(comparison.found[name][reference], fraction).tolist())
        row = [comparison.worlds[name].title, f"{mean:.0f} ± {deviation:.0f}"]
        for method in methods:
            one = next(j for j in judged if (j.world, j.method, j.fraction) == (name, method, fraction))
            shares[method].append(one.share)
            mark = {"more": "**", "less": "*", "neither": ""}[one.confirmed]
            row.append(f"{mark}{one.share:.2f} ± {one.deviation:.2f}{mark}")
        rows.append(row)
    rows.append(["mean", "", *(f"{np.mean(shares[method]):.3f}" for method in methods)])
    return table(rows)


def _by_world(comparison: Comparison, cell: Callable[[str, str], str]) -> str:
    methods = list(next(iter(comparison.found.values())))
    rows = [["world", *methods]]
    rows += [[world.title, *(cell(name, m) for m in methods)] for name, world in comparison.worlds.items()]
    return table(rows)


def _effect(judged: Sequence[Judged], world: str, method: str) -> str:
    found = [one.effect for one in judged if (one.world, one.method, one.fraction) == (world, method, 1.0)]
    return f"{found[0]:.2f}" if found else "-"


def _cycling(facts: Facts) -> str:
    return f"η {facts.eta.max():.3f}, κ {facts.kappa.max():.3f}"


def _first(facts: Facts) -> str:
    solved = facts.first_solved[facts.first_solved >= 0]
    return f"{len(solved)}: {np.median(solved):g}" if len(solved) else "-"


def _worlds(comparison: Comparison) -> str:
    rows = [["world", "name", "half", "individuals", "generations", "cells", "counted by"]]
    for name, world in comparison.worlds.items():
        size = f"{world.individuals} + {world.born}"
        cells = world.cells
        rows.append([world.title, name, world.half, size, f"{world.generations}", f"{cells.reachable}", cells.counted])
    return table(rows)
