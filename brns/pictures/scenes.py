"""Where things lie in a scene: cells in reach, what is outside, and paths."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from brns.core import Box
from brns.tasks.scene import Scene

PLACES = 8
"""of a cell along each side, at which it is looked for walls"""


def format_count_outside(scene: Scene, descriptors: Float[np.ndarray, "n d"]) -> str:
    """How many behaviors lie outside the picture, in words; empty where none do."""
    places = scene.project_to_plane(descriptors)
    low, high = np.array(scene.low), np.array(scene.high)
    outside = ((places < low) | (places > high)).any(axis=1).sum()
    return f", {outside} outside" if outside else ""


def find_reachable_cells(scene: Scene, space: Box, cells: int) -> Bool[np.ndarray, "y x"]:
    """The cells of a map in which any place can be reached: out of walls, and not cut off."""
    if scene.walls is None:
        return np.ones((cells, cells), bool)
    free = ~scene.walls
    if scene.start is not None:
        from scipy.ndimage import label  # who draws no map need not wait for it

        row, column = _locate_pixels(scene, *scene.start)
        region, _ = label(free)
        free = region == region[row, column] if free[row, column] else free
    n = cells * PLACES
    low, high = np.array([space.low, space.high], float)[..., None]
    x, y = low + (np.arange(n) + 0.5) / n * (high - low)
    places = free[np.ix_(*_locate_pixels(scene, x, y))]
    return places.reshape(cells, PLACES, cells, PLACES).any(axis=(1, 3))


def _locate_pixels(scene: Scene, x: Any, y: Any) -> tuple[Any, Any]:
    """The rows and columns of the walls' pixels in which places lie."""
    assert scene.walls is not None
    left, right, bottom, top = scene.walls_extent
    height, width = scene.walls.shape
    row = np.clip((np.asarray(y) - bottom) / (top - bottom) * height, 0, height - 1).astype(int)
    column = np.clip((np.asarray(x) - left) / (right - left) * width, 0, width - 1).astype(int)
    return row, column


def prepend_start_to_paths(
    scene: Scene, descriptors: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n times 2"]:
    """Paths from the scene's start on, where there is one."""
    points = descriptors.reshape(len(descriptors), -1, 2)
    return points if scene.start is None else np.insert(points, 0, scene.start, axis=1)
