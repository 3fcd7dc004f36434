"""Uniformity: how far a distribution over the behavior space is from the uniform one."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from scipy.spatial.distance import jensenshannon

from brns.core import Box, novelty_of
from brns.metrics.coverage import cells, centers
from brns.metrics.recorded import NoveltySearch, Record


def distance_to_uniform(weights: Shaped[Array | np.ndarray, "..."], total: int | None = None) -> float:
    r"""The Jensen-Shannon distance, base 2, between normalised weights p and the uniform distribution u; in [0, 1].

    $\sqrt{\tfrac12 D(p \Vert m) + \tfrac12 D(u \Vert m)}$ with $m = \tfrac12 (p + u)$: the root of the divergence.
    0 for equal weights. `total` is the number of cells where `weights` lists only those that are not empty.

    Departs from the published code, which does not normalise.
    """
    weights = np.asarray(weights, np.float64).ravel()
    total = len(weights) if total is None else total
    if total < len(weights):
        raise ValueError(f"there are {len(weights)} weights, and so at least as many cells; got total={total}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "a distribution needs finite weights from 0 on, not all 0: is the archive empty, or novelty 0 everywhere? "
            f"got {weights[:5]} ({len(weights)} in all)"
        )
    # Cells with the same ratio p / u, as all empty ones, may be merged: no f-divergence changes. So nothing is as long
    # as the grid has cells.
    p = np.append(weights, 0.0)
    uniform = np.append(np.ones(len(weights)), float(total - len(weights)))
    with np.errstate(invalid="ignore"):
        distance = jensenshannon(p, uniform, base=2)
    return 0.0 if np.isnan(distance) else float(distance)  # SciPy's divergence may round below 0 where p is uniform.


def of_points(
    points: Float[Array | np.ndarray, "n d"], box: Box, shape: Sequence[int], over: Literal["grid", "visited"] = "grid"
) -> float:
    """The distance to uniform of how many points lie in each cell: of an archive's descriptors, or any others.

    Points outside the box count for the border cells. `over="visited"` leaves empty cells out. The paper's table I
    must have done so: with a coverage of 4e-4 the distance over the whole grid is above 0.99, and it prints 0.12.
    """
    occupied, counts = np.unique(cells(points, box, shape), axis=0, return_counts=True)
    return distance_to_uniform(counts, math.prod(shape) if over == "grid" else len(occupied))


def of_values(
    points: Float[Array | np.ndarray, "n d"], values: Float[Array | np.ndarray, " n"], box: Box, shape: Sequence[int]
) -> float:
    """The distance to uniform of the mean value in each visited cell, such as novelty over a signature space.

    Where there are too many cells to score them all, the values are known at a sample only: `distance_to_uniform`
    of the values themselves weighs every point alike, this weighs every visited cell alike.
    """
    _, where = np.unique(cells(points, box, shape), axis=0, return_inverse=True)
    where = where.ravel()
    return distance_to_uniform(np.bincount(where, np.asarray(values, np.float64)) / np.bincount(where))


def of_novelty(estimator: Any, state: Any, points: Float[Array | np.ndarray, "n d"]) -> float:
    """The distance to uniform of novelty at the points given, by a search's state; figure 3f.

    The points stand for the space: `coverage.centers(box, shape)` in low dimension, `box.uniform(key, n)` in high.
    """
    return distance_to_uniform(novelty_of(estimator, state.estimator, jnp.asarray(points), state.population))


def of_record(
    record: Record, shape: Sequence[int], generations: Sequence[int] | None = None, search: NoveltySearch | None = None
) -> Float[np.ndarray, " s"]:
    """The distance to uniform of novelty on a grid over the behavior space, for each generation whose state is kept.

    `generations` are some of `record.snapshots`, by default all; `search` is the experiment, needed where the record
    cannot rebuild a part of your own.
    """
    search = search or record.search
    generations = record.snapshots if generations is None else generations
    if len(generations) == 0:
        raise ValueError(
            f"the uniformity of novelty needs the search's states, and {record.path} keeps none; "
            "run it again with `brns run ... --keep-every 1`"
        )
    points = centers(search.task.behavior_space, shape)
    return np.array([of_novelty(search.estimator, record.state(g, search), points) for g in generations])
