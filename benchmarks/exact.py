"""How exact recognition's precision was measured: `python benchmarks/exact.py [SIZE]`, SIZE features or 256."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from brns import Box, ExactRecognition
from brns.estimators.exact import shrunk


def precision(size, batches=1000):
    """Float32 against float64 after batches of 100: errors in units of 1e-6 sqrt(1 + N / lambda), which is promised.

    Behaviors spread over the square, lie within a thousandth of it, or all fall on one spot. Prints the largest
    relative error of novelty, by how much of itself one was ever above the lowest before, and the ranks' correlation.
    """
    box, key = Box([-1.0, -1.0], [1.0, 1.0]), jax.random.key(0)
    empty = eqx.filter_jit(ExactRecognition(size=size).init)(box, key)
    spot = empty.features(jnp.full((1, 2), 0.1))
    probes = jnp.concatenate([empty.features(box.uniform(key, 400)), spot])

    @eqx.filter_jit
    def learned(root, number, spread, regularization):
        draw = jax.random.uniform(jax.random.fold_in(key, number), (100, 2), minval=-1.0)
        phi = empty.features(0.1 + spread * draw)
        root = shrunk(root, phi @ root.T, regularization)
        return root, phi, jnp.sum((probes @ root.T) ** 2, axis=1)

    probed = np.asarray(probes, np.float64)
    for regularization in (1.0, 1e-2, 1e-4):
        for name, spread in (("spread", 0.9), ("near", 1e-3), ("one spot", 0.0)):
            root, total = jnp.eye(size), regularization * np.eye(size)
            lowest, above = np.full(len(probes), np.inf), 0.0
            for number in range(1, batches + 1):
                root, phi, found = learned(root, number, jnp.float32(spread), regularization)
                phi, found = np.asarray(phi, np.float64), np.asarray(found, np.float64)
                promised = 1e-6 * np.sqrt(1 + 100 * number / regularization)
                total, above = total + phi.T @ phi, max(above, np.max(found / lowest - 1) / promised)
                lowest = np.minimum(lowest, found)
                if number in (1, 10, 100, 1000, 10000):
                    right = regularization * np.sum(probed * np.linalg.solve(total, probed.T).T, axis=1)
                    error = np.max(np.abs(found / right - 1)) / promised
                    print(
                        f"m = {size}, regularization {regularization:g}, {name}, {number * 100} behaviors: "
                        f"promised {promised:.1e}, of it error {error:.2f}, above the lowest {above:.2f}; "
                        f"rank {spearmanr(found, right)[0]:.6f}",
                        flush=True,
                    )


if __name__ == "__main__":
    precision(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
