"""Cells that are cones: which of a few random directions a behavior lies most along."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from brns.estimators.features import draw_axis_subsets

MOST_GROUPS = 4  # of directions that a table has; by turns one has two, three and four
DIRECTIONS = 16  # of a group
SPREAD = 0.7  # of the cones' tips, in standard deviations of the founders


class Cones(NamedTuple):
    """The position of the cones of every table; drawn once."""

    axis: Int[Array, "tables groups directions"]
    """numbers of the directions"""
    shift: Float[Array, "tables groups directions"]
    """of the tips, in standard deviations of the founders"""
    multiplier: UInt32[Array, "tables groups"]
    """odd numbers, by which a cone finds its row; 0 for a group that a table does not have"""


def draw_cone_hashes(key: Key[Array, ""], tables: int, directions: int) -> Cones:
    """Random hashes: for each table groups of axes or shared directions, each with a random tip."""
    choose, place, row = jax.random.split(key, 3)
    number = min(DIRECTIONS, directions)
    axis = draw_axis_subsets(choose, tables * MOST_GROUPS, directions, number)
    axis = axis.reshape(tables, MOST_GROUPS, number)
    shift = SPREAD * jax.random.normal(place, axis.shape, jnp.float32)
    groups = 2 + np.arange(tables) % (MOST_GROUPS - 1)
    has = np.arange(MOST_GROUPS) < groups[:, None]
    multiplier = jnp.where(has, jax.random.bits(row, has.shape, jnp.uint32) | 1, 0)
    return Cones(axis, shift, multiplier)


def hash_projections_to_cones(
    cones: Cones,
    along: Float[Array, "axes n"],
    unit: Float[Array, " axes"],
    spread: Float[Array, ""],
) -> UInt32[Array, "tables n"]:
    """In which cones behaviors lie, as a number for each table.

    A cone of a group: along which of its directions a behavior lies furthest from the tip, and on
    which side (Andoni et al. 2015, arXiv:1509.02897).
    """

    def find_cone(group: tuple[Array, ...]) -> UInt32[Array, " n"]:
        # Direction by direction, so that the compiler makes one loop over behaviors of it. The
        # furthest is found in rounds of pairs: compared one after another, JAX 0.12 would compile
        # each anew for every later one, where there are several seeds.
        rivals = []
        for number, (axis, shift, unit) in enumerate(zip(*group, strict=True)):
            place = (along[axis] + shift) * unit
            rivals.append((jnp.abs(place), 2 * number + (place > 0).astype(jnp.uint32)))
        while len(rivals) > 1:
            pairs = zip(rivals[::2], rivals[1::2], strict=False)
            rivals = [*itertools.starmap(_choose_further, pairs), *rivals[len(rivals) // 2 * 2 :]]
        return rivals[0][1]

    units = unit[cones.axis]
    group = (cones.axis, spread * cones.shift / units, units)
    group = jax.tree.map(lambda x: x.reshape(-1, x.shape[2]), group)
    group = jax.lax.optimization_barrier(group)
    cone = jax.lax.map(find_cone, group).reshape(*cones.multiplier.shape, along.shape[1])
    return jnp.sum(cone * cones.multiplier[:, :, None], axis=1, dtype=jnp.uint32)


def _choose_further(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, ...]:
    """Of two distances and cones the further, or the first."""
    further = second[0] > first[0]
    return jnp.where(further, second[0], first[0]), jnp.where(further, second[1], first[1])
