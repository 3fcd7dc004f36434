"""The rules of verdicts, by exact p of small samples and Holm's by hand."""

import pytest

from reproduction.verdicts import (
    FAILS,
    HOLDS,
    MIXED,
    OPPOSITE,
    PARTLY,
    UNCONFIRMED,
    UNTESTED,
    above,
    alike,
    below,
    combine_findings,
    falls,
    judge,
    judge_seed_share,
    larger,
    lowest,
    no_larger,
    ordered,
)


def seeds(*values):
    return dict(enumerate(values))


def verdict(finding):
    (one,) = judge([finding])
    return one.verdict


LOW, HIGH = seeds(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), seeds(7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
MOSTLY_LOWER = seeds(0.0, 1.0, 2.0, 3.0, 5.5, 6.6)
THREE, MORE = seeds(0.07, 0.08, 0.09), seeds(0.10, 0.11, 0.12)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (larger(HIGH, LOW), HOLDS),
        (larger(LOW, HIGH), OPPOSITE),
        (larger(LOW, MOSTLY_LOWER), UNCONFIRMED),
        (larger(MOSTLY_LOWER, LOW), FAILS),
        (larger(HIGH, HIGH), FAILS),
        (larger(MORE, THREE), "not tested (n = 3)"),  # 3 seeds give p = 0.25 at best
        (larger({}, LOW), FAILS),
        # a tenth of the mean, 9.5, is 0.95
        (no_larger({seed: value + 0.9 for seed, value in HIGH.items()}, HIGH), HOLDS),
        (no_larger({seed: value + 1.0 for seed, value in HIGH.items()}, HIGH), OPPOSITE),
        (lowest(LOW, [HIGH, {seed: value + 1 for seed, value in LOW.items()}]), HOLDS),
        (lowest(seeds(*[6.5] * 6), [HIGH, LOW]), MIXED),  # below one of two
        (lowest(LOW, []), UNTESTED),
        (ordered([HIGH, LOW, seeds(*[-1.0] * 6)]), HOLDS),
        (ordered([HIGH]), UNTESTED),
        (alike({seed: 1.4 * value for seed, value in LOW.items()}, LOW, 1.5), HOLDS),
        (alike({seed: 1.6 * value for seed, value in LOW.items()}, LOW, 1.5), MIXED),
        # in the mean to 0.13 and to 0.23, where a half is 0.2
        (falls(seeds(*[0.4] * 6), seeds(*[0.1] * 5, 0.3)), HOLDS),
        (falls(seeds(*[0.4] * 6), seeds(*[0.15] * 4, *[0.39] * 2)), PARTLY),
        # 5 of 8 seeds: p = 0.73
        (falls(seeds(*[0.4] * 8), seeds(*[0.1] * 5, *[0.5] * 3)), UNCONFIRMED),
        # 5 seeds give 2 / 32 at best
        (falls(seeds(*[0.4] * 5), seeds(*[0.1] * 5)), "not tested (n = 5)"),
        (below(seeds(*[0.01] * 6), 0.05), HOLDS),
        (below(seeds(*[0.0] * 5, 0.2), 0.05), UNCONFIRMED),  # 5 of 6: p = 0.22
        (below(seeds(*[0.3] * 6), 0.05), OPPOSITE),
        (above(seeds(*[1.0] * 6, 0.99), 0.99), HOLDS),  # 6 of 6, a tie left out
        (above(seeds(*[1.0] * 2, *[0.9] * 3, *[0.99] * 3), 0.99), FAILS),  # 3.5 of 8
        (above({}, 0.99), FAILS),
        (judge_seed_share(8, 8), HOLDS),
        (judge_seed_share(4, 8), PARTLY),
        (judge_seed_share(3, 8), FAILS),
        (combine_findings([larger(HIGH, LOW), larger(LOW, HIGH)]), MIXED),
        (combine_findings([larger(HIGH, LOW), larger(MORE, THREE)]), "not tested (n = 3)"),
        (combine_findings([larger(LOW, MOSTLY_LOWER), larger(HIGH, HIGH)]), UNCONFIRMED),
        (combine_findings([PARTLY, FAILS]), FAILS),
        (combine_findings([HOLDS, larger(LOW, HIGH)]), OPPOSITE),
        (combine_findings([PARTLY, larger(HIGH, LOW)]), PARTLY),
    ],
)
def test_each_rule_on_both_sides(finding, expected):
    assert verdict(finding) == expected


def test_a_table_is_corrected_together():
    once = larger(HIGH, LOW)  # p = 2 / 64
    assert judge([once])[0] == (HOLDS, pytest.approx(2 / 64), (1.0, 1.0))
    twice = judge([once, "holds", once])  # 4 / 64 is the best that they can have
    assert [one.verdict for one in twice] == ["not tested (n = 6)", HOLDS, "not tested (n = 6)"]
    assert twice[0].effects == (1.0, 1.0)
    nine = falls(seeds(*[0.4] * 9), seeds(*[0.1] * 9))
    less = falls(seeds(*[0.4] * 9), seeds(*[0.1] * 8, 0.5))
    assert [one.p for one in judge([nine, less])] == pytest.approx([4 / 512, 20 / 512])
    assert judge([combine_findings([nine, less])])[0].effects == (8 / 9, 1.0)
    untested = larger(seeds(2.0, 3.0), seeds(0.0, 1.0))
    assert [one.verdict for one in judge([once, untested])] == [HOLDS, "not tested (n = 2)"]


def test_a_claim_is_as_sure_as_the_least_sure_of_its_comparisons():
    sure, once = falls(seeds(*[0.4] * 9), seeds(*[0.1] * 9)), larger(HIGH, LOW)  # 2 / 512, 2 / 64
    assert judge([combine_findings([sure, once, sure])])[0] == (
        HOLDS,
        pytest.approx(2 / 64),
        (1.0, 1.0),
    )
    assert [one.p for one in judge([combine_findings([sure, once]), sure])] == pytest.approx(
        [2 / 64, 4 / 512]
    )
