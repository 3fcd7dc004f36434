"""A method in a world, over all seeds at once: the few facts by which methods are compared."""

import contextlib
import time
from threading import Event
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from brns.comparison.worlds import Cells
from brns.core import Population
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

NEVER = Event()


class Facts(NamedTuple):
    """What is kept of a method in a world; row s is the s-th seed."""

    covered: Float[np.ndarray, "s p"]
    """cells visited by everything evaluated up to each of POINTS, the founders included; NaN where it is not known"""
    first_solved: Float[np.ndarray, " s"]
    """the generation of the first success; NaN where there was none"""
    eta: Float[np.ndarray, " s"]
    """the mean of eta over the kept generations, those aside whose own novelty was 0"""
    kappa: Float[np.ndarray, " s"]
    """the share of later kept generations in which what was visited became novel again, by 1 % of what it was"""
    milliseconds: float
    """of wall time on a core, for one generation of one seed, without what is compiled first"""


def moments(generations: int) -> list[int]:
    """The generations at POINTS of a run."""
    return [max(1, round(point * generations)) for point in POINTS]


class Stopped(Exception):
    """A measurement was asked to stop."""


def measured(search: NoveltySearch, cells: Cells, generations: int, seeds: list[int], stop: Event = NEVER) -> Facts:
    """The facts of a search in a world. The same list of seeds gives the same bits on one machine and its versions.

    Seeds go side by side as those of a run do. Once `stop` is set it ends with `Stopped`, after a generation.
    """
    keys = [jax.random.key(seed) for seed in seeds]
    states = [search.init(key) for key in keys]
    founders = stacked([state.population for state in states])
    visited = np.array(_visited(cells, founders))
    covered, solved = [visited.sum(axis=1)], [founders.solved.any(axis=1)]
    every = max(1, generations // KEPT)
    when = sorted({*range(every, generations + 1, every), generations})
    kept, columns, times = [], [], []
    batches = lanes(search.task, len(seeds))
    with contextlib.closing(side_by_side(search, keys, states, generations, batches)) as steps:
        for number, after in enumerate(steps, 1):
            if stop.is_set():
                raise Stopped
            times.append(time.perf_counter())
            born = stacked([generation.offspring for _, generation in after])
            visited |= np.asarray(_visited(cells, born))
            covered.append(visited.sum(axis=1))
            solved.append(born.solved.any(axis=1))
            if number in when:
                now = stacked([state for state, _ in after])
                kept.append(now.population.descriptor)
                padded = jnp.stack(kept + [kept[-1]] * (len(when) - len(kept)), axis=1)
                columns.append(_novelty(search.estimator, now, padded))
    q = np.stack(columns, axis=2).astype(np.float64)
    ever = np.array(solved).T
    return Facts(
        covered=np.array(covered, np.float64)[moments(generations)].T,
        first_solved=np.where(ever.any(axis=1), ever.argmax(axis=1), np.nan),
        eta=np.array([_eta(one) for one in q]),
        kappa=np.array([_kappa(one) for one in q]),
        milliseconds=1000 * float(np.median(np.diff(times))) * batches / len(seeds),
    )


@eqx.filter_jit
def _visited(cells: Cells, individuals: Population) -> Bool[Array, "s cells"]:
    return jax.vmap(cells.visited)(individuals)


def _eta(q: Float[np.ndarray, "k k"]) -> float:
    ratio = cycling.eta(q)
    known = ratio[np.isfinite(ratio)]
    return float(known.mean()) if known.size else float("nan")


def _kappa(q: Float[np.ndarray, "k k"]) -> float:
    own = np.diag(q)[:, None]
    return float(np.mean(cycling.kappa_share(q / np.where(own > 0, own, 1.0), MARGIN)))


@eqx.filter_jit
def _novelty(estimator: Any, states: SearchState, kept: Float[Array, "s k n d"]) -> Float[Array, "s k"]:
    """The mean novelty of each kept population by the states of now: a column of Q a seed."""

    def one(state: SearchState, populations: Float[Array, "k n d"]):
        def mean(points):
            return estimator.score(state.estimator, points, state.population).mean()

        return jax.lax.map(mean, populations)

    return jax.vmap(one)(states, kept)
