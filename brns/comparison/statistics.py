"""What the facts say: shares of the reference's coverage, tests with correction, effect sizes, and a verdict."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from brns.comparison.measure import Facts
from brns.metrics.summary import estimate
from brns.metrics.tests import LEVEL, holm, mann_whitney

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""of a run, at which coverage is told"""


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
    """Mann-Whitney, two-sided, corrected by Holm over all methods and worlds at this fraction"""
    effect: float
    """A of Vargha & Delaney: how probably a seed of the method covers more than one of the reference; 0.5 is chance"""

    @property
    def confirmed(self) -> str:
        """More, less, or neither, at p < 0.05."""
        if not self.p < LEVEL:
            return "neither"
        return "more" if self.effect > 0.5 else "less"


def at(facts: Facts, fraction: float) -> Float[np.ndarray, " s"]:
    """The cells covered by each seed after a fraction of the run."""
    last = facts.covered.shape[1] - 1
    return facts.covered[:, max(1, round(fraction * last))].astype(np.float64)


def judged(found: Mapping[str, Mapping[str, Facts]], reference: str) -> list[Judged]:
    """Every method against the reference in every world, at every fraction; `found` is by world, then by method."""
    rows = []
    for fraction in FRACTIONS:
        raw = []
        for world, methods in found.items():
            theirs = at(methods[reference], fraction)
            for method, facts in methods.items():
                if method == reference:
                    continue
                ours = at(facts, fraction)
                p, effect = mann_whitney(ours, theirs)
                mean, deviation, _ = estimate((ours / theirs.mean()).tolist())
                raw.append(Judged(world, method, fraction, mean, deviation, p, effect))
        corrected = holm([row.p for row in raw])
        rows += [row._replace(p=float(p)) for row, p in zip(raw, corrected, strict=True)]
    return rows


def verdict(rows: Sequence[Judged], method: str, reference: str, tuned: Container[str] = ()) -> str:
    """A method against the reference at the end of the run, in a sentence; apart, the worlds of which none is `tuned`.

    `tuned` are worlds by which settings were chosen, where a method shows more than it has.
    """
    ends = [row for row in rows if row.method == method and row.fraction == 1.0]
    others = [row for row in ends if row.world not in tuned]
    apart = f"; in those by which no setting was chosen {_summed(others)}" if 0 < len(others) < len(ends) else ""
    return f"{method} covers, of what {reference} covers, {_summed(ends)}{apart}"


def _summed(ends: Sequence[Judged]) -> str:
    more, less = (sum(row.confirmed == side for row in ends) for side in ("more", "less"))
    shares = [row.share for row in ends]
    worlds = f"{len(ends)} world{'s' * (len(ends) != 1)}"
    return (
        f"{np.mean(shares):.2f} (least {min(shares):.2f}, median {np.median(shares):.2f}, most {max(shares):.2f}), "
        f"confirmed more in {more} and less in {less} of {worlds}"
    )


def tidy(found: Mapping[str, Mapping[str, Facts]], seeds: Sequence[int]) -> list[dict[str, str | int | float]]:
    """One row a world, method, seed and measure; `first_solved` is absent where nothing was solved."""
    rows = []
    for world, methods in found.items():
        for method, facts in methods.items():
            measures = {f"coverage_{round(100 * fraction)}": at(facts, fraction) for fraction in FRACTIONS}
            measures |= {"first_solved": facts.first_solved, "eta": facts.eta, "kappa": facts.kappa}
            measures["milliseconds"] = np.full(len(seeds), facts.milliseconds)
            rows += [
                {"world": world, "method": method, "seed": seed, "measure": name, "value": float(value)}
                for name, values in measures.items()
                for seed, value in zip(seeds, values, strict=True)
                if not (name == "first_solved" and value < 0)
            ]
    return rows
