r"""Cycling in behavior space: does what was visited become novel again?

Source: Salehi, Coninx & Doncieux, GECCO 2021, section 4. With $\Omega^j$ the novelty function of generation j and
$P_i$ the population of generation i, of $\mu$ individuals,

$Q(i, j) = \frac{1}{\mu} \sum_{x \in P_i} \Omega^j(x)$, for $j \ge i$.

A novelty that remembers has Q fall along a row. Q is a square matrix of which only the entries j >= i are read; the
others are NaN. Its rows may be any increasing generations, such as every tenth: "generation" then means one of those.

Q has its estimator's unit, and kappa's margin is a distance while novelty may be a squared one. Beside the paper's
statistics stands `regained`, which means the same for every estimator: it is made of ranks R, as `matrices` says.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from scipy.spatial.distance import pdist

from brns.metrics.matrices import kept, matrices, q_matrix
from brns.metrics.recorded import NoveltySearch, Record, survivors


@runtime_checkable
class Embeds(Protocol):
    """An estimator whose novelty is a distance in some space: behavior space, or one of its own as that of xi*."""

    def embed(self, state: PyTree, descriptors: Float[Array, "n d"]) -> Float[Array, "n e"]: ...


class Cycling(NamedTuple):
    """The statistics of one run."""

    generations: Int[np.ndarray, " g"]
    """those that the rows and columns of Q stand for"""
    q: Float[np.ndarray, "g g"]
    """Q(i, j), NaN where j < i; in the estimator's own unit"""
    epsilon: float
    """the margin of kappa"""
    eta: Float[np.ndarray, " g-1"]
    kappa: Float[np.ndarray, " g-1"]
    kappa_share: Float[np.ndarray, " g-1"]
    r: Float[np.ndarray, "g g"]
    """R(i, j), NaN where j < i; in [0, 1]"""
    regained: Float[np.ndarray, " g-1"]


MARGIN = 0.1
"""by how much a rank must rise to count: three times the error of R by the number of probes"""


_OF_RECORDS: WeakKeyDictionary[Any, dict[tuple[int, ...], tuple[NoveltySearch, Cycling]]] = WeakKeyDictionary()
"""what was found of records by their search, by the generations: summaries, figures and reports ask for the same"""


def of_record(record: Record, generations: Sequence[int] | None = None, search: NoveltySearch | None = None) -> Cycling:
    """Q, epsilon, eta, kappa, R and novelty regained of a run; the arguments are those of `q_matrix`.

    It is computed once while the record is there and the search is the same.
    """
    generations, search = kept(record, generations), search or record.search
    known = _OF_RECORDS.setdefault(record, {})
    by, found = known.get(tuple(generations), (None, None))
    if found is None or by is not search:
        found = _found(record, generations, search)
        known[tuple(generations)] = search, found
    return found


def _found(record: Record, generations: list[int], search: NoveltySearch) -> Cycling:
    q, r = matrices(record, generations, search)
    embeds = isinstance(search.estimator, Embeds)
    margin = epsilon_of_record(record, generations, search) if embeds else _tenth(q)
    return Cycling(
        generations=np.asarray(generations),
        q=q,
        epsilon=margin,
        eta=eta(q),
        kappa=kappa(q, margin),
        kappa_share=kappa_share(q, margin),
        r=r,
        regained=regained(r),
    )


def eta(q: Float[Array | np.ndarray, "g g"]) -> Float[np.ndarray, " g-1"]:
    r"""$\eta(i) = \mathbb{E}_{j > i} [Q(i, j) / Q(i, i)]$ for every i but the last; below 1 where novelty fades.

    Infinite, or NaN, where Q(i, i) = 0. The published code averages all pairs into one number.
    """
    ratio = relative(q)[:-1]
    later = _later(ratio.shape[1])[:-1]
    return np.sum(ratio, axis=1, where=later) / later.sum(axis=1)


def kappa(q: Float[Array | np.ndarray, "g g"], epsilon: float) -> Float[np.ndarray, " g-1"]:
    r"""$\kappa(P_i) = \sum_{j > i^*} \mathbb{I}[Q(i, i^*) + \epsilon < Q(i, j)]$, $i^* = argmin_{j \ge i} Q(i, j)$.

    For every i but the last: how often what was visited became novel again after it had been known best. `i*` is the
    first minimum. A count, so it grows with the number of generations; `kappa_share` does not.

    The published script compares with the index i* in place of the minimum Q(i, i*); its numbers are not this kappa.
    """
    q = _checked(q)
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"kappa's margin epsilon must be a finite number from 0 on; got {epsilon}")
    known = np.where(_from_then(len(q)), q, np.inf)
    best = known.argmin(axis=1)[:, None]
    after = np.arange(len(q)) > best
    return np.sum(after & (known > known.min(axis=1, keepdims=True) + epsilon), axis=1)[:-1].astype(np.float64)


def kappa_share(q: Float[Array | np.ndarray, "g g"], epsilon: float) -> Float[np.ndarray, " g-1"]:
    """kappa per remaining generation, in [0, 1]: comparable between runs of different length, and strides."""
    count = kappa(q, epsilon)
    return count / np.arange(len(count), 0, -1)


def relative(q: Float[Array | np.ndarray, "g g"]) -> Float[np.ndarray, "g g"]:
    """Q(i, j) / Q(i, i): without unit, so comparable between estimators; NaN where j < i."""
    q = _checked(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = q / np.diag(q)[:, None]
    return np.where(_from_then(len(q)), ratio, np.nan)


def regained(r: Float[Array | np.ndarray, "g g"]) -> Float[np.ndarray, " g-1"]:
    r"""The share of later generations in which $P_i$ is novel again; in [0, 1], for every i but the last.

    The share of $j > i$ with $R(i, j) > \min_{i \le k \le j} R(i, k) + \delta$ and $R(i, j) \ge R(i, i) - \delta$:
    its rank had fallen, rose again by more than the margin $\delta$, and is back where it was when the population
    lived. That all novelty becomes equal, so that ranks near one half mean little, does not count for a population that
    was among the most novel. Ours; the paper has no such statistic.
    """
    r = _checked(r)
    least = np.minimum.accumulate(np.where(_from_then(len(r)), r, np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        back = (r > least + MARGIN) & (r >= np.diag(r)[:, None] - MARGIN) & _later(len(r))
    return back.sum(axis=1)[:-1] / np.arange(len(r) - 1, 0, -1)


def tells(r: Float[Array | np.ndarray, "g g"]) -> bool:
    """Whether ranks can rise by the margin at all: a population was once more novel than that share of the space."""
    return bool(np.nanmax(r) > MARGIN)


def share_below_one(eta: Float[Array | np.ndarray, " n"]) -> float:
    """The share of generations with eta < 1, for which the paper's inequality holds."""
    return float(np.mean(np.asarray(eta) < 1))


def epsilon(points: Float[Array | np.ndarray, "n e"], most: int = 10**6) -> float:
    """0.1 x the median distance between pairs of vectors of the space in which novelty is measured; section 4.

    Where there are more than `most` pairs, as many are drawn, always the same: a million put the median's rank within
    0.1 % of the middle. Pairs and not points are drawn, because a sample of points can miss how a population clumps.
    Departs from the published code, which takes 0.1 x the box's diagonal or largest distance.
    """
    points = np.asarray(points, np.float64)
    n = len(points)
    if n < 2 or not np.isfinite(points).all():
        raise ValueError(f"epsilon needs at least 2 points, all finite; got {n}, finite: {np.isfinite(points).all()}")
    if n * (n - 1) // 2 <= most:
        return float(0.1 * np.median(pdist(points)))
    generator = np.random.default_rng(0)
    first = generator.integers(n, size=most)
    second = (first + generator.integers(1, n, size=most)) % n
    parts = zip(np.array_split(first, 20), np.array_split(second, 20), strict=True)
    return float(0.1 * np.median(np.concatenate([np.linalg.norm(points[i] - points[j], axis=1) for i, j in parts])))


def epsilon_of_record(
    record: Record, generations: Sequence[int] | None = None, search: NoveltySearch | None = None
) -> float:
    """The margin of a run: over its populations, in the space in which the estimator embeds them.

    The paper's margin is a distance. Recognition's novelty is a squared distance, and the two are compared as they
    stand, as in the paper. Novelty that is no distance in any space, such as a rarity, has a margin of its own unit:
    a tenth of the median novelty Q(i, i) that populations had when they lived. Ours.
    """
    search, generations = search or record.search, kept(record, generations)
    if not isinstance(search.estimator, Embeds):
        return _tenth(q_matrix(record, generations, search))
    points = survivors(record, "descriptor", generations)
    state = record.state(generations[-1], search)
    return epsilon(_embedded(search.estimator, state.estimator, jnp.asarray(points.reshape(-1, points.shape[-1]))))


@eqx.filter_jit
def _embedded(estimator: Embeds, state: PyTree, points: Float[Array, "n d"]) -> Float[Array, "n e"]:
    return estimator.embed(state, points)


def _tenth(q: Float[np.ndarray, "g g"]) -> float:
    """A tenth of the novelty that populations had when they lived."""
    return float(0.1 * np.median(np.diagonal(q)))


def _later(g: int) -> np.ndarray:
    """The pairs j > i."""
    return np.triu(np.ones((g, g), bool), 1)


def _from_then(g: int) -> np.ndarray:
    """The pairs j >= i."""
    return np.triu(np.ones((g, g), bool))


def _checked(q: Float[Array | np.ndarray, "g g"]) -> Float[np.ndarray, "g g"]:
    q = np.asarray(q, np.float64)
    if len(q) < 2:
        raise ValueError(f"eta and kappa need Q of at least 2 generations; got {len(q)}")
    rows, columns = np.nonzero(np.triu(~np.isfinite(q)))
    if rows.size:
        raise ValueError(
            f"Q(i, j) must be finite where j >= i; {rows.size} entries are not, first i={rows[0]}, j={columns[0]}"
        )
    return q
