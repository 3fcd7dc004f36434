"""The rules of verdicts, by numbers that are known: exact p of small samples, Holm's by hand, and what each refuses."""

import pytest

from brns.reproduce.verdicts import (
    FAILS,
    HOLDS,
    PARTLY,
    UNTESTED,
    above,
    below,
    both,
    falls,
    holm,
    in_every_seed,
    judge,
    larger,
    lowest,
    no_larger,
    ordered,
)

LOW, HIGH = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]


def verdict(finding):
    (one,) = judge([finding])
    return one.verdict


def test_larger_by_hand():
    (one,) = larger([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0])
    assert one.p == pytest.approx(2 / 70)  # 2 of the C(8, 4) orders are as far apart
    assert (one.effect, one.claimed) == (1.0, True)
    (one,) = larger([1.0, 2.0], [1.0, 3.0])
    assert one.effect == 0.375  # of the pairs 1-1 is a tie, 1-3 and 2-3 are not, 2-1 is: (0.5 + 1) / 4
    assert not one.claimed


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (larger(HIGH, LOW), HOLDS),
        (larger(LOW, HIGH), FAILS),
        (larger([1.0, 3.0] * 4, [0.9, 2.9] * 4), PARTLY),
        (larger([2.0] * 6, [2.0] * 6), FAILS),
        (larger([0.10, 0.11, 0.12], [0.07, 0.08, 0.09]), UNTESTED),  # 3 a side give p = 0.1 at best
        (larger([0.07, 0.08, 0.09], [0.10, 0.11, 0.12]), UNTESTED),
        (larger([], LOW), FAILS),
        (no_larger([9.0] * 6, [9.0] * 6), HOLDS),  # 9 is below 9.9
        (no_larger([9.8, 10.0] * 3, [9.0] * 6), FAILS),  # as often above 9.9 as below
        (no_larger([5.0, 5.0, 13.0] * 2, [9.0] * 6), PARTLY),
        (no_larger(HIGH, LOW), FAILS),
        (lowest(LOW, [HIGH, [value + 1 for value in HIGH]]), HOLDS),
        (lowest([6.5] * 6, [HIGH, LOW]), PARTLY),  # below one of two
        (lowest(HIGH, [LOW, LOW]), FAILS),
        (lowest(LOW, []), UNTESTED),
        (ordered([HIGH, LOW, [-1.0] * 6]), HOLDS),
        (ordered([HIGH, LOW, HIGH]), PARTLY),
        (ordered([LOW, HIGH]), FAILS),
        (ordered([HIGH]), UNTESTED),
        (falls([0.4] * 6, [0.1] * 6), HOLDS),
        (falls([0.4] * 6, [0.3] * 6), PARTLY),  # not to a half
        (falls([0.4] * 8, [0.1] * 5 + [0.5] * 3), PARTLY),  # 5 of 8 seeds: p = 0.73
        (falls([0.4] * 6, [0.5] * 6), FAILS),
        (falls([0.4] * 5, [0.1] * 5), UNTESTED),  # 5 seeds give 2 / 32 at best
        (below([0.01] * 6, 0.05), HOLDS),
        (below([0.0] * 5 + [0.2], 0.05), PARTLY),  # 5 of 6: p = 0.22
        (below([0.3] * 6, 0.05), FAILS),
        (below([0.01] * 3, 0.05), UNTESTED),
        (above([1.0] * 6, 0.99), HOLDS),
        (above([0.5] * 6, 0.99), FAILS),
        (above([], 0.99), FAILS),
        (in_every_seed(8, 8), HOLDS),
        (in_every_seed(4, 8), PARTLY),
        (in_every_seed(3, 8), FAILS),
        (both(larger(HIGH, LOW), larger(LOW, HIGH)), PARTLY),
        (both(HOLDS, FAILS), FAILS),
        (both(HOLDS, larger(LOW, HIGH)), FAILS),
        (both(PARTLY, larger(HIGH, LOW)), PARTLY),
        (both(HOLDS, HOLDS), HOLDS),
    ],
)
def test_each_rule_on_both_sides(finding, expected):
    assert verdict(finding) == expected


@pytest.mark.parametrize(
    "finding",
    [
        larger([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1000.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        below([0.051] * 8 + [-10.0], 0.05),
        above([0.049] * 8 + [0.9], 0.05),
        falls([0.1] * 8 + [5.0], [0.15] * 8 + [0.1]),
    ],
)
def test_one_outlying_seed_confirms_nothing_that_the_others_deny(finding):
    """The mean is as claimed, and the test is sure of the opposite."""
    assert finding[0].p < 0.05
    assert verdict(finding) == FAILS


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        ([533.0] * 3, [519.0] * 3, 2 / 20),
        ([1.0] * 4, [0.0] * 4, 2 / 70),
        ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0], 1.0),
        ([1.0], [2.0, 3.0], 2 / 3),
        ([1.0], [1.0], 1.0),
    ],
)
def test_p_is_exact_with_ties(one, other, p):
    """By the number of ways to deal the values to the two groups that are as extreme."""
    (found,) = larger(one, other)
    assert found.p == pytest.approx(p)


def test_a_tie_says_nothing():
    (one,) = below([0.05] * 4 + [0.01] * 6, 0.05)
    assert one.p == pytest.approx(2 / 64)
    assert one.effect == pytest.approx(0.8)


def test_holm_by_hand():
    # ascending: 0.01 x 3, 0.03 x 2, 0.04 x 1 raised to the one before it
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert len(holm([])) == 0


def test_a_table_is_adjusted_together():
    once = larger([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0])  # p = 2 / 70
    assert judge([once])[0] == (HOLDS, pytest.approx(2 / 70), 1.0)
    twice = judge([once, "holds", once])
    assert [one.verdict for one in twice] == [UNTESTED, HOLDS, UNTESTED]  # 4 / 70 is the best that they can have
    some = larger(HIGH[:5], LOW[:3])  # 2 / 56, and of two claims 4 / 56
    assert [one.verdict for one in judge([some])] == [HOLDS]
    assert [one.verdict for one in judge([some, some])] == [UNTESTED, UNTESTED]
    six, less = larger(HIGH, LOW), larger([1.0, 3.0] * 4, [0.9, 2.9] * 4)
    assert judge([six, less])[0].p == pytest.approx(4 / 924)
    untested = larger([2.0, 3.0], [0.0, 1.0])
    assert [one.verdict for one in judge([once, untested])] == [HOLDS, UNTESTED]


def test_a_claim_is_as_sure_as_the_least_sure_of_its_comparisons():
    sure, once = larger(HIGH, LOW), larger([4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 3.0])  # p = 2 / 924 and 2 / 70
    assert judge([both(sure, once, sure)])[0] == (HOLDS, pytest.approx(2 / 70), 1.0)
    assert [one.p for one in judge([both(sure, once), sure])] == pytest.approx([2 / 70, 4 / 924])


def test_five_seeds_a_side_decide_six_claims_of_a_table_and_no_more():
    """The ants' protocol: 2 of the C(10, 5) orders are as far apart, and 6 x 2 / 252 is below 0.05."""
    five = larger(HIGH[:5], LOW[:5])
    assert {one.verdict for one in judge([five] * 6)} == {HOLDS}
    assert {one.verdict for one in judge([five] * 7)} == {UNTESTED}
