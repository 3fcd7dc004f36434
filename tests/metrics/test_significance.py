"""The one rule by which methods differ: by hand, by counting all ways, and what can be reached."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import rankdata

from brns.metrics.significance import (
    Difference,
    compare_paired,
    compare_shared_seeds,
    compute_smallest_possible_p,
    correct_differences_by_holm,
    correct_p_by_holm,
    correct_table_p,
    count_seeds_needed,
)


def counted(difference):
    """The share of all ways to sign the differences that are as far from balance."""
    ranks = rankdata(np.abs(difference))
    sums = np.array(list(product([-1, 1], repeat=len(ranks)))) @ ranks
    return np.mean(np.abs(sums) >= abs(np.dot(np.sign(difference), ranks)) - 1e-9)


def test_signed_ranks_by_hand():
    """Of 8 ways to sign ranks 1, 2, 3, two are as far from balance as + + +, and four as - + +."""
    assert compare_paired([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == (pytest.approx(2 / 8), 1.0, 3)
    two_thirds = (pytest.approx(4 / 8), pytest.approx(2 / 3), 3)
    assert compare_paired([1.0, 4.0, 6.0], [2.0, 2.0, 3.0]) == two_thirds
    ties = compare_paired([1.0, 2.0, 3.0, 9.0, 9.0], [0.0, 0.0, 0.0, 9.0, 9.0])
    assert ties == (pytest.approx(2 / 8), 0.8, 5)
    assert compare_paired([0.1 + 0.2, 5.0], [0.3, 5.0]) == (1.0, 0.5, 2)
    assert compare_paired([5.00001, 5.0], [5.0, 5.0]) == (1.0, 0.75, 2)
    assert compare_paired([], []) == (1.0, 0.5, 0)


@pytest.mark.parametrize(
    "difference", [[3, 3, -1, 2, 2, 5, -4, 1], [-1, -2, -2, -3, 1], [1] * 11 + [-2] * 3]
)
def test_p_is_exact_whatever_the_ties(difference):
    ours, theirs = np.array(difference, float), np.zeros(len(difference))
    found = compare_paired(ours, theirs)
    assert found.p == pytest.approx(counted(ours))
    assert found.effect == np.mean(ours > 0)
    assert compare_paired(theirs, ours)[:2] == pytest.approx((found.p, 1 - found.effect))


def test_shares_tie_where_their_counts_do():
    """In float64 20/36 - 18/36 and 32/36 - 30/36 differ by their rounding."""
    theirs, ours = [18, 32, 22, 31, 25, 30, 30, 28], [20, 30, 25, 32, 27, 33, 33, 29]
    ours, theirs = np.array(ours, float), np.array(theirs, float)
    shares = compare_paired(ours / 36, theirs / 36)
    assert shares == compare_paired(ours, theirs)
    assert shares.p == 0.0546875


def test_a_seed_that_never_solved_it_is_later_than_all_others():
    never, theirs = float("inf"), [5.0, 7.0]
    assert compare_paired([never, never, 9.0], [never, *theirs]) == compare_paired(
        [9.0] * 3, [9.0, *theirs]
    )


def test_no_p_supports_the_other_side_of_what_its_effect_says():
    """Twelve small gains and eight large losses: ranks are sure of less, most seeds of more; of ten
    and ten they say neither."""
    for gains in (10, 12):
        difference = [0.1 + 0.01 * k for k in range(gains)] + [-5.0 - k for k in range(20 - gains)]
        assert compare_paired(difference, np.zeros(20))[:2] == (1.0, gains / 20)
    assert counted(np.array(difference[8:])) < 0.05  # as few suffice


def test_only_shared_seeds_are_compared_each_with_itself():
    """Seeds differ by 100, the methods by 1."""
    ours, theirs = ({s: 100.0 * s + more for s in range(8)} for more in (1, 0))
    assert compare_shared_seeds(ours, theirs | {20: 9e9}) == (2 / 2**8, 1.0, 8)
    assert compare_shared_seeds(ours, {20: 1.0}) == (1.0, 0.5, 0)


def test_the_least_p_is_reached_and_so_many_seeds_are_enough():
    for seeds in (3, 10):
        p = compare_paired([1.0] * seeds, [0.0] * seeds).p
        assert p == pytest.approx(compute_smallest_possible_p(seeds))
    assert compute_smallest_possible_p(0) == compute_smallest_possible_p(1) == 1
    assert [count_seeds_needed(tests) for tests in (1, 2, 6, 7)] == [6, 7, 8, 9]
    for tests in range(1, 30):
        seeds = count_seeds_needed(tests)
        full = [compare_paired([1.0] * seeds, [0.0] * seeds)] * tests
        assert {test.verdict for test in correct_differences_by_holm(full)} == {"higher"}
        fewer = [compare_paired([1.0] * (seeds - 1), [0.0] * (seeds - 1))] * tests
        told = {test.verdict for test in correct_differences_by_holm(fewer)}
        assert told == {f"not tested (n = {seeds - 1})"}


def test_holms_correction_by_hand():
    assert_allclose(correct_p_by_holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
    assert_allclose(correct_p_by_holm([0.9, 0.8]), [1, 1])
    assert len(correct_p_by_holm([])) == 0


def test_what_cannot_be_confirmed_weakens_no_other():
    p = correct_table_p([0.01, 0.9, 0.02], [0.001, 0.0625, 0.001])
    assert_allclose(p, [0.02, np.nan, 0.02])
    assert_allclose(correct_table_p([0.03, 0.03], [0.03, 0.03]), [np.nan, np.nan])
    verdicts = [test.verdict for test in (Difference(0.01, 0.2, 9), Difference(0.2, 0.9, 9))]
    assert verdicts == ["lower", "undecided"]


def test_seeds_without_a_number_do_not_count():
    nan = np.nan
    ours, theirs = [3.0, nan, 5.0, 7.0, 1.0], [1.0, 2.0, 2.0, nan, 2.0]
    assert compare_paired(ours, theirs) == compare_paired([3.0, 5.0, 1.0], [1.0, 2.0, 2.0])
    assert compare_paired([nan], [1.0]).seeds == 0
