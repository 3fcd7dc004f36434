"""The exact search for nearest neighbours: by hand, against NumPy and SciPy."""

import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import KDTree

from brns.estimators.neighbours import CHUNK, References, nearest_squared_distances


def test_the_nearest_may_each_stand_in_another_group():
    rows = np.arange(600, dtype=np.float32)  # row i is in group i modulo 38
    line = References(jnp.asarray(rows)[:, None], jnp.ones(600, bool))
    found = nearest_squared_distances(jnp.array([[0.0], [599.0]]), line, 16)
    assert_array_equal(found, np.tile(np.arange(16.0) ** 2, (2, 1)))
    assert nearest_squared_distances(jnp.zeros((0, 1)), line, 3).shape == (0, 3)  # of nobody


def test_where_few_are_present_the_rest_is_infinitely_far():
    """30 rows of which 10 stand, and 15 looked for; among 5 rows, too."""
    points = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    present = np.arange(30) % 3 == 0
    found = nearest_squared_distances(
        jnp.asarray(points), References(jnp.asarray(points), jnp.asarray(present)), 15
    )
    distances = ((points[:, None] - points[present]) ** 2).sum(axis=2)
    assert_allclose(found[:, :10], np.sort(distances, axis=1), rtol=1e-5)
    assert np.isinf(found[:, 10:]).all()
    few = nearest_squared_distances(
        jnp.asarray(points), References(jnp.asarray(points[:5]), jnp.ones(5, bool)), 18
    )
    assert np.isinf(few).sum(axis=1).tolist() == [13] * 30


def test_points_find_what_a_tree_finds():
    """With clusters, duplicates, rows that do not count and a query that is no point."""
    random = np.random.default_rng(3)
    cluster, others = random.normal(0, 0.01, (3000, 3)), random.uniform(-1, 1, (3000, 3))
    points = np.concatenate([cluster, others]).astype(np.float32)
    points[::7] = points[3]
    present = random.random(6000) < 0.8
    queries = np.concatenate([points[: 3 * CHUNK], np.full((1, 3), np.nan, np.float32)])
    rows = np.where(present[:, None], points, np.nan)
    there = References(jnp.asarray(rows), jnp.asarray(present))
    found = np.asarray(nearest_squared_distances(jnp.asarray(queries), there, 9))
    expected = KDTree(points[present].astype(float)).query(queries[:-1].astype(float), 9)[0]
    assert_allclose(np.sqrt(found[:-1]), expected, rtol=1e-5, atol=1e-8)
