"""How well a novelty tells what was visited from what was not: why a method wins, without a search's chance."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.spatial import KDTree
from scipy.stats import spearmanr

from brns.comparison.worlds import Cells
from brns.core import Population, novelty_of
from brns.search import NoveltySearch, SearchState, founding

NEIGHBOURS = 15
"""of the oracle's distance, as of the archive"""


class Calibration(NamedTuple):
    """Rank correlations of novelty, Spearman's, over probes; row s is the s-th seed, column k the k-th moment.

    1 where novelty has the order of the truth, 0 where it has nothing to do with it, NaN where all are equally novel.
    """

    generation: Int[np.ndarray, " k"]
    distance: Float[np.ndarray, "s k"]
    """with the mean distance to the 15 nearest of everything seen: an archive that keeps everybody"""
    rarity: Float[np.ndarray, "s k"]
    """with how seldom the probe's cell was visited"""


def calibrated(
    search: NoveltySearch, cells: Cells, generations: int, seeds: list[int], moments: int = 10, probes: int = 500
) -> Calibration:
    """Run the search once a seed, and hold its novelty at `moments` times against everything evaluated until then.

    The probes are a sample of all that the run ever evaluates, so that at each moment some were seen and some lie where
    the search will go. `cells` are those of the suite's world.
    """
    if not 1 <= moments <= generations or probes < 3 or not seeds:
        raise ValueError(
            "a calibration needs 1 to as many moments as generations, 3 probes and a seed; got "
            f"{moments} moments, {generations} generations, {probes} probes and seeds {seeds}"
        )
    when = np.linspace(generations / moments, generations, moments).round().astype(int)
    found = np.array([_of_seed(search, cells, when, seed, probes) for seed in seeds])
    return Calibration(when, found[:, 0], found[:, 1])


def _of_seed(search: NoveltySearch, cells: Cells, when: np.ndarray, seed: int, probes: int) -> np.ndarray:
    """Both correlations at each moment: `(2, k)`."""
    states, everyone = _run(search, when, jax.random.key(seed))
    born, points = np.asarray(everyone.born), np.asarray(everyone.descriptor, np.float64)
    cell = np.asarray(cells.of(everyone))
    rows = np.random.default_rng(seed).choice(len(born), min(probes, len(born)), replace=False)
    found = []
    for generation, state in zip(when, states, strict=True):
        seen = born <= generation
        novelty = novelty_of(search.estimator, state.estimator, everyone.descriptor[rows], state.population)
        visits = np.bincount(cell[seen], minlength=cells.side**2)[cell[rows]]
        found.append([spearmanr(novelty, truth).statistic for truth in (_distance(points, seen, rows), -visits)])
    return np.array(found).T


def _run(search: NoveltySearch, when: np.ndarray, key: Key[Array, ""]) -> tuple[list[SearchState], Population]:
    """The states at these generations, and everybody evaluated, the founders first."""
    state = search.init(key)
    states, everyone = [], [founding(state).offspring]
    for generation in range(1, when[-1] + 1):
        state, facts = search.step(state, key)
        everyone.append(facts.offspring)
        if generation in when:
            states.append(state)
    return states, jax.tree.map(lambda *columns: jnp.concatenate(columns), *everyone)


def _distance(points: np.ndarray, seen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean distance of the probes to the nearest others that were seen."""
    found, _ = KDTree(points[seen]).query(points[rows], NEIGHBOURS + 1)
    itself = seen[rows]
    return np.where(itself, found[:, 1:].mean(axis=1), found[:, :-1].mean(axis=1))
