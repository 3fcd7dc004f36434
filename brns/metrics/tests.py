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
"""ways to deal numbers to two groups, up to which all are looked at"""

Values = Sequence[float] | Float[np.ndarray, " n"]
"""one number a seed"""


class Tested(NamedTuple):
    """What a test makes of two groups."""

    p: float
    """Mann-Whitney, two-sided"""
    effect: float
    """A of Vargha & Delaney: how probably one of ours is above one of theirs, ties half; 0.5 is chance"""


def mann_whitney(ours: Values, theirs: Values) -> Tested:
    """The two-sided test that neither group is above the other. Where all numbers are one, p is 1.

    With up to 20,000 ways to deal the numbers to the two groups (8 against 8) p is exact, ties or not: the share of
    ways that are as extreme. With more, ties take SciPy's normal approximation, which small groups pass too easily.
    """
    few = min(len(ours), len(theirs)) > 1 and math.comb(len(ours) + len(theirs), len(ours)) <= EXACT
    method = stats.PermutationMethod(n_resamples=EXACT) if few else "auto"
    test = stats.mannwhitneyu(ours, theirs, alternative="two-sided", method=method)
    p = 1.0 if np.isnan(test.pvalue) else float(test.pvalue)
    return Tested(p, float(test.statistic) / (len(ours) * len(theirs)))


def testable(ours: int, theirs: int) -> bool:
    """Whether so many seeds can give p < 0.05 at all."""
    return least_p(ours, theirs) < LEVEL


def least_p(ours: int, theirs: int) -> float:
    """The p of so many seeds where all of the one lie above all of the other: no outcome gives less."""
    return min(2 / math.comb(ours + theirs, ours), 1.0)


def holm(p: Values) -> Float[np.ndarray, " n"]:
    r"""p-values corrected for their number, Holm 1979: $\max_{j \le i} \min(1, (n - j + 1) p_{(j)})$, in order."""
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(steps) if len(values) else []
    return corrected
