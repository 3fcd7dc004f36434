"""The nearest neighbours of points, found exactly: every distance is measured, block by block."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int, Num

CHUNK = 128  # queries at once
BLOCK = 2048  # references at once: CHUNK * BLOCK distances are all that is kept, and stay in the cache
GROUP = 16  # references of which only the nearest takes part in the first of a block's two tournaments
UNROLLED = 16  # dimensions summed in one compiled expression; XLA's CPU code is several times slower with 8 or 32


class References(NamedTuple):
    """Points among which neighbours are looked for."""

    point: Float[Array, "m d"]
    present: Bool[Array, " m"]
    """rows that count; nothing is measured beyond the block of the last of them"""


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
    """`extra` rows at the end, infinitely far, which are never among the smallest."""
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
