"""Behaviors in hand, in NumPy, and a loop of your own: how novel is each, given all that came before?

    python examples/numpy_user.py

A stream of points from the left half of a square, 50 at a time: the estimator gets to know that half and not the other.
Before the first batch, novelty is the difference of two random networks and means nothing.
"""

import jax
import numpy as np

import brns


def main(batches=200):
    random, key = np.random.default_rng(0), jax.random.key(0)
    estimator = brns.BehaviorRecognition()
    score, update = jax.jit(estimator.score), jax.jit(estimator.update)
    state = jax.jit(estimator.init)(brns.Box([-1.0, -1.0], [1.0, 1.0]), key)
    left = random.uniform([-1, -1], [0, 1], (1000, 2)).astype(np.float32)  # never shown to the estimator,
    right = -left  # but the left ones have neighbours that are
    print("batches seen   mean novelty left   right")
    for number in range(1, batches + 1):
        batch = brns.observed(random.uniform([-1, -1], [0, 1], (50, 2)), number)
        if number in (1, 11, 51, batches):
            here, there = (float(score(state, points, batch.offspring).mean()) for points in (left, right))
            print(f"{number - 1:12d} {here:19.4f} {there:7.4f}")
        state = update(state, batch, jax.random.fold_in(key, number))
    return here, there


if __name__ == "__main__":
    main()
