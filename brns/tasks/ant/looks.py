"""How the ant maze looks."""

import numpy as np
from jaxtyping import Bool

from brns.core import Box
from brns.tasks.ant.model import AREA_RADIUS, ARENAS, START, Arena
from brns.tasks.scene import COLOURS, Area, Scene, plain

PIXELS = 1000  # of the picture of the walls, along each side


def scene(name: str, space: Box) -> Scene:
    """The arena from above, with its areas, in metres."""
    arena, world = ARENAS[name], plain(space)
    areas = tuple(Area(*at, AREA_RADIUS, f"{colour} area", COLOURS[colour]) for colour, at in arena.areas.items())
    return world._replace(
        axes=("x (m)", "y (m)"),
        paths=True,
        walls=_boxes(arena, world.low, world.high),
        walls_extent=world.extent,
        start=START[:2],
        areas=areas,
    )


def _boxes(arena: Arena, low: tuple[float, float], high: tuple[float, float]) -> Bool[np.ndarray, "h w"]:
    """The arena's walls as pixels."""
    x, y = (np.linspace(a, b, PIXELS, endpoint=False) + (b - a) / PIXELS / 2 for a, b in zip(low, high, strict=True))
    image = np.zeros((PIXELS, PIXELS), bool)
    for center_x, center_y, half_x, half_y in arena.walls:
        image |= np.outer(np.abs(y - center_y) <= half_y, np.abs(x - center_x) <= half_x)
    return image
