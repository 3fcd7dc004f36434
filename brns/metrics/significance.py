"""Whether two methods differ: one rule for comparisons, reports and the reproduction.

Methods are compared seed by seed (Wilcoxon's signed ranks, two-sided, exact). The p of one table
are corrected together (Holm). Where so few seeds could confirm nothing, whatever they find, a
difference is not tested.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEVEL = 0.05
"""the p below which a difference counts as confirmed"""
Values = Sequence[float] | Float[np.ndarray, " n"]
"""one number a seed"""


class Difference(NamedTuple):
    """The result of a paired test of two methods."""

    p: float
    """two-sided; NaN where it is not tested"""
    effect: float
    """the share of seeds in which ours is above theirs, ties half; 0.5 is chance"""
    seeds: int
    """that both methods have"""

    @property
    def verdict(self) -> str:
        """`higher` or `lower` where p < 0.05, else `undecided`; of too few seeds `not tested`."""
        if np.isnan(self.p):
            return format_insufficient_seeds(self.seeds)
        if not self.p < LEVEL:
            return "undecided"
        return "higher" if self.effect > 0.5 else "lower"


def format_insufficient_seeds(seeds: int) -> str:
    """The words for a difference that so many seeds cannot confirm."""
    return f"not tested (n = {seeds})"


def compare_paired(ours: Values, theirs: Values) -> Difference:
    r"""Wilcoxon's signed ranks, two-sided and exact, of two methods that share their seeds.

    p is the share of all ways to sign the ranks of $|ours_s - theirs_s|$ whose sum is as far from
    0. Seeds in which both are equal are left out of p, equal differences share their mean rank. p
    is 1 where nothing differs, and where ranks and effect point to different sides. Seeds in which
    one is NaN do not count.

    Args:
        ours: A number for each seed; infinite ones are larger than all others.
        theirs: The other method's numbers, entry s of the same seed.

    Returns:
        p, the effect and the number of seeds.
    """
    from scipy.stats import rankdata  # a summary without it starts sooner

    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    valid = ~(np.isnan(ours) | np.isnan(theirs))
    ours, theirs = ours[valid], theirs[valid]
    n = len(ours)
    with np.errstate(invalid="ignore"):
        difference = np.where(np.isclose(ours, theirs, 1e-12, 0.0), 0.0, ours - theirs)
    # Equal differences stay equal, such as of k / 36.
    difference = np.array([float(f"{each:.10g}") for each in difference])
    effect = float(np.mean((difference > 0) + 0.5 * (difference == 0))) if n else 0.5
    difference = difference[difference != 0]
    ranks = np.rint(2 * rankdata(np.abs(difference))).astype(int)  # twice, so that they are whole
    total = int(np.sum(np.sign(difference) * ranks))
    if total * (effect - 0.5) <= 0:
        return Difference(1.0, effect, n)
    chance = np.ones(1)  # of each sum of the ranks that are positive
    for rank in ranks:
        chance = (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0))) / 2
    far = np.abs(2 * np.arange(len(chance)) - ranks.sum()) >= abs(total)
    return Difference(float(chance[far].sum()), effect, n)


def compare_shared_seeds(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Difference:
    """`compare_paired` over the seeds that both methods have.

    Args:
        ours: Numbers by seed.
        theirs: The other method's.

    Returns:
        What the test makes of the shared seeds.
    """
    shared = sorted(ours.keys() & theirs.keys())
    return compare_paired([ours[seed] for seed in shared], [theirs[seed] for seed in shared])


def compute_smallest_possible_p(seeds: int) -> float:
    """The least p of so many shared seeds: two of all ways to sign their ranks."""
    return min(2.0 ** (1 - seeds), 1.0)


def count_seeds_needed(tests: int = 1) -> int:
    """The fewest seeds with which so many tests, corrected together,
    can all confirm a difference.

    Args:
        tests: how many.

    Returns:
        At least 2.
    """
    return next(n for n in itertools.count(2) if compute_smallest_possible_p(n) * tests < LEVEL)


def correct_p_by_holm(p: Values) -> Float[np.ndarray, " n"]:
    r"""p-values corrected for their number, Holm 1979:
    $\max_{j \le i} \min(1, (n - j + 1) p_{(j)})$, in order.

    Args:
        p: n p-values.

    Returns:
        In the order of `p`.
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def correct_table_p(p: Values, least: Values) -> Float[np.ndarray, " n"]:
    """The p of one table corrected together by Holm's method; NaN for those that are not tested.

    A test that could not be confirmed even with its least p is left out, first by itself, then
    corrected with the others: it would only weaken these.

    Args:
        p: Of each test.
        least: The least p that each test can have, with its number of seeds.

    Returns:
        The corrected p, and NaN in place of those left out.
    """
    values, least = np.asarray(p, np.float64), np.asarray(least, np.float64)
    tested = least < LEVEL
    tested[tested] = correct_p_by_holm(least[tested]) < LEVEL
    corrected = np.full(len(values), np.nan)
    corrected[tested] = correct_p_by_holm(values[tested])
    return corrected


def correct_differences_by_holm(tests: Sequence[Difference]) -> list[Difference]:
    """Tests of one table, each with its p corrected.

    Args:
        tests: All that stand in one table.

    Returns:
        The same with p as `correct_table_p` gives it.
    """
    least = [compute_smallest_possible_p(test.seeds) for test in tests]
    p = correct_table_p([test.p for test in tests], least)
    return [test._replace(p=float(new)) for test, new in zip(tests, p, strict=True)]
