"""What the facts say: shares of the reference's coverage, tests with correction, intervals, and a verdict."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from brns.comparison.measure import POINTS, Facts
from brns.comparison.worlds import World
from brns.metrics.summary import estimate
from brns.metrics.tests import LEVEL, holm, paired

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""of a run, at which coverage is told; some of POINTS"""
DRAWS = 10_000
"""of the bootstrap"""

Found = Mapping[str, Mapping[str, Facts]]
"""by world, then by method"""


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
    def confirmed(self) -> str:
        """More, less, or neither, at p < 0.05."""
        if not self.p < LEVEL:
            return "neither"
        return "more" if self.effect > 0.5 else "less"


def at(facts: Facts, fraction: float) -> Float[np.ndarray, " s"]:
    """The cells covered by each seed after a fraction of the run, one of POINTS."""
    return facts.covered[:, POINTS.index(fraction)]


def judged(found: Found, reference: str) -> list[Judged]:
    """Every method against the reference in every world, at every fraction. Row s of all facts is the same seed."""
    rows = []
    for fraction in FRACTIONS:
        raw = []
        for world, methods in found.items():
            theirs = at(methods[reference], fraction)
            for method, facts in methods.items():
                if method == reference:
                    continue
                ours = at(facts, fraction)
                p, effect = paired(ours, theirs)
                mean, deviation, _ = estimate((ours / theirs.mean()).tolist())
                raw.append(Judged(world, method, fraction, mean, deviation, p, effect))
        corrected = holm([row.p for row in raw])
        rows += [row._replace(p=float(p)) for row, p in zip(raw, corrected, strict=True)]
    return rows


def interval(
    pairs: Sequence[tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]], of_worlds: bool = False
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


def verdict(found: Found, rows: Sequence[Judged], method: str, reference: str, worlds: Mapping[str, World]) -> str:
    """A method against the reference at the end of the run, in a sentence.

    A world that is another one once more, in a larger box, does not count. Apart stand the worlds by which no setting
    was chosen: by the others a method shows more than it has.
    """
    distinct = [name for name in found if worlds[name].again not in found]
    untouched = [name for name in distinct if worlds[name].half != "tune"]
    told = f"{method} covers {_summed(found, rows, method, reference, distinct)}"
    if not 0 < len(untouched) < len(distinct):
        return told
    apart = _summed(found, rows, method, reference, untouched)
    return f"{told}; in those by which no setting was chosen {apart}"


def _summed(found: Found, rows: Sequence[Judged], method: str, reference: str, names: Sequence[str]) -> str:
    ends = [row for row in rows if row.method == method and row.fraction == 1.0 and row.world in names]
    shares = [row.share for row in ends]
    more = sum(row.confirmed == "more" for row in ends)
    less = sum(row.confirmed == "less" for row in ends)
    pairs = [(at(found[name][method], 1.0), at(found[name][reference], 1.0)) for name in names]
    low, high = interval(pairs)
    if len(names) == 1:
        outcome = "confirmed more" if more else "confirmed less" if less else "no difference confirmed"
        return f"{shares[0]:.2f} of what {reference} covers (95 %: {low:.2f} to {high:.2f} over seeds), {outcome}"
    least, most = interval(pairs, of_worlds=True)
    return (
        f"{np.mean(shares):.2f} of what {reference} covers (95 %: {low:.2f} to {high:.2f} over seeds, {least:.2f} to "
        f"{most:.2f} over worlds too; least {min(shares):.2f}, most {max(shares):.2f}), "
        f"confirmed more in {more} and less in {less} of {len(names)} worlds"
    )


def tidy(found: Found, seeds: Sequence[int]) -> list[dict[str, str | int | float]]:
    """One row a world, method, seed and measure; what a seed does not have, such as a first solution, is absent."""
    rows = []
    for world, methods in found.items():
        for method, facts in methods.items():
            measures = {f"coverage_{round(100 * point)}": at(facts, point) for point in POINTS}
            measures |= {"first_solved": facts.first_solved, "eta": facts.eta, "kappa": facts.kappa}
            measures["milliseconds"] = np.full(len(seeds), facts.milliseconds)
            rows += [
                {"world": world, "method": method, "seed": seed, "measure": name, "value": float(value)}
                for name, values in measures.items()
                for seed, value in zip(seeds, values, strict=True)
                if np.isfinite(value)
            ]
    return rows
