"""The deceptive maze: a robot with two wheels, three lasers and two bumpers, and walls."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Le
from jaxtyping import Array, Bool, Float, Key, UInt
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Evaluation
from brns.tasks import cpu
from brns.tasks.maze.map import (
    BEARINGS,
    PIXEL,
    PIXELS,
    RANGE,
    REACH,
    Tables,
    build_sensor_tables,
    generate_rooms_map,
)
from brns.tasks.policy import FeedForward, Genotypes
from brns.tasks.scene import COLOURS, Area, Scene, make_plain_scene

HARD = Path(__file__).with_name("hard.txt")  # Lehman & Stanley's hard maze as libfastsim reads it
AXLE = 20.0
FASTEST = 4.0  # displacement of a wheel in one step
DIRECTIONS = (math.pi / 4, 0.0, -math.pi / 4)  # of the lasers, from the heading
NOTHING_SEEN = (RANGE, RANGE, RANGE, 0.0, 0.0)  # the first observation of an episode
POLICY = FeedForward((5, 10, 10, 10, 2))

Rows = tuple[Float[Array, " n"], ...]


class DeceptiveMaze(eqx.Module):
    r"""The "hard maze" of Lehman & Stanley, with the robot and the collisions of the simulator
    libfastsim, on which the literature runs it.

    The maze is 600 x 600 units, x to the right and y down, on a map of 200 x 200 pixels, with
    walls all around. The robot is a disc of radius 10 on two wheels, with lasers at 45, 0 and -45
    degrees and two bumpers; the documentation has its rules, "The deceptive maze" under "The
    method". The policy, 5 -> 10 -> 10 -> 10 -> 2 with tanh in the hidden layers, sees the lasers,
    then the left and the right bumper; an episode begins with (100, 100, 100, 0, 0). Behavior is
    the last position, or the path x1, y1, x2, y2, ... up to it; fitness is 0.

    Shapes: genotypes `(n, 302)`, descriptors `(n, 2)`, or `(n, 2 positions)`. Steps are chaotic:
    another machine or another JAX may move a final position.
    Source: Lehman & Stanley 2011, doi:10.1162/EVCO_a_00025 (the maze); Mouret & Doncieux 2012,
    libfastsim (the rules); BR-NS paper, section 5.1. Departs from libfastsim, where an episode
    began with the last observation of the one before, and pixels outside the map set no bumper.
    """

    steps: PositiveInt = 2000
    """steps of an evaluation; published code"""
    start: tuple[float, float, float] = (60.0, 450.0, math.pi / 4)
    """x, y in maze units and heading in radians, in (-pi, pi]"""
    goal: tuple[float, float] = (60.0, 60.0)
    """x, y in maze units"""
    goal_radius: PositiveFloat = 42.0
    """maze units; published code"""
    bitmap: tuple[str, ...] | Bool[np.ndarray, "rows columns"] | None = None
    """k rows of k pixels, '#' for wall and '.' for free, or a bool array, True for wall;
    the maze is 3 k units wide"""
    positions: PositiveInt | None = None
    """the behavior is so many positions of the path, evenly spaced in time; a divisor of `steps`.
    None is the last position alone"""
    tables: Tables = eqx.field(init=False)

    traceable = True

    def __post_init__(self):
        check_setting_types(self)
        # jit hashes what is no array, and a record keeps it as it is: text serves both.
        if isinstance(self.bitmap, np.ndarray):
            self.bitmap = tuple("".join(np.where(row, "#", ".")) for row in self.bitmap)
        elif self.bitmap is not None:
            self.bitmap = tuple(self.bitmap)
        self.tables = build_sensor_tables(self.wall_map.tobytes())

    def __check_init__(self):
        (x, y, heading), _ = self._resolve_start_and_goal()
        divides = self.steps % (self.positions or 1) == 0
        check_settings_obey_rules(
            self,
            positions=(divides, f"a divisor of the maze's {self.steps} steps, or None"),
            start=(-math.pi < heading <= math.pi, "x, y and a heading in radians, in (-pi, pi]"),
        )
        touched = np.asarray(self.tables.touched)
        i, j = (math.floor(value / PIXEL + 0.5) for value in (x, y))
        if min(i, j) < 0 or max(i, j) >= len(touched) or touched[j, i]:
            raise ValueError(f"the robot at start=({x}, {y}) touches a wall or the maze's border")

    def __reduce__(self) -> tuple:
        """Its settings alone: the tables, 41 MB, are made again when it is unpickled."""
        names = [field.name for field in dataclasses.fields(self) if field.init]
        return type(self), tuple(getattr(self, name) for name in names)

    @property
    def genotype_space(self) -> Box:
        return POLICY.genotype_space

    @property
    def behavior_space(self) -> Box:
        d = 2 * (self.positions or 1)
        return Box(np.zeros(d), np.full(d, PIXEL * self.tables.touched.shape[0]))

    @property
    def wall_map(self) -> Bool[np.ndarray, "k k"]:
        """The map: row j, column i is pixel (i, j), whose centre is at (3 i, 3 j); True is wall."""
        rows = tuple(HARD.read_text().split() if self.bitmap is None else self.bitmap)
        if any(len(row) != len(rows) or set(row) - set("#.") for row in rows):
            raise ValueError(
                "a bitmap is k rows of k characters, '#' for wall and '.' for free, or a bool "
                f"array (k, k); got {rows[:3]}"
            )
        return np.array(list(map(list, rows))) == "#"

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """Where n policies end, or their paths; see `Task.evaluate`. Nothing is random."""
        path = self.trajectory(genotypes, every=self.steps // (self.positions or 1))[:, 1:, :2]
        n = len(path)
        return Evaluation(path.reshape(n, -1), jnp.zeros(n), self.solved(path[:, -1]))

    @eqx.filter_jit
    def trajectory(
        self, genotypes: Genotypes, every: int | None = None
    ) -> Float[Array, "n times 3"]:
        """Poses of n policies at the start and after every `every` steps.

        Args:
            genotypes: `(n, 302)`.
            every: a divisor of `steps`; by default the largest that also divides 20.

        Returns:
            x, y in units and heading in radians, `(n, times, 3)`.

        Raises:
            ValueError: where `every` does not divide `steps`.
        """
        every = math.gcd(self.steps, 20) if every is None else every
        if every < 1 or self.steps % every:
            raise ValueError(f"every must divide steps={self.steps}; got every={every}")
        # Each coordinate is an array of its own: stacked within the loop,
        # they would take three times as long.
        rows = cpu.pad_to_at_least_16_rows(jnp.asarray(genotypes))
        layers = POLICY.layers(rows)
        start, _ = self._resolve_start_and_goal()
        pose = tuple(jnp.full(len(rows), value, jnp.float32) for value in start)
        observation = tuple(jnp.full(len(rows), value, jnp.float32) for value in NOTHING_SEEN)

        def run_segment(state: tuple[Rows, Rows], tables: Tables, layers: Any):
            def advance(state: tuple[Rows, Rows], _):
                pose, observation = state
                return _step(tables, pose, POLICY.act(layers, observation)), None

            state, _ = jax.lax.scan(advance, state, length=every)
            return state, state[0]

        _, path = cpu.scan_in_one_kernel(
            run_segment, (pose, observation), self.steps // every, self.tables, layers
        )
        first, later = jnp.stack(pose, axis=1), jnp.stack(path, axis=2)
        return jnp.concatenate([first[:, None], later.swapaxes(0, 1)], axis=1)[: len(genotypes)]

    @eqx.filter_jit
    def step(
        self, pose: Float[Array, "n 3"], action: Float[Array, "n 2"]
    ) -> tuple[Float[Array, "n 3"], Float[Array, "n 5"]]:
        """One step of n robots, each with its own action.

        Args:
            pose: x, y and heading, `(n, 3)`.
            action: the speeds of the two wheels in units a step, clipped to 4, `(n, 2)`.

        Returns:
            Their next poses, and their observations by three lasers, the left and the right bumper.
        """
        next_pose, observation = _step(self.tables, tuple(pose.T), action.T)
        return jnp.stack(next_pose, axis=1), jnp.stack(observation, axis=1)

    def scene(self) -> Scene:
        """The map with its start and its goal; y runs down."""
        walls = self.wall_map
        # A pixel's centre, and not its corner, is at a multiple of its size.
        edge = PIXEL * len(walls) - PIXEL / 2
        start, goal = self._resolve_start_and_goal()
        return make_plain_scene(self.behavior_space)._replace(
            axes=("x (maze units)", "y (maze units)"),
            paths=self.positions is not None,
            down=True,
            walls=walls,
            walls_extent=(-PIXEL / 2, edge, -PIXEL / 2, edge),
            start=start[:2],
            areas=(Area(*goal, self.goal_radius, "goal", COLOURS["green"]),),
        )

    def solved(self, position: Float[Array, "n 2"]) -> Bool[Array, " n"]:
        """Whether a position lies within `goal_radius` of the goal.

        Args:
            position: x and y in units, `(n, 2)`.

        Returns:
            `(n,)`.
        """
        x, y = position.T
        _, goal = self._resolve_start_and_goal()
        return jnp.hypot(x - goal[0], y - goal[1]) <= self.goal_radius

    def _resolve_start_and_goal(self) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Where the robot begins, with its heading, and where its goal is."""
        return self.start, self.goal


class RoomsMaze(DeceptiveMaze):
    """A `DeceptiveMaze` of rooms whose doors are drawn from a seed.

    `rooms` x `rooms` rooms on 200 x 200 pixels. A random tree of doors joins all rooms, and 15 % of
    the other walls have a door too. A door is 42 units wide, anywhere in its wall. `bitmap` is not
    for this maze.
    """

    steps: PositiveInt = 1000
    """steps of an evaluation: 4000 units at full speed"""
    start: tuple[float, float, float] | None = None  # ty: ignore[incompatible-attribute-override]
    """x, y in maze units and heading in radians, in (-pi, pi];
    None is the middle of the room at the lower left"""
    goal: tuple[float, float] | None = None  # ty: ignore[incompatible-attribute-override]
    """x, y in maze units; None is the middle of the room at the upper right"""
    seed: NonNegativeInt = 1
    """random seed of the doors"""
    rooms: Annotated[int, Ge(2), Le(8)] = 4
    """rooms along a side"""

    def _resolve_start_and_goal(self) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Where the robot begins, with its heading, and where its goal is."""
        side = PIXEL * PIXELS
        middle = side / (2 * self.rooms)
        start = self.start or (middle, side - middle, math.pi / 4)
        return start, self.goal or (side - middle, middle)

    @property
    def wall_map(self) -> Bool[np.ndarray, "k k"]:
        """The map: row j, column i is pixel (i, j), whose centre is at (3 i, 3 j); True is wall."""
        if self.bitmap is not None:
            raise ValueError("a maze of rooms is given by its seed; DeceptiveMaze takes a bitmap")
        return generate_rooms_map(self.seed, self.rooms)


def _step(tables: Tables, pose: Rows, action: Float[Array, "2 n"]) -> tuple[Rows, Rows]:
    """One step of n robots by the rules of `DeceptiveMaze`: next poses and observations."""
    x, y, heading = pose
    v1, v2 = jnp.clip(action, -FASTEST, FASTEST)
    v, turn = (v1 + v2) / 2, (v2 - v1) / AXLE
    # Series in the turn avoid dividing by it; with |turn| <= 0.4 four terms are exact in float32.
    ahead = v * _sum_trigonometric_series(turn**2, 1, terms=4)
    sideways = -v * turn * _sum_trigonometric_series(turn**2, 2, terms=4)
    cos, sin = _cos_sin(heading)
    next_x, next_y = x + ahead * cos + sideways * sin, y + ahead * sin - sideways * cos
    heading = heading + turn
    heading = jnp.where(heading > math.pi, heading - 2 * math.pi, heading)
    heading = jnp.where(heading <= -math.pi, heading + 2 * math.pi, heading)

    at = tables.touched.at[_to_pixel(next_y), _to_pixel(next_x)]
    touched = at.get(mode="clip").astype(jnp.uint32)
    x, y = jnp.where(touched > 0, x, next_x), jnp.where(touched > 0, y, next_y)
    return (x, y, heading), (*_read_lasers(tables, x, y, heading), *_read_bumpers(touched, heading))


def _read_lasers(
    tables: Tables, x: Float[Array, " n"], y: Float[Array, " n"], heading: Float[Array, " n"]
) -> Rows:
    i, j = _to_pixel(x), _to_pixel(y)
    cos, sin = _cos_sin(heading)
    readings = []
    for direction in DIRECTIONS:
        ahead, sideways = RANGE * math.cos(direction), RANGE * math.sin(direction)
        end_i = _to_pixel(x + ahead * cos - sideways * sin)
        end_j = _to_pixel(y + ahead * sin + sideways * cos)
        end = tables.ends.at[end_j - j + REACH, end_i - i + REACH].get(mode="clip")
        stop = tables.stops.at[end, j, i].get(mode="clip").astype(jnp.int32)
        stop_i, stop_j = (stop >> 7) - 64, (stop & 127) - 64
        distance = jnp.sqrt((PIXEL * (i + stop_i) - x) ** 2 + (PIXEL * (j + stop_j) - y) ** 2)
        readings.append(jnp.minimum(distance, RANGE))
    return tuple(readings)


def _read_bumpers(touched: UInt[Array, " n"], heading: Float[Array, " n"]) -> Rows:
    """The left and the right bumper.

    There are four bearings a quarter turn, `up_to` of all 16 at or below the heading and `below` of
    them below it. The open quarter to its right has the bearings up_to ... below + 3, that to its
    left up_to - 4 ... below - 1, modulo 16: a shift of the 16 bits, written twice, brings either
    run to the lowest bits.
    """
    up_to = sum((heading >= bearing).astype(jnp.uint32) for bearing in BEARINGS)
    below = sum((heading > bearing).astype(jnp.uint32) for bearing in BEARINGS)
    twice = touched | touched << 16
    run = jnp.uint32(0b1111) >> (up_to - below)
    right, left = twice >> up_to & run, twice >> up_to + 12 & run
    return (left > 0).astype(jnp.float32), (right > 0).astype(jnp.float32)


def _to_pixel(coordinate):
    return jnp.floor(coordinate * (1 / PIXEL) + 0.5).astype(jnp.int32)


def _cos_sin(angle: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Cosine and sine of an angle in [-pi, pi], from those of its half: twice as fast a step."""
    half = angle / 2
    cos = _sum_trigonometric_series(half**2, 0, terms=7)
    sin = half * _sum_trigonometric_series(half**2, 1, terms=6)
    return 1 - 2 * sin**2, 2 * sin * cos


def _sum_trigonometric_series(
    square: Float[Array, " n"], first: int, terms: int
) -> Float[Array, " n"]:
    r"""$\sum_k (-1)^k x^{2k} / (2k + first)!$ of `square` $= x^2$: cos x, sin(x) / x,
    (1 - cos x) / x^2 for 0, 1, 2.
    """
    total = jnp.zeros_like(square)
    for k in reversed(range(terms)):
        total = total * square + (-1) ** k / math.factorial(2 * k + first)
    return total
