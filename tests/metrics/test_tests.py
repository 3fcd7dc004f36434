"""Tests over seeds: by hand, by counting all ways, and what can be reached."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata

from brns.metrics.tests import holm, least_p, least_paired_p, mann_whitney, paired


def counted(difference):
    """The share of all ways to sign the differences that are as far from balance."""
    ranks = rankdata(np.abs(difference))
    sums = np.array(list(product([-1, 1], repeat=len(ranks)))) @ ranks
    return np.mean(np.abs(sums) >= abs(np.dot(np.sign(difference), ranks)) - 1e-9)


def test_signed_ranks_by_hand():
    """Of 8 ways to sign ranks 1, 2, 3, two are as far from balance as + + +, and four as - + +."""
    assert paired([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == (pytest.approx(2 / 8), 1.0)
    assert paired([1.0, 4.0, 6.0], [2.0, 2.0, 3.0]) == (pytest.approx(4 / 8), pytest.approx(2 / 3))
    assert paired([1.0, 2.0, 3.0, 9.0, 9.0], [0.0, 0.0, 0.0, 9.0, 9.0]) == (
        pytest.approx(2 / 8),
        0.8,
    )
    assert paired([5.0, 5.0], [5.0, 5.0]) == (1.0, 0.5)
    assert paired([6.0, 5.0], [5.0, 5.0]) == (1.0, 0.75)


@pytest.mark.parametrize(
    "difference",
    [[3, 3, -1, 2, 2, 5, 4, 1], [-1, -2, -2, -3, 1], [1] * 11 + [-2] * 3],
)
def test_p_is_exact_whatever_the_ties(difference):
    ours, theirs = np.array(difference, float), np.zeros(len(difference))
    found = paired(ours, theirs)
    assert found.p == pytest.approx(counted(ours))
    assert found.effect == np.mean(ours > 0)
    assert paired(theirs, ours) == (pytest.approx(found.p), pytest.approx(1 - found.effect))


def test_no_p_supports_the_other_side_of_what_its_effect_says():
    """Twelve small gains and eight large losses: the ranks are sure of less, most seeds are of more."""
    difference = [0.1 + 0.01 * k for k in range(12)] + [-5.0 - k for k in range(8)]
    assert counted(np.array(difference[8:])) < 0.05  # as few suffice
    assert paired(difference, np.zeros(20)) == (1.0, 0.6)


def test_the_least_p_is_reached_ties_or_not():
    for ours, theirs in [(2, 3), (3, 3), (4, 6)]:
        assert mann_whitney([1.0] * ours, [0.0] * theirs).p == pytest.approx(least_p(ours, theirs))
    for seeds in (3, 10):
        assert paired([1.0] * seeds, [0.0] * seeds).p == pytest.approx(least_paired_p(seeds))
    assert mann_whitney([9.0], [0.0] * 50).p == least_p(1, 50) == 1.0


def test_holms_correction_by_hand():
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1, 1])
    assert len(holm([])) == 0
