"""Coverage by hand, and against a histogram of NumPy."""

import numpy as np
import pytest
from fake_record import FakeRecord, family
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from brns.core import Box
from brns.metrics import coverage

BOX = Box([0.0, 0.0], [600.0, 600.0])


def test_cells_and_their_centers_by_hand():
    points = np.array([[0.0, 0.0], [99.9, 100.0], [600.0, 599.9], [-5.0, 1e9]], np.float32)
    found = coverage.find_cell_coordinates(points, BOX, (6, 6))
    assert found.tolist() == [[0, 0], [0, 1], [5, 5], [0, 5]]
    box, shape = Box([-1.0, 0.0, 2.0], [1.0, 3.0, 4.0]), (2, 3, 4)
    middle = coverage.compute_cell_centers(box, shape)
    assert middle[[0, 1, -1]].tolist() == [[-0.5, 0.5, 2.25], [-0.5, 0.5, 2.75], [0.5, 2.5, 3.75]]
    assert_array_equal(coverage.find_cell_coordinates(middle, box, shape), list(np.ndindex(shape)))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 200))
def test_visited_cells_are_those_of_a_histogram(seed, d, n):
    generator = np.random.default_rng(seed)
    low = generator.uniform(-5, 0, d)
    box = Box(low, low + generator.uniform(1, 9, d))
    shape = tuple(generator.integers(1, 8, d).tolist())
    low, high = np.asarray(box.low, float), np.asarray(box.high, float)
    points = low + generator.uniform(0.001, 0.999, (n, d)) * (high - low)
    counts, _ = np.histogramdd(points, shape, np.stack([low, high], axis=1))
    assert coverage.coverage(points, box, shape) == (counts > 0).mean()


def test_what_was_rounded_to_just_below_an_edge_lies_on_it():
    """Shares and fractions do, in float32."""
    for n in (3, 6, 7, 10, 49):
        places = np.arange(n) / n
        for low, high in ((0.0, 1.0), (-1.0, 1.0), (5.0, 6.0), (-6.0, -5.0)):
            box = Box([low], [high])
            points = (low + places * (high - low)).astype(np.float32)[:, None]
            cells = coverage.find_cell_coordinates(points, box, (n,))
            assert_array_equal(cells[:, 0], np.arange(n))


def test_coverage_of_a_record():
    """(0, 0) and (3, 0), then (3, 4), then (5.5, 4), in cells of 2 x 2; the founders live on."""
    record = FakeRecord(family())
    record.history[1:] = [(born, record.history[0][1]) for born, _ in record.history[1:]]
    for individuals, visited in (("survivors", [2, 2, 2]), ("evaluated", [2, 3, 4])):
        found = coverage.coverage_of_record(record, (3, 3), individuals)
        assert_allclose(found, np.array(visited) / 9)


def test_a_space_of_up_to_three_dimensions_has_cells_of_its_own():
    boxes = [Box([0.0] * d, [1.0] * d) for d in range(1, 5)]
    shapes = [coverage.choose_grid_shape_or_none(box) for box in boxes]
    assert shapes == [(36,), (6, 6), (6, 6, 6), None]
    with pytest.raises(ValueError, match=r"4 dimensions has no grid .*tessellation"):
        coverage.require_grid_shape(boxes[3])


def test_what_has_no_coverage_is_refused(unchecked):
    wrong = [([[0, 0], [np.nan, 0]], (6, 6)), ([[0, 0, 0]], (6, 6)), ([[0, 0]], (6, 0))]
    wrong += [([[0, 0]], (6.5, 6)), ([0, 0], (6, 6)), ([[0, 0]], 6)]
    for points, shape in wrong:
        with pytest.raises(ValueError, match="lie in"):
            coverage.coverage(np.array(points, float), BOX, shape)


@pytest.mark.parametrize("shape", [(3, 1), (3, 3), (0, 2)])
def test_centres_of_other_dimensions_than_the_box_are_refused(shape, unchecked):
    with pytest.raises(ValueError, match=r"give points and centres \(n, 2\)"):
        coverage.coverage(np.zeros((4, 2)), BOX, np.zeros(shape))


def test_a_shape_may_be_an_array_of_numpy(unchecked):
    """10 cells in each of 32 dimensions, too many to list: points in two cover 2 of 10^32."""
    box, shape = Box([-50.0] * 32, [50.0] * 32), np.full(32, 10)
    points = np.stack([np.full(32, 49.0), np.full(32, -49.0), np.full(32, -48.0)])
    assert coverage.coverage(points, box, shape) == pytest.approx(2e-32, rel=1e-9, abs=0)
