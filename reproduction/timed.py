"""What is timed: one generation of novelty a call,
by an estimator or by an exact search among fixed points.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from brns.core import Box, Generation, NoveltyEstimator, Population, take, unite
from brns.estimators.archive import Archive
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.experiments import paper_recognition
from reproduction.costs import DEFAULT, NARROW, WIDE

ESTIMATORS: dict[str, NoveltyEstimator] = {
    WIDE: paper_recognition(),
    NARROW: eqx.tree_at(
        lambda e: e.width, paper_recognition(), 64, is_leaf=lambda leaf: leaf is None
    ),
    DEFAULT: BehaviorRecognition(),
    "exact recognition": ExactRecognition(),
}
"""the methods without an archive"""
K = 15
"""nearest neighbours"""


class Novelty:
    """One generation of an estimator's novelty a call, of new individuals: score all,
    then update.
    """

    def __init__(
        self,
        estimator: NoveltyEstimator,
        d: int,
        individuals: int,
        entries: int = 0,
        ready: bool = True,
    ):
        self.d, self.individuals, self.number = d, individuals, 0
        self.random = np.random.default_rng(d)
        self.state = jax.jit(estimator.init)(Box([0.0] * d, [1.0] * d), jax.random.key(0))
        if isinstance(self.state, Archive):
            self.state = _filled(self.state, entries)
        self.step = jax.jit(partial(_generation, estimator))
        self.prepare()
        if ready:
            jax.block_until_ready(
                self.step(self.state, *self.given)
            )  # compiles; its state is dropped

    def prepare(self) -> None:
        """Make the next generation's individuals, with new ids at new places."""
        self.number += 1
        n = self.individuals
        half = n // 2
        descriptors = jnp.asarray(self.random.random((n, self.d), dtype=np.float32))
        everyone = Population.from_descriptors(descriptors, self.number, self.number * n)
        halves = (take(everyone, slice(half)), take(everyone, slice(half, None)))
        self.given = jax.block_until_ready((halves, jax.random.key(self.number)))

    def __call__(self) -> None:
        self.state, novelty = self.step(self.state, *self.given)
        jax.block_until_ready((self.state, novelty))

    @property
    def entries(self) -> int:
        """The number of individuals in the archive; 0 without one."""
        return int((self.state.id >= 0).sum()) if isinstance(self.state, Archive) else 0

    @property
    def bytes(self) -> int:
        """The memory of the estimator's state, the archive's empty rows included."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.state))


def _generation(estimator, state, halves, key):
    parents, offspring = halves
    everyone = unite(
        parents, offspring
    )  # as in a search, so that the compiler shares the same work
    novelty = estimator.score(state, everyone.descriptor, everyone)
    return estimator.update(state, Generation(parents, offspring, parents), key), novelty


class Exact:
    """One exact search a call: the novelty of the first rows among all,
    by `brute_force` or `kd_tree`.
    """

    def __init__(
        self,
        search: Callable[[np.ndarray, int, int], np.ndarray],
        references: np.ndarray,
        individuals: int,
    ):
        self.search, self.references, self.individuals = search, references, individuals

    def prepare(self) -> None:
        """The same rows again."""

    def __call__(self) -> None:
        self.search(self.references, self.individuals, K)

    @property
    def entries(self) -> int:
        return len(self.references) - self.individuals

    @property
    def bytes(self) -> int:
        """The memory of the entries; a tree is not kept."""
        return self.references[self.individuals :].nbytes


def brute_force(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """Exact novelty of the first n references: candidates by one BLAS product,
    then exact differences.
    """
    queries = references[:n]
    squared = (references**2).sum(
        1
    ) - 2 * queries @ references.T  # less what all distances of a query share
    candidates = np.argpartition(squared, k + 8, axis=1)[:, : k + 9]
    distances = np.linalg.norm(references[candidates] - queries[:, None], axis=2)
    return np.sort(distances, axis=1)[:, 1 : k + 1].mean(axis=1)


def kd_tree(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """The same by a tree, built anew."""
    return KDTree(references).query(references[:n], k + 1)[0][:, 1:].mean(axis=1)


def _filled(archive: Archive, entries: int) -> Archive:
    """The archive with this many uniform entries, of individuals that are not alive."""
    capacity, d = archive.descriptor.shape
    number = np.where(np.arange(capacity) < entries, 2**30 + np.arange(capacity), -1).astype(
        np.int32
    )
    points = np.zeros((capacity, d), np.float32)
    points[:entries] = np.random.default_rng(entries).random((entries, d), dtype=np.float32)
    return Archive(
        *map(jnp.asarray, (points, number, np.zeros(capacity, np.float32), number, number))
    )


@runtime_checkable
class Timed(Protocol):
    """A call that is timed, and its preparation, which is not."""

    def prepare(self) -> None: ...
    def __call__(self) -> None: ...


def timed(call: Timed, least: float = 0.02) -> tuple[float, float]:
    """Milliseconds of CPU and of wall time of a call, repeated for `least` seconds."""
    calls, cpu, wall = 0, 0.0, 0.0
    while calls == 0 or wall < least:
        call.prepare()
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        call()
        cpu, wall = cpu + time.process_time() - cpu_before, wall + time.perf_counter() - wall_before
        calls += 1
    return 1e3 * cpu / calls, 1e3 * wall / calls
