"""Maps of a maze, and tables of what a robot meets on them."""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

PIXEL = 3.0  # units; pixel (i, j) has its centre at (3 i, 3 j)
PIXELS = 200  # along a side, where walls are given
RADIUS = 3  # of the robot, in pixels: 10 units
RANGE = 100.0  # of a laser, in units
REACH = 35  # pixels, the furthest that a laser ends away in x or in y
DISC = {
    (i, j): float(np.float32(math.atan2(j, i)))
    for i, j in product(range(-RADIUS, RADIUS + 1), repeat=2)
    if i * i + j * j <= RADIUS * RADIUS
}
"""the pixels under a robot, by their offset, and the direction of each, in (-pi, pi]"""
BEARINGS = sorted(set(DISC.values()))
"""these directions, 16"""

WALL = 3  # pixels, of a wall between rooms and of the border
DOOR = 14  # pixels; the robot's disc takes 7
MORE_DOORS = 0.15  # the share of walls beyond a tree's that have a door too


def generate_rooms_map(seed: int, side: int) -> Bool[np.ndarray, "k k"]:
    """A map of square rooms whose doors are drawn from a seed; row 0 is at the lowest y."""
    random = np.random.default_rng(seed)
    edges = [round(i * (PIXELS - WALL) / side) for i in range(side + 1)]
    wall = np.zeros((PIXELS, PIXELS), bool)
    for edge in edges:
        wall[edge : edge + WALL] = wall[:, edge : edge + WALL] = True
    joined = np.arange(side * side).reshape(side, side)  # by doors, where numbers are the same
    between = list(product(range(side), range(side), (True, False)))
    for index in random.permutation(len(between)):
        row, column, down = between[index]
        other = (row + 1, column) if down else (row, column + 1)
        if max(other) == side:
            continue
        here, there = joined[row, column], joined[other]
        if random.random() < MORE_DOORS or here != there:
            joined[joined == there] = here
            across, along = (edges[row + 1], column) if down else (edges[column + 1], row)
            begin = random.integers(edges[along] + WALL, edges[along + 1] - DOOR + 1)
            door = (slice(across, across + WALL), slice(begin, begin + DOOR))
            wall[door if down else door[::-1]] = False
    return wall


class Tables(NamedTuple):
    """What a robot meets on a map of k x k pixels. Row j, column i are of pixel (i, j)."""

    touched: UInt[Array, "k k"]
    """bit b: a robot on that pixel has an obstacle under its disc in direction `BEARINGS[b]`;
    0: it stands free"""
    ends: Int[Array, "reach reach"]
    """the first index into `stops`, by the offset (+ REACH) of a laser's end from the robot"""
    stops: Int[Array, "ends k k"]
    """where that laser stops for a robot on that pixel: (i, j) as (i + 64) << 7 | (j + 64)"""


@lru_cache(maxsize=4)
def build_sensor_tables(wall_map: bytes) -> Tables:
    """The tables of a map of k x k bytes, True for wall; the same for equal maps."""
    k = math.isqrt(len(wall_map))
    # Beside the map all is wall.
    padded = np.pad(1 - np.frombuffer(wall_map, np.uint8).reshape(k, k), REACH)
    # At [REACH + j, REACH + i]: whether the pixel at offset (i, j) from each robot's is free.
    free = np.lib.stride_tricks.sliding_window_view(padded, (k, k))

    touched = np.zeros((k, k), np.uint16)
    for (i, j), bearing in DISC.items():
        touched[free[REACH + j, REACH + i] == 0] |= 1 << BEARINGS.index(bearing)

    ends = np.zeros((2 * REACH + 1, 2 * REACH + 1), np.int16)
    offsets = _list_possible_laser_ends()
    stops = np.empty((len(offsets), k, k), np.int16)
    for end, (end_i, end_j) in enumerate(offsets):
        ends[end_j + REACH, end_i + REACH] = end
        clear = free[REACH, REACH].copy()
        moves = np.zeros((k, k), np.uint8)
        goals = []
        for pixels in _trace_line(end_i, end_j):
            for i, j in pixels:
                clear &= free[REACH + j, REACH + i]
            moves += clear
            goals.append(pixels[-1])
        goals.append((63, 63))  # no obstacle: further than RANGE, to which readings are cut
        i, j = np.array(goals, np.int16).T + 64
        stops[end] = (i << 7 | j)[moves]
    # A maze made inside a traced function must not leave tracers in the cache.
    with jax.ensure_compile_time_eval():
        return Tables(jnp.asarray(touched), jnp.asarray(ends), jnp.asarray(stops))


def _list_possible_laser_ends() -> list[tuple[int, int]]:
    """Offsets of a laser's end from the robot's pixel, which roundings move by under a pixel."""
    offsets = []
    for i, j in product(range(-REACH, REACH + 1), repeat=2):
        nearest = math.hypot(max(abs(i) - 1, 0), max(abs(j) - 1, 0))
        if nearest <= RANGE / PIXEL <= math.hypot(abs(i) + 1, abs(j) + 1):
            offsets.append((i, j))
    return offsets


def _trace_line(end_i: int, end_j: int) -> Iterator[list[tuple[int, int]]]:
    """The line of pixels from (0, 0): for each move the pixels that it touches, its goal last.

    Bresenham's algorithm in its supercover form (Dedu 2001): a diagonal move also touches the
    neighbour that the line crosses, or both at a corner. If a neighbour is the obstacle, the laser
    ends at the move's goal, as in libfastsim.
    """
    steep = abs(end_j) > abs(end_i)
    along, across = (end_j, end_i) if steep else (end_i, end_j)
    step_along, step_across = int(math.copysign(1, along)), int(math.copysign(1, across))
    length, rise = abs(along), abs(across)
    error, level = length, 0
    for position in range(step_along, along + step_along, step_along):
        before, error, pixels = error, error + 2 * rise, []
        if error > 2 * length:
            error -= 2 * length
            level += step_across
            if error + before <= 2 * length:
                pixels.append((position, level - step_across))
            if error + before >= 2 * length:
                pixels.append((position - step_along, level))
        pixels.append((position, level))
        yield [(j, i) if steep else (i, j) for i, j in pixels]
