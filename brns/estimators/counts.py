"""Novelty by counting visits in random grids of every scale: the estimator to copy for your own."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Le
from jaxtyping import Array, Float, Int, Int16, Key, UInt32
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Generation, Population
from brns.core.population import concatenate_populations
from brns.estimators.cones import Cones, draw_cone_hashes, hash_projections_to_cones
from brns.estimators.features import (
    Frame,
    check_and_find_ancestor,
    draw_axis_subsets,
    fit_frame_to_founders_once,
    frame_from_box,
    mask_not_learned,
)

GRIDS, MOST_GRIDS = 64, 512  # by default for each dimension, and in all
CHUNK = 4096  # behaviors that are counted again at once
FEW = 4  # dimensions; in more, some of the grids have cones as cells
MANY = 6.0  # directions in which founders spread; in more, more of the grids have cones
CONES, MORE_CONES = 1 / 8, 1 / 2  # shares of the grids
DIRECTIONS = 256  # random directions at most, which the grids share
MOST_COORDINATES = 128  # of a direction, in more than DIRECTIONS dimensions
UNIT = 2.0**-21  # of half the box: to this a descriptor is rounded
FURTHEST = 4.0  # half boxes from the center; what lies further counts there
BOX, FOUNDERS, BOTH = 0, 1, 2  # whose spread the sizes of a grid's cells are for, in turns
SIZES = (BOX, BOX, BOX, BOX, BOX, BOTH, FOUNDERS, FOUNDERS)
LIMB = 4096.0  # a rounded descriptor is two integers below this, so that float32 sums them exactly
LONGEST = 4055.0  # the sum of a direction's integers: times 2048 it stays below 2^24
MANTISSA = 10  # bits by which numbers of visits are told apart: all up to 2^11, then 1 in 1000


class Boxes(NamedTuple):
    """Grids whose cells are boxes."""

    axis: Int[Array, "grids axes"]
    """the axes of a grid: numbers of coordinates, and from d on of directions"""
    shift: Float[Array, "grids axes"]
    """in cells"""
    multiplier: UInt32[Array, "grids axes"]
    """odd numbers, by which a cell finds its row"""


class Grids(NamedTuple):
    """The position of the cells of every grid; drawn once."""

    direction: Int16[Array, "blocks rows columns"]
    """random directions that all grids share, each of small integers; those of block i of B have
    the coordinates i, i + B, i + 2 B, ..."""
    boxes: Boxes
    """the first grids"""
    cones: Cones
    """the last grids, of which there are none in few dimensions"""
    more_boxes: Boxes
    """in place of the first of the cones where founders spread in few directions"""


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


class Scales(NamedTuple):
    """How long axes and the cells on them are."""

    box: Float[Array, " d"]
    """half boxes in one unit of a descriptor"""
    unit: Float[Array, " axes"]
    """of coordinates and directions, in half boxes"""
    boxes: tuple[Float[Array, "grids axes"], Float[Array, "grids axes"]]
    """the shift of a grid, in such units, and how many of its cells there are in one"""
    more_boxes: tuple[Float[Array, "grids axes"], Float[Array, "grids axes"]]


class VisitCounts(eqx.Module):
    r"""Count-based novelty: the squared mean of 1/sqrt(1 + visits) over random hashed grids of
    many cell sizes.

    $M(b) = \left( \frac{1}{T} \sum_{i=1}^{T} 1 / \sqrt{1 + N_i(b)} \right)^2$ with $N_i(b)$ the
    visits to the cell of b in grid i. $1 / M - 1$ are the `effective_visits`: N where all grids
    count N.

    A grid lies over all dimensions of a behavior, or over `grid_dims` of them, drawn at random;
    every other grid over random directions instead, which are at right angles where there are
    enough. Each has a random shift and a cell size of its own. Two behaviors share a cell of a grid
    of k axes with a probability near $\exp(-\sum_a |\Delta_a| / size)$, which tells most where the
    size is some .03 to .6 of k times the spread of behaviors along an axis. So sizes begin at .03
    of it, and lie evenly on a logarithmic axis: of five of eight grids for the spread of uniform
    behaviors in the box, of two (above four dimensions one of seven) for the founders', of one for
    the geometric mean of both. A grid too fine or too coarse to tell behaviors apart tells all the
    same and changes no rank.

    In more than four dimensions some of the grids have cones as cells: which of 16 random
    directions a behavior lies most along, for two to four sets of directions. Cones tell clusters
    of embeddings, whose distances are all alike. They are half of the grids where founders spread
    in more than six directions (`Frame.directions`), and an eighth in fewer, such as along paths.

    Counts only grow and the function of them only falls, so that the novelty of a fixed behavior
    never rises, not by a bit: descriptors are rounded to $2^{-21}$ of half the box, sums are of
    integers, and so a behavior has one cell and one novelty in every batch and order. On a GPU the
    same seed has other grids. The state is grids x rows integers. A generation of n costs
    $O(n (d m + T k))$ with m at most 256 directions, whatever was seen. Each individual counts
    once; whoever lives and is not learned yet counts when parents and offspring are scored.

    A cell finds its row by a hash. After D cells of a grid, a new one shares its row with one of
    them with a probability of $1 - (1 - 1 / \mathrm{rows})^D$; then it counts as visited there.

    Source: $1 / \sqrt{N}$ of visits as a bonus: Strehl & Littman 2008,
    doi:10.1016/j.jcss.2007.08.009; of hash codes: Tang et al. 2017, arXiv:1611.04717. Random grids
    as features: Rahimi & Recht 2007; for rarity in streams: Sathe & Aggarwal 2016, Pevny 2016;
    hashed counters: Cormode & Muthukrishnan 2005. With the cells of one grid as features,
    `ExactRecognition` is $1 / (1 + N)$. The defaults were chosen on half of some tasks
    (results/dimensions.md has both halves).
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in (0, 1].

    Raises:
        ValueError: for settings out of range.
    """

    grids: PositiveInt | None = None
    """T, the number of grids; by default 64 for each dimension of a behavior, at most 512"""
    rows: int = 8192
    """counters of a grid, a power of two; more help if a search finds many more cells than that"""
    grid_dims: Annotated[int, Ge(1), Le(DIRECTIONS)] = 32
    """the most dimensions of a grid; fewer if behaviors have fewer"""
    cell_sizes: tuple[float, float] = (0.0175, 6.0)
    """as shares of half the box: the finest, per axis of a grid (0.035 with two axes), and the
    coarsest. If founders fill less than the box, three of eight grids are finer, above four
    dimensions two of seven"""
    cones: Annotated[float, Ge(0), Le(0.9)] | None = None
    """the share of the grids that have cones as cells, in more than four dimensions; by default
    1/2 if founders spread in more than six directions, otherwise 1/8"""

    def __check_init__(self):
        check_setting_types(self)
        finest, coarsest = self.cell_sizes
        check_settings_obey_rules(
            self,
            rows=(
                1 <= self.rows < 2**31 // (self.grids or MOST_GRIDS)
                and not self.rows & (self.rows - 1),
                "a power of two, and grids x rows below 2^31",
            ),
            cell_sizes=(
                finest >= 1e-6 and finest * self.grid_dims <= coarsest <= 1e6,
                "1e-6 <= finest, and finest x grid_dims <= coarsest <= 1e6",
            ),
        )

    def init(self, space: Box, key: Key[Array, ""]) -> Counts:
        """Nothing visited: grids drawn, the box as scale; see `NoveltyEstimator.init`."""
        turn, *of_boxes, cone, more = jax.random.split(key, 7)
        d = space.dimension
        total = self.grids or min(GRIDS * d, MOST_GRIDS)
        most = 0 if d <= FEW else MORE_CONES if self.cones is None else self.cones
        cones = int(total * most)
        fewer = min(cones, max(1, int(total * CONES))) if self.cones is None else cones
        direction = _draw_integer_directions(turn, d)
        grids = Grids(
            direction,
            self._draw_boxes(of_boxes, total - cones, direction, d),
            draw_cone_hashes(cone, cones, d + direction.shape[0] * direction.shape[2]),
            self._draw_boxes(jax.random.split(more, 4), cones - fewer, direction, d),
        )
        empty = jnp.zeros(total * self.rows, jnp.int32)
        return Counts(empty, grids, frame_from_box(space), jnp.int32(0), jnp.int32(-1))

    def _draw_boxes(
        self, keys: Iterable[Key[Array, ""]], number: int, direction: Array, d: int
    ) -> Boxes:
        """Random grids, by turns of coordinates and of directions."""
        choose, choose_turned, place, row = keys
        axes, grid = min(d, self.grid_dims), jnp.arange(number, dtype=jnp.int32)
        turns = max(1, direction.shape[0] * direction.shape[2] // d)
        first = d + grid // 2 % turns * d  # of the directions that one grid's axes are among
        turned = draw_axis_subsets(choose_turned, number, min(d, DIRECTIONS), axes)
        coordinates = draw_axis_subsets(choose, number, d, axes)
        axis = jnp.where(grid[:, None] % 2, first[:, None] + turned, coordinates)
        shift = jax.random.uniform(place, axis.shape, jnp.float32)
        return Boxes(axis, shift, jax.random.bits(row, axis.shape, jnp.uint32) | 1)

    def score(
        self, state: Counts, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """Rarity, where whoever is not learned yet counts too; see `NoveltyEstimator.score`."""
        novelty = self._compute_rarity(self._add_new_visits(state, population), descriptors)
        return jnp.where(jnp.all(jnp.isfinite(descriptors), axis=1), novelty, jnp.nan)

    def effective_visits(
        self, state: Counts, descriptors: Float[Array, "n d"]
    ) -> Float[Array, " n"]:
        """Effective visits: how many of one cell in every grid make a behavior as familiar.

        Args:
            state: the estimator's, after any generation.
            descriptors: `(n, d)`, in the units of the box.

        Returns:
            `(n,)`, from 0 on.
        """
        return 1 / self._compute_rarity(state, descriptors) - 1

    def update(self, state: Counts, generation: Generation, key: Key[Array, ""]) -> Counts:
        """The offspring counted, and at first the founders; see `NoveltyEstimator.update`."""
        # In the order in which the loop scored them, so that the compiler does both at once.
        everyone = concatenate_populations(generation.parents, generation.offspring)
        state = self._add_new_visits(state, everyone)
        return state._replace(newest=jnp.max(generation.offspring.born))

    def start_empty_island(self, state: Counts) -> Counts:
        """A state that has counted nothing, with the grids of `state`: islands' can be merged.

        It begins a new search, or goes on with the one that `state` is from, whose population does
        not count again.

        Args:
            state: one that was updated at least once, so that its scale is fixed.

        Returns:
            Its counters are zeros.
        """
        return state._replace(visits=jnp.zeros_like(state.visits), seen=jnp.int32(0))

    def merge(self, states: Sequence[Counts], ancestor: Counts | None = None) -> tuple[Counts, ...]:
        """What several searches have visited: counts are added, whatever the order.

        Args:
            states: of searches that began from `start_empty_island(state)` or from one another,
                each at a generation of its own.
            ancestor: the state from which all of them went on, such as one of those that the last
                `merge` gave, not an earlier one; what it holds counts once.

        Returns:
            A state for each search to go on with. They differ only in whom that search has learned.

        Raises:
            ValueError: where states do not share grids and scale, or one has learned nothing.
        """
        common = check_and_find_ancestor(
            self, states, ancestor, lambda state: (state.grids, state.frame, state.visits.shape)
        )
        gains = [self.subtract(state, common) for state in states]
        if any((gain.visits < 0).any() for gain in gains):
            raise ValueError(
                "ancestor must be a state from which all went on; one lacks its visits"
            )
        visits = common.visits + sum(gain.visits for gain in gains)
        seen = common.seen + sum(gain.seen for gain in gains)
        return tuple(state._replace(visits=visits, seen=seen) for state in states)

    def subtract(self, state: Counts, other: Counts) -> Counts:
        """The state without the visits of another.

        Args:
            state: the one with more visits.
            other: with the same grids, such as one of those that were merged.

        Returns:
            A state of the behaviors that `other` has not seen.
        """
        return state._replace(visits=state.visits - other.visits, seen=state.seen - other.seen)

    def compact(self, state: Counts) -> Counts:
        """The state without visits, which a run's descriptors tell; see `Compactable.compact`."""
        return state._replace(visits=state.visits[:0])

    def restore(
        self, state: Counts, descriptors: Iterable[np.ndarray], earlier: Counts | None = None
    ) -> Counts:
        """The state with the visits of these descriptors; see `Compactable.restore`."""
        if earlier is None:
            tables = len(state.grids.boxes.axis) + len(state.grids.cones.axis)
            visits = np.zeros(tables * self.rows, np.int32)
        else:
            visits = np.array(earlier.visits)
        find_counters = eqx.filter_jit(self._find_counter_indices)
        counted = (rows[np.isfinite(rows).all(axis=1)] for rows in descriptors)
        for part in _cut_into_chunks(counted if state.seen else ()):
            padded = np.pad(part, ((0, CHUNK - len(part)), (0, 0)))  # of one size: compiled once
            counters = np.asarray(find_counters(state, jnp.asarray(padded)))[:, : len(part)]
            np.add.at(visits, counters.ravel(), np.int32(1))
        return state._replace(visits=jnp.asarray(visits))

    def _compute_rarity(
        self, state: Counts, descriptors: Float[Array, "n d"]
    ) -> Float[Array, " n"]:
        """M, from a sum of integers."""
        counters = self._find_counter_indices(state, descriptors)
        visits = state.visits.at[counters].get(mode="promise_in_bounds")
        bits = jax.lax.bitcast_convert_type(visits.astype(jnp.float32) + 1, jnp.int32)
        table = _tabulate_rarity(len(visits))
        bins = (bits >> (23 - MANTISSA)) - (127 << MANTISSA)
        roots = jnp.asarray(table).at[bins].get(mode="promise_in_bounds")
        total = jnp.sum(roots, axis=0, dtype=jnp.int32).astype(jnp.float32)
        return jnp.minimum(total / (np.float32(table[0]) * len(visits)), 1.0) ** 2

    def _add_new_visits(self, state: Counts, population: Population) -> Counts:
        """The state with a visit for each individual that is not learned yet."""
        new = mask_not_learned(state.seen, state.newest, population).astype(jnp.int32)
        state = state._replace(frame=fit_frame_to_founders_once(state.frame, population))
        counters = self._find_counter_indices(state, population.descriptor)
        visits = state.visits.at[counters].add(new, mode="promise_in_bounds")
        seen = state.seen + jnp.sum(new, dtype=jnp.int32)
        return state._replace(visits=visits, seen=seen)

    def _find_counter_indices(
        self, state: Counts, descriptors: Float[Array, "n d"]
    ) -> Int[Array, "grids n"]:
        """Where each descriptor's cell is counted, in each grid; the same in every batch."""
        frame, grids = state.frame, state.grids
        scales = jax.lax.optimization_barrier(self._compute_scales(state))
        points = (descriptors - frame.center) * scales.box
        along = _project_on_coordinates_and_directions(points, grids.direction)

        def hash_cells(grid: tuple[Array, ...]) -> UInt32[Array, " n"]:
            # Axis by axis, so that the compiler makes one loop over behaviors of it.
            total = jnp.zeros(len(descriptors), jnp.uint32)
            for axis, shift, cells, multiplier in zip(*grid, strict=True):
                cell = jnp.floor((along[axis] + shift) * cells).astype(jnp.int32)
                total += cell.astype(jnp.uint32) * multiplier
            return total

        def hash_boxes(boxes: Boxes, placed: tuple[Array, Array]) -> UInt32[Array, "_ n"]:
            # Grid by grid, since the counters of one are in a processor's nearest cache.
            return jax.lax.map(hash_cells, (boxes.axis, *placed, boxes.multiplier))

        def hash_cones(part: slice) -> UInt32[Array, "_ n"]:
            cones = jax.tree.map(lambda x: x[part], grids.cones)
            return hash_projections_to_cones(cones, along, scales.unit, spread / 3**0.5)

        spread, more = _compute_relative_founders_spread(frame), len(grids.more_boxes.axis)
        mixed = [hash_boxes(grids.boxes, scales.boxes)]
        if more:
            as_boxes = partial(hash_boxes, grids.more_boxes, scales.more_boxes)
            as_cones = partial(hash_cones, slice(more))
            mixed.append(jax.lax.cond(frame.directions <= MANY, as_boxes, as_cones))
        if len(grids.cones.axis):
            mixed.append(hash_cones(slice(more, None)))
        mixed = jnp.concatenate(mixed)
        mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(2246822519)
        row = (mixed ^ (mixed >> 13)) % self.rows
        first = self.rows * jnp.arange(len(row), dtype=jnp.int32)
        return row.astype(jnp.int32) + first[:, None]

    def _compute_scales(self, state: Counts) -> Scales:
        """How long axes and the cells on them are."""
        frame, grids = state.frame, state.grids
        length = jnp.sqrt(jnp.sum(grids.direction.astype(jnp.float32) ** 2, axis=1)).ravel()
        length = jnp.concatenate([jnp.ones_like(frame.center), length])
        sizes = np.array(SIZES if frame.space.dimension <= FEW else SIZES[:-1])
        spread = _compute_relative_founders_spread(frame)
        return Scales(
            2 / (frame.space.high - frame.space.low),
            UNIT * LIMB / length,
            self._place_cells(grids.boxes, length, spread, sizes),
            self._place_cells(grids.more_boxes, length, spread, sizes),
        )

    def _place_cells(
        self,
        boxes: Boxes,
        length: Float[Array, " coordinates_and_directions"],
        spread: Float[Array, ""],
        sizes: np.ndarray,
    ) -> tuple[Float[Array, "grids axes"], Float[Array, "grids axes"]]:
        """The shifts of grids, and how many cells there are in one unit of an axis."""
        total, axes = boxes.axis.shape
        finest, coarsest = axes * self.cell_sizes[0], self.cell_sizes[1]
        even = (np.arange(total) + 0.5) / max(total, 1)
        size = jnp.asarray(finest * (coarsest / finest) ** even, jnp.float32)
        narrower = jnp.stack([jnp.ones_like(spread), spread, jnp.sqrt(spread)])
        size *= narrower[sizes[np.arange(total) // 2 % len(sizes)]]
        cells = UNIT * LIMB / (length[boxes.axis] * size[:, None])
        return boxes.shift / cells, cells


def _project_on_coordinates_and_directions(
    points: Float[Array, "n d"], direction: Int16[Array, "blocks rows columns"]
) -> Float[Array, "axes n"]:
    """Points, in half boxes, along coordinates and directions; rounded alike in every batch."""
    fixed = jnp.round(jnp.clip(points, -FURTHEST, FURTHEST) / UNIT)
    high = jnp.round(fixed / LIMB)
    low = fixed - high * LIMB
    along = [fixed / LIMB]
    for i, block in enumerate(direction.astype(jnp.float32)):
        its_high, its_low = (limb[:, i :: len(direction)] for limb in (high, low))
        block = block[: its_high.shape[1]]
        # Both products are of integers below 2^24, so that no order of their sums rounds.
        turned = jnp.matmul(its_high, block, precision="highest")
        turned += jnp.matmul(its_low, block, precision="highest") / LIMB
        along.append(turned)
    return jnp.concatenate(along, axis=1).T


def _compute_relative_founders_spread(frame: Frame) -> Float[Array, ""]:
    """The founders' spread over that of uniform behaviors, sqrt(1/3); the scale is three times."""
    return jnp.minimum(frame.scale / 3**0.5, 1.0)


def _draw_integer_directions(key: Key[Array, ""], d: int) -> Int16[Array, "blocks rows columns"]:
    """Random directions in small integers, at right angles in blocks of d where there are d."""
    if d <= DIRECTIONS:
        normal = jax.random.normal(key, (DIRECTIONS // d, d, d), jnp.float32)
        direction = jnp.concatenate(jnp.linalg.qr(normal)[0], axis=1)[None]
    else:
        blocks = min(1 << (-(-d // MOST_COORDINATES) - 1).bit_length(), DIRECTIONS)
        shape = blocks, -(-d // blocks), DIRECTIONS // blocks
        exists = d > np.arange(blocks * shape[1]).reshape(shape[1], blocks).T
        direction = jax.random.normal(key, shape, jnp.float32) * exists[:, :, None]
    sums = jnp.sum(jnp.abs(direction), axis=1, keepdims=True)
    return jnp.trunc(direction * LONGEST / sums).astype(jnp.int16)


def _tabulate_rarity(grids: int) -> Int[np.ndarray, " bins"]:
    """1 / sqrt(1 + N) by the bits of 1 + N, as integers whose sum over grids is below 2^31."""
    bits = np.arange(31 << MANTISSA, dtype=np.int32) + (127 << MANTISSA)
    visits = (bits << (23 - MANTISSA)).view(np.float32).astype(np.float64)
    return np.floor(2**30 // grids / np.sqrt(visits)).astype(np.int32)


def _cut_into_chunks(generations: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows of these arrays in their order, CHUNK at a time; the last may be fewer."""
    waiting = None
    for rows in generations:
        waiting = rows if waiting is None else np.concatenate([waiting, rows])
        while len(waiting) > CHUNK:
            yield waiting[:CHUNK]
            waiting = waiting[CHUNK:]
    if waiting is not None:
        yield waiting
