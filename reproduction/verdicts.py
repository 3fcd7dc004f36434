"""Verdicts: small rules that take seeds' numbers and say what a test over seeds makes of a difference.

The page's introduction says how: which test, how a table's p are adjusted together, and what each verdict means. The p
of a claim of several comparisons is the largest of theirs (an intersection-union test, Berger 1982). A comparison
points the claim's way where its effect is above one half; effects count seeds, or pairs of seeds, so that an outlier
decides nothing. A claim cannot be tested where the least p that so few seeds can give, adjusted, is not below 0.05.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from brns.metrics.tests import LEVEL, holm, least_p, least_paired_p, mann_whitney, paired

HOLDS, PARTLY, FAILS, UNTESTED = (
    "holds",
    "holds partly",
    "does not hold",
    "cannot be tested at this scale",
)
MIXED, OPPOSITE = (
    "holds in part, the opposite of the rest is confirmed",
    "the opposite is confirmed",
)
UNCONFIRMED = "not confirmed"
PAIRS = 6
"""the fewest pairs of seeds whose signed ranks can confirm a difference: $2 / 2^6 = 0.03$"""

Seeds = Mapping[int, float]
"""the number of each seed that has one"""


class Comparison(NamedTuple):
    """One difference that was claimed."""

    p: float
    """of the test that there is no difference, two-sided"""
    effect: float
    """the share of seeds, or of pairs of seeds, in which it is as claimed, ties half; 0.5 is no difference"""
    least: float
    """the least p that so many seeds can give"""
    enough: bool = True
    """the difference is as large as was claimed"""


Finding = list[Comparison] | str
"""what is to be tested, or a verdict that needs no test"""


class Judged(NamedTuple):
    """A verdict and what it rests on."""

    verdict: str
    p: float | None = None
    """the claim's, adjusted"""
    effects: tuple[float, float] | None = None
    """the least and the largest of its comparisons'"""


def larger(one: Seeds, other: Seeds) -> Finding:
    """`one` is larger than `other`: by `paired` where they share six seeds or more, else by `mann_whitney`."""
    if not one or not other:
        return FAILS
    shared = sorted(one.keys() & other.keys())
    if len(shared) >= PAIRS:
        p, effect = paired([one[seed] for seed in shared], [other[seed] for seed in shared])
        return [Comparison(p, effect, least_paired_p(len(shared)))]
    p, effect = mann_whitney(list(one.values()), list(other.values()))
    return [Comparison(p, effect, least_p(len(one), len(other)))]


def no_larger(one: Seeds, other: Seeds) -> Finding:
    """`one` is at most `other`: a test confirms that it is below `other` plus a tenth of its mean."""
    if not one or not other:
        return FAILS
    tenth = 0.1 * abs(float(np.mean(list(other.values()))))
    return larger({seed: value + tenth for seed, value in other.items()}, one)


def lowest(ours: Seeds, others: Sequence[Seeds]) -> Finding:
    """`ours` is below each of the others."""
    return both(*(larger(other, ours) for other in others))


def ordered(groups: Sequence[Seeds]) -> Finding:
    """Each group is below the one before it."""
    return both(*(larger(before, after) for before, after in pairwise(groups)))


def alike(one: Seeds, other: Seeds, factor: float) -> Finding:
    """Each is below `factor` times the other."""

    def times(values: Seeds) -> Seeds:
        return {seed: factor * value for seed, value in values.items()}

    return both(larger(times(other), one), larger(times(one), other))


def falls(first: Seeds, last: Seeds) -> Finding:
    """A number falls within a run, in the mean to less than half; a sign test over seeds."""
    shared = sorted(first.keys() & last.keys())
    if not shared:
        return FAILS
    a, b = (np.array([side[seed] for seed in shared]) for side in (first, last))
    enough = bool(b.mean() < 0.5 * a.mean())
    return [_signs(a - b)._replace(enough=enough)]


def below(values: Seeds, limit: float) -> Finding:
    """The number is below a limit; a sign test over seeds."""
    return [_signs(limit - np.array(list(values.values())))] if values else FAILS


def above(values: Seeds, limit: float) -> Finding:
    """The number is above a limit; a sign test over seeds."""
    return [_signs(np.array(list(values.values())) - limit)] if values else FAILS


def in_every_seed(have: int, seeds: int, partly: float = 0.5) -> Finding:
    """Something happened in every seed, or partly, in this share of them; counted, not tested."""
    return HOLDS if have == seeds else PARTLY if have >= partly * seeds else FAILS


def both(*findings: Finding) -> Finding:
    """The comparisons of all findings, or the verdict of one that needs no test and does not hold."""
    if not findings:
        return UNTESTED
    fixed = [finding for finding in findings if isinstance(finding, str)]
    lacking = [verdict for verdict in (UNTESTED, FAILS, PARTLY) if verdict in fixed]
    tests = [one for finding in findings if not isinstance(finding, str) for one in finding]
    return lacking[0] if lacking else tests or HOLDS


def judge(findings: Sequence[Finding]) -> list[Judged]:
    """The verdicts of one table, whose claims are adjusted together."""
    # Those that could not be confirmed alone are left out of the adjusting of the others.
    judged = _confirmable(_confirmable(findings, np.asarray), holm)
    adjusted = iter(
        holm([max(one.p for one in finding) for finding in judged if not isinstance(finding, str)])
    )
    return [
        Judged(finding) if isinstance(finding, str) else _judged(finding, next(adjusted))
        for finding in judged
    ]


def _confirmable(
    findings: Sequence[Finding], adjust: Callable[[list[float]], np.ndarray]
) -> list[Finding]:
    """The findings; `UNTESTED` in place of those whose least p, adjusted, confirms nothing."""
    least = iter(
        adjust(
            [
                max(one.least for one in finding)
                for finding in findings
                if not isinstance(finding, str)
            ]
        )
    )
    return [
        finding if isinstance(finding, str) or next(least) < LEVEL else UNTESTED
        for finding in findings
    ]


def _judged(comparisons: Sequence[Comparison], p: float) -> Judged:
    effects = [one.effect for one in comparisons]
    told = (min(effects), max(effects))
    claimed = [effect > 0.5 for effect in effects]
    if p >= LEVEL:
        verdict = UNCONFIRMED if any(claimed) else FAILS
    elif all(claimed):
        verdict = HOLDS if all(one.enough for one in comparisons) else PARTLY
    else:
        verdict = MIXED if any(claimed) else OPPOSITE
    return Judged(verdict, p, told)


def _signs(over: np.ndarray) -> Comparison:
    """The sign test; p leaves out ties."""
    there, against, seeds = int(np.sum(over > 0)), int(np.sum(over < 0)), len(over)
    p = float(binomtest(there, there + against).pvalue) if there + against else 1.0
    effect = (there + (seeds - there - against) / 2) / seeds
    return Comparison(p, effect, 2 * 0.5**seeds)
