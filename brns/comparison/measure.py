"""A method in a world, over all seeds at once: the few facts by which methods are compared."""

import contextlib
import itertools
import time
from collections.abc import Generator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from brns.comparison.peers import Peer, iterate_peer_offspring
from brns.comparison.worlds import Cells, Tessellation, World
from brns.core import Population
from brns.core.novelty import score_novelty
from brns.metrics import cycling
from brns.runs.seeds import compute_generations, count_parallel_batches, stack_trees
from brns.search import NoveltySearch, SearchState, check_generation

POINTS = tuple(k / 20 for k in range(1, 21))
"""of a run, at which coverage is kept"""
KEPT = 10
"""of how many generations of a run Q is made"""
MARGIN = 0.01
"""of kappa, as a share of Q(i, i): a unit that all estimators share"""

_Step = tuple[Population, list[SearchState]]
"""the offspring of all seeds, and each seed's state, of which a peer has none"""


class MethodResult(NamedTuple):
    """Coverage, first solutions, cycling and time of a method on a task; row s is the s-th seed."""

    covered: Float[np.ndarray, "s p"]
    """cells visited up to each of POINTS, the founders included; NaN where it is not known"""
    first_solved: Float[np.ndarray, " s"]
    """the generation of the first success; NaN where there was none"""
    eta: Float[np.ndarray, " s"]
    """the mean over kept generations whose own novelty was not 0; NaN for a peer, as kappa"""
    kappa: Float[np.ndarray, " s"]
    """the share of later kept generations in which what was visited became novel again,
    by 1 % of what it was"""
    milliseconds: Float[np.ndarray, " s"]
    """of wall time on a core, for one generation of one seed, without what is compiled first: the
    mean over the seeds that ran together"""

    def get_covered_at(self, fraction: float) -> Float[np.ndarray, " s"]:
        """The cells covered by each seed after a fraction of the run, one of POINTS."""
        return self.covered[:, POINTS.index(fraction)]


def find_generations_at_fractions(generations: int) -> list[int]:
    """The generations at POINTS of a run."""
    return [max(1, round(point * generations)) for point in POINTS]


def run_method(
    search: NoveltySearch, world: World, seeds: list[int], peer: Peer | None = None
) -> MethodResult:
    """The numbers of a search in a world, whose seeds go on side by side as those of a run. The
    same list of seeds gives the same bits on one machine and its versions.

    A peer of pyribs stands in the search's place, with its founders and as many evaluations.
    """
    generations = world.generations
    founders, steps, batches = _start_offspring(search, world, seeds, peer)
    visited = np.array(_find_cells_by_seed(world.cells, founders))
    covered, solved = [visited.sum(axis=1)], [founders.solved.any(axis=1)]
    every = max(1, generations // KEPT)
    when = sorted({*range(every, generations + 1, every), generations})
    populations, spent = [], []
    q = np.full((len(seeds), len(when), len(when)), np.nan)
    with contextlib.closing(steps):
        began = time.perf_counter()
        for number, (born, after) in enumerate(steps, 1):
            jax.block_until_ready((born, after))
            spent.append(time.perf_counter() - began)
            visited |= np.asarray(_find_cells_by_seed(world.cells, born))
            covered.append(visited.sum(axis=1))
            solved.append(born.solved.any(axis=1))
            if after and number in when:
                now = stack_trees(after)
                populations.append(now.population.descriptor)
                for i, points in enumerate(populations):
                    q[:, i, len(populations) - 1] = _mean_novelty(search.estimator, now, points)
            began = time.perf_counter()
    # The first is also compiled.
    milliseconds = 1000 * np.median(spent[1:]) * batches / len(seeds)
    pairs = [(np.nan, np.nan) if peer else _compute_mean_eta_and_kappa_share(each) for each in q]
    eta, kappa = np.array(pairs).T
    return MethodResult(
        covered=np.array(covered, np.float64)[find_generations_at_fractions(generations)].T,
        first_solved=np.where(np.any(solved, axis=0), np.argmax(solved, axis=0), np.nan),
        eta=eta,
        kappa=kappa,
        milliseconds=np.full(len(seeds), milliseconds),
    )


@contextlib.contextmanager
def name_method_in_errors(method: str, world: World) -> Generator[None, None, None]:
    """Meanwhile an error says whose it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This was {method} in {world.name}")
        raise


def collect_evaluated_behaviors(
    search: NoveltySearch, world: World, seed: int, peer: Peer | None = None
) -> Float[np.ndarray, "n d"]:
    """All behaviors that a method evaluates in a world with a seed, but for those who failed."""
    founders, steps, _ = _start_offspring(search, world, [seed], peer)
    with contextlib.closing(steps):
        everyone = [founders, *(born for born, _ in steps)]
    sound = [np.asarray(each.descriptor)[~np.asarray(each.failed)] for each in everyone]
    return np.concatenate(sound)


def _start_offspring(
    search: NoveltySearch, world: World, seeds: list[int], peer: Peer | None
) -> tuple[Population, Generator[_Step, None, None], int]:
    """The founders of all seeds, the offspring of each generation after them, and how many batches
    of seeds go on at once.
    """
    states = [search.init(jax.random.key(seed)) for seed in seeds]
    founders = stack_trees([state.population for state in states])
    if not peer:
        batches = count_parallel_batches(search.task, len(seeds))
        number = world.generations
        steps = _iterate_search_offspring_and_states(search, number, seeds, states, batches)
        return founders, steps, batches
    begun = zip(seeds, states, strict=True)
    runs = [iterate_peer_offspring(peer, search, world.cells, *each) for each in begun]
    born_together = itertools.islice(zip(*runs, strict=True), world.generations)
    return founders, ((stack_trees(born), []) for born in born_together), 1


def _iterate_search_offspring_and_states(
    search: NoveltySearch, count: int, seeds: list[int], states: list[SearchState], batches: int
) -> Generator[_Step, None, None]:
    keys = [jax.random.key(seed) for seed in seeds]
    steps = compute_generations(search, keys, states, count, batches)
    with contextlib.closing(steps):
        for number, after in enumerate(steps, 1):
            for _, generation in after:
                check_generation(search, number, generation)
            offspring = stack_trees([generation.offspring for _, generation in after])
            yield offspring, [state for state, _ in after]


@eqx.filter_jit
def _find_cells_by_seed(
    cells: Cells | Tessellation, individuals: Population
) -> Bool[Array, "s cells"]:
    return jax.vmap(cells.find_visited_cells)(individuals)


def _compute_mean_eta_and_kappa_share(q: Float[np.ndarray, "k k"]) -> tuple[float, float]:
    ratio, at_birth = cycling.compute_eta(q), np.diag(q)[:, None]
    finite = ratio[np.isfinite(ratio)]
    share = cycling.compute_kappa_share(q / np.where(at_birth > 0, at_birth, 1.0), MARGIN)
    return finite.mean() if finite.size else np.nan, share.mean()


@eqx.filter_jit
def _mean_novelty(
    estimator: Any, states: SearchState, behaviors: Float[Array, "s n d"]
) -> Float[Array, " s"]:
    """The mean novelty of a kept population by the state of now, of every seed: Q(i, j)."""

    def mean(state: SearchState, points: Float[Array, "n d"]) -> Float[Array, ""]:
        return score_novelty(estimator, state.estimator, points, state.population).mean()

    return jax.vmap(mean)(states, behaviors)
