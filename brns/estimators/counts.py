"""Novelty by counting visits in random grids of every scale: the estimator to copy for your own."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from brns.checks import refuse_unless
from brns.core import Box, Generation, Population, unite
from brns.estimators.features import Frame, declared, founded, refuse_unlike, unlearned

CHUNK = 4096  # behaviors that are counted again at once
FINEST = (
    0.03  # of the founders' scale: the finest pitch of some grids where that is below the setting's
)


class Grids(NamedTuple):
    """Where the cells of every grid lie; drawn once."""

    direction: Float[Array, "grids d axes"]
    """unit vectors at right angles, every other grid's those of coordinates; zeros where a grid has fewer axes"""
    shift: Float[Array, "grids axes"]
    """in cells"""
    multiplier: UInt32[Array, "grids axes"]
    """odd numbers, by which a cell finds its row"""


class Counts(NamedTuple):
    """What the search has visited."""

    visits: Int[Array, " counters"]
    """of all grids, one after another"""
    grids: Grids
    frame: Frame
    seen: Int[Array, ""]
    """how many behaviors were counted"""
    newest: Int[Array, ""]
    """the latest generation of birth among them; -1 before the first update"""


class VisitCounts(eqx.Module):
    r"""Novelty as the rarity of visits, in random grids of every scale.

    $M(b) = \left( \frac{1}{T} \sum_{t=1}^{T} 1 / \sqrt{1 + N_t(b)} \right)^2$ with $N_t(b)$ the visits of b's cell in
    grid t. Grids lie in turn over two random coordinates and over a random plane, each with a random shift.
    Pitches lie evenly on a logarithmic axis. A grid too fine or too coarse to tell behaviors apart tells all of them
    the same, so that no scale has to be set. $1 / M - 1$ are the effective `visits`: N where all grids count N.

    Counts only grow and the function of them only falls, so that the novelty of a fixed behavior never rises, not by a
    bit. The state is grids x rows integers, and a generation of n costs $O(n T d)$, whatever was seen. Each individual
    counts once; whoever lives and is not learned yet counts when parents and offspring are scored.

    A cell finds its row by a hash. After D cells of a grid, a new one shares its row with one of them with a
    probability of $1 - (1 - 1 / \mathrm{rows})^D$; then it counts as visited there.

    Source: $1 / \sqrt{N}$ of visits as a bonus: Strehl & Littman 2008, doi:10.1016/j.jcss.2007.08.009; of hash codes:
    Tang et al. 2017, arXiv:1611.04717. Random grids as features: Rahimi & Recht 2007; for rarity in streams: Sathe &
    Aggarwal 2016, Pevny 2016; hashed counters: Cormode & Muthukrishnan 2005. With the cells of one grid as features,
    `ExactRecognition` is $1 / (1 + N)$.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in (0, 1].
    Errors: `ValueError` for settings out of range.
    """

    grids: int = 128
    """T, the number of grids"""
    rows: int = 4096
    """counters of a grid, a power of two; more for more than some 50,000 behaviors"""
    pitches: tuple[float, float] = (0.03, 6.0)
    """the finest and the coarsest, of half the box; every eighth grid may be finer, where founders are narrow: they may
    be alike, or the box too large"""
    axes: tuple[int, ...] = (2,)
    """how many dimensions a grid has, in turn; (2, 4, 8) where many numbers of a behavior vary each by itself"""

    def __check_init__(self):
        finest, coarsest = self.pitches
        refuse_unless(
            self,
            grids=(self.grids >= 1, "at least 1"),
            rows=(self.rows >= 1 and not self.rows & (self.rows - 1), "a power of two"),
            pitches=(0 < finest <= coarsest < math.inf, "0 < finest <= coarsest, both finite"),
            axes=(self.axes and min(self.axes) >= 1, "numbers of dimensions from 1 on"),
        )

    def init(self, space: Box, key: Key[Array, ""]) -> Counts:
        """Nothing visited: grids drawn, the box as scale."""
        turn, pick, place, row = jax.random.split(key, 4)
        d, axes = space.dimension, min(space.dimension, max(self.axes))
        own = jnp.asarray(self.axes)[jnp.arange(self.grids) // 2 % len(self.axes)]
        plane = jnp.linalg.qr(jax.random.normal(turn, (self.grids, d, axes)))[0]
        order = jax.vmap(lambda key: jax.random.permutation(key, d))(
            jax.random.split(pick, self.grids)
        )
        coordinates = jax.nn.one_hot(order[:, :axes], d, axis=1)
        direction = jnp.where(jnp.arange(self.grids)[:, None, None] % 2, plane, coordinates)
        direction *= jnp.arange(axes) < own[:, None, None]
        shift = jax.random.uniform(place, (self.grids, axes))
        grids = Grids(direction, shift, jax.random.bits(row, (self.grids, axes), jnp.uint32) | 1)
        empty = jnp.zeros(self.grids * self.rows, jnp.int32)
        return Counts(empty, grids, declared(space), jnp.int32(0), jnp.int32(-1))

    def score(
        self, state: Counts, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """The rarity of descriptors; whoever of the population is not learned yet counts as a visit."""
        novelty = 1 / (1 + self.visits(self._counted(state, population), descriptors))
        return jnp.where(jnp.all(jnp.isfinite(descriptors), axis=1), novelty, jnp.nan)

    def visits(self, state: Counts, descriptors: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Effective visits: how many of one cell, alone in every grid, make a behavior as familiar."""
        visits = state.visits.at[self._place(state, descriptors)].get(mode="promise_in_bounds")
        visits = jax.lax.optimization_barrier(
            visits
        )  # roots that are fused with the look-up take eight times as long
        return jnp.mean(1 / jnp.sqrt(1.0 + visits), axis=1) ** -2 - 1

    def update(self, state: Counts, generation: Generation, key: Key[Array, ""]) -> Counts:
        """The offspring counted, and at a search's beginning the founders."""
        # In the order in which the loop scored them, so that the compiler does the work for both once.
        state = self._counted(state, unite(generation.parents, generation.offspring))
        return state._replace(newest=jnp.max(generation.offspring.born))

    def island(self, state: Counts) -> Counts:
        """A state that has counted nothing, with the grids of `state`: those of islands can be merged.

        It begins a new search, or goes on with the one that `state` is from, whose population does not count again.
        """
        return state._replace(visits=jnp.zeros_like(state.visits), seen=jnp.int32(0))

    def merge(self, states: Sequence[Counts], since: Counts | None = None) -> Counts:
        """What several searches have visited, as one state, whatever their order: counts are added.

        What `since` holds, the state from which all of them went on, counts once. States share grids and scale if they
        began from `island(state)` or from one another; other states are a `ValueError`.
        """
        common = self.island(states[0]) if since is None else since
        refuse_unlike([(state.grids, state.frame) for state in (*states, common)])
        gains = [self.subtract(state, common) for state in states]
        return common._replace(
            visits=common.visits + sum(gain.visits for gain in gains),
            seen=common.seen + sum(gain.seen for gain in gains),
            newest=jnp.max(jnp.array([state.newest for state in (*states, common)])),
        )

    def subtract(self, state: Counts, other: Counts) -> Counts:
        """The state without the visits of another, such as one of those that were merged."""
        return state._replace(visits=state.visits - other.visits, seen=state.seen - other.seen)

    def emptied(self, state: Counts) -> Counts:
        """The state without its visits, which follow from the descriptors that a run keeps anyway."""
        return state._replace(visits=state.visits[:0])

    def recounted(self, state: Counts, descriptors: Iterable[np.ndarray]) -> Counts:
        """The emptied state with the visits of these descriptors, generation after generation."""
        visits = np.zeros(self.grids * self.rows, np.int64)
        place = eqx.filter_jit(self._place)
        for part in _chunks(descriptors if state.seen else ()):
            padded = np.pad(
                part, ((0, CHUNK - len(part)), (0, 0))
            )  # of one size, so that it is compiled once
            places = np.asarray(place(state, jnp.asarray(padded)))[: len(part)]
            visits += np.bincount(places.ravel(), minlength=len(visits))
        return state._replace(visits=jnp.asarray(visits, jnp.int32))

    def _counted(self, state: Counts, population: Population) -> Counts:
        """The state with a visit for each individual that is not learned yet."""
        new = unlearned(state.seen, state.newest, population)
        state = state._replace(frame=founded(state.frame, population))
        place = self._place(state, population.descriptor)
        visits = state.visits.at[place].add(
            new[:, None].astype(jnp.int32), mode="promise_in_bounds"
        )
        return state._replace(visits=visits, seen=state.seen + jnp.sum(new))

    def _place(self, state: Counts, descriptors: Float[Array, "n d"]) -> Int[Array, "n grids"]:
        """Where each descriptor's cell is counted, in each grid."""
        frame, grids, (usual, coarsest) = state.frame, state.grids, self.pitches
        number = jnp.arange(self.grids, dtype=jnp.int32)
        # Every eighth grid may be finer: it reaches down to the founders' scale where that is narrow.
        finest = jnp.where(number % 8 == 7, jnp.minimum(usual, FINEST * frame.scale), usual)
        pitch = finest * (coarsest / finest) ** ((number + 0.5) / self.grids)
        points = 2 * (descriptors - frame.center) / (frame.space.high - frame.space.low)
        along = (
            jnp.einsum("nd,tda->nta", points, grids.direction, precision="highest") / pitch[:, None]
        )
        cell = jnp.floor(along + grids.shift).astype(jnp.int32).astype(jnp.uint32)
        mixed = jnp.sum(cell * grids.multiplier, axis=2, dtype=jnp.uint32)
        mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(2246822519)
        row = (mixed ^ (mixed >> 13)) % self.rows
        return row.astype(jnp.int32) + self.rows * number


def _chunks(generations: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows of these arrays in their order, CHUNK at a time; the last may be fewer."""
    waiting = None
    for rows in generations:
        waiting = rows if waiting is None else np.concatenate([waiting, rows])
        while len(waiting) > CHUNK:
            yield waiting[:CHUNK]
            waiting = waiting[CHUNK:]
    if waiting is not None:
        yield waiting
