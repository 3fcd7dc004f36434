"""Verdicts: small rules that take seeds' numbers and say what a
test over seeds makes of a difference.

The page's introduction says how: which test, how a table's p are adjusted together, and what each
verdict means. The p of a claim of several comparisons is the largest of theirs (an
intersection-union test, Berger 1982). A comparison points the claim's way where its effect is above
one half; effects count seeds, so that an outlier decides nothing. A claim is not tested where the
least p that so few seeds can give, corrected, is not below 0.05.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from brns.metrics import significance

HOLDS, PARTLY, MIXED, FAILS = "holds", "holds partly", "mixed", "does not hold"
OPPOSITE, UNCONFIRMED = "the opposite is confirmed", "not confirmed"
UNTESTED = "cannot be tested at this scale"
Seeds = Mapping[int, float]
"""the number of each seed that has one"""


class Comparison(NamedTuple):
    """One difference that was claimed."""

    p: float
    """of the test that there is no difference, two-sided"""
    effect: float
    """the share of seeds in which it is as claimed, ties half; 0.5 is no difference"""
    seeds: int
    """that were compared"""
    enough: bool = True
    """the difference is as large as was claimed"""


Finding = list[Comparison] | str
"""what is to be tested, or a verdict that needs no test"""


class Judged(NamedTuple):
    """A verdict and what it rests on."""

    verdict: str
    p: float | None = None
    """the claim's, corrected"""
    effects: tuple[float, float] | None = None
    """the least and the largest of its comparisons'"""


def larger(one: Seeds, other: Seeds) -> Finding:
    """`one` is larger than `other`, seed by seed."""
    if not one or not other:
        return FAILS
    return [Comparison(*significance.compare_shared_seeds(one, other))]


def no_larger(one: Seeds, other: Seeds) -> Finding:
    """`one` is at most `other`: a test confirms it below `other` plus a tenth of its mean."""
    if not one or not other:
        return FAILS
    tenth = 0.1 * abs(float(np.mean(list(other.values()))))
    return larger({seed: value + tenth for seed, value in other.items()}, one)


def lowest(ours: Seeds, others: Sequence[Seeds]) -> Finding:
    """`ours` is below each of the others."""
    return combine_findings(larger(other, ours) for other in others)


def ordered(groups: Sequence[Seeds]) -> Finding:
    """Each group is below the one before it."""
    return combine_findings(larger(before, after) for before, after in pairwise(groups))


def alike(one: Seeds, other: Seeds, factor: float) -> Finding:
    """Each is below `factor` times the other."""

    def scale(values: Seeds) -> Seeds:
        return {seed: factor * value for seed, value in values.items()}

    return combine_findings([larger(scale(other), one), larger(scale(one), other)])


def falls(first: Seeds, last: Seeds) -> Finding:
    """A number falls within a run, in the mean to less than half; a sign test over seeds."""
    shared = sorted(first.keys() & last.keys())
    if not shared:
        return FAILS
    before, after = np.array([(first[seed], last[seed]) for seed in shared]).T
    enough = bool(after.mean() < 0.5 * before.mean())
    return [_run_sign_test(before - after)._replace(enough=enough)]


def below(values: Seeds, limit: float) -> Finding:
    """The number is below a limit; a sign test over seeds."""
    return [_run_sign_test(limit - np.array(list(values.values())))] if values else FAILS


def above(values: Seeds, limit: float) -> Finding:
    """The number is above a limit; a sign test over seeds."""
    return [_run_sign_test(np.array(list(values.values())) - limit)] if values else FAILS


def judge_seed_share(have: int, seeds: int, partly: float = 0.5) -> Finding:
    """Something happened in every seed, or partly, in this share of them; counted, not tested."""
    return HOLDS if have == seeds else PARTLY if have >= partly * seeds else FAILS


def combine_findings(findings: Iterable[Finding]) -> Finding:
    """All comparisons, or the verdict of a finding that needs no test and does not hold."""
    fixed, tests = set(), []
    for finding in findings:
        if isinstance(finding, str):
            fixed.add(finding)
        else:
            tests += finding
    for verdict in (UNTESTED, FAILS, PARTLY):
        if verdict in fixed:
            return verdict
    return tests or (HOLDS if fixed else UNTESTED)


def judge(findings: Sequence[Finding]) -> list[Judged]:
    """The verdicts of one table, whose claims are corrected together."""
    tested = [finding for finding in findings if not isinstance(finding, str)]
    largest = [max(each.p for each in finding) for finding in tested]
    least = [
        max(significance.compute_smallest_possible_p(each.seeds) for each in finding)
        for finding in tested
    ]
    corrected = iter(significance.correct_table_p(largest, least).tolist())
    verdicts = []
    for finding in findings:
        fixed = isinstance(finding, str)
        verdicts.append(Judged(finding) if fixed else _judge_comparisons(finding, next(corrected)))
    return verdicts


def _judge_comparisons(comparisons: Sequence[Comparison], p: float) -> Judged:
    effects = [each.effect for each in comparisons]
    ends = (min(effects), max(effects))
    claimed = [effect > 0.5 for effect in effects]
    if np.isnan(p):
        seeds = min(each.seeds for each in comparisons)
        return Judged(significance.format_insufficient_seeds(seeds), None, ends)
    if p >= significance.LEVEL:
        verdict = UNCONFIRMED if any(claimed) else FAILS
    elif all(claimed):
        verdict = HOLDS if all(each.enough for each in comparisons) else PARTLY
    else:
        verdict = MIXED if any(claimed) else OPPOSITE
    return Judged(verdict, p, ends)


def _run_sign_test(over: np.ndarray) -> Comparison:
    """The sign test; p leaves out ties."""
    there, against, seeds = int(np.sum(over > 0)), int(np.sum(over < 0)), len(over)
    p = float(binomtest(there, there + against).pvalue) if there + against else 1.0
    effect = (there + (seeds - there - against) / 2) / seeds
    return Comparison(p, effect, seeds)
