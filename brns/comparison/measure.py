"""A method in a world, over all seeds at once: the few facts by which methods are compared."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from brns.comparison.worlds import Cells
from brns.core import Generation, Population, take
from brns.metrics import cycling
from brns.runs.seeds import cores, cut, lanes, program, stacked
from brns.search import NoveltySearch, SearchState, founding

KEPT = 10
"""how many generations of a run Q is known for"""
MARGIN = 0.01
"""of kappa, as a share of Q(i, i): a unit that all estimators share"""


class Facts(NamedTuple):
    """What is kept of a method in a world; row s is the s-th seed."""

    covered: Int[np.ndarray, "s g"]
    """cells visited by everything evaluated up to each generation, from the founders on"""
    first_solved: Int[np.ndarray, " s"]
    """the generation of the first success; -1 where there was none"""
    q: Float[np.ndarray, "s k k"]
    """Q(i, j) over the kept generations, NaN where j < i"""
    milliseconds: float
    """of wall time, for one generation of one seed, without what is compiled first"""

    @property
    def eta(self) -> Float[np.ndarray, " s"]:
        """The mean of eta over a run's kept generations, those aside whose own novelty was 0."""
        ratios = [cycling.eta(q) for q in self.q]
        return np.array([np.mean(ratio[np.isfinite(ratio)]) for ratio in ratios])

    @property
    def kappa(self) -> Float[np.ndarray, " s"]:
        """The share of later kept generations in which what was visited became novel again, by 1 % of what it was."""
        own = [np.diag(q)[:, None] for q in self.q]
        relative = [q / np.where(first > 0, first, 1.0) for q, first in zip(self.q, own, strict=True)]
        return np.array([np.mean(cycling.kappa_share(q, MARGIN)) for q in relative])


class _Run(NamedTuple):
    """One seed on its way."""

    state: SearchState
    visited: Bool[Array, " cells"]
    solved: Bool[Array, ""]


class Stopped(Exception):
    """A measurement was asked to stop."""


def measured(
    search: NoveltySearch, cells: Cells, generations: int, seeds: list[int], stop: Event | None = None
) -> Facts:
    """The facts of a search in a world. The same list of seeds gives the same bits on one machine and its versions.

    Seeds of a traceable task are a batch for each core or accelerator, compiled over stretches of generations; with
    another number of those it rounds otherwise. Seeds of a host task run in turn. Once `stop` is set it ends with
    `Stopped`, after a tenth of the run at most.
    """
    if generations < 2 or not seeds:
        raise ValueError(f"a comparison needs 2 generations and 1 seed or more; got {generations} and {seeds}")
    if stop is not None and stop.is_set():
        raise Stopped
    every = max(1, generations // KEPT)
    lengths = [every] * (generations // every) + [generations % every] * bool(generations % every)
    go = _Lanes(search, cells, len(seeds)) if search.task.traceable else partial(_in_turn, search, cells)
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    runs, covered, solved = _begin(search, cells, keys)
    curves, successes, kept, columns, took = [covered], [solved], [], [], []
    for length in lengths:
        if stop is not None and stop.is_set():
            raise Stopped
        runs, covered, solved, seconds = go(length, runs, keys)
        took.append(seconds / length)
        curves.append(covered)
        successes.append(solved)
        kept.append(runs.state.population.descriptor)
        padded = jnp.stack(kept + [kept[-1]] * (len(lengths) - len(kept)), axis=1)
        columns.append(_novelty(search.estimator, runs.state, padded))
    q = np.stack(columns, axis=2).astype(np.float64)
    if not np.isfinite(q).all():
        raise ValueError(
            f"{type(search.estimator).__name__} gave novelty that is not finite on {type(search.task).__name__}; "
            "brns.check_estimator and brns.check_task tell which of the two is at fault"
        )
    q[:, *np.tril_indices(len(lengths), -1)] = np.nan
    whole = np.concatenate(successes, axis=1)
    first = np.where(whole.any(axis=1), whole.argmax(axis=1), -1)
    # The first stretch, and one of another length, were compiled while the clock ran.
    quick = took[1 : generations // every] or took
    return Facts(np.concatenate(curves, axis=1), first, q, 1000 * float(np.median(quick)) / len(seeds))


def _begin(search: NoveltySearch, cells: Cells, keys: Key[Array, " s"]) -> tuple[_Run, Any, Any]:
    if search.task.traceable:
        state = eqx.filter_jit(eqx.filter_vmap(search.init))(keys)
    else:
        state = stacked([search.init(key) for key in keys])
    generation = jax.vmap(founding)(state)
    visited = jax.vmap(cells.visited)(generation.offspring)
    solved = generation.offspring.solved.any(axis=1)
    return _Run(state, visited, solved), visited.sum(axis=1)[:, None], solved[:, None]


def _seen(cells: Cells, run: _Run, state: SearchState, generation: Generation) -> tuple[_Run, tuple[Any, Any]]:
    visited = run.visited | cells.visited(generation.offspring)
    solved = generation.offspring.solved.any()
    return _Run(state, visited, solved), (visited.sum(), solved)


def _stretch(search: NoveltySearch, cells: Cells, length: int, runs: _Run, keys: Key[Array, " s"]):
    def one(run: _Run, key: Key[Array, ""]):
        return jax.lax.scan(lambda run, _: _seen(cells, run, *search.step(run.state, key)), run, length=length)

    runs, (covered, solved) = jax.vmap(one)(runs, keys)
    return runs, covered, solved


_stretched = program(_stretch)

_CORES = ThreadPoolExecutor(cores())
"""of this process: however many comparisons go on in it, no more computes at a time than there are cores"""


class _Lanes:
    """Stretches of generations of a batch of seeds on each core or accelerator, compiled before the clock runs."""

    def __init__(self, search: NoveltySearch, cells: Cells, seeds: int):
        self.search, self.cells, self.seeds = search, cells, seeds
        parts = cut(seeds, lanes(search.task, seeds))
        # The last seed fills up the last batch, so that one shape is compiled.
        size = parts[0].stop
        self.rows = [jnp.minimum(jnp.arange(part.start, part.start + size), seeds - 1) for part in parts]
        self.compiled: dict[int, Any] = {}

    def __call__(self, length: int, runs: _Run, keys: Key[Array, " s"]):
        places = jax.local_devices()
        batches = [
            jax.device_put((take(runs, rows), keys[rows]), places[i % len(places)]) for i, rows in enumerate(self.rows)
        ]
        if length not in self.compiled:
            stretch: Any = _stretched
            self.compiled[length] = stretch.lower(self.search, self.cells, length, *batches[0]).compile()
        done = list(_CORES.map(partial(self._timed, length), batches))
        computed = sum(map(len, self.rows))
        facts = jax.tree.map(lambda *parts: jnp.concatenate(parts)[: self.seeds], *(facts for facts, _ in done))
        return *facts, sum(seconds for _, seconds in done) * self.seeds / computed

    def _timed(self, length: int, batch: tuple[_Run, Key[Array, " s"]]):
        began = time.perf_counter()
        facts = jax.device_get(self.compiled[length](self.search, self.cells, length, *batch))
        return facts, time.perf_counter() - began


def _in_turn(search: NoveltySearch, cells: Cells, length: int, runs: _Run, keys: Key[Array, " s"]):
    began, after, curves = time.perf_counter(), [], []
    for s, key in enumerate(keys):
        run, curve = take(runs, s), []
        for _ in range(length):
            run, fact = _seen(cells, run, *search.step(run.state, key))
            curve.append(fact)
        after.append(run)
        curves.append(stacked(curve))
    covered, solved = stacked(curves)
    runs, covered, solved = jax.block_until_ready((stacked(after), covered, solved))
    return runs, covered, solved, time.perf_counter() - began


@eqx.filter_jit
def _novelty(estimator: Any, states: SearchState, kept: Float[Array, "s k n d"]) -> Float[Array, "s k"]:
    """The mean novelty of each kept population by the states of now: a column of Q a seed."""

    def one(state: SearchState, populations: Float[Array, "k n d"]):
        score = partial(_score, estimator, state.estimator, state.population)
        return jax.lax.map(score, populations)

    return jax.vmap(one)(states, kept)


def _score(estimator: Any, state: Any, population: Population, points: Float[Array, "n d"]) -> Float[Array, ""]:
    return estimator.score(state, points, population).mean()
