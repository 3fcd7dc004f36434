"""How the ant maze looks."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Array, Bool, Float

from brns.scene import COLOURS, Area, Film, Scene, plain
from brns.tasks.ant.model import AREA_RADIUS, ARENAS, START, Arena

if TYPE_CHECKING:
    from brns.tasks.ant.rules import AntMaze

PIXELS = 1000  # of the picture of the walls, along each side
EVERY = 8  # control steps between two pictures of a film
PER_SECOND = 10.0  # pictures, which is twice the ant's own speed


def scene(maze: "AntMaze") -> Scene:
    """The arena from above, with its areas, in metres."""
    arena = ARENAS[maze.arena]
    areas = tuple(Area(*at, AREA_RADIUS, f"{colour} area", COLOURS[colour]) for colour, at in arena.areas.items())
    world = plain(maze.behavior_space)
    return world._replace(
        axes=("x (m)", "y (m)"),
        paths=True,
        walls=_boxes(arena, world.low, world.high),
        walls_extent=world.extent,
        start=START[:2],
        areas=areas,
    )


def film(maze: "AntMaze", genotype: Float[Array | np.ndarray, " p"]) -> Film:
    """The ant's episode at twice its speed, by the camera that follows it. Needs EGL or OSMesa."""
    pictures = maze.render(genotype, every=EVERY, size=(360, 480))
    return Film(pictures, maze.steps // EVERY + 1, PER_SECOND)


def _boxes(arena: Arena, low: tuple[float, float], high: tuple[float, float]) -> Bool[np.ndarray, "h w"]:
    """The arena's walls as pixels."""
    x, y = (np.linspace(a, b, PIXELS, endpoint=False) + (b - a) / PIXELS / 2 for a, b in zip(low, high, strict=True))
    image = np.zeros((PIXELS, PIXELS), bool)
    for center_x, center_y, half_x, half_y in arena.walls:
        image |= np.outer(np.abs(y - center_y) <= half_y, np.abs(x - center_x) <= half_x)
    return image
