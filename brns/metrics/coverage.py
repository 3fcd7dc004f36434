"""Coverage: the share of a grid's cells that was visited."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from brns.core import Box
from brns.metrics.recorded import Numbers, Record, read_valid_rows_by_generation

Points = Float[Numbers, "n d"]
Generations = Sequence[Float[Numbers, "_ d"]] | Float[Numbers, "g n d"]
"""behaviors, one array a generation"""
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


def find_cell_coordinates(points: Points, box: Box, shape: Sequence[int]) -> Int[np.ndarray, "n d"]:
    r"""The cell of each point: $\lfloor shape \cdot (b - low) / (high - low) \rfloor$ in every
    dimension.

    A cell holds its lower edges, the last one the upper edge too; what float32 has rounded to just
    below an edge, such as 0.7, lies on it. Points outside the box count for
    the border cell next to them. A cell is known by its d coordinates, since one number would
    overflow in high dimension.

    Args:
        points: `(n, d)`, in the units of the box.
        box: the behavior space.
        shape: the number of cells in each of its d dimensions.

    Returns:
        `(n, d)`, from 0 on.

    Raises:
        ValueError: for points that are not finite, or of other dimensions than the box and the
            shape.
    """
    points = np.asarray(points, np.float64)
    numbers = list(shape) if np.iterable(shape) else []
    whole = all(isinstance(number, int | np.integer) and number >= 1 for number in numbers)
    if not (whole and points.ndim == 2 and points.shape[1] == box.dimension == len(numbers)):
        raise ValueError(
            f"points of shape {points.shape} lie in no grid of {shape} cells over {box}: "
            f"give points (n, {box.dimension}) and {box.dimension} whole numbers from 1 on"
        )
    if not np.isfinite(points).all():
        raise ValueError("only finite points lie in a cell")
    low, high = np.asarray(box.low, np.float64), np.asarray(box.high, np.float64)
    counts, rounding = np.asarray(shape), 2.0**-23 * np.maximum(np.abs(low), np.abs(high))
    cell = np.floor((points - low + rounding) / (high - low) * counts)
    return np.clip(cell, 0, counts - 1).astype(np.int64)


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


def coverage(points: Points, box: Box, shape: Sequence[int]) -> float:
    """The share of the grid's cells in which at least one point lies.

    Args:
        points: `(n, d)`, in the units of the box.
        box: the behavior space.
        shape: the number of cells in each dimension.

    Returns:
        From 0 to 1.
    """
    return float(cumulative_coverage([points], box, shape)[-1])


def cumulative_coverage(
    generations: Generations,
    box: Box,
    shape: Sequence[int],
) -> Float[np.ndarray, " g"]:
    """The share of cells visited up to each generation. Time and memory grow with the number of
    points, not of cells.

    Args:
        generations: an array `(g, n, d)`, or one array `(n_g, d)` a generation.
        box: the behavior space.
        shape: the number of cells in each dimension.

    Returns:
        Entry g counts the points of generations 0 ... g.
    """
    visited = find_cell_coordinates(np.concatenate(list(generations)), box, shape)
    new = count_new_cells(visited, [len(points) for points in generations])
    return np.cumsum(new) / float(math.prod(map(int, shape)))


def count_new_cells(
    visited: Int[np.ndarray, "n ..."], sizes: Sequence[int]
) -> Int[np.ndarray, " g"]:
    """How many cells each generation is the first to visit.

    Args:
        visited: the cell of each individual, in the order of generations.
        sizes: how many individuals each generation has.

    Returns:
        A number for each generation.
    """
    when = np.repeat(np.arange(len(sizes)), sizes)
    _, first = np.unique(visited, axis=0, return_index=True)
    return np.bincount(when[first], minlength=len(sizes))


def read_behaviors_by_generation(record: Record, individuals: Individuals) -> Generations:
    """The behaviors of a run that coverage is of: one array a generation from 0 on.

    Args:
        record: the run.
        individuals: the survivors of each generation, or all who were evaluated.

    Returns:
        `(n_g, d)` for each generation.
    """
    if individuals == "survivors":
        return record.column("survivors.descriptor")
    return read_valid_rows_by_generation(record, "descriptor")


def coverage_of_record(
    record: Record, shape: Sequence[int] | None = None, individuals: Individuals = "survivors"
) -> Float[np.ndarray, " g"]:
    """Cumulative coverage of the behavior space over a run; figure 3a.

    Args:
        record: the run.
        shape: the number of cells in each dimension; by default those of
            `choose_grid_shape_or_none`.
        individuals: whose behaviors count: the survivors' of each generation, or everything that
            was evaluated.

    Returns:
        The share of cells after each generation.

    Raises:
        ValueError: without a shape, for behaviors of more than 3 dimensions.
    """
    space, points = record.behavior_space, read_behaviors_by_generation(record, individuals)
    return cumulative_coverage(points, space, resolve_grid_shape(space, shape))


def resolve_grid_shape(space: Box, shape: Sequence[int] | None) -> Sequence[int]:
    """The number of cells in each dimension.

    Args:
        space: the behavior space.
        shape: one that was chosen; None for that of `choose_grid_shape_or_none`.

    Raises:
        ValueError: where there is neither.
    """
    grid_shape = choose_grid_shape_or_none(space) if shape is None else shape
    if grid_shape is None:
        raise ValueError(
            f"a behavior space of {space.dimension} dimensions has no cells of its own: say how "
            "many a grid has in each dimension, by shape= (on the command line --cells), or count "
            "cells among behaviors, by brns.metrics.tessellation"
        )
    return grid_shape
