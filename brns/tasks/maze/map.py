"""Maps of a maze, and tables of what a robot meets on a map."""

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

PIXEL = 3.0  # world units; pixel (i, j) has its centre at (3 i, 3 j)
PIXELS = 200  # along a side, where walls are given
RADIUS = 3  # of the robot, in pixels: 10 world units
RANGE = 100.0  # of a laser, in world units
HARD = Path(__file__).with_name("hard.txt")  # Lehman & Stanley's hard maze as libfastsim reads it
REACH = 35  # pixels, the furthest that a laser ends away in x or in y


def read(rows: tuple[str, ...] | None) -> Bool[np.ndarray, "k k"]:
    """The map that k rows of k characters draw; None is the hard maze."""
    rows = tuple(HARD.read_text().split()) if rows is None else rows
    if any(len(row) != len(rows) or set(row) - set("#.") for row in rows):
        raise ValueError(
            f"a bitmap is k rows of k characters, '#' for wall and '.' for free, or a bool array (k, k); got {rows[:3]}"
        )
    return np.array([[cell == "#" for cell in row] for row in rows])


def written(obstacles: Bool[np.ndarray, "rows columns"]) -> tuple[str, ...]:
    """A map as rows of text, what `read` reads."""
    return tuple("".join(".#"[int(cell)] for cell in row) for row in obstacles)


class Tables(NamedTuple):
    """What a robot meets on a map of k x k pixels. Row j, column i are of pixel (i, j)."""

    touched: UInt[Array, "k k"]
    """bit b: a robot on that pixel has an obstacle under its disc in direction `bearings()[b]`; 0: it stands free"""
    ends: Int[Array, "reach reach"]
    """the first index into `stops` of a laser, by the offset (+ REACH) of its end from the robot's pixel"""
    stops: Int[Array, "ends k k"]
    """where that laser stops for a robot on that pixel: an offset, packed by `_pack`"""


def _pack(i: int, j: int) -> int:
    return (i + 64) << 7 | (j + 64)


def unpack(code: Int[Array, " n"]) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    return (code >> 7) - 64, (code & 127) - 64


@lru_cache(maxsize=4)
def tables(obstacles: bytes, k: int) -> Tables:
    """The tables of a map. On the padded map, laid flat, an offset is one shift of the whole map."""
    width = k + 2 * REACH
    free = np.zeros((width, width), np.uint8)
    free[REACH:-REACH, REACH:-REACH] = ~np.frombuffer(obstacles, bool).reshape(k, k)

    def seen(i: int, j: int) -> np.ndarray:
        """Whether the pixel at that offset is free, for every pixel of the robot (and the padding beside it)."""
        first = (REACH + j) * width + i
        return free.reshape(-1)[first : first + k * width]

    def cropped(flat: np.ndarray) -> np.ndarray:
        return flat.reshape(k, width)[:, REACH:-REACH]

    touched = np.zeros(k * width, np.uint16)
    for i, j in _disc():
        touched |= np.uint16(1 << bearings().index(_bearing(i, j))) * (1 - seen(i, j))

    ends = np.zeros((2 * REACH + 1, 2 * REACH + 1), np.int16)
    offsets = _laser_ends()
    stops = np.empty((len(offsets), k, k), np.int16)
    for end, (end_i, end_j) in enumerate(offsets):
        ends[end_j + REACH, end_i + REACH] = end
        clear = seen(0, 0).copy()
        moves = np.zeros(k * width, np.uint8)
        codes = []
        for pixels in _line(end_i, end_j):
            for i, j in pixels:
                clear &= seen(i, j)
            moves += clear
            codes.append(_pack(*pixels[-1]))
        codes.append(_pack(63, 63))  # no obstacle: further than RANGE, to which readings are cut
        stops[end] = np.array(codes, np.int16)[cropped(moves)]
    with jax.ensure_compile_time_eval():  # a maze made inside a traced function must not leave tracers in the cache
        return Tables(jnp.asarray(cropped(touched)), jnp.asarray(ends), jnp.asarray(stops))


def _disc() -> list[tuple[int, int]]:
    span = range(-RADIUS, RADIUS + 1)
    return [(i, j) for i in span for j in span if i * i + j * j <= RADIUS * RADIUS]


@cache
def bearings() -> tuple[float, ...]:
    """The directions in which the pixels of the disc lie from its centre, 16, in ascending order in (-pi, pi]."""
    return tuple(sorted({_bearing(i, j) for i, j in _disc()}))


def _bearing(i: int, j: int) -> float:
    return float(np.float32(math.atan2(j, i)))


def _laser_ends() -> list[tuple[int, int]]:
    """Offsets that a laser's end can have from the robot's pixel: two roundings move it by less than a pixel."""
    span = range(-REACH, REACH + 1)
    return [
        (i, j)
        for i in span
        for j in span
        if math.hypot(max(abs(i) - 1, 0), max(abs(j) - 1, 0)) <= RANGE / PIXEL <= math.hypot(abs(i) + 1, abs(j) + 1)
    ]


def _line(end_i: int, end_j: int) -> Iterator[list[tuple[int, int]]]:
    """The line of pixels from (0, 0): for each move the pixels that it touches, its goal last.

    Bresenham's algorithm in its supercover form (Dedu 2001): a diagonal move also touches the neighbour that the line
    crosses, or both at a corner. If a neighbour is the obstacle, the laser ends at the move's goal, as in libfastsim.
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
