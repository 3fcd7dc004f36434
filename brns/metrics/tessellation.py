"""Cells of a descriptor space of any number of dimensions: a tessellation.

Cells are the regions nearest to centres, which k-means places among behaviors that were really met.
So they measure behaviors of any number of dimensions, of which a grid says nothing. The centres
of a comparison come from what all its methods evaluated, in a seed that is not counted: no method
is measured by cells of its own making.
"""

import math
import warnings

import numpy as np
from jaxtyping import Float

from brns.metrics.coverage import Points
from brns.progress import show_progress_of

CELLS = 3000
"""as in the trials that showed what planes hide; fewer are all covered soon, more by chance"""
SHARE = 7
"""of so many behaviors one is used to place the centres: more take longer and move little"""
ITERATIONS = 10
"""of Lloyd's algorithm"""

Centres = Float[np.ndarray, "c d"]


def make_tessellation(
    points: Points, number: int = CELLS, seed: int = 0, progress: bool = True
) -> Centres:
    """The centres of a centroidal Voronoi tessellation: k-means over behaviors.

    Source: Vassiliades, Chatzilygeroudis & Mouret 2018, doi:10.1109/TEVC.2017.2735550, who draw the
    points uniformly from a box; here they are behaviors, which fill little of a box of many
    dimensions. Lloyd's algorithm begins with different behaviors, drawn without replacement. The
    same points in the same order give the same centres.

    Args:
        points: Behaviors `(n, d)`, divided by the widths of their box where these differ.
        number: How many centres; fewer where a seventh of the points has fewer that differ.
        seed: Of the draw of a seventh of the points and of the first centres.
        progress: Whether a bar is shown.

    Returns:
        The centres, `(c, d)`, in the unit of the points.

    Raises:
        ValueError: Where there are fewer than 2 cells or no finite points.
    """
    from scipy.cluster.vq import kmeans2  # a summary without it starts sooner

    points = np.asarray(points)
    if number < 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(
            f"a tessellation needs finite points and at least 2 cells; got {number} cells and "
            f"points of shape {points.shape}"
        )
    generator = np.random.default_rng(seed)
    drawn = generator.permutation(len(points))[: math.ceil(len(points) / SHARE)]
    used = points[drawn].astype(np.float64)
    different = np.unique(used, axis=0)
    centres = different[generator.permutation(len(different))[:number]]
    for _ in show_progress_of(range(ITERATIONS), "placing cells", ITERATIONS, progress):
        # A centre without points stays where it is.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            centres, _ = kmeans2(used, centres, iter=1, minit="matrix")
    return centres
