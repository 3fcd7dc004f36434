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


def test_permuting_descriptors_permutes_novelty():
    estimator, state = visited()
    descriptors = SPACE.uniform(jax.random.key(3), 40)
    order = np.random.default_rng(0).permutation(40)
    novelty = estimator.score(state, descriptors, SECOND)
    np.testing.assert_array_equal(estimator.score(state, descriptors[order], SECOND), novelty[order])


@pytest.mark.parametrize(("cells", "d"), [(20, 32), (20, 1000), (0, 2)])
def test_absurd_grids(cells, d):
    with pytest.raises(ValueError, match=f"cells={cells} in each of {d} dimensions"):
        GridCounts(cells=cells).init(Box(np.zeros(d), np.ones(d)), jax.random.key(0))


def test_compiles_once_over_generations():
    traces = []
    estimator = GridCounts(cells=3)

    @jax.jit
    def update(state, facts):
        traces.append(None)
        return estimator.update(state, facts, jax.random.key(0))

    state = estimator.init(SPACE, jax.random.key(0))
    for facts in (Generation(FOUNDERS, FIRST, FIRST), Generation(FIRST, SECOND, SECOND)):
        state = update(state, facts)
    assert len(traces) == 1


def test_a_negative_number_of_cells_is_refused_whatever_its_power():
    with pytest.raises(ValueError, match=r"cells=-20 .*: take cells from 1 on"):
        GridCounts(cells=-20).init(Box([0.0, 0.0], [1.0, 1.0]), jax.random.key(0))
