"""The suite: the worlds in which methods are compared,
each with the cells by which coverage is counted.

One half is there to choose settings by (tune), the other to report what was chosen (report); two
worlds more are held out of both. Three are worlds of the suite once more, in a behavior box that is
too large: to a novelty that does not see the box they are the same runs, so that no mean counts
them. Cells lie over the place that a genotype truly reaches, whatever its descriptor, and are the
same for all methods.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from brns.checks.parts import explain_compile_errors
from brns.core import Box, Population, Task
from brns.experiments import make_search
from brns.settings.parts import check_name, parts
from brns.tasks.arm import PlanarArm
from brns.tasks.car import FASTEST, START, TOP, MountainCar, scale_position
from brns.tasks.chunked import unwrap_task
from brns.tasks.maze import DeceptiveMaze, RoomsMaze
from brns.tasks.projection import LinearProjection
from brns.tasks.sharded import Wrapper

Position = Callable[[Population], Float[Array, "n 2"]]
"""where individuals truly are, as the oracle sees it"""


def select_last_two_dimensions(population: Population) -> Float[Array, "n 2"]:
    """The end of a path, or a behavior of two dimensions as it is."""
    return population.descriptor[:, -2:]


def compute_arm_tip(population: Population) -> Float[Array, "n 2"]:
    """The tip of the standard arm, from its genotype."""
    arm = PlanarArm(population.genotype.shape[1])
    return arm.compute_joint_positions(population.genotype)[:, -1]


class Cells(NamedTuple):
    """A grid of `side` x `side` cells over a rectangle; points outside count at its border."""

    low: tuple[float, float]
    high: tuple[float, float]
    side: int
    reachable: int
    """how many cells can be reached: what a coverage of 1 is"""
    counted: str
    """how the reachable cells were counted"""
    place: Position = select_last_two_dimensions

    def find_nearest_cell_indices(self, population: Population) -> Int[Array, " n"]:
        """Each individual's cell, from 0 on; `side` squared where its place is not finite."""
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        with explain_compile_errors("place", self.place):
            place = self.place(population)
        if place.shape != (len(population.id), 2):
            raise ValueError(
                f"Cells lie in a plane: place must give (n, 2), x and y; got {place.shape}"
            )
        at = jnp.floor((place - low) / (high - low) * self.side)
        row: Int[Array, "n 2"] = jnp.clip(at, 0, self.side - 1).astype(jnp.int32)
        cell = row[:, 0] * self.side + row[:, 1]
        return jnp.where(jnp.isfinite(place).all(axis=1), cell, self.side**2)

    def find_visited_cells(self, population: Population) -> Bool[Array, " cells"]:
        """The cells in which individuals lie, a bool for each; those who failed lie nowhere."""
        somewhere = jnp.isfinite(population.descriptor).all(axis=1) & ~population.failed
        cells = self.find_nearest_cell_indices(population)
        return jnp.zeros(self.side**2, bool).at[cells].max(somewhere, mode="drop")


class Tessellation(NamedTuple):
    """The regions nearest to centres: cells in behavior spaces of any number of dimensions."""

    width: Float[np.ndarray, " d"] = np.empty(0)
    """of the behavior box"""
    centres: Float[np.ndarray, "c d"] = np.empty((0, 0))
    """in these widths; there are none before `compare` places them"""
    counted: str = ""
    """among which behaviors the centres were placed"""

    @property
    def reachable(self) -> int:
        """How many cells there are."""
        return len(self.centres)

    def find_visited_cells(self, population: Population) -> Bool[Array, " cells"]:
        """The cells in which individuals lie, as `Cells` has them."""
        somewhere = jnp.isfinite(population.descriptor).all(axis=1) & ~population.failed
        centres = jnp.asarray(self.centres)
        middle = centres.mean(axis=0)  # near which squares are small, and round little
        points, centres = population.descriptor / self.width - middle, centres - middle
        nearest = jnp.argmin(jnp.sum(centres**2, axis=1) - 2 * points @ centres.T, axis=1)
        return jnp.zeros(len(centres), bool).at[nearest].max(somewhere)


class World(NamedTuple):
    """A benchmark task, with population sizes, generations and the cells of its coverage."""

    name: str
    """in tables and pictures, and on the command line"""
    title: str
    """what it is, in a few words"""
    split: Literal["tune", "report", "held out", "own"]
    """tune where defaults were chosen on it, own where the task is a user's"""
    task: Callable[[], Task]
    """makes the task, when it is needed: a maze's tables take 40 MB"""
    population_size: int
    """mu, and lambda where it has no number of its own"""
    generations: int
    cells: Cells | Tessellation
    offspring: int | None = None
    """lambda"""
    repeats: str = ""
    """the world that this one repeats, in a larger behavior box"""

    @property
    def offspring_size(self) -> int:
        """How many are evaluated in a generation after the founders."""
        return self.offspring or self.population_size

    def widen_box(
        self, name: str, title: str, split: Literal["tune", "report"], factor: float
    ) -> "World":
        """The same world with its behavior box so many times as wide."""

        def task() -> Task:
            return WidenedBehaviorSpace(self.task(), factor)

        return self._replace(name=name, title=title, split=split, task=task, repeats=self.name)


_SUMS = "geometry: every pair of sums can be made"
_SOME = "all cells of the rectangle, some out of reach"
_HARD = Cells((0.0, 0.0), (600.0, 600.0), 20, 398, "flood fill of the free pixels from the start")
_ROOMS = _HARD._replace(reachable=400)
_ARM = Cells((0.0, 0.0), (1.0, 1.0), 25, 533, "geometry: cells that the disc of radius 1 meets")
_PICTURE = _ARM._replace(place=compute_arm_tip)
_MIDDLE, _RIGHTMOST = scale_position(START), scale_position(TOP + FASTEST)
_CAR = Cells((-1.0, _MIDDLE), (_MIDDLE, _RIGHTMOST), 20, 400, _SOME)
_LINEAR = Cells((-256.0, -256.0), (256.0, 256.0), 100, 10000, _SUMS)


class WidenedBehaviorSpace(Wrapper):
    """A task whose behavior box is declared too wide; its behaviors stay the same."""

    factor: float
    """the box's width over that of the task's own, in every dimension, about the same middle"""

    @property
    def behavior_space(self) -> Box:
        box = self.task.behavior_space
        middle, half = (box.high + box.low) / 2, self.factor * (box.high - box.low) / 2
        return Box(middle - half, middle + half)


_MAZE = World("maze", "deceptive maze", "tune", DeceptiveMaze, 100, 100, _HARD)
_TIP = World("arm", "arm, tip", "tune", PlanarArm, 100, 200, _ARM)
_PATHS = partial(DeceptiveMaze, positions=20)
_MANY = partial(RoomsMaze, seed=7, rooms=5)
_JOINTS = partial(PlanarArm, 20, "joints")
_PIXELS = partial(PlanarArm, 7, "picture")
_SEEN = "arm, picture (256-d); served to choose cones"
_UNEQUAL = partial(PlanarArm, 20, "tip", tuple(0.9**i for i in range(20)))
SUITE = (
    _MAZE,
    World("maze-20", "maze, 20 + 20", "report", DeceptiveMaze, 20, 200, _HARD),
    _MAZE.widen_box("maze-loose", "maze, box x 10", "report", 10.0),
    World("maze-path", "maze, path (40-d)", "tune", _PATHS, 100, 60, _HARD),
    World("rooms-1", "rooms 1", "tune", partial(RoomsMaze, seed=1), 100, 80, _ROOMS),
    World("rooms-2", "rooms 2", "report", partial(RoomsMaze, seed=2), 100, 80, _ROOMS),
    _TIP,
    World("arm-20", "arm, tip, 20 + 20", "report", PlanarArm, 20, 400, _ARM),
    _TIP.widen_box("arm-loose", "arm, tip, box x 10", "tune", 10.0),
    _TIP.widen_box("arm-looser", "arm, tip, box x 100", "report", 100.0),
    World("arm-joints", "arm, 20 joints (40-d)", "tune", _JOINTS, 100, 200, _ARM),
    World("arm-picture", _SEEN, "report", _PIXELS, 100, 150, _PICTURE),
    World("car", "mountain car, 20 + 20", "report", MountainCar, 20, 300, _CAR),
    World("projection", "linear projection", "tune", LinearProjection, 100, 200, _LINEAR),
    World("arm-unequal", "arm, 20 unequal joints", "held out", _UNEQUAL, 100, 200, _ARM),
    World("rooms-5", "rooms 7, 5 x 5", "held out", _MANY, 100, 80, _ROOMS),
)
"""the worlds, in the order in which they are told"""


def world(name: str) -> World:
    """A world of the suite, or one that `brns run` has; a `SettingsError` where there is none."""
    suite = {each.name: each for each in SUITE}
    if name in suite:
        return suite[name]
    check_name("a world", name, [*suite, *parts("task")])
    search = make_search(name)
    cells = _make_cells_over_last_two_dimensions(search.task.behavior_space)
    return make_world_of_task(search.task, search.population_size, 200, cells)._replace(name=name)


def make_world_of_task(
    task: Task, population_size: int, generations: int, cells: Cells | Tessellation | None = None
) -> World:
    """A task as a world, by its class's name. Without `cells` a planar behavior has a grid over its
    box, and another one a `Tessellation()`, whose centres `compare` places.
    """
    name = type(unwrap_task(task)).__name__
    if cells is None and task.behavior_space.dimension == 2:
        cells = _make_cells_over_last_two_dimensions(task.behavior_space)
    cells = cells or Tessellation()
    return World(name, name, "own", lambda: task, population_size, generations, cells)


def _make_cells_over_last_two_dimensions(space: Box) -> Cells:
    """Cells over the last two dimensions of a behavior box."""
    (x, y), (right, top) = space.low[-2:].tolist(), space.high[-2:].tolist()
    return Cells((x, y), (right, top), 20, 400, "all cells of the box")
