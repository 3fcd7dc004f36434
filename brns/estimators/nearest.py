"""Novelty as the mean distance to the nearest neighbours: with an archive, and within the population alone."""

from functools import partial
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, Key, Num

from brns.core import Box, Generation, Population, take, unite

CHUNK = 128  # queries at once
BLOCK = 2048  # references at once: CHUNK * BLOCK distances are all that is kept, and stay in the cache
GROUP = 16  # references of which only the nearest takes part in the first of a block's two tournaments
UNROLLED = 16  # dimensions summed in one compiled expression; XLA's CPU code is several times slower with 8 or 32


class Archive(NamedTuple):
    """Individuals kept for good, or until the archive is full. Entries fill the rows from 0 on, without gaps."""

    descriptor: Float[Array, "capacity d"]
    id: Int[Array, " capacity"]
    """-1 in empty rows"""
    novelty: Float[Array, " capacity"]
    """as scored when it entered"""
    born: Int[Array, " capacity"]
    """the generation of birth"""
    entered: Int[Array, " capacity"]
    """the generation in which it entered"""


class ArchiveKNN(eqx.Module):
    r"""Novelty as sparseness among an archive and the population.

    $\rho(x) = \frac{1}{k} \sum_{i=1}^{k} \lVert x - \mu_i \rVert_2$ with $\mu_1 \dots \mu_k$ the nearest neighbours of
    $x$ in the reference set $R = A \cup P$: the archive and the population passed to `score`. R is a set of
    individuals: an archive entry whose id is in the population counts once.

    An individual is never its own neighbour; a duplicate behavior of another individual is one, at distance 0. `score`
    sees descriptors, not individuals, so the rule reads: of the references at distance exactly 0 from a descriptor, one
    is the point itself and is left out. Where there is none, the descriptor is a stranger and nothing is left out.

    The neighbours are exact: distances come from float32 differences, never from a matrix product.

    In each generation `growth` individuals of parents and offspring enter that are not in the archive yet, fewer if
    fewer qualify. When there is no empty row left, each takes the place of an entry.

    Source: Lehman & Stanley 2011, doi:10.1162/EVCO_a_00025; Salehi, Coninx & Doncieux, GECCO 2021, equation 1 and
    sections 3 and 5. Departs from equation 1 as printed, which sums k + 1 terms and divides by k, and from the
    published code, which averages k - 1.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in those units. A descriptor
    that is not finite has novelty NaN, which sorts last, and is nobody's neighbour.
    Errors: `ValueError` if the population has k rows or fewer.
    """

    k: int = 15
    """nearest neighbours; paper, section 5"""
    growth: int = 6
    """individuals that enter per generation; paper, section 5.1 (10 in section 5.2)"""
    capacity: int = 10000
    """largest number of entries; paper, section 5.1 (2000, 4000 and 6000 in section 5.2)"""
    entry: Literal["random", "most_novel"] = "random"
    """which individuals enter: drawn uniformly without replacement, or the most novel; published code"""
    threshold: float | None = None
    """only individuals of larger novelty enter; section 3.1's t, off by default"""
    removal: Literal["random", "oldest", "least_novel"] = "random"
    """which entries leave a full archive: random (published code), first in first out, or least novel at entry"""

    def __check_init__(self):
        _check_k(self.k)
        if not 1 <= self.growth <= self.capacity:
            raise ValueError(
                f"an archive needs 1 <= growth <= capacity; got growth={self.growth} and capacity={self.capacity}"
            )
        if self.entry not in ("random", "most_novel"):
            raise ValueError(f'ArchiveKNN.entry must be "random" or "most_novel"; got {self.entry!r}')
        if self.removal not in ("random", "oldest", "least_novel"):
            raise ValueError(f'ArchiveKNN.removal must be "random", "oldest" or "least_novel"; got {self.removal!r}')

    def init(self, space: Box, key: Key[Array, ""]) -> Archive:
        """An empty archive."""
        n = self.capacity
        nobody = jnp.full(n, -1, jnp.int32)
        return Archive(jnp.zeros((n, space.dimension), jnp.float32), nobody, jnp.zeros(n, jnp.float32), nobody, nobody)

    def score(self, state: Archive, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The mean distance to the k nearest others of A united with P."""
        archived = (state.id >= 0) & ~_isin(state.id, population.id)
        return _sparseness(self.k, descriptors, population, References(state.descriptor, archived))

    def update(self, state: Archive, generation: Generation, key: Key[Array, ""]) -> Archive:
        """The archive with `growth` individuals more."""
        key_entry, key_removal = jax.random.split(key)
        everyone = unite(generation.parents, generation.offspring)
        eligible = _finite(everyone.descriptor) & ~_isin(everyone.id, state.id)
        if self.threshold is not None:
            eligible &= everyone.novelty > self.threshold
        rank = jax.random.uniform(key_entry, eligible.shape) if self.entry == "random" else -everyone.novelty
        chosen = jnp.lexsort((rank, ~eligible))[: self.growth]

        rows = jnp.where(eligible[chosen], self._vacated(state, key_removal, chosen.shape[0]), self.capacity)
        entrants = take(everyone, chosen)
        entered = jnp.broadcast_to(generation.offspring.born[0], chosen.shape)
        entries = Archive(entrants.descriptor, entrants.id, entrants.novelty, entrants.born, entered)
        return jax.tree.map(lambda column, new: column.at[rows].set(new, mode="drop"), state, entries)

    def _vacated(self, state: Archive, key: Key[Array, ""], number: int) -> Int[Array, " number"]:
        """The rows that the next entries take: empty ones in order, then those whose entries the rule removes."""
        if self.removal == "random":
            rank = jax.random.uniform(key, state.id.shape)
        elif self.removal == "oldest":
            rank = -state.entered.astype(jnp.float32)
        else:
            rank = -state.novelty
        return jax.lax.top_k(jnp.where(state.id < 0, jnp.inf, rank), number)[1]  # of equals, the first


class PopulationKNN(eqx.Module):
    """Novelty as sparseness within the population alone: `ArchiveKNN` with an archive that stays empty.

    Source: the archive-less variant of novelty search; Salehi, Coninx & Doncieux, GECCO 2021, section 2. Shapes,
    rules and errors are those of `ArchiveKNN`.
    """

    k: int = 15
    """nearest neighbours; paper, section 5"""

    def __check_init__(self):
        _check_k(self.k)

    def init(self, space: Box, key: Key[Array, ""]) -> tuple[()]:
        """Nothing is remembered."""
        return ()

    def score(self, state: tuple[()], descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The mean distance to the k nearest others of P."""
        return _sparseness(self.k, descriptors, population)

    def update(self, state: tuple[()], generation: Generation, key: Key[Array, ""]) -> tuple[()]:
        """Nothing is learned."""
        return ()


class References(NamedTuple):
    """Points among which neighbours are looked for."""

    point: Float[Array, "m d"]
    present: Bool[Array, " m"]
    """rows that count; nothing is measured beyond the block of the last of them"""


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"novelty needs k >= 1 nearest neighbours; got k={k}")


def _isin(ids: Int[Array, " n"], others: Int[Array, " m"]) -> Bool[Array, " n"]:
    return jnp.any(ids == others[:, None], axis=0)


def _finite(descriptors: Float[Array, "n d"]) -> Bool[Array, " n"]:
    return jnp.all(jnp.isfinite(descriptors), axis=1)


def _sparseness(
    k: int, descriptors: Float[Array, "n d"], population: Population, *more: References
) -> Float[Array, " n"]:
    """The mean distance from each descriptor to its k nearest others."""
    rows = population.id.shape[0]
    if rows <= k:
        raise ValueError(
            f"k={k} nearest neighbours need more than {k} reference descriptors; got {rows}; "
            "take a larger population or a smaller k"
        )
    references = (References(population.descriptor, _finite(population.descriptor)), *more)
    distances = jnp.sqrt(nearest(descriptors, references, k + 1))
    itself = distances[:, :1] == 0
    novelty = jnp.mean(jnp.where(itself, distances[:, 1:], distances[:, :-1]), axis=1)
    return jnp.where(_finite(descriptors), novelty, jnp.nan)


@partial(jax.jit, static_argnames="count")
def nearest(queries: Float[Array, "n d"], references: tuple[References, ...], count: int) -> Float[Array, "n {count}"]:
    """The squared distances from each query to its `count` nearest references, sorted; infinite where there are fewer.

    Exact up to the rounding of float32 differences; their squares lose distances below 1e-19. Queries are taken in
    chunks and references in blocks, so that memory follows neither.
    """
    n, d = queries.shape
    chunks = max(1, -(-n // CHUNK))
    size = -(-n // chunks)
    padded = jnp.pad(queries, ((0, chunks * size - n), (0, 0))).reshape(chunks, size, d)
    whole = [_whole_groups(each) for each in references]

    def search(chunk: Float[Array, "size d"]) -> Float[Array, "size count"]:
        best = jnp.full((count, size), jnp.inf, jnp.float32)
        for each in whole:
            best = _challenge(best, chunk.T, each)
        return best.T

    return jax.lax.map(search, padded).reshape(-1, count)[:n]


def _whole_groups(references: References) -> References:
    extra = -references.present.shape[0] % GROUP
    return References(jnp.pad(references.point, ((0, extra), (0, 0))), jnp.pad(references.present, (0, extra)))


def _challenge(
    best: Float[Array, "count n"], queries: Float[Array, "d n"], references: References
) -> Float[Array, "count n"]:
    """The smallest of `best` and the squared distances to the references, block by block."""
    (count, n), m = best.shape, references.present.shape[0]
    rows = min(BLOCK, m)
    groups = rows // GROUP

    def block(i, best):
        start = jnp.minimum(i * rows, m - rows)  # the last block overlaps the one before it
        point, present = (jax.lax.dynamic_slice_in_dim(column, start, rows) for column in references)
        present &= start + jnp.arange(rows) >= i * rows
        distances = jnp.where(present[:, None], squared_distances(queries, point), jnp.inf).reshape(GROUP, groups, n)
        if groups > count:  # the groups with the smallest minima hold the smallest distances
            number = jnp.broadcast_to(jnp.arange(groups, dtype=jnp.int32)[:, None], (groups, n))
            # A loop, because XLA's CPU code for jnp.min over the first axis takes longer than the distances do.
            minima = jax.lax.fori_loop(1, GROUP, lambda i, low: jnp.minimum(low, distances[i]), distances[0])
            group = _smallest(count, minima, number)[1]
            distances = jnp.take_along_axis(distances, group[None], axis=1)
        return _smallest(count, jnp.concatenate([best, distances.reshape(-1, n)]))[0]

    used = jnp.max(jnp.where(references.present, jnp.arange(1, m + 1), 0))
    return jax.lax.fori_loop(0, (_most(used) + rows - 1) // rows, block, best)


def squared_distances(queries: Float[Array, "d n"], points: Float[Array, "m d"]) -> Float[Array, "m n"]:
    """The squared Euclidean distance between every point and every query, from their differences."""

    def add(total, q, p):
        for i in range(q.shape[0]):
            total = total + (p[:, i, None] - q[i]) ** 2
        return total

    def add_next(i, total):
        part = i * UNROLLED
        q = jax.lax.dynamic_slice_in_dim(queries, part, UNROLLED, axis=0)
        return add(total, q, jax.lax.dynamic_slice_in_dim(points, part, UNROLLED, axis=1))

    d = queries.shape[0]
    whole = d - d % UNROLLED
    total = add(jnp.zeros((points.shape[0], queries.shape[1]), jnp.float32), queries[whole:], points[:, whole:])
    return jax.lax.fori_loop(0, d // UNROLLED, add_next, total) if whole else total


def _smallest(count: int, *columns: Num[Array, "m n"]) -> list[Num[Array, "{count} n"]]:
    """In each column the `count` smallest entries of the first array, sorted, and what stands there in the others.

    A tournament of sorted lists by Batcher's bitonic network (1968): only elementwise steps over all columns at once,
    which XLA vectorises. On a CPU its own `top_k` takes about four times as long over a block's groups.
    """
    size = 1 << (count - 1).bit_length()
    extra = -columns[0].shape[0] % size
    lists = [_append(column, extra).reshape(size, -1, column.shape[1]) for column in columns]
    for width in (2**i for i in range(1, size.bit_length())):
        halves = [x.reshape(-1, 2, width // 2, *x.shape[1:]) for x in lists]
        lists = [
            jnp.concatenate([half[:, :1], half[:, 1:, ::-1]], axis=1).reshape(x.shape)
            for half, x in zip(halves, lists, strict=True)
        ]
        lists = _merge(lists, width)
    while lists[0].shape[1] > 1:
        lists = [_append(x, x.shape[1] % 2, axis=1) for x in lists]
        half = lists[0].shape[1] // 2
        winners, _ = _exchange([x[:, :half] for x in lists], [x[::-1, half:] for x in lists])
        lists = _merge(winners, size)
    return [x[:count, 0] for x in lists]


def _append(x: Num[Array, "..."], extra: int, axis: int = 0) -> Num[Array, "..."]:
    """`extra` rows more that win against nobody."""
    widths = [(0, extra if i == axis else 0) for i in range(x.ndim)]
    return jnp.pad(x, widths, constant_values=jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else 0)


def _merge(lists: list[Num[Array, "size ..."]], width: int) -> list[Num[Array, "size ..."]]:
    """Sort runs of `width` rows that first rise and then fall."""
    stride = width // 2
    while stride:
        pairs = [x.reshape(-1, 2, stride, *x.shape[1:]) for x in lists]
        low, high = _exchange([x[:, 0] for x in pairs], [x[:, 1] for x in pairs])
        lists = [jnp.stack(pair, axis=1).reshape(x.shape) for *pair, x in zip(low, high, lists, strict=True)]
        stride //= 2
    return lists


def _exchange(a: list[Num[Array, "..."]], b: list[Num[Array, "..."]]) -> tuple[list, list]:
    """The rows of smaller first entry, and those of larger."""
    swap = b[0] < a[0]
    low = [jnp.where(swap, y, x) for x, y in zip(a, b, strict=True)]
    return low, [jnp.where(swap, x, y) for x, y in zip(a, b, strict=True)]


@custom_vmap
def _most(number: Int[Array, ""]) -> Int[Array, ""]:
    """The number itself; under `vmap` the largest of the batch, so that one loop over blocks serves every seed."""
    return number


@_most.def_vmap
def _(size, batched, number):
    return (jnp.max(number) if batched[0] else number), False
