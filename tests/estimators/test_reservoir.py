"""The reservoir of behavior recognition: a uniform sample of all that was seen, and what replay is for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from literal import SMALL, Literal, generation, paper, score, uniform
from scipy.stats import chisquare
from square import KEY, SQUARE, init, update

from brns import Box

FOUNDERS = uniform(0, 20)


@pytest.mark.slow
def test_the_reservoir_is_a_uniform_sample_of_all_behaviors_seen():
    """2000 reservoirs of 10 among 6 founders and 5 x 6 offspring: each behavior is kept with probability 10 / 36."""
    estimator, runs, size = paper(reservoir=10, replay=2, epochs=1, **SMALL), 2000, 10
    behaviors = uniform(0, 36).reshape(6, 6, 2)
    keys = jax.random.split(jax.random.key(1), runs)
    many = eqx.filter_jit(eqx.filter_vmap(estimator.update, in_axes=(0, None, 0)))
    first = init(estimator)
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (runs, *leaf.shape)), first)
    for g in range(1, 6):
        facts = generation(g, behaviors[g - 1], behaviors[g])
        states = many(states, facts, jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, g))
    kept = np.asarray(states.reservoir.dataset.behavior)
    which = (kept[:, :, None] == np.asarray(behaviors).reshape(36, 2)).all(-1)  # (runs, 10, 36)
    assert (which.sum(axis=2) == 1).all()  # each row is one of the behaviors seen
    assert (which.sum(axis=1) <= 1).all()  # and each behavior is there at most once
    counts = which.sum(axis=(0, 1))
    # Drawn without replacement, counts vary (1 - 10/36) x 36/35 as much as those of a multinomial.
    shrunk = counts.mean() + (counts - counts.mean()) / np.sqrt((1 - size / 36) * 36 / 35)
    assert chisquare(shrunk).pvalue > 1e-3
    expected = Literal.forward(Literal(estimator, first).target, kept[0])[-1]
    np.testing.assert_allclose(states.reservoir.dataset.embedding[0], expected, rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_a_reservoir_larger_than_what_was_seen_holds_all_of_it():
    estimator = paper(reservoir=100, **SMALL)
    state = init(estimator)
    for g, expected in [(1, 40), (2, 60), (3, 80), (4, 100), (5, 100)]:
        state = update(estimator, state, generation(g, FOUNDERS, uniform(100 + g, 20)))
        assert state.reservoir.rank.shape == (100,)
        assert int(state.reservoir.dataset.present.sum()) == expected
        if expected < 100:
            seen = np.concatenate([FOUNDERS, *(uniform(100 + i, 20) for i in range(1, g + 1))])
            kept = np.asarray(state.reservoir.dataset.behavior)[:expected]
            assert set(map(tuple, kept.tolist())) == set(map(tuple, seen.tolist()))


@pytest.mark.slow
def test_replay_keeps_what_was_visited_long_ago_recognised():
    """Left for 20 generations, then right for 100: the novelty of the left stays lower with a reservoir."""
    left, right = Box([0.0, 0.0], [200.0, 600.0]), Box([400.0, 0.0], [600.0, 600.0])
    novelty = []
    for reservoir in (0, 500):
        estimator, scores = paper(inputs="scaled", reservoir=reservoir), []
        for seed in range(3):
            state = init(estimator, SQUARE, jax.random.key(seed))
            for g in range(1, 121):
                facts = generation(g, FOUNDERS, uniform(g, 20, left if g <= 20 else right))
                state = update(estimator, state, facts, jax.random.fold_in(KEY, g))
            scores.append(np.log(score(estimator, state, uniform(1000, 500, left)).mean()))
        novelty.append(np.exp(np.mean(scores)))
    assert novelty[1] < novelty[0] / 3
