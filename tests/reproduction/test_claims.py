"""The claims of the maze and the ant, by hand on both sides of their rules."""

import numpy as np
import pytest

from reproduction import ant_claims, claims
from reproduction.plan import SCALES
from reproduction.results import read_json, write_json
from reproduction.verdicts import (
    FAILS,
    HOLDS,
    MIXED,
    OPPOSITE,
    PARTLY,
    UNCONFIRMED,
    UNTESTED,
    larger,
)

GOOD = {
    "first_solved": [40.0] * 20,
    "coverage_survivors": [1.0] * 20,
    "coverage_survivors_at_50": [0.7 + 0.001 * i for i in range(20)],
    "full_coverage_evaluated": [80.0 + i for i in range(20)],
    "coverage_evaluated_at_50": [0.8 + 0.001 * i for i in range(20)],
    "uniformity_first": [0.4] * 20,
    "uniformity_last": [0.1] * 20,
    "age": [4.9] * 20,
    "parent_distance": [200.0 + i for i in range(20)],
    "eta_below_one": [0.995] * 20,
    "kappa_share": [0.0] * 20,
    "kappa_root": [0.0] * 20,
    "regained": [0.0] * 20,
}
ARCHIVE = GOOD | {
    "full_coverage_evaluated": [100.0 + i for i in range(20)],
    "coverage_survivors_at_50": [0.9] * 20,
    "coverage_evaluated_at_50": [0.95] * 20,
    "parent_distance": [100.0 + i for i in range(20)],
}


def results(planned=400, **methods):
    """A results file of methods, each with its seeds' numbers by measure."""
    found = {}
    for name, measures in methods.items():
        seeds = max(map(len, measures.values()))
        rows = [{k: v[i] for k, v in measures.items() if i < len(v)} for i in range(seeds)]
        means = {name: float(np.mean(v)) for name, v in measures.items()}
        summary = {
            k: {"mean": means[k], "deviation": 0.0, "seeds": len(measures[k])} for k in means
        }
        name = name.replace("_", "-")
        found[name] = {"label": name, "rows": rows, "summary": summary, "seeds": list(range(seeds))}
    return {"planned_generations": planned, "methods": found}


def short(row):
    return row.paper.split(":")[0].split(" (")[0]


def told(found, claim):
    """The verdict on the claim in which these words stand."""
    (verdict,) = [verdict for words, verdict in found.items() if claim in words]
    return verdict


def first(seeds, numbers):
    """The same numbers of so many seeds."""
    return {name: values[:seeds] for name, values in numbers.items()}


def verdicts(ours, archive=ARCHIVE, planned=400, name="paper"):
    found = claims.judge_maze_claims(results(planned, **{name: ours}, archive=archive), name)
    return {short(row): row.verdict for row in found}


def test_the_short_scale_judges_every_claim_of_the_maze():
    plan = SCALES["short"].maze
    ours, archive = first(plan.seeds, GOOD), first(plan.seeds, ARCHIVE)
    for name in ("paper", "recognition"):
        assert UNTESTED not in verdicts(ours, archive, plan.generations, name).values()
    assert set(verdicts(GOOD, planned=199).values()) == {UNTESTED}  # of a shorter run none


@pytest.mark.parametrize(
    ("claim", "measure", "values", "verdict"),
    [
        ("novelty search finds the goal", "first_solved", [40.0] * 7, FAILS),
        ("full coverage of the 6", "coverage_survivors", [0.9] * 20, FAILS),
        ("full coverage, by everything", "full_coverage_evaluated", [80.0] * 19, PARTLY),
        ("later than the archive, by surv", "coverage_survivors_at_50", [0.99] * 20, OPPOSITE),
        ("later than the archive, by every", "coverage_evaluated_at_50", [0.99] * 20, OPPOSITE),
        ("individuals live further", "parent_distance", [50.0] * 8 + [170.0] * 12, UNCONFIRMED),
        ("BR-NS's novelty converges", "uniformity_last", [0.3] * 20, PARTLY),
        ("ages stay low", "age", [5.1] * 20, MIXED),
        ("η < 1 in all generations, for both", "eta_below_one", [0.985] * 20, MIXED),
        ("κ is close to zero for both", "kappa_share", [0.3] * 20, MIXED),
        ("the same by the root", "kappa_root", [0.3] * 20, OPPOSITE),
        ("what was visited", "regained", [0.3] * 20, MIXED),
        ("it covers all cells", "full_coverage_evaluated", [80.0] * 19, FAILS),
        ("it covers all cells", "full_coverage_evaluated", [150.0] * 20, OPPOSITE),
    ],
)
def test_a_claim_on_the_maze_falls_with_its_numbers(claim, measure, values, verdict):
    found = verdicts(GOOD | {measure: values}, name="recognition")
    assert told(found, claim) == verdict
    others = [other for words, other in found.items() if claim not in words]
    assert others.count(HOLDS) == 13 - (len(values) == 19)  # of full coverage two claims speak


def test_an_infinite_number_is_above_all_others(tmp_path):
    found = []
    for last in (np.inf, 0.1):
        write_json(tmp_path / "results.json", results(paper={"eta": [0.1] * 5 + [last]}))
        found.append(claims.Method(read_json(tmp_path / "results.json"), "paper")["eta"])
    assert list(found[0])[:5] == list(found[1])[:5]
    rising = claims.Method(results(paper=an_archive(1)), "paper")["eta"]
    first, second = (larger(rising, values)[0].effect for values in found)
    assert first == pytest.approx(second - 1 / 6)


def without(measure):
    """Our numbers and the archive's where no run has this one."""
    methods = (GOOD, ARCHIVE)
    return [{name: each[name] for name in each if name != measure} for each in methods]


def test_a_goal_that_nobody_reached_fails_and_a_measure_that_was_not_kept_is_left_out():
    """As survivors' coverage in results that were stored before it was measured."""
    found = verdicts(*without("first_solved"))
    assert told(found, "novelty search finds the goal") == FAILS
    assert len(found) == 13
    assert len(verdicts(*without("coverage_survivors_at_50"))) == 12


ANT = {
    "first_solved": [100.0] * 20,
    "areas": [3.0] * 20,
    "eta": [0.4 + 0.001 * i for i in range(20)],
    "eta_below_one": [1.0] * 20,
    "kappa_share": [0.01 + 0.001 * i for i in range(20)],
    "regained": [0.01 + 0.001 * i for i in range(20)],
    "uniformity_signatures": [0.05 + 0.001 * i for i in range(20)],
    "coverage_signatures": [3e-4 + 1e-6 * i for i in range(20)],
    **{
        f"deviation_{term}": [2.0 + 0.01 * i for i in range(20)]
        for term in ("x", "y", "xx", "xy", "yx", "yy")
    },
}


def an_archive(step):
    """The smallest archive is of step 3, the largest of step 1: the smaller, the worse."""
    worse = ("eta", "kappa_share", "regained")
    raised = {name: [v + 0.1 * step for v in ANT[name]] for name in worse}
    further = {name: [1.4 * v for v in ANT[name]] for name in ant_claims.DEVIATIONS}
    uniform = [v + 0.1 for v in ANT["uniformity_signatures"]]
    covered = {"coverage_signatures": [5e-4 / step] * 20}
    return ANT | raised | further | {"uniformity_signatures": uniform} | covered


ARCHIVES = {f"archive_{6000 - 2000 * (step - 1)}": an_archive(step) for step in (3, 2, 1)}
SMALL = {f"archive_{2000 * step}": an_archive(step) for step in (1, 2, 3)}


def of_ant(ours=ANT, archives=ARCHIVES, planned=1000):
    found = ant_claims.judge_ant_claims(results(planned, **archives, paper=ours))
    return {short(row): row.verdict for row in found}


def test_all_holds_where_the_numbers_are_the_papers():
    assert list(of_ant().values()) == [HOLDS] * 9
    for name, rows in (("paper", 13), ("recognition", 14)):
        assert list(verdicts(GOOD, name=name).values()) == [HOLDS] * rows


SOLVES = "every method solves the task within the first hundred generations"


@pytest.mark.parametrize(
    ("whose", "claim", "measure", "values", "verdict"),
    [
        ("ours", "every method solves the task", "first_solved", [60.0] * 19 + [101.0], PARTLY),
        ("ours", "BR-NS gives the lowest η and κ", "eta", [0.9] * 20, MIXED),
        ("ours", "BR-NS regains", "regained", [0.9] * 20, OPPOSITE),
        ("ours", "the nearest to uniform", "uniformity_signatures", [0.9] * 20, OPPOSITE),
        ("ours", "an archive of 6000", "coverage_signatures", [6e-4] * 20, OPPOSITE),
        ("ours", "equally far in signature space", "deviation_x", [1.0] * 20, MIXED),
        ("ours", "equally far in signature space", "deviation_xy", [1.0] * 20, MIXED),
        ("archives", "every method solves the task", "first_solved", [101.0] * 20, FAILS),
        ("archives", "a larger archive gives lower", "kappa_share", [0.1] * 20, UNCONFIRMED),
        ("archives", "every archive has η < 1", "eta_below_one", [0.9] * 20, OPPOSITE),
        ("archives", "archives have a high κ", "kappa_share", [0.04] * 20, OPPOSITE),
    ],
)
def test_a_claim_on_the_ant_falls_with_its_numbers(whose, claim, measure, values, verdict):
    other = {measure: values}
    archives = {name: archive | other for name, archive in ARCHIVES.items()}
    found = of_ant(ANT | other) if whose == "ours" else of_ant(archives=archives)
    assert told(found, claim) == verdict


def test_few_seeds_a_short_run_or_other_archives_decide_otherwise():
    three = {name: first(3, archive) for name, archive in ARCHIVES.items()}
    found = of_ant(first(3, ANT), three)
    assert found.pop(SOLVES) == HOLDS
    assert set(found.values()) == {"not tested (n = 3)"}
    short_run = of_ant(planned=999)
    assert short_run.pop(SOLVES) == HOLDS
    assert set(short_run.values()) == {UNTESTED}
    one = {"archive_6000": an_archive(1)}
    assert told(of_ant(archives=one), "a larger archive gives lower η and κ") == UNTESTED
    assert told(of_ant(archives=SMALL), "a larger archive gives lower η and κ") == OPPOSITE
    between = {"regained": [v + 0.15 for v in ANT["regained"]]}  # above the least archive's alone
    assert told(of_ant(ANT | between, SMALL), "BR-NS regains") == MIXED


SELECTED = {"coverage_signatures": [5e-4] * 8, "uniformity_visits": [0.9] * 8}
RANDOM = {"coverage_signatures": [1e-4] * 8, "uniformity_visits": [0.99] * 8}


@pytest.mark.parametrize(
    ("archive", "random", "verdict"),
    [
        (SELECTED, RANDOM, HOLDS),
        (RANDOM, SELECTED, OPPOSITE),
        # as the ants have: two of 2^5 ways to sign their ranks are 0.06
        (first(5, SELECTED), first(5, RANDOM), "not tested (n = 5)"),
    ],
)
def test_selection_adds_what_random_search_lacks(archive, random, verdict):
    found = ant_claims.judge_selection_claims(results(1000, archive_6000=archive, random=random))
    assert [row.verdict for row in found] == [verdict] * 2
    assert "effect" in found[0].evidence
