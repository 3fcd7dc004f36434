"""The nearest neighbours of points, found exactly: every distance is measured, block by block."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

CHUNK = 128  # queries at once
BLOCK = 4096  # references at once: CHUNK * BLOCK distances are all that is kept, and stay in the cache
ORDERED = 1024  # queries, from which on ordering pays
ROUNDING = 0.999  # by which a block must be farther than what is found, to be left out
GROUP = 16  # references of which only the nearest takes part in the first of a block's two choices
UNROLLED = 16  # dimensions summed in one compiled expression; XLA's CPU code is several times slower with 8 or 32


class References(NamedTuple):
    """Points among which neighbours are looked for."""

    point: Float[Array, "m d"]
    present: Bool[Array, " m"]
    """rows that count"""


@partial(jax.jit, static_argnames="count")
def nearest(queries: Float[Array, "n d"], references: References, count: int) -> Float[Array, "n {count}"]:
    """The squared distances from each query to its `count` nearest references, sorted; infinite where there are fewer.

    Exact up to the rounding of float32 differences; their squares lose distances below 1e-19. Memory follows neither
    queries, taken in chunks, nor references, in blocks. A chunk visits the nearest block first, until what is left lies
    beyond all that it has found. Many queries in the plane or in space are put into tiles before.
    """
    n, d = queries.shape
    if n == 0:
        return jnp.zeros((0, count), jnp.float32)
    ordered = d <= 3 and n >= ORDERED
    chunks = -(-n // CHUNK)
    size = -(-n // chunks)
    order = tiled(queries, size) if ordered else slice(None)
    padded = jnp.pad(queries[order], ((0, chunks * size - n), (0, 0)), mode="edge").reshape(chunks, size, d)
    blocks = _blocks(references, ordered)
    found = jax.lax.map(lambda chunk: _search(chunk.T, blocks, count).T, padded).reshape(-1, count)[:n]
    return jnp.zeros_like(found).at[order].set(found)


def tiled(points: Float[Array, "m d"], size: int) -> Int[Array, " m"]:
    """Rows in an order in which each `size` of them lie close: slabs along the first axis, cut along the next.

    A slab, a place in it, rounded, and a row share an integer: XLA's CPU code sorts integers several times faster than
    pairs. Source: Leutenegger et al. 1997, doi:10.1109/ICDE.1997.582015.
    """
    m, d = points.shape
    bits = (m - 1).bit_length()
    cuts = min(math.ceil((m / size) ** (1 / d)), 2 ** ((31 - bits) // d))
    finite = jnp.isfinite(points)
    low = jnp.min(jnp.where(finite, points, jnp.inf), axis=0)
    high = jnp.max(jnp.where(finite, points, -jnp.inf), axis=0)
    place = jnp.where(finite, (points - low) / jnp.maximum(high - low, 1e-30), 1.0)
    order = jnp.arange(m)
    for axis in range(d):
        slabs = cuts**axis
        places = 1 << (31 - bits - (slabs - 1).bit_length())
        cell = jnp.minimum(place[order, axis] * places, places - 1).astype(jnp.int32)
        slab = jnp.arange(m) // -(-m // slabs)
        order = jnp.sort(((slab * places + cell) << bits) | order) & ((1 << bits) - 1)
    return order


class _Blocks(NamedTuple):
    """References in blocks of equal size, whole groups of them."""

    point: Float[Array, "blocks rows d"]
    present: Bool[Array, "blocks rows"]
    low: Float[Array, "blocks #d"]
    high: Float[Array, "blocks #d"]
    """a block's points lie between, somewhere where they are in no order; infinitely far where it has none"""


def _blocks(references: References, ordered: bool) -> _Blocks:
    point, present = references
    m, d = point.shape
    number = -(-m // BLOCK)
    if ordered:
        order = tiled(jnp.where(present[:, None], point, jnp.inf), BLOCK)
        point, present = point[order], present[order]
    rows = -(-m // (number * GROUP)) * GROUP
    extra = number * rows - m
    point = jnp.pad(point, ((0, extra), (0, 0))).reshape(number, rows, d)
    present = jnp.pad(present, (0, extra)).reshape(number, rows)
    low, high = point if ordered else -jnp.inf, point if ordered else jnp.inf
    low = jnp.min(jnp.where(present[..., None], low, jnp.inf), axis=1)
    high = jnp.max(jnp.where(present[..., None], high, -jnp.inf), axis=1)
    return _Blocks(point, present, low, high)


def _search(queries: Float[Array, "d n"], blocks: _Blocks, count: int) -> Float[Array, "{count} n"]:
    """The smallest squared distances to the references, the nearest block first."""
    n, (number, rows) = queries.shape[1], blocks.present.shape
    groups = rows // GROUP
    nothing = jnp.full((count, n), jnp.inf, jnp.float32)
    apart = jnp.maximum(blocks.low - jnp.max(queries, axis=1), jnp.min(queries, axis=1) - blocks.high)
    gap = jnp.sum(jnp.maximum(apart, 0) ** 2, axis=1)
    order = jnp.argsort(gap)

    def matters(state) -> Bool[Array, ""]:
        i, best = state
        return (i < number) & ~(gap[order[jnp.minimum(i, number - 1)]] * ROUNDING >= jnp.max(best[-1]))

    def block(state):
        i, best = state
        point, present = blocks.point[order[i]], blocks.present[order[i]]
        distances = jnp.where(present[:, None], squared_distances(queries, point), jnp.inf).reshape(GROUP, groups, n)
        if groups > count:  # the groups with the smallest minima hold the smallest distances
            # A loop, because XLA's CPU code for jnp.min over the first axis takes longer than the distances do.
            minima = jax.lax.fori_loop(1, GROUP, lambda i, low: jnp.minimum(low, distances[i]), distances[0])
            group = jax.lax.top_k(-minima.T, count)[1].T
            distances = jnp.take_along_axis(distances, group[None], axis=1)
        candidates = jnp.concatenate([best, distances.reshape(-1, n)])
        return i + 1, -jax.lax.top_k(-candidates.T, count)[0].T

    return jax.lax.while_loop(matters, block, (0, nothing))[1]


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
