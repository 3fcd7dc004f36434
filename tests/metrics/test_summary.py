"""The numbers of a table, by hand on a family of four."""

from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from fake_record import FakeRecord, family

from brns.formatting import format_csv, format_number
from brns.metrics import measures
from brns.metrics.measures import Measure, summarize_run, summarize_seeds


class Forgetful(eqx.Module):
    """Novelty that is the state: it falls and rises for everybody alike."""

    def score(self, state, descriptors, population):
        return jnp.broadcast_to(state, descriptors.shape[:1])


FACTS = {
    "generations": 2,
    "evaluations": 4,
    "solutions": 1,
    "first_solved": 2,
    "coverage_survivors": 4 / 36,
    "coverage_evaluated": 4 / 36,
    "new": 1 / 4,
    "age": 0.5,
    "parent_distance": (4 + 3.25) / 2,
}


def test_a_run_without_and_with_states():
    """Q = (4 1 3 3; . 1 3 3; . . 3 3; . . . 3): eta is (1/4 + 3/4 + 3/4) / 3, 3 and 1. After its
    minimum 1, novelty is higher in two generations of two rows.

    All places are equally novel at any time, so that no rank ever changes."""
    assert summarize_run(FakeRecord(family())) == pytest.approx(FACTS)
    states = {g: jnp.float32(s) for g, s in enumerate([4, 1, 3, 3])}
    found = summarize_run(FakeRecord([*family(), family()[-1]], states, Forgetful()))
    eta = {"eta": (7 / 12 + 3 + 1) / 3, "eta_below_one": 1 / 3}
    kappa = {"kappa": 4 / 3, "kappa_share": (2 / 3 + 1) / 3, "epsilon": 0.3, "regained": 0.0}
    expected = eta | kappa
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_founders_alone_have_neither_success_nor_parents():
    found = summarize_run(FakeRecord(family()[:1]))
    expected = {"coverage_survivors": 2 / 36, "coverage_evaluated": 2 / 36}
    assert found == pytest.approx({"generations": 0, "evaluations": 2, "solutions": 0, **expected})


def test_over_seeds_by_hand():
    """Survivors covered 4/36 and 2/36: mean 3/36, deviation sqrt(2)/36; of the second seed one did
    not survive, in a third cell. Only the first has a success."""
    founders, (second, _), _ = family()
    records = [FakeRecord(family()), FakeRecord([founders, (second, founders[1])])]
    records[1].seed = 1
    records[0].failures = [SimpleNamespace(generation=1)] * 4
    found = summarize_seeds(records)
    assert found["failed"][::2] == (2, 2)
    assert found["coverage_survivors"] == pytest.approx((3 / 36, np.sqrt(2) / 36, 2))
    assert found["coverage_evaluated"].mean == pytest.approx((4 + 3) / 2 / 36)
    assert found["first_solved"][::2] == (2, 1)
    assert np.isnan(found["first_solved"].deviation)


def test_a_seed_counts_once_and_different_tasks_are_not_mixed():
    records = [FakeRecord(family()), FakeRecord(family())]
    with pytest.raises(ValueError, match=r"each seed counts once; got runs of the seeds \[0, 0\]"):
        summarize_seeds(records)
    records[1].experiment, records[1].seed = {"task": {"name": "Other"}}, 1
    with pytest.raises(ValueError, match="different experiments"):
        summarize_seeds(records)


def test_a_number_is_what_its_row_of_the_table_says(monkeypatch):
    young = Measure("Young", "survivors born in the last generation", lambda run: 7.0)
    never = Measure("Never", "what no run has", lambda run: None)
    turns = Measure("Turns", "of a path", lambda run: 1.0, "paths")
    monkeypatch.setattr(measures, "MEASURES", {"young": young, "never": never, "turns": turns})
    assert summarize_run(FakeRecord(family())) == {"young": 7.0}
    assert summarize_run(FakeRecord(family()), of_paths=True) == {"young": 7.0, "turns": 1.0}
    assert summarize_run(FakeRecord(family()), of_paths=True, without=["turns"]) == {"young": 7.0}


def test_numbers_are_printed_with_three_digits():
    numbers = 0.0, 1.0, 0.12345, 12.345, 123.45, 1234.5, 20100.0, 1e-5
    assert " ".join(map(format_number, numbers)) == "0 1 0.123 12.3 123 1234 20100 1e-05"
    none = None, float("nan"), float("inf")
    assert " ".join(map(format_number, none)) == "– – inf"


def test_rows_as_csv_have_the_columns_of_all():
    assert format_csv([{"a": 1, "b": "x,y"}, {"a": 2.5, "c": 3}]) == 'a,b,c\n1,"x,y",\n2.5,,3\n'
