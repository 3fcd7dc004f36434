"""The Jensen-Shannon distance to uniform: against SciPy, and what has none."""

import jax.numpy as jnp
import numpy as np
import pytest
from fake_record import Additive, FakeRecord, family
from scipy.spatial.distance import jensenshannon

from brns.core import Box
from brns.metrics import uniformity

BOX = Box([0.0, 0.0], [6.0, 6.0])


def test_weights_that_are_equal_up_to_rounding_have_distance_0():
    generator = np.random.default_rng(0)
    for n in range(1, 50):
        weights = 1 + 1e-15 * generator.standard_normal(n)
        assert 0 <= uniformity.distance_to_uniform(weights) < 1e-7


def test_agrees_with_scipy_whether_empty_cells_are_listed_or_counted():
    generator = np.random.default_rng(1)
    for _ in range(20):
        weights = generator.uniform(size=30) * (generator.uniform(size=30) < 0.5)
        weights[0] = 1.0
        expected = pytest.approx(jensenshannon(weights, np.ones(30), base=2))
        assert uniformity.distance_to_uniform(weights) == expected
        assert uniformity.distance_to_uniform(weights[weights > 0], total=30) == expected


def test_occupancy_and_values_of_cells_by_hand():
    """Cells of 3 x 3: two points in one, one in another, one outside, of its border cell."""
    points = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 1.0], [9.0, -9.0]])
    expected = jensenshannon([2, 2, 0, 0], np.ones(4), base=2)
    assert uniformity.distance_to_uniform_of_points(points, BOX, (2, 2)) == pytest.approx(expected)
    # Means 2 and 6 in the two visited cells of four.
    points, values = np.array([[1.0, 1.0], [5.0, 5.0], [2.0, 1.0]]), np.array([1.0, 6.0, 3.0])
    expected = jensenshannon([2, 6], [1, 1], base=2)
    assert uniformity.distance_to_uniform_of_values(points, values, BOX, (2, 2)) == pytest.approx(
        expected
    )


def test_novelty_over_a_grid_of_each_state_kept():
    """Centers 1, 3 and 5 along x, and two alive; a large state makes novelty even."""
    record = FakeRecord(family(), {0: jnp.float32(0), 2: jnp.float32(1e6)}, Additive())
    first, second = uniformity.grid_novelty_distance_to_uniform_of_record(record, (3, 1))
    assert first == pytest.approx(jensenshannon([3, 5, 7], np.ones(3), base=2))
    assert second < 1e-5


def test_what_has_no_uniformity_is_refused():
    for weights in ([0.0, 0.0], [1.0, np.nan], [1.0, -1.0]):
        with pytest.raises(ValueError, match="archive empty"):
            uniformity.distance_to_uniform(np.array(weights))
    with pytest.raises(ValueError, match="--checkpoint-every 1"):
        uniformity.grid_novelty_distance_to_uniform_of_record(FakeRecord(family()), (2, 2))
