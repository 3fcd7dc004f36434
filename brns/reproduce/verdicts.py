"""Verdicts: small rules, each of which takes seeds' values and says what a test over seeds makes of a difference.

Every comparison is tested two-sided over seeds. A claim of several is as sure as the least sure of them: its p is their
largest (an intersection-union test, Berger 1982, which needs no adjusting within the claim). The p of one table's
claims are adjusted together by Holm's method. A comparison points the claim's way where its effect is above one half:
the effect and p are of the same ranks or signs, so that no outlying seed turns the one against the other. A claim holds
where all its comparisons point its way and its adjusted p is below 0.05; it does not hold where none does; what is
between holds partly. With too few seeds for any outcome to be confirmed it cannot be tested: where the least p that
they can give, adjusted among those of the table, is not below 0.05.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from brns.metrics.tests import LEVEL, holm, least_p, mann_whitney

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds partly", "does not hold", "cannot be tested at this scale"
Values = Sequence[float]
"""one number a seed"""


class Comparison(NamedTuple):
    """One difference that was claimed."""

    p: float
    """of the test that there is no difference, two-sided"""
    effect: float
    """the share of pairs of seeds, or of seeds, in which it is as claimed, ties half; 0.5 is no difference"""
    least: float
    """the p of so many seeds where every one is as claimed: no outcome can give less"""
    enough: bool = True
    """the difference is as large as was claimed"""

    @property
    def claimed(self) -> bool:
        """It points the claim's way."""
        return self.effect > 0.5


Finding = list[Comparison] | str
"""what is to be tested, or a verdict that needs no test"""


class Judged(NamedTuple):
    """A verdict and what it rests on."""

    verdict: str
    p: float | None = None
    """the claim's, adjusted: the largest of its comparisons', among those of the table's other claims"""
    effect: float | None = None
    """the least of the comparisons'"""


def larger(one: Values, other: Values) -> Finding:
    """`one` is larger than `other`: Mann-Whitney over seeds, with Vargha and Delaney's A as the effect.

    $A = P(x > y) + P(x = y) / 2$ for a seed x of the one and y of the other method.
    """
    if not len(one) or not len(other):
        return FAILS
    p, effect = mann_whitney(one, other)
    return [Comparison(p, effect, least_p(len(one), len(other)))]


def no_larger(one: Values, other: Values) -> Finding:
    """`one` is at most `other`, which a test confirms where `one` is below `other` and a tenth of its mean more."""
    if not len(one) or not len(other):
        return FAILS
    return larger([value + 0.1 * abs(float(np.mean(other))) for value in other], one)


def lowest(ours: Values, others: Sequence[Values]) -> Finding:
    """`ours` is below each of the others."""
    return both(*(larger(other, ours) for other in others)) if others else UNTESTED


def ordered(groups: Sequence[Values]) -> Finding:
    """Each group is below the one before it."""
    if len(groups) < 2:
        return UNTESTED
    return both(*(larger(before, after) for before, after in pairwise(groups)))


def falls(first: Values, last: Values) -> Finding:
    """In every seed's run a number falls, in the mean to less than half; a sign test over seeds.

    Of one seed, `first` and `last` stand at one place.
    """
    if not len(first):
        return FAILS
    a, b = np.asarray(first, np.float64), np.asarray(last, np.float64)
    enough = bool(b.mean() < 0.5 * a.mean())
    return [_signs(int(np.sum(b < a)), int(np.sum(b > a)), len(a))._replace(enough=enough)]


def below(values: Values, limit: float) -> Finding:
    """The number is below a limit; a sign test over seeds."""
    return _against(values, limit, sign=-1)


def above(values: Values, limit: float) -> Finding:
    """The number is above a limit; a sign test over seeds."""
    return _against(values, limit, sign=1)


def in_every_seed(have: int, seeds: int, partly: float = 0.5) -> Finding:
    """Something happened in every seed, or at least in this share of them; counted, not tested."""
    return HOLDS if have == seeds else PARTLY if have >= partly * seeds else FAILS


def both(*findings: Finding) -> Finding:
    """All of several: their comparisons together, or, where one needs no test and does not hold, its verdict.

    Of nothing it cannot be tested.
    """
    if not findings:
        return UNTESTED
    fixed = [finding for finding in findings if isinstance(finding, str)]
    lacking = [verdict for verdict in (UNTESTED, FAILS, PARTLY) if verdict in fixed]
    tests = [one for finding in findings if not isinstance(finding, str) for one in finding]
    return lacking[0] if lacking else tests or HOLDS


def judge(findings: Sequence[Finding]) -> list[Judged]:
    """The verdicts of one table, whose claims are adjusted together."""
    # Those that could not be confirmed alone need no adjusting, and leave more to the others.
    judged = _confirmable(_confirmable(findings, np.asarray), holm)
    adjusted = iter(holm([max(one.p for one in finding) for finding in judged if not isinstance(finding, str)]))
    return [Judged(finding) if isinstance(finding, str) else _judged(finding, next(adjusted)) for finding in judged]


def _confirmable(findings: Sequence[Finding], adjust: Callable[[Values], np.ndarray]) -> list[Finding]:
    """The findings, but those that no outcome can confirm: by their least p, adjusted."""
    least = iter(adjust([max(one.least for one in finding) for finding in findings if not isinstance(finding, str)]))
    return [finding if isinstance(finding, str) or next(least) < LEVEL else UNTESTED for finding in findings]


def _judged(comparisons: Sequence[Comparison], p: float) -> Judged:
    confirmed = p < LEVEL and all(one.claimed and one.enough for one in comparisons)
    verdict = HOLDS if confirmed else PARTLY if any(one.claimed for one in comparisons) else FAILS
    return Judged(verdict, p, min(one.effect for one in comparisons))


def _against(values: Values, limit: float, sign: int) -> Finding:
    if not len(values):
        return FAILS
    over = sign * (np.asarray(values, np.float64) - limit)
    return [_signs(int(np.sum(over > 0)), int(np.sum(over < 0)), len(over))]


def _signs(there: int, against: int, seeds: int) -> Comparison:
    """The sign test: ties say nothing, and are left out of p."""
    p = float(binomtest(there, there + against).pvalue) if there + against else 1.0
    effect = (there + (seeds - there - against) / 2) / seeds
    return Comparison(p, effect, 2 * 0.5**seeds)
