"""Coverage: the share of cells that was visited, those of a grid or of a tessellation."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from brns.core import Box
from brns.metrics.recorded import Numbers, Record, read_valid_rows_by_generation

Points = Float[Numbers, "n d"]
Cells = Sequence[int] | Float[np.ndarray, "c d"]
"""how many cells a grid has in each dimension of the behavior space; or the centres of a
tessellation, as `make_tessellation` places them, in the units of the box"""
QUERIES = 10_000
"""points whose distances to all centres are in memory at once"""
Individuals = Literal["survivors", "evaluated"]
"""whose behaviors count: the survivors' of each generation, or everything that was evaluated"""


def choose_grid_shape_or_none(space: Box) -> tuple[int, ...] | None:
    """The default cells of a behavior space: 36, 6 x 6 (paper, section 5.1) or 6 x 6 x 6;
    none beyond 3 dimensions.

    Args:
        space: the behavior space.

    Returns:
        How many cells in each dimension.
    """
    return {1: (36,), 2: (6, 6), 3: (6, 6, 6)}.get(space.dimension)


def find_cell_coordinates(points: Points, box: Box, cells: Cells) -> Int[np.ndarray, "n _"]:
    r"""The cell of each point: $\lfloor cells \cdot (b - low) / (high - low) \rfloor$ in every
    dimension; or the number of the nearest centre, by distances in widths of the box.

    A grid's cell holds its lower edges, the last one the upper edge too; what float32 has rounded
    to just below an edge, such as 0.7, lies on it. Points outside the box count for the border cell
    next to them. A cell is known by its d coordinates, since one number would overflow in high
    dimension.

    Args:
        points: `(n, d)`, in the units of the box.
        box: the behavior space.
        cells: as many as the grid has in each dimension, or centres.

    Returns:
        From 0 on: `(n, d)` of a grid, `(n, 1)` of a tessellation.

    Raises:
        ValueError: for points that are not finite, or of other dimensions than the box and the
            cells.
    """
    points = np.asarray(points, np.float64)
    if is_tessellation(cells):
        centres = np.asarray(cells)
        if not (len(centres) and points.shape[1:] == centres.shape[1:] == (box.dimension,)):
            raise ValueError(
                f"points of shape {points.shape} are nearest to none of centres of shape "
                f"{centres.shape} in {box}: give points and centres (n, {box.dimension})"
            )
        return _find_nearest_centres(points, box, centres)[:, None]
    numbers = list(cells) if np.iterable(cells) else []
    whole = all(isinstance(number, int | np.integer) and number >= 1 for number in numbers)
    if not (whole and points.ndim == 2 and points.shape[1] == box.dimension == len(numbers)):
        raise ValueError(
            f"points of shape {points.shape} lie in no grid of {cells} cells over {box}: "
            f"give points (n, {box.dimension}) and {box.dimension} whole numbers from 1 on"
        )
    if not np.isfinite(points).all():
        raise ValueError("only finite points lie in a cell")
    low, high = np.asarray(box.low, np.float64), np.asarray(box.high, np.float64)
    counts, rounding = np.asarray(cells), 2.0**-23 * np.maximum(np.abs(low), np.abs(high))
    cell = np.floor((points - low + rounding) / (high - low) * counts)
    return np.clip(cell, 0, counts - 1).astype(np.int64)


def is_tessellation(cells: Cells) -> bool:
    """Whether cells are those of a tessellation.

    Args:
        cells: as many as a grid has in each dimension, or centres.
    """
    return np.ndim(cells) == 2


def count_cells(cells: Cells) -> int:
    """How many cells there are.

    Args:
        cells: as many as a grid has in each dimension, or centres.
    """
    return len(cells) if is_tessellation(cells) else math.prod(map(int, cells))


def _find_nearest_centres(
    points: Points, box: Box, centres: Float[np.ndarray, "c d"]
) -> Int[np.ndarray, " n"]:
    from scipy.cluster.vq import vq  # a summary without it starts sooner

    width = np.asarray(box.high, np.float64) - np.asarray(box.low)
    parts = np.array_split(points / width, len(points) // QUERIES + 1)
    return np.concatenate([vq(part, centres / width)[0] for part in parts])


def compute_cell_centers(box: Box, shape: Sequence[int]) -> Float[np.ndarray, "n d"]:
    """The center of every cell; the last dimension varies fastest.

    Args:
        box: the behavior space.
        shape: the number of cells in each dimension.

    Returns:
        `(cells, d)` in float32.
    """
    places = np.indices(tuple(shape)).reshape(box.dimension, -1).T
    low, high = np.asarray(box.low, np.float64), np.asarray(box.high, np.float64)
    return (low + (places + 0.5) / np.asarray(shape) * (high - low)).astype(np.float32)


def coverage(points: Points, box: Box, cells: Cells) -> float:
    """The share of the cells in which at least one point lies.

    Args:
        points: `(n, d)`, in the units of the box.
        box: the behavior space.
        cells: as many as a grid has in each dimension, or centres.

    Returns:
        From 0 to 1.
    """
    return float(cumulative_coverage([points], box, cells)[-1])


def cumulative_coverage(
    generations: Sequence[Float[Numbers, "_ d"]] | Float[Numbers, "g n d"],
    box: Box,
    cells: Cells,
) -> Float[np.ndarray, " g"]:
    """The share of cells visited up to each generation. Time and memory grow with the number of
    points, not of cells.

    Args:
        generations: an array `(g, n, d)`, or one array `(n_g, d)` a generation.
        box: the behavior space.
        cells: as many as a grid has in each dimension, or centres.

    Returns:
        Entry g counts the points of generations 0 ... g.
    """
    when = np.repeat(np.arange(len(generations)), [len(points) for points in generations])
    visited = find_cell_coordinates(np.concatenate(list(generations)), box, cells)
    _, first = np.unique(visited, axis=0, return_index=True)
    new = np.bincount(when[first], minlength=len(generations))
    return np.cumsum(new) / float(count_cells(cells))


def coverage_of_record(
    record: Record, cells: Cells | None = None, individuals: Individuals = "survivors"
) -> Float[np.ndarray, " g"]:
    """Cumulative coverage of the behavior space over a run; figure 3a.

    Args:
        record: the run.
        cells: as many as a grid has in each dimension, or centres; by default those of
            `choose_grid_shape_or_none`.
        individuals: whose behaviors count: the survivors' of each generation, or everything that
            was evaluated.

    Returns:
        The share of cells after each generation.

    Raises:
        ValueError: without cells, for behaviors of more than 3 dimensions.
    """
    if individuals == "survivors":
        points = record.column("survivors.descriptor")
    else:
        points = read_valid_rows_by_generation(record, "descriptor")
    space = record.behavior_space
    cells = require_grid_shape(space) if cells is None else cells
    return cumulative_coverage(points, space, cells)


def require_grid_shape(space: Box) -> tuple[int, ...]:
    """The cells of `choose_grid_shape_or_none`; a `ValueError` where there are none.

    Args:
        space: the behavior space.
    """
    shape = choose_grid_shape_or_none(space)
    if shape is None:
        raise ValueError(
            f"a behavior space of {space.dimension} dimensions has no grid of its own: functions "
            "that take cells need as many as a grid has in each dimension, or the centres of "
            "brns.metrics.tessellation.make_tessellation"
        )
    return shape
