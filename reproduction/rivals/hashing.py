"""Novelty by counting visits of hash codes, for descriptors of any dimension."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

from brns.core import Box, Generation, Population, unite
from brns.estimators.features import Frame, declared, founded, in_frame, newcomers

TABLE = 18  # bits of a row's number: 262,144 counts, so that few codes share one


class HashState(NamedTuple):
    """The planes that make a code, and how often each code was seen."""

    normal: Float[Array, "d bits"]
    offset: Float[Array, " bits"]
    multiplier: UInt32[Array, " bits"]
    """random numbers whose sum over a code's ones is its row in the table"""
    frame: Frame
    visits: Int[Array, " rows"]
    seen: Int[Array, ""]


class HashCounts(eqx.Module):
    r"""Novelty as the rarity of a hash code: $1 / \sqrt{1 + N(h(b))}$, N the visits of what has b's code so far.

    $h(b) = \mathrm{sgn}(A b + c)$: one bit for each of `bits` random planes, on which side b lies. Behaviors near each
    other share their code, so this is `GridCounts` where a grid has too many cells. More bits make smaller cells.
    Codes are kept in 2^18 rows: after 20,000 codes 7 % of new ones share the row of another.

    Source: Tang et al. 2017, #Exploration, arXiv:1611.04717, with static hashing by SimHash (Charikar 2002). Departs in
    c, uniform over the founders' spread: planes through one point tell only directions apart.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in (0, 1].
    Errors: `ValueError` for `bits` below 1.
    """

    bits: int = 64
    """planes; Tang et al. take 16 to 512"""

    def __check_init__(self):
        if self.bits < 1:
            raise ValueError(f"HashCounts.bits must be at least 1; got {self.bits}")

    def init(self, space: Box, key: Key[Array, ""]) -> HashState:
        directions, places, rows = jax.random.split(key, 3)
        return HashState(
            jax.random.normal(directions, (space.dimension, self.bits)) / math.sqrt(space.dimension),
            jax.random.uniform(places, (self.bits,), minval=-1.0),
            jax.random.bits(rows, (self.bits,), jnp.uint32),
            declared(space),
            jnp.zeros(2**TABLE, jnp.int32),
            jnp.zeros((), jnp.int32),
        )

    def score(self, state: HashState, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        """The rarity of each descriptor's code; the population plays no part."""
        novelty = 1 / jnp.sqrt(1.0 + state.visits[_row(state, descriptors)])
        return jnp.where(jnp.all(jnp.isfinite(descriptors), axis=1), novelty, jnp.nan)

    def update(self, state: HashState, generation: Generation, key: Key[Array, ""]) -> HashState:
        """Each individual counted once, when it is born."""
        state = state._replace(frame=founded(state.frame, unite(generation.parents, generation.offspring)))
        new = newcomers(generation, state.seen == 0)
        everyone = unite(generation.parents, generation.offspring).descriptor
        visits = state.visits.at[_row(state, everyone)].add(new)
        return state._replace(visits=visits, seen=state.seen + jnp.sum(new))


def _row(state: HashState, descriptors: Float[Array, "n d"]) -> Int[Array, " n"]:
    """The row of each descriptor's code: the sum of the numbers of its ones, modulo 2^32, and its highest bits."""
    ones = in_frame(state.frame, descriptors) @ state.normal + state.offset > 0
    total = jnp.sum(jnp.where(ones, state.multiplier, jnp.uint32(0)), axis=1, dtype=jnp.uint32)
    return (total >> (32 - TABLE)).astype(jnp.int32)
