"""Lineage: by hand, and in a run that crosses."""

import numpy as np
import pytest
from fake_record import FakeRecord, population
from searches import HOST

import brns
from brns.metrics import dynamics, lineage


def history():
    """3 failed; 4 is of 0 and 1; 5 of 4 alone; 6 of 5 and 4."""
    founders = population([0, 1, 2], [[0, 0], [1, 0], [2, 0]])
    first = population([3, 4], [[9, 9], [3, 0]], [2, 0], [1, 1], mates=[-1, 1])
    first = first._replace(failed=np.array([True, False]))
    second = population([5, 6], [[6, 4], [18, 9]], [4, 5], [2, 2], mates=[-1, 4])
    survivors = population(
        [0, 5, 6], [[0, 0], [6, 4], [18, 9]], [-1, 4, 5], [0, 2, 2], mates=[-1, -1, 4]
    )
    return FakeRecord([(founders, founders), (first, founders), (second, survivors)])


def test_ancestors_are_those_of_both_parents_or_of_one_line():
    record = history()
    assert lineage.find_ancestors(record, 6).id.tolist() == [0, 1, 4, 5, 6]
    assert lineage.find_ancestors(record, 6, mates=False).id.tolist() == [0, 4, 5, 6]
    assert lineage.find_ancestors(record, 0).parent.tolist() == [-1]
    with pytest.raises(ValueError, match="individuals 0 to 6; got 7"):
        lineage.find_ancestors(record, 7)


def test_parents_are_found_where_somebody_failed_before_and_ages_are_means():
    """5 is (3, 4) away from its parent 4, and 6 is (12, 5) away from 5; 0 is 2 generations old."""
    distances = dynamics.survivors_parent_distance_of_record(history())
    np.testing.assert_array_equal(distances, [np.nan, np.nan, (5 + 13) / 2])
    ages = dynamics.survivors_age_of_record(history())
    np.testing.assert_allclose(ages, [0, 1, 2 / 3])


@pytest.mark.slow
def test_a_run_names_parents_and_operators(tmp_path):
    mutate = brns.MixedMutation((brns.Crossover(points=1), brns.PolynomialMutation()))
    search = brns.NoveltySearch(HOST.task, HOST.estimator, 8, 6, mutate=mutate)
    (record,) = brns.run(search, 4, out=tmp_path / "run")
    last = record.population()
    youngest = int(last.id.max())
    family = record.ancestors(youngest)
    assert family.id[-1] == youngest
    frame = brns.to_dataframe(family, record.search)
    founders = frame.parent < 0
    assert frame.operator[founders].isna().all()
    assert set(frame.operator[~founders]) <= {"Crossover(points=1)", "PolynomialMutation()"}
    assert ((frame.mate >= 0) == frame.operator.str.startswith("Cross").eq(True)).all()
    assert set(frame.parent[~founders]) | set(frame.mate[frame.mate >= 0]) <= set(frame.id)
