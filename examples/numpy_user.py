"""Behaviors in NumPy in a loop of your own: how novel is each,
given all behaviors before it?

    python examples/numpy_user.py

A stream of points from the left half of a square, 50 at a time: the estimator learns that half and
not the other. Before the first batch every behavior has the highest novelty, and the novelty of a
behavior never rises.
"""

import numpy as np

import brns


def main(batches=200):
    random = np.random.default_rng(0)
    novelty = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0, -1.0], [1.0, 1.0]))
    left = random.uniform([-1, -1], [0, 1], (1000, 2))  # not learned, but near points that are
    right = -left  # far from all that is learned
    print("batches seen   mean novelty left   right")
    for number in range(batches):
        if number in (0, 10, 50, batches - 1):
            here, there = novelty.score(left).mean(), novelty.score(right).mean()
            print(f"{number:12d} {here:19.4f} {there:7.4f}")
        novelty.learn(random.uniform([-1, -1], [0, 1], (50, 2)))
    return here, there


if __name__ == "__main__":
    main()
