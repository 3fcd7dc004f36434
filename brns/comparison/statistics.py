"""What the facts say: shares of the reference's coverage, tests with correction, intervals, and a table of them."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from brns.comparison.markdown import table
from brns.comparison.measure import POINTS, Facts
from brns.comparison.worlds import World
from brns.metrics.measures import estimate
from brns.metrics.tests import LEVEL, holm, least_paired_p, paired

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""of a run, at which coverage is told; some of POINTS"""
DRAWS = 10_000
"""of the bootstrap"""


class Judged(NamedTuple):
    """A method against the reference in a world, at a fraction of the run."""

    world: str
    method: str
    fraction: float
    share: float
    """mean coverage over the reference's mean coverage"""
    deviation: float
    """standard deviation over the method's seeds, in the same unit"""
    p: float
    """Wilcoxon's signed ranks over seeds, two-sided, corrected by Holm over all methods and worlds at this fraction"""
    effect: float
    """the share of seeds in which the method covers more than the reference, ties half; 0.5 is chance"""

    @property
    def outcome(self) -> str:
        """Better or worse, where p < 0.05; else undecided."""
        if not self.p < LEVEL:
            return "undecided"
        return "better" if self.effect > 0.5 else "worse"


def judged(found: Mapping[str, Mapping[str, Facts]], reference: str) -> list[Judged]:
    """Every method against the reference in every world, at every fraction. Row s of all facts is the same seed."""
    rows = []
    for fraction in FRACTIONS:
        raw = []
        for world, methods in found.items():
            theirs = methods[reference].at(fraction)
            for method, facts in methods.items():
                if method == reference:
                    continue
                ours = facts.at(fraction)
                p, effect = paired(ours, theirs)
                mean, deviation, _ = estimate((ours / theirs.mean()).tolist())
                raw.append(Judged(world, method, fraction, mean, deviation, p, effect))
        corrected = holm([row.p for row in raw])
        rows += [row._replace(p=float(p)) for row, p in zip(raw, corrected, strict=True)]
    return rows


def interval(
    pairs: Sequence[tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]],
    of_worlds: bool = False,
) -> tuple[float, float]:
    """Between what the mean share lies with 95 %: a bootstrap over seeds, and over worlds too if `of_worlds`.

    A pair is what a method and the reference cover in a world, row s by seed s of both.
    """
    generator = np.random.default_rng(0)
    drawn_shares = []
    for ours, theirs in pairs:
        seeds = generator.integers(len(ours), size=(DRAWS, len(ours)))
        drawn_shares.append(ours[seeds].mean(axis=1) / theirs[seeds].mean(axis=1))
    shares = np.stack(drawn_shares, axis=1)
    if of_worlds:
        worlds = generator.integers(len(pairs), size=shares.shape)
        shares = np.take_along_axis(shares, worlds, axis=1)
    low, high = np.quantile(shares.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


class Comparison(NamedTuple):
    """What a comparison found; a notebook shows it as a table."""

    worlds: dict[str, World]
    found: dict[str, dict[str, Facts]]
    """by world, then by method"""
    seeds: list[int]
    reference: str
    """the method that the others are compared with: the first"""
    out: Path
    made: list[dict[str, Any]]
    """which commit, machine and versions made the numbers, and as `rows` the methods; each different answer once"""
    judged: list[Judged]
    """every other method against the reference, in every world, at 10, 25, 50 and 100 % of the run"""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a world, method, seed and measure, for `pandas.DataFrame(comparison.rows)`.

        What a seed does not have, such as a first solution, is absent.
        """
        rows = []
        for world, methods in self.found.items():
            for method, facts in methods.items():
                measures = {f"coverage_{round(100 * point)}": facts.at(point) for point in POINTS}
                measures |= {
                    "first_solved": facts.first_solved,
                    "eta": facts.eta,
                    "kappa": facts.kappa,
                }
                measures["milliseconds"] = np.full(len(self.seeds), facts.milliseconds)
                rows += [
                    {
                        "world": world,
                        "method": method,
                        "seed": seed,
                        "measure": name,
                        "value": float(value),
                    }
                    for name, values in measures.items()
                    for seed, value in zip(self.seeds, values, strict=True)
                    if np.isfinite(value)
                ]
        return rows

    @property
    def summary(self) -> list[list[str]]:
        """Every other method against the reference at the end of the run; the first line is the head.

        Worlds that repeat another in a larger box do not count. A second line has the worlds that
        were not used for tuning: in the others a method may look better than it is.
        """
        distinct = [name for name, world in self.worlds.items() if world.again not in self.worlds]
        untouched = [name for name in distinct if self.worlds[name].half != "tune"]
        share = f"of what {self.reference} covers (95 %)"
        lines = [
            ["method", share, "95 % over worlds too", "better", "worse", "undecided", "worlds"]
        ]
        for method in dict.fromkeys(row.method for row in self.judged):
            lines.append([method, *self._against(method, distinct), "all"])
            if 0 < len(untouched) < len(distinct):
                lines.append([method, *self._against(method, untouched), "not used for tuning"])
        return lines

    def _against(self, method: str, worlds: Sequence[str]) -> list[str]:
        ends = [
            row
            for row in self.judged
            if row.method == method and row.fraction == 1.0 and row.world in worlds
        ]
        pairs = [
            (self.found[name][method].at(1.0), self.found[name][self.reference].at(1.0))
            for name in worlds
        ]
        share = np.mean([row.share for row in ends])
        low, high = interval(pairs)
        least, most = interval(pairs, of_worlds=True)
        outcomes = [row.outcome for row in ends]
        counts = [f"{outcomes.count(outcome)}" for outcome in ("better", "worse", "undecided")]
        return [f"{share:.2f} ({low:.2f} to {high:.2f})", f"{least:.2f} to {most:.2f}", *counts]

    def __repr__(self) -> str:
        seeds, tests = len(self.seeds), len(self.judged) // len(FRACTIONS)
        worlds = "1 world" if len(self.worlds) == 1 else f"{len(self.worlds)} worlds"
        parts = [f"Coverage in {worlds} over {seeds} seeds.", table(self.summary)]
        if least_paired_p(seeds) * tests >= LEVEL:
            enough = next(n for n in itertools.count(seeds) if least_paired_p(n) * tests < LEVEL)
            parts.append(f"{seeds} seeds are too few for a verdict; take {enough} or more.")
        return "\n\n".join(parts)

    _repr_markdown_ = __repr__
