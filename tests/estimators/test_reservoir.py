"""The reservoir of behavior recognition: a uniform sample of all that was seen, and what replay is for."""

import jax
import numpy as np
import pytest
from literal import generation, paper, score, uniform
from square import KEY, SQUARE, init, update

from brns import BehaviorRecognition, Box, observed

FOUNDERS = uniform(0, 20)


def test_no_early_behavior_stays_in_the_reservoir_for_sure():
    """20 batches of 5 through a reservoir of 20: a fifth of each batch is left, of the first as of the last."""
    estimator = BehaviorRecognition(
        width=1, embedding=1, depths=(0, 0), epochs=1, divergence_steps=1, reservoir=20, replay=1
    )
    space = Box([-1.0, -1.0], [1.0, 1.0])
    empty, left = init(estimator, space), np.zeros(20)
    for seed in range(30):
        state = empty
        for number in range(20):
            batch = observed(np.full((5, 2), number / 20), number + 2)
            state = update(estimator, state, batch, jax.random.fold_in(jax.random.key(seed), number))
        left += np.bincount(np.rint(np.asarray(state.reservoir.dataset.behavior[:, 0]) * 20).astype(int), minlength=20)
    assert left.sum() == 30 * 20
    np.testing.assert_allclose(left, 30, atol=22)  # binomial: 150 behaviors, each left with 1 in 5: 30 +- 5


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
