"""Mazes of rooms, made from a seed."""

import math

import numpy as np
from jaxtyping import Bool

from brns.tasks.maze.map import PIXEL, PIXELS
from brns.tasks.maze.rules import DeceptiveMaze

WALL = 3  # pixels, of a wall between rooms and of the border
DOOR = 14  # pixels; the robot's disc takes 7
MORE_DOORS = 0.15  # the share of walls beyond a tree's that have a door too


class RoomsMaze(DeceptiveMaze):
    """A maze of rooms whose doors are drawn from a seed; its robot and rules are those of `DeceptiveMaze`.

    `rooms` x `rooms` rooms on 200 x 200 pixels. A random tree of doors joins all rooms, and 15 % of the other walls
    have a door too. A door is 42 units wide, anywhere in its wall. `bitmap` is not for this maze.
    """

    steps: int = 1000
    """steps of an evaluation: 4000 units at full speed"""
    start: tuple[float, float, float] | None = None  # ty: ignore[incompatible-attribute-override]
    """x, y in world units and heading in radians, in (-pi, pi]; None is the middle of the room at the lower left"""
    goal: tuple[float, float] | None = None  # ty: ignore[incompatible-attribute-override]
    """x, y in world units; None is the middle of the room at the upper right"""
    seed: int = 1
    """of the doors"""
    rooms: int = 4
    """along a side, from 2 to 8"""

    def __post_init__(self):
        side = PIXEL * PIXELS
        middle = side / (2 * max(self.rooms, 1))
        self.start = self.start or (middle, side - middle, math.pi / 4)
        self.goal = self.goal or (side - middle, middle)
        super().__post_init__()

    @property
    def obstacles(self) -> Bool[np.ndarray, "k k"]:
        """The map: row j, column i is pixel (i, j), whose centre is at (3 i, 3 j); True is wall."""
        if self.bitmap is not None:
            raise ValueError("a maze of rooms is given by its seed; DeceptiveMaze takes a bitmap")
        return rooms(self.seed, self.rooms)


def rooms(seed: int, side: int) -> Bool[np.ndarray, "k k"]:
    """The map of `side` x `side` rooms whose doors are drawn from a seed; all rooms are joined."""
    if not 2 <= side <= 8 or seed < 0:
        raise ValueError(f"a maze of rooms needs 2 to 8 rooms along a side and a seed from 0 on; got {side} and {seed}")
    random = np.random.default_rng(seed)
    edges = [round(i * (PIXELS - WALL) / side) for i in range(side + 1)]
    wall = np.zeros((PIXELS, PIXELS), bool)
    for edge in edges:
        wall[edge : edge + WALL] = wall[:, edge : edge + WALL] = True
    joined = list(range(side * side))  # rooms with the same number are joined by doors
    between = [(row, column, down) for row in range(side) for column in range(side) for down in (True, False)]
    for index in random.permutation(len(between)):
        row, column, down = between[index]
        other = (row + 1, column) if down else (row, column + 1)
        if max(other) == side:
            continue
        here, there = joined[row * side + column], joined[other[0] * side + other[1]]
        if random.random() < MORE_DOORS or here != there:
            joined = [here if number == there else number for number in joined]
            across, along = (edges[row + 1], column) if down else (edges[column + 1], row)
            begin = random.integers(edges[along] + WALL, edges[along + 1] - DOOR + 1)
            door = (slice(across, across + WALL), slice(begin, begin + DOOR))
            wall[door if down else door[::-1]] = False
    return wall
