r"""Measures of a search whose behaviors are planar paths, taken in the space of their signatures;
section 5.2, table I.

In 32 dimensions a grid says nothing, so a path x1, y1, x2, y2, ... is mapped to its signature up to
level 2: its increments x and y, and the iterated integrals xx, xy, yx, yy,
$S^{ij} = \int_{s < t} dx^i_s dx^j_t$ (Chevyrev & Kormilitzin, arXiv:1603.03788). The paper divides
that space into 3 x 3 x 5 x 20 x 15 x 10 cells and does not say between which bounds. Ours follow
from the arena's half widths $h_x, h_y$: x and y in $\pm h$, xx and yy up to $h^2 / 2$, and xy and
yx (areas) in $\pm h_x h_y / 2$. What lies outside counts for the border.
"""

import numpy as np
from jaxtyping import Float

from brns.core import Box
from brns.metrics.coverage import cumulative_coverage
from brns.metrics.recorded import Numbers, Record, read_valid_rows_by_generation
from brns.metrics.uniformity import distance_to_uniform_of_values

GRID = (3, 3, 5, 20, 15, 10)  # section 5.2
TERMS = ("x", "y", "xx", "xy", "yx", "yy")


def compute_path_signatures(descriptors: Float[Numbers, "n d"]) -> Float[np.ndarray, "n 6"]:
    """The six signature terms x, y, xx, xy, yx, yy of piecewise linear paths.

    Paths run forward in time; the published code lists their points backwards, which gives the
    inverse signature.

    Args:
        descriptors: x1, y1, x2, y2, ... of each path.

    Returns:
        `(n, 6)`, in the path's unit and its square.
    """
    points = np.reshape(descriptors, (len(descriptors), -1, 2)).astype(np.float64)
    steps = np.diff(points, axis=1)
    middles = (points[:, 1:] + points[:, :-1]) / 2 - points[:, :1]
    areas = np.einsum("nti,ntj->nij", middles, steps)
    return np.concatenate([steps.sum(axis=1), areas.reshape(-1, 4)], axis=1)


def make_signature_space(space: Box) -> Box:
    """The box of the signatures of paths in a behavior space, by the bounds above."""
    x, y = np.asarray(space.high - space.low, np.float64)[:2] / 2
    area = x * y / 2
    return Box([-x, -y, 0.0, -area, -area, 0.0], [x, y, x * x / 2, area, area, y * y / 2])


def signature_coverage_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """The share of the cells of signature space visited by everything
    evaluated up to each generation.

    Args:
        record: the run, whose behaviors are planar paths.

    Returns:
        From 0 to 1, from generation 0 on.
    """
    paths = read_valid_rows_by_generation(record, "descriptor")
    generations = [compute_path_signatures(rows) for rows in paths]
    return cumulative_coverage(generations, make_signature_space(record.behavior_space), GRID)


def signature_novelty_distance_to_uniform_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """How far the novelty of each generation's survivors is from uniform over the cells that they
    occupy.

    The Jensen-Shannon distance of the mean novelty, as selection saw it, in each occupied cell.
    Over all cells it would be above 0.99 at the paper's coverage; the paper prints 0.05 to 0.18.

    Args:
        record: the run, whose behaviors are planar paths.

    Returns:
        From 0 to 1, from generation 0 on; NaN where nobody is novel, or some novelty below 0.
    """
    box = make_signature_space(record.behavior_space)
    novelties = record.column("survivors.novelty")
    distances = np.full(len(novelties), np.nan)
    for g, paths in enumerate(record.column("survivors.descriptor")):
        if novelties[g].any() and novelties[g].min() >= 0:
            signatures = compute_path_signatures(paths)
            distances[g] = distance_to_uniform_of_values(signatures, novelties[g], box, GRID)
    return distances


def signature_spread_by_term_of_record(record: Record) -> Float[np.ndarray, " 6"]:
    """The standard deviation of each signature term over all evaluated individuals; figure 5.

    Args:
        record: the run, whose behaviors are planar paths.

    Returns:
        In the order of `TERMS`.
    """
    paths = np.concatenate(read_valid_rows_by_generation(record, "descriptor"))
    return compute_path_signatures(paths).std(axis=0)
