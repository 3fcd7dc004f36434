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
import scipy.linalg
import scipy.stats
from jax.scipy.linalg import solve_triangular

from brns import ArchiveKNN, BehaviorRecognition, Box, ExactRecognition, observed
from brns.core import Generation, take
from brns.estimators.exact import shrunk


def precision(size, batches=10000):
    """Float32 against float64 at 10^4, 10^5 and 10^6 behaviors: the root that is kept, and its rivals.

    They are the inverse changed by Woodbury's formula, and A summed and factored anew. Behaviors spread over the
    square, or all fall within a thousandth of it. Prints the largest relative error of novelty, by how much of itself a
    novelty was ever above the lowest before, and the error of A as `merge` finds it.
    """
    estimator, box, key = ExactRecognition(size=size), Box([-1.0, -1.0], [1.0, 1.0]), jax.random.key(0)
    empty = eqx.filter_jit(estimator.init)(box, key)
    probes = empty.features(box.uniform(key, 400))

    @eqx.filter_jit
    def hundred(root, inverse, total, number, spread):
        def learn(carry, key):
            root, inverse, total = carry
            phi = empty.features(0.1 + spread * jax.random.uniform(key, (100, 2), minval=-1.0))
            rows = phi @ inverse
            half = solve_triangular(jnp.linalg.cholesky(jnp.eye(100) + rows @ phi.T), rows, lower=True)
            return (shrunk(root, phi @ root.T, 1.0), inverse - half.T @ half, total + phi.T @ phi), phi

        keys = jax.random.split(jax.random.fold_in(key, number), 100)
        (root, inverse, total), phi = jax.lax.scan(learn, (root, inverse, total), keys)
        return root, inverse, total, phi.reshape(-1, size), jnp.sum((probes @ root.T) ** 2, axis=1)

    for name, spread in (("spread", 0.9), ("one spot", 1e-3)):
        root = inverse = total = jnp.eye(size)
        exact, lowest, above = np.eye(size), np.full(len(probes), np.inf), 0.0
        for number in range(1, batches // 100 + 1):
            root, inverse, total, phi, found = hundred(root, inverse, total, number, jnp.float32(spread))
            phi, found = np.asarray(phi, np.float64), np.asarray(found, np.float64)
            exact, above = exact + phi.T @ phi, max(above, np.max(found / lowest - 1))
            lowest = np.minimum(lowest, found)
            if number in (1, 10, 100):
                probed = np.asarray(probes, np.float64)
                right = np.sum(probed * np.linalg.solve(exact, probed.T).T, axis=1)
                others = np.sum((probes @ inverse) * probes, axis=1), by_factor(total, probes)
                errors = [np.max(np.abs(x / right - 1)) for x in (found, *others)]
                back = np.linalg.inv(np.asarray(root, np.float64))
                lost = np.max(np.abs(back @ back.T - exact)) / np.max(np.abs(exact))
                print(
                    f"m = {size}, {name}, {number * 10000} behaviors: root {errors[0]:.1e}, inverse {errors[1]:.1e}, "
                    f"sum {errors[2]:.1e}; above the lowest {above:.1e}; A of the root {lost:.1e}; "
                    f"rank {scipy.stats.spearmanr(found, right)[0]:.6f}",
                    flush=True,
                )


def by_factor(total, probes):
    """NaN where rounding has made A indefinite."""
    try:
        return np.sum(scipy.linalg.solve_triangular(np.linalg.cholesky(total), probes.T, lower=True) ** 2, axis=0)
    except np.linalg.LinAlgError:
        return np.full(len(probes), np.nan)


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
