"""Uniformity: how far a distribution over the behavior space is from uniform."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from brns.core import Box
from brns.core.novelty import score_novelty_jit
from brns.metrics.coverage import (
    Cells,
    Points,
    compute_cell_centers,
    count_cells,
    find_cell_coordinates,
)
from brns.metrics.recorded import Numbers, Record, require_states


def distance_to_uniform(weights: Shaped[Numbers, "..."], total: int | None = None) -> float:
    r"""The Jensen-Shannon distance, base 2, between normalised weights p and the uniform
    distribution u.

    $\sqrt{\tfrac12 D(p \Vert m) + \tfrac12 D(u \Vert m)}$ with $m = \tfrac12 (p + u)$. The
    published code does not normalise.

    Args:
        weights: of the cells, from 0 on.
        total: the number of cells, where `weights` lists only those that are not empty.

    Returns:
        From 0 to 1.

    Raises:
        ValueError: for weights that are negative, not finite, or all 0.
    """
    from scipy.spatial.distance import jensenshannon  # a summary without it starts sooner

    weights = np.asarray(weights, np.float64).ravel()
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "a distribution needs finite weights from 0 on, not all 0: is the archive empty, or "
            f"novelty 0 everywhere? got {weights[:5]}"
        )
    # All empty cells are merged into one, which changes no f-divergence.
    p = np.append(weights, 0.0)
    uniform = np.append(np.ones(len(weights)), float((total or len(weights)) - len(weights)))
    with np.errstate(invalid="ignore"):
        distance = jensenshannon(p, uniform, base=2)
    # SciPy's divergence may round below 0 where p is uniform.
    return 0.0 if np.isnan(distance) else float(distance)


def distance_to_uniform_of_points(points: Points, box: Box, cells: Cells) -> float:
    """The distance to uniform of the number of points in each cell, such as an archive's
    descriptors.

    The paper's table I must leave empty cells out, as `distance_to_uniform_of_values` does: with
    its coverage of 4e-4 the distance over the whole grid is above 0.99, and it prints 0.12.

    Args:
        points: `(n, d)`, in the units of the box.
        box: the space.
        cells: as many as a grid has in each dimension, or the centres of a tessellation.

    Returns:
        From 0 to 1.
    """
    _, counts = np.unique(find_cell_coordinates(points, box, cells), axis=0, return_counts=True)
    return distance_to_uniform(counts, count_cells(cells))


def distance_to_uniform_of_values(
    points: Points, values: Float[Numbers, " n"], box: Box, cells: Cells
) -> float:
    """The distance to uniform of the mean value in each visited cell.

    Args:
        points: `(n, d)`, in the units of the box.
        values: of the points, such as their novelty, `(n,)`.
        box: the space.
        cells: as many as a grid has in each dimension, or the centres of a tessellation.

    Returns:
        From 0 to 1.
    """
    _, where = np.unique(find_cell_coordinates(points, box, cells), axis=0, return_inverse=True)
    sums = np.bincount(where, np.asarray(values, np.float64))
    return distance_to_uniform(sums / np.bincount(where))


def grid_novelty_distance_to_uniform_of_record(
    record: Record, shape: Sequence[int]
) -> Float[np.ndarray, " s"]:
    """The distance to uniform of novelty at the centers of a grid's cells; figure 3f.

    Args:
        record: the run.
        shape: the number of cells in each dimension.

    Returns:
        From 0 to 1, one for each state that was kept.
    """
    generations = require_states(record, "uniformity")
    novelties = (compute_novelty_of_cells(record, shape, g) for g in generations)
    return np.array([distance_to_uniform(novelty) for novelty in novelties])


def compute_novelty_of_cells(
    record: Record, shape: Sequence[int], generation: int
) -> Float[np.ndarray, " n"]:
    """The novelty at the centers of a grid's cells.

    Args:
        record: the run.
        shape: the number of cells in each dimension.
        generation: whose state was kept.

    Returns:
        In the estimator's unit, the last dimension running fastest.
    """
    points = jnp.asarray(compute_cell_centers(record.behavior_space, shape))
    state = record.state(generation)
    arguments = record.search.estimator, state.estimator, points, state.population
    return np.asarray(score_novelty_jit(*arguments))
