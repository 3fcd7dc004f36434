"""Traps in which novelty search is caught elsewhere: samples that are not uniform, archives that shrink, duplicates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns import ArchiveKNN, BehaviorRecognition, Box, ExactRecognition, observed

KEY = jax.random.key(0)
SPACE = Box([-1, -1], [1, 1])
SMALL = ExactRecognition(size=16)


@eqx.filter_jit
def init(estimator):
    return estimator.init(SPACE, KEY)


@eqx.filter_jit
def score(estimator, state, points, population):
    return estimator.score(state, points, population)


@eqx.filter_jit
def update(estimator, state, generation, key):
    return estimator.update(state, generation, key)


def test_no_early_behavior_stays_in_the_reservoir_for_sure():
    """20 batches of 5 through a reservoir of 20: a fifth of each batch is left, of the first as of the last."""
    estimator = BehaviorRecognition(
        width=1, embedding=1, depths=(0, 0), epochs=1, divergence_steps=1, reservoir=20, replay=1
    )
    empty, left = init(estimator), np.zeros(20)
    for seed in range(30):
        state = empty
        for number in range(20):
            batch = observed(np.full((5, 2), number / 20), number + 2)
            state = update(estimator, state, batch, jax.random.fold_in(jax.random.key(seed), number))
        left += np.bincount(np.rint(np.asarray(state.reservoir.dataset.behavior[:, 0]) * 20).astype(int), minlength=20)
    assert left.sum() == 30 * 20
    np.testing.assert_allclose(left, 30, atol=22)  # binomial: 150 behaviors, each left with 1 in 5: 30 +- 5


@pytest.mark.parametrize("removal", ["random", "oldest", "least_novel"])
def test_an_archive_that_is_full_stays_full(removal):
    """A capacity that the growth does not divide: entries 4, 8, 10, 10, ... and never fewer than before."""
    estimator = ArchiveKNN(k=1, growth=4, capacity=10, removal=removal)
    state = init(estimator)
    for number in range(1, 9):
        batch = observed(np.random.default_rng(number).uniform(-1, 1, (6, 2)), number)
        state = update(estimator, state, batch, jax.random.fold_in(KEY, number))
        assert np.sum(np.asarray(state.id) >= 0) == min(4 * number, 10)


def test_whoever_is_born_together_counts_once_each_before_and_after_it_is_learned():
    """Ten copies of one behavior are as novel as after ten visits: 1 / 11 of what is unlike all others."""
    empty, copies = init(SMALL), observed(np.full((10, 2), 0.3), 1)
    for state in (empty, update(SMALL, empty, copies, KEY)):
        novelty = score(SMALL, state, copies.offspring.descriptor, copies.offspring)
        np.testing.assert_allclose(novelty, 1 / 11, rtol=1e-5)


def test_a_behavior_seen_twice_is_known_better_than_one_seen_once():
    """Visits count, also of the same behavior in the same batch: 1/2 after one and 1/3 after two."""
    for visits in (1, 2):
        state = update(SMALL, init(SMALL), observed(np.full((visits, 2), 0.3), 1), KEY)
        found = score(SMALL, state, jnp.full((1, 2), 0.3), observed(np.zeros((0, 2)), 1).offspring)
        np.testing.assert_allclose(found, 1 / (1 + visits), rtol=1e-5)
