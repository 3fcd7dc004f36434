"""A method in a world, over all seeds at once: the few facts by which methods are compared."""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from brns.comparison.worlds import Cells
from brns.core import take
from brns.metrics import cycling
from brns.runs.seeds import cores, cut, lanes, program, stacked
from brns.search import NoveltySearch, SearchState, founding

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
    """of wall time, for one generation of one seed, without what is compiled first"""


def moments(generations: int) -> list[int]:
    """The generations at POINTS of a run."""
    return [max(1, round(point * generations)) for point in POINTS]


class Stopped(Exception):
    """A measurement was asked to stop."""


def measured(search: NoveltySearch, cells: Cells, generations: int, seeds: list[int], stop: Event = NEVER) -> Facts:
    """The facts of a search in a world. The same list of seeds gives the same bits on one machine and its versions.

    Seeds of a traceable task are a batch for each core or accelerator; with another number of batches it rounds
    otherwise. Seeds of a host task run in turn. Once `stop` is set it ends with `Stopped`, after a generation.
    """
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    if not search.task.traceable:
        return _of_batch(search, cells, generations, stop, keys)
    parts = cut(len(seeds), lanes(search.task, len(seeds)))
    batches = [
        jax.device_put(keys[part], device)
        for part, device in zip(parts, itertools.cycle(jax.local_devices()), strict=False)
    ]
    facts = list(_CORES.map(partial(_of_batch, search, cells, generations, stop), batches))
    columns = zip(*(one[:-1] for one in facts), strict=True)
    return Facts(*map(np.concatenate, columns), milliseconds=float(np.mean([one.milliseconds for one in facts])))


class _Run(NamedTuple):
    """A seed on its way."""

    state: SearchState
    visited: Bool[Array, " cells"]


_Told = tuple[Int[Array, "..."], Bool[Array, "..."]]
"""how many cells are visited, and whether anybody born in this generation solved the task"""

_CORES = ThreadPoolExecutor(cores())
"""of this process: its comparisons together use no more threads than there are cores"""
_COMPILING = Lock()
"""batches of one shape are compiled once"""


def _of_batch(search: NoveltySearch, cells: Cells, generations: int, stop: Event, keys: Key[Array, " s"]) -> Facts:
    every = max(1, generations // KEPT)
    when = sorted({*range(every, generations + 1, every), generations})
    begin, step = (_BEGIN, _STEP) if search.task.traceable else (_begin_all, _step_all)
    once = _COMPILING if search.task.traceable else nullcontext()
    with once:
        runs, told = begin(search, cells, keys)
    curve, kept, columns, took = [jax.device_get(told)], [], [], []
    for generation in range(1, generations + 1):
        if stop.is_set():
            raise Stopped
        began = time.perf_counter()
        with once if generation == 1 else nullcontext():
            runs, told = step(search, cells, runs, keys)
            curve.append(jax.device_get(told))
        took.append(time.perf_counter() - began)
        if generation in when:
            kept.append(runs.state.population.descriptor)
            padded = jnp.stack(kept + [kept[-1]] * (len(when) - len(kept)), axis=1)
            columns.append(_novelty(search.estimator, runs.state, padded))
    q = np.stack(columns, axis=2).astype(np.float64)
    if not np.isfinite(q).all():
        raise ValueError(
            f"{type(search.estimator).__name__} gave novelty that is not finite on {type(search.task).__name__}; "
            "brns.check_estimator and brns.check_task tell which of the two is at fault"
        )
    covered, solved = (np.stack(column, axis=1) for column in zip(*curve, strict=True))
    return Facts(
        covered=covered[:, moments(generations)].astype(np.float64),
        first_solved=np.where(solved.any(axis=1), solved.argmax(axis=1), np.nan),
        eta=np.array([_eta(one) for one in q]),
        kappa=np.array([_kappa(one) for one in q]),
        milliseconds=1000 * float(np.median(took[1:])) / len(keys),  # the first was compiled while the clock ran
    )


def _begin(search: NoveltySearch, cells: Cells, key: Key[Array, ""]) -> tuple[_Run, _Told]:
    state = search.init(key)
    founders = founding(state).offspring
    visited = cells.visited(founders)
    return _Run(state, visited), (visited.sum(), founders.solved.any())


def _step(search: NoveltySearch, cells: Cells, run: _Run, key: Key[Array, ""]) -> tuple[_Run, _Told]:
    state, generation = search.step(run.state, key)
    visited = run.visited | cells.visited(generation.offspring)
    return _Run(state, visited), (visited.sum(), generation.offspring.solved.any())


def _begin_all(search: NoveltySearch, cells: Cells, keys: Key[Array, " s"]) -> tuple[_Run, _Told]:
    return _of_all(search, partial(_begin, search, cells), keys)


def _step_all(search: NoveltySearch, cells: Cells, runs: _Run, keys: Key[Array, " s"]) -> tuple[_Run, _Told]:
    return _of_all(search, partial(_step, search, cells), runs, keys)


def _of_all(search: NoveltySearch, one: Callable[..., tuple[_Run, _Told]], *seeds: Any) -> tuple[_Run, _Told]:
    """All seeds as a batch, or in turn where the task is the host's."""
    if search.task.traceable:
        return jax.vmap(one)(*seeds)
    return stacked([one(*take(seeds, s)) for s in range(len(seeds[-1]))])


_BEGIN, _STEP = program(_begin_all), program(_step_all)


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
