"""What one setting for all worlds must reach, each bar with what was measured."""

from typing import NamedTuple

import numpy as np

from brns.comparison.run import Comparison
from brns.comparison.statistics import Judged, at

LOOSE = {"maze-loose": "maze", "arm-loose": "arm", "arm-looser": "arm"}
"""worlds with a box declared too large, and the same with the right one"""


class Bar(NamedTuple):
    """One bar."""

    text: str
    measured: str
    reached: bool


def bars(comparison: Comparison, method: str) -> list[Bar]:
    """The bars for a method, by the worlds that the comparison has; the held-out ones stand apart."""
    rows = [row for row in comparison.judged if row.method == method]
    held_out = {name for name, world in comparison.worlds.items() if world.half == "held out"}
    inside = [row for row in rows if row.world not in held_out]
    found = _of_shares([row for row in inside if row.fraction == 1.0], [row for row in inside if row.fraction == 0.25])
    found += _held_out([row for row in rows if row.world in held_out and row.fraction == 1.0])
    every = [methods[method] for methods in comparison.found.values()]
    eta, kappa = (float(np.max([getattr(facts, name).max() for facts in every])) for name in ("eta", "kappa"))
    found.append(Bar("η <= 1 and κ = 0 in all runs", f"{eta:.3f}, {kappa:.3f}", bool(eta <= 1 and kappa == 0)))
    return found + _solved(comparison, method) + _loose(comparison, method)


def _of_shares(ends: list[Judged], quarters: list[Judged]) -> list[Bar]:
    if not ends:
        return []
    least, mean = min(ends, key=lambda row: row.share), float(np.mean([row.share for row in ends]))
    early = min(quarters, key=lambda row: row.share)
    more = sum(row.confirmed == "more" for row in ends)
    return [
        Bar("in no world below 0.98 at the end", f"{least.share:.2f} ({least.world})", least.share >= 0.98),
        Bar("above, confirmed, in two thirds", f"{more} of {len(ends)}", 3 * more >= 2 * len(ends)),
        Bar("1.06 on average at the end", f"{mean:.3f}", mean >= 1.06),
        Bar("in no world below 0.95 after a quarter", f"{early.share:.2f} ({early.world})", early.share >= 0.95),
    ]


def _held_out(ends: list[Judged]) -> list[Bar]:
    if not ends:
        return []
    least = min(row.share for row in ends)
    return [Bar("0.98 in the worlds held out", ", ".join(f"{row.share:.2f}" for row in ends), least >= 0.98)]


def _solved(comparison: Comparison, method: str) -> list[Bar]:
    if "maze" not in comparison.found:
        return []
    ours, theirs = (comparison.found["maze"][name].first_solved for name in (method, comparison.reference))
    when = [float(np.median(np.where(first < 0, np.inf, first))) for first in (ours, theirs)]
    solved, no_later = int((ours >= 0).sum()), bool(np.isfinite(when[0]) and when[0] <= when[1])
    return [
        Bar("hard maze solved in all seeds", f"{solved} of {len(ours)}", solved == len(ours)),
        Bar("first solution no later (median)", f"{when[0]:g} and {when[1]:g}", no_later),
    ]


def _loose(comparison: Comparison, method: str) -> list[Bar]:
    shares = [
        float(at(comparison.found[loose][method], 1.0).mean() / at(comparison.found[tight][method], 1.0).mean())
        for loose, tight in LOOSE.items()
        if loose in comparison.found and tight in comparison.found
    ]
    if not shares:
        return []
    return [Bar("a loose box costs 3 % at most", ", ".join(f"{share:.2f}" for share in shares), min(shares) >= 0.97)]
