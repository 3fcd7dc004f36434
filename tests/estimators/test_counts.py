"""Novelty by counting, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns.core import Box, Generation, individuals
from brns.estimators.counts import GridCounts

SPACE = Box([0, 0], [6, 3])  # with cells=3: cells of 2 by 1


FOUNDERS = individuals([[0.5, 0.5], [5, 2.5]], born=0)
FIRST = individuals([[1.9, 0.9], [1.0, 0.1]], born=1)
SECOND = individuals([[3, 1.5], [0, 0]], born=2)


def visited():
    estimator = GridCounts(cells=3)
    state = estimator.init(SPACE, jax.random.key(0))
    state = estimator.update(state, Generation(FOUNDERS, FIRST, FIRST), jax.random.key(1))
    return estimator, estimator.update(state, Generation(FIRST, SECOND, SECOND), jax.random.key(2))


def test_visits_by_hand():
    _, state = visited()
    # Corner (0, 0): a founder, both of the first offspring and one of the second, each once. The first offspring
    # were counted in their own generation and not again as parents.
    np.testing.assert_array_equal(state.visits.reshape(3, 3), [[4, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_novelty_by_hand():
    estimator, state = visited()
    descriptors = jnp.array([[0.1, 0.1], [3.9, 1.1], [5.0, 0.5]])
    novelty = estimator.score(state, descriptors, SECOND)
    np.testing.assert_allclose(novelty, [1 / np.sqrt(5), 1 / np.sqrt(2), 1], rtol=1e-6)


def test_the_border_and_beyond_belong_to_the_outer_cells():
    estimator, state = visited()
    outside = jnp.array([[6.0, 3.0], [99.0, 99.0], [-5.0, -5.0]])
    novelty = estimator.score(state, outside, SECOND)
    np.testing.assert_allclose(novelty, [1 / np.sqrt(2), 1 / np.sqrt(2), 1 / np.sqrt(5)], rtol=1e-6)


@pytest.mark.parametrize(("cells", "d"), [(20, 32), (20, 1000), (0, 2), (-20, 2)])
def test_absurd_grids(cells, d):
    with pytest.raises(ValueError, match=f"cells={cells} in each of {d} dimensions"):
        GridCounts(cells=cells).init(Box(np.zeros(d), np.ones(d)), jax.random.key(0))
