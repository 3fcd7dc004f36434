"""Time of one generation of an estimator's novelty, in any number of dimensions: figure 6."""

import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from brns.core import Box, Generation, NoveltyEstimator, Population
from brns.core.novelty import init_state, score_novelty, update_estimator
from brns.core.population import concatenate_populations, take_rows
from brns.estimators.archive import Archive


class NoveltyStep:
    """A generation of novelty a call, of new uniform individuals in d dimensions, half of them
    parents: all are scored, then the estimator learns from them. An archive has uniform `entries`,
    by default all that it can; it is compiled now (`ready`), or in the first call.
    """

    def __init__(
        self,
        estimator: NoveltyEstimator,
        d: int,
        individuals: int,
        entries: int | None = None,
        ready: bool = True,
    ):
        self.d, self.individuals, self.number = d, individuals, 0
        self.random = np.random.default_rng(d)
        space, key = Box([0.0] * d, [1.0] * d), jax.random.key(0)
        self.state = jax.jit(partial(init_state, estimator))(space, key)
        if isinstance(self.state, Archive):
            self.state = _fill_uniformly(self.state, entries)
        self.step = jax.jit(partial(_score_and_learn, estimator))
        self.make_next_inputs()
        if ready:
            jax.block_until_ready(self.step(self.state, *self.given))  # its state is dropped

    def make_next_inputs(self) -> None:
        """Make the next generation's individuals, with new ids at new places."""
        self.number += 1
        n, half = self.individuals, self.individuals // 2
        behaviors = jnp.asarray(self.random.random((n, self.d), dtype=np.float32))
        people = Population.from_descriptors(behaviors, self.number, self.number * n)
        halves = (take_rows(people, slice(half)), take_rows(people, slice(half, None)))
        self.given = jax.block_until_ready((halves, jax.random.key(self.number)))

    def __call__(self) -> None:
        self.state, novelty = self.step(self.state, *self.given)
        jax.block_until_ready((self.state, novelty))

    @property
    def entries(self) -> int:
        """The number of individuals in the archive; 0 without one."""
        return int((self.state.id >= 0).sum()) if isinstance(self.state, Archive) else 0

    @property
    def state_bytes(self) -> int:
        """The memory of the estimator's state, the archive's empty rows included."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.state))


def _score_and_learn(estimator: NoveltyEstimator, state: Any, halves: Any, key: Any) -> Any:
    parents, offspring = halves
    # As in a search: the compiler shares the same work.
    everyone = concatenate_populations(parents, offspring)
    novelty = score_novelty(estimator, state, everyone.descriptor, everyone)
    generation = Generation(parents, offspring, parents)
    return update_estimator(estimator, state, generation, key), novelty


def _fill_uniformly(archive: Archive, entries: int | None) -> Archive:
    """The archive with uniform entries, of individuals that are not alive."""
    capacity, d = archive.descriptor.shape
    entries = capacity if entries is None else entries
    points = np.random.default_rng(entries).random((entries, d), dtype=np.float32)
    number = archive.id.at[:entries].set(2**30 + jnp.arange(entries))
    descriptor = archive.descriptor.at[:entries].set(points)
    return archive._replace(descriptor=descriptor, id=number, born=number, entered=number)


class Milliseconds(NamedTuple):
    """What a call took."""

    cpu: float
    wall: float


def measure_cpu_and_wall_milliseconds(call: Any, min_seconds: float = 0.02) -> Milliseconds:
    """The time of a call without its `make_next_inputs`, if it has one, the mean of some."""
    prepare = getattr(call, "make_next_inputs", lambda: None)
    calls, cpu, wall = 0, 0.0, 0.0
    while calls == 0 or wall < min_seconds:
        prepare()
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        call()
        cpu += time.process_time() - cpu_before
        wall += time.perf_counter() - wall_before
        calls += 1
    return Milliseconds(1e3 * cpu / calls, 1e3 * wall / calls)
