"""CPU time of archive novelty, against the trees of scikit-learn and SciPy rebuilt every generation.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python benchmarks/nearest.py [--dimensions 2 32 256]
        [--entries 2000 6000 10000] [--individuals 50 200] [--repeats 7] [--chart]

Uniform descriptors; the individuals are in the reference set. Prints medians of CPU time in ms, the methods taking
turns within each repeat, and how many times ours each of them takes. `--chart` times Q(i, j) instead: every population
of a run of 400 generations scored against every archive, at d = 2.
"""

import argparse
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import cKDTree  # ty: ignore[import-not-found]
from sklearn.neighbors import KDTree, NearestNeighbors

from brns.core import Population
from brns.estimators.archive import Archive, ArchiveKNN


def population(descriptor: np.ndarray) -> Population:
    zeros = jnp.zeros(len(descriptor), jnp.float32)
    number = jnp.arange(len(descriptor), dtype=jnp.int32)
    return Population(zeros[:, None], jnp.asarray(descriptor), zeros, zeros > 0, zeros, number, number, number)


def archive(descriptor: np.ndarray, capacity: int) -> Archive:
    n, d = descriptor.shape
    number = np.where(np.arange(capacity) < n, 1_000_000 + np.arange(capacity), -1).astype(np.int32)
    points = np.zeros((capacity, d), np.float32)
    points[:n] = descriptor  # in NumPy: in JAX every n would be compiled
    return Archive(*map(jnp.asarray, (points, number, np.zeros(capacity, np.float32), number, number)))


def methods(k: int, descriptor: np.ndarray, individuals: int, score: Callable) -> dict[str, Callable[[], np.ndarray]]:
    """Each rebuilds what it needs and returns the individuals' novelty; they come first in `descriptor`."""
    living, state = population(descriptor[:individuals]), archive(descriptor[individuals:], 10_000)
    references = descriptor.astype(np.float64)
    queries = references[:individuals]
    return {
        "brns": lambda: np.asarray(score(state, living.descriptor, living)),
        "sklearn KDTree": lambda: KDTree(references).query(queries, k + 1)[0][:, 1:].mean(axis=1),
        "scipy cKDTree": lambda: cKDTree(references).query(queries, k + 1)[0][:, 1:].mean(axis=1),
        "sklearn brute": lambda: (
            NearestNeighbors(n_neighbors=k + 1, algorithm="brute")
            .fit(descriptor)
            .kneighbors(descriptor[:individuals])[0][:, 1:]
            .mean(axis=1)
        ),
    }


def medians(methods: dict[str, Callable[[], np.ndarray]], repeats: int) -> dict[str, float]:
    """Milliseconds of CPU time, after a first call that compiles and whose answers must agree."""
    answers = {name: method() for name, method in methods.items()}
    for name, novelty in answers.items():
        np.testing.assert_allclose(novelty, answers["brns"], rtol=1e-4, err_msg=name)
    times = {name: [] for name in methods}
    for _ in range(repeats):
        for name, method in methods.items():
            start = time.process_time()
            method()
            times[name].append(1e3 * (time.process_time() - start))
    return {name: float(np.median(each)) for name, each in times.items()}


def compare(dimensions: list[int], entries: list[int], individuals: list[int], repeats: int) -> None:
    estimator = ArchiveKNN()
    score = jax.jit(lambda *args: estimator.score(*args))
    print(
        f"{'d':>4}{'entries':>9}{'individuals':>13}{'brns ms':>10}   times brns: sklearn KDTree, scipy cKDTree, brute"
    )
    for d in dimensions:
        for n in individuals:
            for m in entries:
                descriptor = np.random.default_rng(0).random((n + m, d), dtype=np.float32)
                ours, *others = medians(methods(estimator.k, descriptor, n, score), repeats).values()
                print(f"{d:4}{m:9}{n:13}{ours:10.2f}   {'  '.join(f'{other / ours:8.1f}' for other in others)}")


def chart(generations: int, size: int) -> None:
    """Q(i, j) for all i and j of a run: `generations` calls with every individual that ever survived."""
    estimator = ArchiveKNN()
    everyone = np.random.default_rng(0).random((generations * size, 2), dtype=np.float32)
    entrants = np.random.default_rng(1).random((generations * estimator.growth, 2), dtype=np.float32)
    score = jax.jit(lambda *args: estimator.score(*args))

    def row(j: int) -> None:
        living = population(everyone[j * size : (j + 1) * size])
        state = archive(entrants[: j * estimator.growth], estimator.capacity)
        score(state, jnp.asarray(everyone), living).block_until_ready()

    row(0)
    start = time.process_time()
    for j in range(generations):
        row(j)
    print(
        f"Q over {generations} x {generations} generations of {size}: {time.process_time() - start:.1f} s of CPU time"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 32, 256])
    parser.add_argument("--entries", type=int, nargs="+", default=[2000, 6000, 10000])
    parser.add_argument("--individuals", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--chart", action="store_true")
    settings = parser.parse_args()
    if settings.chart:
        chart(generations=400, size=100)
    else:
        compare(settings.dimensions, settings.entries, settings.individuals, settings.repeats)
