"""Methods of pyribs, beside which ours are compared. They need ribs: `pip install 'brns[peers]'`.

A peer is any function that makes a pyribs `Scheduler` of a `PeerConfig`. Solutions are points of
the unit box where genes have bounds: one deviation then serves all genes, and nothing is drawn
anew until it lies within 300 pairs of bounds.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from brns.comparison.worlds import Cells, Tessellation, select_last_two_dimensions
from brns.core import Population, Task
from brns.core.evaluation import as_evaluation
from brns.core.population import make_individuals
from brns.jit import deterministic_jit
from brns.search import NoveltySearch, SearchState

SIGMA = 0.1
"""with which CMA-ES begins, by the suite's tuning half; its source has 0.05 and 0.15 of its box"""
CENTROIDS = 1000
"""cells of the archives without a grid; Vassiliades et al. 2018 have 1,000 to 10,000"""


class PeerConfig(NamedTuple):
    """What a function gets that makes a pyribs scheduler."""

    x0: Float[np.ndarray, " p"]
    """the solution about which CMA-ES begins"""
    offspring_size: int
    """solutions a generation"""
    ranges: tuple[tuple[float, float], ...]
    """low and high of each dimension of behavior"""
    dims: tuple[int, ...] | None
    """the cells of the grid over `ranges`; without a grid archives have `CENTROIDS` cells"""
    worst: float
    """a fitness from which CMA-MAE's thresholds rise, below that of anyone"""
    seed: int

    @property
    def behavior_width(self) -> float:
        """The side of `ranges`, or of a square with their diagonal."""
        return float(np.linalg.norm(np.diff(self.ranges)) / np.sqrt(2))


class NoveltyCMA(eqx.Module):
    """Novelty search by CMA-ES: the mean distance to the 15 nearest in an archive ranks offspring.

    Source: pyribs' `examples/sphere.py`, `ns_cma`, by Lee et al. 2024, doi:10.1145/3638529.3654001.
    """

    sigma: float = SIGMA
    threshold: float = 0.02
    """how far from the archive one is archived, in widths of the behaviors; the source has 0.037,
    which covers as much in rooms, 0.8 of it in the maze and 1.04 in the projection"""

    def __call__(self, config: PeerConfig) -> Any:
        from ribs.archives import ProximityArchive

        sizes: Any = {"solution_dim": len(config.x0), "measure_dim": len(config.ranges)}
        far = self.threshold * config.behavior_width
        archive = ProximityArchive(**sizes, k_neighbors=15, novelty_threshold=far, seed=config.seed)
        return _make_cma_es_scheduler(config, self.sigma, "nov", archive)


class DensityDescent(eqx.Module):
    """Density descent by CMA-ES: the least Gaussian kernel density of 10,000 behaviors ranks first.

    Source: pyribs' `examples/sphere.py`, `dds`, by Lee et al. 2024. A grid beside it keeps the
    solutions from which CMA-ES begins again.
    """

    sigma: float = SIGMA
    bandwidth: float = 0.05
    """of the kernel, in widths of the behaviors; the source's"""

    def __call__(self, config: PeerConfig) -> Any:
        from ribs.archives import DensityArchive

        d, width = len(config.ranges), self.bandwidth * config.behavior_width
        archive = DensityArchive(measure_dim=d, bandwidth=width, seed=config.seed)
        result = _make_pyribs_archive(config)
        return _make_cma_es_scheduler(config, self.sigma, "density", archive, result)


class CMAMAE(eqx.Module):
    """CMA-MAE: ranks by improvement over a cell's threshold, which follows its elites slowly.

    Source: Fontaine & Nikolaidis 2023, doi:10.1145/3583131.3590389, and pyribs'
    `examples/sphere.py`, `cma_mae`.
    """

    sigma: float = SIGMA
    learning_rate: float = 0.01

    def __call__(self, config: PeerConfig) -> Any:
        rules = {"learning_rate": self.learning_rate, "threshold_min": config.worst}
        archive = _make_pyribs_archive(config, **rules)
        return _make_cma_es_scheduler(config, self.sigma, "imp", archive)


class MapElites(eqx.Module):
    """MAP-Elites with Iso+LineDD. Source: Vassiliades & Mouret 2018,
    doi:10.1145/3205455.3205602; pyribs' defaults.
    """

    iso: float = 0.01
    line: float = 0.2

    def __call__(self, config: PeerConfig) -> Any:
        from ribs.emitters import IsoLineEmitter
        from ribs.schedulers import Scheduler

        archive = _make_pyribs_archive(config)
        sigmas: dict[str, Any] = {"iso_sigma": self.iso, "line_sigma": self.line}
        emitter = IsoLineEmitter(
            archive, **sigmas, x0=config.x0, batch_size=config.offspring_size, seed=config.seed
        )
        return Scheduler(archive, [emitter])


Peer = Callable[[PeerConfig], Any]
"""makes a pyribs `Scheduler`"""
PEERS: dict[str, Peer] = {
    "pyribs, novelty search": NoveltyCMA(),
    "pyribs, density descent": DensityDescent(),
    "pyribs, CMA-MAE": CMAMAE(),
    "pyribs, MAP-Elites": MapElites(),
}


def _make_cma_es_scheduler(
    config: PeerConfig, sigma: float, ranker: str, archive: Any, restart_from: Any = None
) -> Any:
    """A scheduler of CMA-ES in shares of about 36, as the sources have."""
    from ribs.emitters import EvolutionStrategyEmitter
    from ribs.schedulers import Scheduler

    begun: dict[str, Any] = {"x0": config.x0, "sigma0": sigma, "ranker": ranker}
    rules: dict[str, Any] = {"selection_rule": "mu", "restart_rule": "basic"}
    shares = np.array_split(np.arange(config.offspring_size), max(1, config.offspring_size // 36))
    seeds: Any = np.random.SeedSequence(config.seed).spawn(len(shares))
    source = archive if restart_from is None else restart_from
    emitters = [
        EvolutionStrategyEmitter(source, **begun, **rules, batch_size=len(share), seed=seed)
        for share, seed in zip(shares, seeds, strict=True)
    ]
    return Scheduler(archive, emitters, restart_from)


def _make_pyribs_archive(config: PeerConfig, **settings: Any) -> Any:
    from ribs.archives import CVTArchive, GridArchive

    settings |= {"solution_dim": len(config.x0), "ranges": config.ranges, "seed": config.seed}
    if config.dims is not None:
        return GridArchive(dims=config.dims, **settings)
    return CVTArchive(centroids=_place_centroids(config.ranges), **settings)


@functools.cache
def _place_centroids(ranges: tuple[tuple[float, float], ...]) -> Float[np.ndarray, "c d"]:
    from ribs.archives import k_means_centroids

    return k_means_centroids(centroids=CENTROIDS, ranges=ranges, samples=10 * CENTROIDS, seed=0)[0]


def iterate_peer_offspring(
    peer: Peer,
    search: NoveltySearch,
    cells: Cells | Tessellation,
    seed: int,
    state: SearchState,
) -> Iterator[Population]:
    """A peer's generations from 1 on, without end; its archives hold the founders from the start.

    Solutions are points of the unit box over the genotype space, reflected at its border.
    """
    task, key = search.task, jax.random.key(seed)
    founders, box = state.population, task.genotype_space
    scheduler = peer(_make_peer_config(search, cells, founders.fitness, seed))
    if not hasattr(scheduler, "result_archive"):
        raise ValueError(
            "a method among the estimators is an estimator, or a function that makes a pyribs "
            f"Scheduler of a PeerConfig; {peer!r:.80} made {scheduler!r:.80}"
        )
    low, width = np.asarray(box.low), np.asarray(box.high - box.low)
    solutions = (np.asarray(founders.genotype) - low) / width
    for archive in {scheduler.archive, scheduler.result_archive}:
        archive.add(solutions, np.asarray(founders.fitness), np.asarray(founders.descriptor))
    evaluated = _evaluate_jit if task.traceable else _evaluate_as_population
    for number in itertools.count(1):
        unbounded = scheduler.ask()
        if len(unbounded) != search.offspring_size:
            raise ValueError(
                f"a method must ask for {search.offspring_size} solutions a generation, which "
                "config.offspring_size has for the batches of its emitters; this one asks for "
                f"{len(unbounded)}"
            )
        solutions = 1 - np.abs(1 - np.mod(unbounded, 2))
        genotypes = jnp.asarray(low + width * solutions, jnp.float32)
        genotypes = jnp.clip(genotypes, box.low, box.high)  # what was rounded
        offspring = evaluated(task, genotypes, jax.random.fold_in(key, number), jnp.int32(number))
        if failed := int(np.sum(offspring.failed)):
            raise ValueError(
                f"methods of pyribs need a result of every individual, and {failed} of "
                f"{len(genotypes)} failed: leave these methods out"
            )
        scheduler.tell(np.asarray(offspring.fitness), np.asarray(offspring.descriptor))
        yield offspring


def _make_peer_config(
    search: NoveltySearch,
    cells: Cells | Tessellation,
    fitness: Float[Array, " n"],
    seed: int,
) -> PeerConfig:
    """The world's cells where they are a grid over the behavior, else its box."""
    space = search.task.behavior_space
    dims, low, high = None, space.low.tolist(), space.high.tolist()
    planar = space.dimension == 2
    if planar and isinstance(cells, Cells) and cells.place is select_last_two_dimensions:
        dims, low, high = (cells.side, cells.side), cells.low, cells.high
    least, spread = float(fitness.min()), float(np.ptp(fitness))
    return PeerConfig(
        x0=np.full(search.task.genotype_space.dimension, 0.5),
        offspring_size=search.offspring_size,
        ranges=tuple(zip(low, high, strict=True)),
        dims=dims,
        worst=least - (spread or 1.0),  # what is the least of all is not known
        seed=seed,
    )


def _evaluate_as_population(
    task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""], number: Int[Array, ""]
) -> Population:
    n = len(genotypes)
    evaluation = as_evaluation(task.evaluate(genotypes, key), n, task)
    return make_individuals(genotypes, evaluation, number * n, number)


_evaluate_jit = deterministic_jit(_evaluate_as_population)
"""for a task that is JAX code"""
