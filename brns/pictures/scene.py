"""A task's world as the figures, the report and the movie draw it: walls, start, areas, and where a behavior lies."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from brns.core import Box, Task
from brns.tasks.ant import AntMaze
from brns.tasks.ant.model import AREA_RADIUS, ARENAS, START
from brns.tasks.maze import DeceptiveMaze
from brns.tasks.maze.map import PIXEL
from brns.workers.chunks import innermost


class Area(NamedTuple):
    """A disc that matters to the task."""

    x: float
    y: float
    radius: float
    name: str
    color: str


class Scene(NamedTuple):
    """The plane of a behavior space, in the world's units."""

    low: tuple[float, float]
    high: tuple[float, float]
    axes: tuple[str, str] = ("behavior 1", "behavior 2")
    paths: bool = False
    """a descriptor is a path x1, y1, x2, y2, ...; the behavior lies where the path ends"""
    down: bool = False
    """y runs down, as in the pixels of an image"""
    walls: Bool[np.ndarray, "h w"] | None = None
    """pixels; row 0 is at the lowest y"""
    walls_extent: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0)
    """left, right, lowest and highest y of the pixels' outer edges"""
    start: tuple[float, float] | None = None
    areas: tuple[Area, ...] = ()

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, lowest and highest y, for `imshow(..., origin="lower")`."""
        return self.low[0], self.high[0], self.low[1], self.high[1]

    def place(self, descriptors: Float[Array | np.ndarray, "*n d"]) -> Float[np.ndarray, "*n 2"]:
        """Where behaviors lie: the end of a path, or else the first two dimensions; a single one lies at height 0."""
        descriptors = np.asarray(descriptors)
        if descriptors.shape[-1] == 1:
            return np.concatenate([descriptors, np.zeros_like(descriptors)], axis=-1)
        return descriptors[..., -2:] if self.paths else descriptors[..., :2]


def scene(task: Task) -> Scene:
    """The scene of a task: with its walls for brns' own, else the box of the first two dimensions."""
    task = innermost(task)
    if isinstance(task, DeceptiveMaze):
        low, high = _plane(task.behavior_space)
        x, y, _ = task.start
        goal = Area(*task.goal, task.goal_radius, "goal", COLOURS["green"])
        walls = task.obstacles
        # A pixel's centre, and not its corner, is at a multiple of its size.
        edge = PIXEL * len(walls) - PIXEL / 2
        extent = (-PIXEL / 2, edge, -PIXEL / 2, edge)
        return Scene(low, high, ("x", "y"), False, True, walls, extent, start=(x, y), areas=(goal,))
    if isinstance(task, AntMaze):
        low, high = _plane(task.behavior_space)
        arena = ARENAS[task.arena]
        areas = tuple(Area(*at, AREA_RADIUS, f"{colour} area", COLOURS[colour]) for colour, at in arena.areas.items())
        walls, extent = _boxes(arena.walls, low, high), (low[0], high[0], low[1], high[1])
        return Scene(low, high, ("x (m)", "y (m)"), True, False, walls, extent, start=START[:2], areas=areas)
    low, high = _plane(task.behavior_space)
    return Scene(low, high, ("behavior", "")) if task.behavior_space.dimension == 1 else Scene(low, high)


def trajectories(task: Task, genotypes: Float[Array | np.ndarray, "n p"]) -> list[Float[np.ndarray, "times 2"]]:
    """The ways that genotypes take through the world, walked again; none where the task cannot tell them."""
    task = innermost(task)
    if isinstance(task, AntMaze):
        return list(task.path(genotypes))
    if not isinstance(task, DeceptiveMaze):
        return []
    return list(np.asarray(task.trajectory(jnp.asarray(genotypes), every=math.gcd(task.steps, 20)))[..., :2])


COLOURS = {"green": "#3a9d5d", "red": "#d1495b", "blue": "#3f7fd6", "violet": "#8e5bb5"}


def _boxes(walls, low, high, pixels: int = 1000) -> np.ndarray:
    """Boxes, given by centre and half sizes, as pixels."""
    x, y = (np.linspace(a, b, pixels, endpoint=False) + (b - a) / pixels / 2 for a, b in zip(low, high, strict=True))
    image = np.zeros((pixels, pixels), bool)
    for center_x, center_y, half_x, half_y in walls:
        image |= np.outer(np.abs(y - center_y) <= half_y, np.abs(x - center_x) <= half_x)
    return image


def _plane(space: Box) -> tuple[tuple[float, float], tuple[float, float]]:
    low, high = np.asarray(space.low, np.float64)[:2].tolist(), np.asarray(space.high, np.float64)[:2].tolist()
    if space.dimension == 1:
        low, high = [*low, -1.0], [*high, 1.0]
    return (low[0], low[1]), (high[0], high[1])
