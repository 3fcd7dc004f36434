"""How exact recognition's precision and cost were measured.

    python benchmarks/exact.py precision [SIZE]
    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python benchmarks/exact.py cost

Settings are compared by `brns.compare`, as {name: ExactRecognition(...)}.
"""

import sys
import time
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from brns import ArchiveKNN, BehaviorRecognition, Box, ExactRecognition, observed
from brns.core import Generation, take
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
    def learned(root, number, spread, prior):
        draw = jax.random.uniform(jax.random.fold_in(key, number), (100, 2), minval=-1.0)
        phi = empty.features(0.1 + spread * draw)
        root = shrunk(root, phi @ root.T, prior)
        return root, phi, jnp.sum((probes @ root.T) ** 2, axis=1)

    probed = np.asarray(probes, np.float64)
    for prior in (1.0, 1e-2, 1e-4):
        for name, spread in (("spread", 0.9), ("near", 1e-3), ("one spot", 0.0)):
            root, total = jnp.eye(size), prior * np.eye(size)
            lowest, above = np.full(len(probes), np.inf), 0.0
            for number in range(1, batches + 1):
                root, phi, found = learned(root, number, jnp.float32(spread), prior)
                phi, found = np.asarray(phi, np.float64), np.asarray(found, np.float64)
                promised = 1e-6 * np.sqrt(1 + 100 * number / prior)
                total, above = total + phi.T @ phi, max(above, np.max(found / lowest - 1) / promised)
                lowest = np.minimum(lowest, found)
                if number in (1, 10, 100, 1000, 10000):
                    right = prior * np.sum(probed * np.linalg.solve(total, probed.T).T, axis=1)
                    error = np.max(np.abs(found / right - 1)) / promised
                    print(
                        f"m = {size}, prior {prior:g}, {name}, {number * 100} behaviors: promised {promised:.1e}, "
                        f"of it error {error:.2f}, above the lowest {above:.2f}; rank {spearmanr(found, right)[0]:.6f}",
                        flush=True,
                    )


def cost(repeats=30):
    """CPU time in ms of a generation (score of the union, update), the methods in turn; medians."""
    methods = {
        "BR-NS": BehaviorRecognition(),
        "archive of 2000": ArchiveKNN(k=15, capacity=2000),
        "archive of 6000": ArchiveKNN(k=15, capacity=6000),
        **{f"exact {size}": ExactRecognition(size=size) for size in (128, 256, 384, 512)},
    }
    for d in (2, 32, 256):
        turns = {(name, n): _turn(method, d, n) for name, method in methods.items() for n in (25, 100)}
        spent = {turn: [] for turn in turns}
        for _ in range(repeats):
            for turn, generation in turns.items():
                begun = time.process_time()
                generation()
                spent[turn].append(1000 * (time.process_time() - begun))
        for name in methods:
            print(
                f"d = {d:3} {name:16} " + " / ".join(f"{np.median(spent[name, n]):.2f}" for n in (25, 100)), flush=True
            )


def _turn(estimator, d, n):
    """A function that takes one generation of n + n individuals further; archives are full."""
    space, key = Box(np.zeros(d), np.ones(d)), jax.random.key(0)

    @partial(jax.jit, donate_argnums=0)
    def step(state, union):
        novelty = estimator.score(state, union.descriptor, union)
        union = union._replace(novelty=novelty)
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), take(union, slice(n)))
        return estimator.update(state, generation, key), novelty

    union = observed(np.random.default_rng(1).uniform(size=(2 * n, d)), 1).offspring
    held = [jax.tree.map(jnp.copy, estimator.init(space, key))]  # donated: no two leaves may be one
    if isinstance(estimator, ArchiveKNN):
        rows = estimator.capacity
        full = observed(np.random.default_rng(0).uniform(size=(rows, d)), 1).offspring
        held[0] = held[0]._replace(descriptor=full.descriptor, id=full.id + 10**6)

    def generation():
        held[0], novelty = step(held[0], union)
        jax.block_until_ready(novelty)

    generation()
    return generation


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "precision":
        precision(int(arguments[0]) if arguments else 256)
    elif command == "cost":
        cost()
    else:
        raise SystemExit(__doc__)
