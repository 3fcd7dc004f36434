r"""Cycling in behavior space: does what was visited become novel again?

Source: Salehi, Coninx & Doncieux, GECCO 2021, section 4; R and `regained` are ours. Of these square
matrices only the entries j >= i are read; the others are NaN. Rows may be any increasing
generations, such as every tenth. If novelty remembers, Q falls along a row.

$Q(i, j) = \frac{1}{\mu} \sum_{x \in P_i} \Omega^j(x)$ for $j \ge i$ is in the estimator's unit. R
has none: it is the rank of $P_i$ among m fixed probes U, drawn uniformly from the behavior space,

$R(i, j) = \frac{1}{\mu m} \sum_{x \in P_i} \sum_{u \in U}
(\mathbb{I}[\Omega^j(u) < \Omega^j(x)] + \tfrac12 \mathbb{I}[\Omega^j(u) = \Omega^j(x)])$

the share of the space that is less novel than $P_i$; no increasing transformation of novelty
changes it. Where all points of the box are far from what can be reached, it says nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from brns.core import Population
from brns.core.novelty import score_novelty, use_float32
from brns.metrics.recorded import NoveltySearch, Numbers, Record, require_states
from brns.progress import show_progress_of

PROBES = 256
"""uniform points that stand for the behavior space: R's error is below 1 / (2 sqrt(256)) = 0.03"""
BLOCK = 512
"""individuals scored at once: enough to fill a processor, but wasting little of the last block"""
MARGIN = 0.1
"""by how much a rank must rise to count: three times R's error"""
PAIRS = 10**6
"""of points, from whose distances epsilon's median is taken"""
MANY = 100
"""states, which take seconds: a bar is shown"""


@runtime_checkable
class Embeds(Protocol):
    """An estimator whose novelty is a distance: of behaviors, or in a space such as that of xi*."""

    def embed(self, state: PyTree, descriptors: Float[Array, "n d"]) -> Float[Array, "n e"]:
        """Where descriptors lie in that space.

        Args:
            state: the estimator's.
            descriptors: `(n, d)` in the units of the behavior space.

        Returns:
            `(n, e)`.
        """


class Cycling(NamedTuple):
    """The statistics of one run."""

    generations: Int[np.ndarray, " g"]
    """of the rows and columns of Q"""
    q: Float[np.ndarray, "g g"]
    """Q(i, j), NaN where j < i; in the estimator's own unit"""
    epsilon: float
    """kappa's margin"""
    eta: Float[np.ndarray, " g-1"]
    kappa: Float[np.ndarray, " g-1"]
    kappa_share: Float[np.ndarray, " g-1"]
    r: Float[np.ndarray, "g g"]
    """R(i, j), NaN where j < i; in [0, 1]"""
    regained: Float[np.ndarray, " g-1"]


_CACHE: WeakKeyDictionary[Any, dict[Any, tuple[NoveltySearch, Cycling]]] = WeakKeyDictionary()
"""a record's search and statistics by generations, for which summaries and figures ask again"""


def cycling_of_record(
    record: Record, generations: Sequence[int] | None = None, search: NoveltySearch | None = None
) -> Cycling:
    """Q, epsilon, eta, kappa, R and novelty regained of a run whose states were kept. The result is
    kept as long as the record is.

    Args:
        record: the run.
        generations: some of `record.generations_with_states`, two or more in order; by default all.
        search: the experiment, needed where a part of it is your own and the record was not given
            it.

    Returns:
        The statistics; row and column i are of generation `generations[i]`.

    Raises:
        ValueError: where the run does not have these states.
    """
    what = "Q(i, j), on which eta and kappa rest,"
    generations = require_states(record, what, generations, least=2)
    search = search or record.search
    cache = _CACHE.setdefault(record, {})
    key = tuple(generations)
    if key not in cache or cache[key][0] is not search:
        q, r = compute_q_and_rank_matrices(record, generations, search)
        margin = _compute_epsilon_of_record(record, generations, search, q)
        kappas = compute_kappa(q, margin), compute_kappa_share(q, margin)
        regained = compute_regain_share(r)
        rows = np.asarray(generations)
        cache[key] = search, Cycling(rows, q, margin, compute_eta(q), *kappas, r, regained)
    return cache[key][1]


def _compute_epsilon_of_record(
    record: Record, generations: list[int], search: NoveltySearch, q: Float[np.ndarray, "g g"]
) -> float:
    """Epsilon of a run's populations, in the space in which the estimator embeds them.

    Recognition's novelty is a squared distance; it is compared with a distance all the same, as in
    the paper. For novelty that is no distance, such as a rarity, the margin is ours: a tenth of the
    median Q(i, i).
    """
    if not isinstance(search.estimator, Embeds):
        return float(0.1 * np.median(np.abs(np.diagonal(q))))
    points = record.column("survivors.descriptor", generations)
    state = record.state(generations[-1], search)
    with use_float32():
        points = jnp.asarray(points.reshape(-1, points.shape[-1]))
        return compute_epsilon_from_median_distance(search.estimator.embed(state.estimator, points))


def compute_q_and_rank_matrices(
    record: Record, generations: list[int], search: NoveltySearch
) -> tuple[Float[np.ndarray, "g g"], Float[np.ndarray, "g g"]]:
    """Q(i, j) and R(i, j) for j >= i, and NaN elsewhere.

    One state is in memory at a time: it scores the probes, and once each who survived until then.
    """
    points = record.column("survivors.descriptor", generations)
    g, mu, d = points.shape
    _, first, row = np.unique(
        record.column("survivors.id", generations), return_index=True, return_inverse=True
    )
    probes = np.asarray(search.task.behavior_space.uniform(jax.random.key(0), PROBES))
    row = row.reshape(g, mu) + PROBES
    everyone = np.concatenate([probes, points.reshape(g * mu, d)[first]])
    counts = np.maximum.accumulate(row.max(axis=1)) + 1
    padded = np.pad(everyone, ((0, -len(everyone) % BLOCK), (0, 0)))
    blocks = jnp.asarray(padded.reshape(-1, BLOCK, d))
    q, r = np.full((2, g, g), np.nan)
    steps = show_progress_of(generations, "scoring", g, visible=g >= MANY)
    for j, number in enumerate(steps):
        state = record.state(number, search)
        used = jnp.int32(-(-counts[j] // BLOCK))
        arguments = search.estimator, state.estimator, state.population, blocks, used
        novelty = np.asarray(_score_individuals_in_blocks(*arguments), np.float64)
        q[: j + 1, j] = novelty[row[: j + 1]].mean(axis=1)
        r[: j + 1, j] = rank_among_probes(novelty, novelty[:PROBES])[row[: j + 1]].mean(axis=1)
    return q, r


@eqx.filter_jit
def _score_individuals_in_blocks(
    estimator: Any,
    state: PyTree,
    population: Population,
    blocks: Float[Array, "b n d"],
    used: Int[Array, ""],
) -> Float[Array, " b*n"]:
    """Omega^j in the first `used` blocks, an array so as to compile once, and NaN in the others."""

    def score_block_of_descriptors(b, novelty):
        return novelty.at[b].set(score_novelty(estimator, state, blocks[b], population))

    nothing = jnp.full(blocks.shape[:2], jnp.nan, jnp.float32)
    return jax.lax.fori_loop(0, used, score_block_of_descriptors, nothing).ravel()


def rank_among_probes(
    novelty: Float[Numbers, " n"], probes: Float[Numbers, " m"]
) -> Float[np.ndarray, " n"]:
    """The share of probes that are less novel than each individual; ties count half.

    Args:
        novelty: of the individuals, `(n,)`.
        probes: novelty of the probes by the same state, `(m,)`.

    Returns:
        From 0 to 1, `(n,)`.
    """
    ordered = np.sort(np.asarray(probes))
    below = np.searchsorted(ordered, novelty, "left")
    up_to = np.searchsorted(ordered, novelty, "right")
    return (below + up_to) / (2 * len(ordered))


def compute_eta(q: Float[Numbers, "g g"]) -> Float[np.ndarray, " g-1"]:
    r"""$\eta(i) = \mathbb{E}_{j > i} [Q(i, j) / Q(i, i)]$ for every i but the last;
    below 1 where novelty fades.

    Infinite, or NaN, where Q(i, i) = 0, and NaN where it is less, as of a logarithm. The published
    code averages all pairs into one number.

    Args:
        q: Q(i, j), of which j >= i is read.

    Returns:
        One number for each i but the last.
    """
    q = _fill_past_with_infinity(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        now = np.where(np.diag(q) < 0, np.nan, np.diag(q))
        ratio = (q / now[:, None])[:-1]
    later = np.triu(np.ones(ratio.shape, bool), 1)
    return np.sum(ratio, axis=1, where=later) / later.sum(axis=1)


def compute_kappa(q: Float[Numbers, "g g"], epsilon: float) -> Float[np.ndarray, " g-1"]:
    r"""$\kappa(P_i) = \sum_{j > i^*} \mathbb{I}[Q(i, i^*) + \epsilon < Q(i, j)]$,
    $i^* = argmin_{j \ge i} Q(i, j)$.

    In how many generations the population was novel again after it had been known best, in the
    first minimum i*. The count grows with the number of generations; `compute_kappa_share` does
    not. The published script compares with the index i* in place of Q(i, i*); its numbers are not
    this kappa.

    Args:
        q: Q(i, j), of which j >= i is read.
        epsilon: the margin, in Q's unit.

    Returns:
        A count for each i but the last.
    """
    q = _fill_past_with_infinity(q)
    after = np.arange(len(q)) > q.argmin(axis=1, keepdims=True)
    again = after & (q > q.min(axis=1, keepdims=True) + epsilon)
    return again.sum(axis=1)[:-1].astype(np.float64)


def compute_kappa_share(q: Float[Numbers, "g g"], epsilon: float) -> Float[np.ndarray, " g-1"]:
    """kappa per later generation, in [0, 1]:
    comparable between runs of different lengths and strides.

    Args:
        q: Q(i, j), of which j >= i is read.
        epsilon: the margin, in Q's unit.

    Returns:
        A share for each i but the last.
    """
    count = compute_kappa(q, epsilon)
    return count / np.arange(len(count), 0, -1)


def compute_regain_share(r: Float[Numbers, "g g"]) -> Float[np.ndarray, " g-1"]:
    r"""The share of later generations in which $P_i$ is novel again; in [0, 1],
    for every i but the last.

    The share of $j > i$ with $R(i, j) > \min_{i \le k \le j} R(i, k) + \delta$ and
    $R(i, j) \ge \max(R(i, i), \tfrac12) - \delta$: the rank fell, rose again by more than the
    margin $\delta$, and is back where it was when the population lived, among the more novel half
    of the space. So a population that was among the most novel does not count when all novelty
    becomes equal, nor founders whose rank was low because they crowd at the start, and whose place
    others visit less from then on. Ours.

    Args:
        r: R(i, j), of which j >= i is read.

    Returns:
        A share for each i but the last.
    """
    r = _fill_past_with_infinity(r)
    least = np.minimum.accumulate(r, axis=1)
    lived = np.maximum(np.diag(r), 1 / 2)[:, None]
    back = (r > least + MARGIN) & (r >= lived - MARGIN)
    return back.sum(axis=1)[:-1] / np.arange(len(r) - 1, 0, -1)


def compute_epsilon_from_median_distance(points: Float[Numbers, "n e"]) -> float:
    """0.1 x the median distance between pairs; section 4. The published code takes 0.1 x the box's
    diagonal.

    Of more than a million pairs a million are drawn, always the same: the median's rank is within
    0.1 % of the middle.

    Args:
        points: `(n, e)` in the space in which novelty is measured.

    Returns:
        A distance in that space.
    """
    points = np.asarray(points, np.float64)
    n = len(points)
    if n * (n - 1) // 2 <= PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        generator = np.random.default_rng(0)
        first = generator.integers(n, size=PAIRS)
        second = (first + generator.integers(1, n, size=PAIRS)) % n
    distances = []
    for i, j in zip(np.array_split(first, 20), np.array_split(second, 20), strict=True):
        distances.append(np.linalg.norm(points[i] - points[j], axis=1))
    return float(0.1 * np.median(np.concatenate(distances)))


def _fill_past_with_infinity(q: Float[Numbers, "g g"]) -> Float[np.ndarray, "g g"]:
    """Q, or R, infinite where j < i."""
    q = np.asarray(q, np.float64)
    upper = np.triu(np.ones(q.shape, bool))
    if len(q) < 2 or not np.isfinite(q[upper]).all():
        raise ValueError(
            f"eta and kappa need Q of at least 2 generations, finite where j >= i; got {q}"
        )
    return np.where(upper, q, np.inf)
