"""A method in a world, over all seeds at once: the few facts by which methods are compared."""

import contextlib
import time
from collections.abc import Generator
from threading import Event
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from brns.comparison.peers import Peer, Terms, offspring_of
from brns.comparison.worlds import Cells, last_two
from brns.core import Generation, Population
from brns.metrics import cycling
from brns.runs.seeds import generations as side_by_side
from brns.runs.seeds import lanes, stacked
from brns.search import NoveltySearch, SearchState

POINTS = tuple(k / 20 for k in range(1, 21))
"""of a run, at which coverage is kept"""
KEPT = 10
"""of how many generations of a run Q is made"""
MARGIN = 0.01
"""of kappa, as a share of Q(i, i): a unit that all estimators share"""


class Facts(NamedTuple):
    """What is kept of a method in a world; row s is the s-th seed."""

    covered: Float[np.ndarray, "s p"]
    """cells visited by everything evaluated up to each of POINTS, the founders included; NaN where it is not known"""
    first_solved: Float[np.ndarray, " s"]
    """the generation of the first success; NaN where there was none"""
    eta: Float[np.ndarray, " s"]
    """the mean of eta over the kept generations, those aside whose own novelty was 0; NaN for a peer, as kappa"""
    kappa: Float[np.ndarray, " s"]
    """the share of later kept generations in which what was visited became novel again, by 1 % of what it was"""
    milliseconds: float
    """of wall time on a core, for one generation of one seed, without what is compiled first"""


def moments(generations: int) -> list[int]:
    """The generations at POINTS of a run."""
    return [max(1, round(point * generations)) for point in POINTS]


class Stopped(Exception):
    """A measurement was asked to stop."""


def measured(
    search: NoveltySearch,
    cells: Cells,
    generations: int,
    seeds: list[int],
    stop: Event | None = None,
    peer: Peer | None = None,
) -> Facts:
    """The facts of a search in a world. The same list of seeds gives the same bits on one machine and its versions.

    Seeds go side by side as those of a run do. Once `stop` is set it ends with `Stopped`, after a generation. A `peer`
    has the founders and the evaluations of the search in its place.
    """
    keys = [jax.random.key(seed) for seed in seeds]
    states = [search.init(key) for key in keys]
    founders = stacked([state.population for state in states])
    visited = np.array(_visited(cells, founders))
    covered, solved = [visited.sum(axis=1)], [founders.solved.any(axis=1)]
    every = max(1, generations // KEPT)
    when = sorted({*range(every, generations + 1, every), generations})
    kept, columns, times = [], [], []
    batches = 1 if peer else lanes(search.task, len(seeds))
    if peer:
        steps = _theirs(peer, search, cells, seeds, states, generations)
    else:
        steps = side_by_side(search, keys, states, generations, batches)
    with contextlib.closing(steps):
        for number, after in enumerate(steps, 1):
            if stop and stop.is_set():
                raise Stopped
            times.append(time.perf_counter())
            born = stacked([generation.offspring for _, generation in after])
            visited |= np.asarray(_visited(cells, born))
            covered.append(visited.sum(axis=1))
            solved.append(born.solved.any(axis=1))
            if number in when and not peer:
                now = stacked([state for state, _ in after])
                kept.append(now.population.descriptor)
                padded = jnp.stack(kept + [kept[-1]] * (len(when) - len(kept)), axis=1)
                columns.append(_novelty(search.estimator, now, padded))
    unknown = np.full((len(seeds), 2), np.nan)
    eta, kappa = (unknown if peer else _cycling(np.stack(columns, axis=2).astype(np.float64))).T
    ever = np.array(solved).T
    return Facts(
        covered=np.array(covered, np.float64)[moments(generations)].T,
        first_solved=np.where(ever.any(axis=1), ever.argmax(axis=1), np.nan),
        eta=eta,
        kappa=kappa,
        milliseconds=1000 * float(np.median(np.diff(times))) * batches / len(seeds),
    )


def _theirs(
    peer: Peer, search: NoveltySearch, cells: Cells, seeds: list[int], states: list[SearchState], generations: int
) -> Generator[list[tuple[Any, Any]]]:
    """The steps of a peer, of which what is born is known and nothing else."""
    runs = []
    for seed, state in zip(seeds, states, strict=True):
        scheduler = peer(_terms(search, cells, state.population.fitness, seed))
        space, key = search.task.genotype_space, jax.random.key(seed)
        runs.append(offspring_of(scheduler, search.task, key, space, state.population))
    for _ in range(generations):
        yield [(None, Generation(None, next(run), None)) for run in runs]  # ty: ignore[invalid-argument-type]


def _terms(search: NoveltySearch, cells: Cells, fitness: Float[Array, " n"], seed: int) -> Terms:
    """What a peer is told: the world's cells where they are a grid over the behavior, else its box."""
    space, p = search.task.behavior_space, search.task.genotype_space.dimension
    planar = cells.place is last_two and space.dimension == 2
    low, high = (cells.low, cells.high) if planar else (space.low.tolist(), space.high.tolist())
    least, spread = float(fitness.min()), float(np.ptp(fitness))
    return Terms(
        x0=np.full(p, 0.5),
        born=search.offspring_size,
        ranges=tuple(zip(low, high, strict=True)),
        dims=(cells.side, cells.side) if planar else None,
        worst=least - (spread or 1.0),  # what is the least of all is not known
        seed=seed,
    )


@eqx.filter_jit
def _visited(cells: Cells, individuals: Population) -> Bool[Array, "s cells"]:
    return jax.vmap(cells.visited)(individuals)


def _cycling(q: Float[np.ndarray, "s k k"]) -> Float[np.ndarray, "s 2"]:
    told = []
    for one in q:
        ratio, own = cycling.eta(one), np.diag(one)[:, None]
        known = ratio[np.isfinite(ratio)]
        share = cycling.kappa_share(one / np.where(own > 0, own, 1.0), MARGIN)
        told.append((known.mean() if known.size else np.nan, share.mean()))
    return np.array(told)


@eqx.filter_jit
def _novelty(estimator: Any, states: SearchState, kept: Float[Array, "s k n d"]) -> Float[Array, "s k"]:
    """The mean novelty of each kept population by the states of now: a column of Q a seed."""

    def one(state: SearchState, populations: Float[Array, "k n d"]):
        def mean(points):
            return estimator.score(state.estimator, points, state.population).mean()

        return jax.lax.map(mean, populations)

    return jax.vmap(one)(states, kept)
