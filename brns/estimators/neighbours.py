"""The nearest neighbours of points, found exactly: every distance is measured."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

CHUNK = 128  # queries at once: their distances to all references are kept
GROUP = 16  # references of which only the nearest takes part in the first of two choices
# dimensions summed in one compiled expression; XLA's CPU code is several times slower with 8 or 32
UNROLLED = 16


class References(NamedTuple):
    """Points among which neighbours are looked for."""

    point: Float[Array, "m d"]
    present: Bool[Array, " m"]
    """rows that count"""


@partial(jax.jit, static_argnames="count")
def nearest_squared_distances(
    queries: Float[Array, "n d"], references: References, count: int
) -> Float[Array, "n {count}"]:
    """Squared distances to each query's `count` nearest references, sorted; infinite where fewer.

    Exact up to the rounding of float32 differences; their squares lose distances below 1e-19.
    Memory follows the references alone, since queries are taken in chunks.
    """
    n, (m, d) = len(queries), references.point.shape
    if n == 0:
        return jnp.zeros((0, count), jnp.float32)
    rows = -(-max(m, count) // GROUP) * GROUP
    point = jnp.pad(references.point, ((0, rows - m), (0, 0)))
    present = jnp.pad(references.present, (0, rows - m))
    chunks = -(-n // CHUNK)
    size = -(-n // chunks)
    padded = jnp.pad(queries, ((0, chunks * size - n), (0, 0)), mode="edge")

    def search(chunk: Float[Array, "s d"]) -> Float[Array, "s k"]:
        distances = jnp.where(present[:, None], squared_distances(chunk.T, point), jnp.inf)
        distances = distances.reshape(GROUP, -1, size)
        if rows // GROUP > count:  # the groups with the smallest minima hold the smallest distances
            # A loop: XLA's jnp.min over the first axis takes longer on a CPU than the distances.
            minima = jax.lax.fori_loop(
                1, GROUP, lambda i, low: jnp.minimum(low, distances[i]), distances[0]
            )
            group = jax.lax.top_k(-minima.T, count)[1].T
            distances = jnp.take_along_axis(distances, group[None], axis=1)
        return -jax.lax.top_k(-distances.reshape(-1, size).T, count)[0]

    return jax.lax.map(search, padded.reshape(chunks, size, d)).reshape(-1, count)[:n]


def squared_distances(
    queries: Float[Array, "d n"], points: Float[Array, "m d"]
) -> Float[Array, "m n"]:
    """The squared distance between every point and every query, from their differences."""

    def add_squared_differences(total, q, p):
        for i in range(q.shape[0]):
            total = total + (p[:, i, None] - q[i]) ** 2
        return total

    def add_next_block_of_axes(i, total):
        part = i * UNROLLED
        q = jax.lax.dynamic_slice_in_dim(queries, part, UNROLLED, axis=0)
        p = jax.lax.dynamic_slice_in_dim(points, part, UNROLLED, axis=1)
        return add_squared_differences(total, q, p)

    d = queries.shape[0]
    rest = d - d % UNROLLED
    nothing = jnp.zeros((points.shape[0], queries.shape[1]), jnp.float32)
    total = add_squared_differences(nothing, queries[rest:], points[:, rest:])
    return jax.lax.fori_loop(0, d // UNROLLED, add_next_block_of_axes, total) if rest else total
