"""Tests over seeds: whether two groups of numbers differ, by how much, and a correction for many such tests."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

LEVEL = 0.05
"""the p below which a difference counts as confirmed"""
EXACT = 20_000
"""permutations up to which all are counted"""
Values = Sequence[float] | Float[np.ndarray, " n"]
"""one number a seed"""


class Tested(NamedTuple):
    """What a test makes of two groups."""

    p: float
    """two-sided"""
    effect: float
    """the probability that one of ours is above one of theirs, ties half; 0.5 is chance"""


def paired(ours: Values, theirs: Values) -> Tested:
    """Wilcoxon's signed ranks, two-sided, of two methods that share their seeds: entry s of both is seed s.

    The effect is the share of seeds in which ours is above theirs, ties half. p leaves out seeds in which both are
    equal. It is 1 where all are, and where ranks and effect point to different sides; exact up to 14 seeds that differ,
    and up to 50 where no two differences are of one size; else SciPy's normal approximation.
    """
    difference = np.subtract(ours, theirs, dtype=np.float64)
    effect = float(np.mean((difference > 0) + 0.5 * (difference == 0)))
    differing = difference[difference != 0]
    signed = np.sign(differing) * stats.rankdata(np.abs(differing))
    if signed.sum() * (effect - 0.5) <= 0:
        return Tested(1.0, effect)
    few = len(signed) > 1 and 2 ** len(signed) <= EXACT
    method = stats.PermutationMethod(n_resamples=EXACT) if few else "auto"
    return Tested(float(stats.wilcoxon(differing, method=method).pvalue), effect)


def mann_whitney(ours: Values, theirs: Values) -> Tested:
    """Mann & Whitney's two-sided test of two groups that share no seeds.

    The effect is A of Vargha & Delaney. p is 1 where all numbers are equal, and where a group has a single number. It
    is exact up to 8 against 8; beyond, ties take SciPy's normal approximation, which small groups pass too easily.
    """
    few = math.comb(len(ours) + len(theirs), len(ours)) <= EXACT
    alone = min(len(ours), len(theirs)) < 2
    method = stats.PermutationMethod(n_resamples=EXACT) if few and not alone else "auto"
    test = stats.mannwhitneyu(ours, theirs, method=method)
    p = 1.0 if alone or np.isnan(test.pvalue) else float(test.pvalue)
    return Tested(p, float(test.statistic) / (len(ours) * len(theirs)))


def testable(ours: int, theirs: int) -> bool:
    """Whether so many seeds, in groups that share none, can give p < 0.05 at all."""
    return least_p(ours, theirs) < LEVEL


def least_p(ours: int, theirs: int) -> float:
    """The least p of so many seeds in groups that share none."""
    if min(ours, theirs) < 2:
        return 1.0
    return min(2 / math.comb(ours + theirs, ours), 1.0)


def least_paired_p(seeds: int) -> float:
    """The least p of so many shared seeds."""
    return min(2.0 ** (1 - seeds), 1.0)


def holm(p: Values) -> Float[np.ndarray, " n"]:
    r"""p-values corrected for their number, Holm 1979: $\max_{j \le i} \min(1, (n - j + 1) p_{(j)})$, in order."""
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected
