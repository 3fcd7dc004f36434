"""The exact search for nearest neighbours: by hand and against NumPy; `test_archive` holds it against SciPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns.estimators.neighbours import References, _smallest, nearest


def test_the_nearest_may_each_stand_in_another_group():
    rows = np.arange(600, dtype=np.float32)  # row i is in group i modulo 38
    line = References(jnp.asarray(rows)[:, None], jnp.ones(600, bool))
    found = nearest(jnp.array([[0.0], [599.0]]), (line,), 16)
    np.testing.assert_array_equal(found, np.tile(np.arange(16.0) ** 2, (2, 1)))


@pytest.mark.parametrize(("count", "rows"), [(1, 6), (2, 40), (7, 5), (16, 100), (21, 40)])
def test_the_tournament_sorts_like_numpy(count, rows):
    values = np.random.default_rng(count).integers(0, 40, (rows, 50)).astype(np.float32)
    number = jnp.broadcast_to(jnp.arange(rows)[:, None], values.shape)
    smallest, row = jax.jit(partial(_smallest, count))(jnp.asarray(values), number)
    kept = min(count, rows)
    np.testing.assert_array_equal(smallest[:kept], np.sort(values, axis=0)[:kept])
    np.testing.assert_array_equal(np.take_along_axis(values, np.asarray(row)[:kept], 0), smallest[:kept])
    assert np.all(np.isinf(smallest[kept:]))
