"""Laws of all estimators, and of those that never forget."""

from itertools import pairwise

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning import (
    COUNTS,
    KEY,
    LEARNERS,
    SEARCH,
    SMALL,
    SQUARE,
    equations,
    learned,
    novelty,
    uniform,
    update,
    walked,
)
from literal import paper
from numpy.testing import assert_allclose
from stores import run_in_memory

import brns
from brns.core.novelty import score_novelty, update_estimator
from brns.metrics import cycling

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "estimator",
    [SMALL, pytest.param(COUNTS, marks=SLOW), pytest.param(paper(depths=(0, 1)), marks=SLOW)],
)
def test_they_fulfil_the_contract(estimator):
    brns.check_estimator(estimator)


@pytest.mark.parametrize(
    "estimator", [brns.VisitCounts(), brns.ExactRecognition(), brns.BehaviorRecognition()]
)
def test_products_ask_for_the_highest_precision(estimator):
    """Accelerators' own are short, and would round novelty's differences away."""
    born = brns.Generation.from_descriptors(np.zeros((8, 2)), 1)
    people, state = born.offspring, jax.eval_shape(lambda: estimator.init(SQUARE, KEY))
    for asked in (
        lambda state: score_novelty(estimator, state, people.descriptor, people),
        lambda state: update_estimator(estimator, state, born, KEY),
    ):
        program = jax.make_jaxpr(asked)(state).jaxpr
        products = [each for each in equations(program) if each.primitive.name == "dot_general"]
        assert {each.params["precision"] for each in products} == {(jax.lax.Precision.HIGHEST,) * 2}


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.0, 1e-3, 1.0, 100.0, 1e5]))
@pytest.mark.parametrize(
    ("estimator", "rounding"),
    [(SMALL, 1e-5), (brns.ExactRecognition(size=32, regularization=1e-4), 1e-5), (COUNTS, 0.0)],
)
def test_the_novelty_of_a_fixed_behavior_never_rises(estimator, rounding, seed, spread):
    """The theorem, over random walks; of visit counts not by a bit."""
    for before, after in pairwise(walked(estimator, seed, spread)):
        assert (after <= before * (1 + rounding)).all()


@LEARNERS
def test_whoever_lives_and_is_not_learned_counts_once(estimator, rounding):
    """Novelty among the newborn is what it is once they were learned, when they count no more."""
    batches, points = uniform(0, 2, 20), uniform(1, 40)
    state = learned(estimator, batches[:1])
    newborn = brns.Generation.from_descriptors(batches[1], 2)
    after = update(estimator, state, newborn)
    before, later = (novelty(estimator, each, points, newborn.offspring) for each in (state, after))
    expected = novelty(estimator, after, points)
    assert_allclose(before, expected, rtol=10 * rounding)
    assert_allclose(later, expected, rtol=rounding / 10)
    without = novelty(estimator, state, points)
    assert (before <= without).all()
    assert (before < without).mean() > 0.9


@LEARNERS
def test_behaviors_that_are_not_finite_are_not_learned(estimator, rounding):
    batch, points = uniform(0, 20), uniform(1, 40)
    batch[3], points[0] = np.nan, (np.nan, 0)
    state = learned(estimator, [batch, batch])
    clean = learned(estimator, [np.delete(batch, 3, 0)] * 2)
    assert state.seen == 38
    found = novelty(estimator, state, points)
    assert_allclose(found, novelty(estimator, clean, points), rtol=10 * rounding)
    assert np.flatnonzero(np.isnan(found)).tolist() == [0]


def test_a_whole_run_never_cycles():
    (record,) = run_in_memory(SEARCH, 12, [0])
    measured = cycling.cycling_of_record(record, search=SEARCH)
    rows = measured.q
    assert (rows[:, 1:] <= rows[:, :-1] * (1 + 1e-5))[np.triu_indices(len(rows) - 1)].all()
    assert (measured.eta <= 1).all()
    assert (cycling.compute_kappa(rows, 1e-6) == 0).all()
