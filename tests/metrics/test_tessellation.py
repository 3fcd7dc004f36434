"""Coverage in cells that k-means places among behaviors."""

import numpy as np
import pytest
from fake_record import FakeRecord, population
from numpy.testing import assert_array_equal

from brns import Box
from brns.metrics import coverage, elites, tessellation, uniformity

UNIT = Box([0.0] * 40, [1.0] * 40)


@pytest.fixture(scope="module")
def clusters():
    """Four places far from each other in 40 dimensions, 70 behaviors about each."""
    generator = np.random.default_rng(0)
    middles = 10.0 * np.eye(40)[:4]
    return middles, (middles[:, None] + 0.1 * generator.normal(size=(4, 70, 40))).reshape(-1, 40)


def test_clusters_are_all_covered_by_their_points_and_one_by_a_quarter(clusters):
    middles, points = clusters
    centres = tessellation.make_tessellation(points, 12)
    assert centres.shape == (12, 40)
    assert np.linalg.norm(centres[:, None] - middles, axis=-1).min(axis=1).max() < 2
    distances = np.linalg.norm(points[:70, None] - centres, axis=-1)
    own = np.unique(distances.argmin(axis=1))
    assert coverage.coverage(points, UNIT, centres) == 1
    assert coverage.coverage(points[:70], UNIT, centres) == len(own) / 12 < 1


def test_coverage_adds_up_over_generations_of_any_size(monkeypatch):
    """Centres at 0, 1, 2 and 3; the third generation is nowhere new, the fourth is empty."""
    monkeypatch.setattr(coverage, "QUERIES", 2)
    centres = np.arange(4.0)[:, None] * np.ones(5)
    generations = [np.full((2, 5), 0.2), np.array([[2.4], [1.1], [2.0]]) * np.ones(5)]
    generations += [np.ones((1, 5)), np.zeros((0, 5))]
    box = Box([0.0] * 5, [1.0] * 5)
    shares = coverage.cumulative_coverage(generations, box, centres)
    assert_array_equal(shares, [0.25, 0.75, 0.75, 0.75])


def test_the_nearest_centre_is_found_in_widths_of_the_box():
    """(3, 1) is 1 from (3, 0) and 3 from (0, 1), in a box ten times as wide 1 and 0.3."""
    centres = np.array([[0.0, 1.0], [3.0, 0.0]])
    for width, nearest in ((10.0, 0), (1.0, 1)):
        box = Box([0.0, 0.0], [width, 1.0])
        cells = coverage.find_cell_coordinates(np.array([[3.0, 1.0]]), box, centres)
        assert cells.tolist() == [[nearest]]


def test_the_centres_of_a_grid_are_a_tessellation_that_measures_as_the_grid():
    generator = np.random.default_rng(1)
    box, shape = Box([-1.0, 0.0, 5.0], [1.0, 30.0, 6.0]), (2, 3, 4)
    centres = coverage.compute_cell_centers(box, shape)
    history = []
    for g in range(5):
        places = generator.uniform(np.asarray(box.low), np.asarray(box.high), (6, 3))
        born = population(np.arange(6) + 6 * g, places, born=np.full(6, g))
        born = born._replace(fitness=generator.normal(size=6))
        history.append((born, born))
    record = FakeRecord(history, box=box)
    places = record.column("offspring.descriptor").reshape(-1, 3)
    for measure in (
        coverage.coverage_of_record,
        elites.qd_score,
        lambda record, cells: elites.elites(record, cells).id,
        lambda record, cells: uniformity.distance_to_uniform_of_points(places, box, cells),
        lambda record, cells: uniformity.distance_to_uniform_of_values(
            places, places[:, 1], box, cells
        ),
    ):
        assert_array_equal(measure(record, centres), measure(record, shape))


def test_the_same_points_give_the_same_cells(clusters):
    centres = tessellation.make_tessellation(clusters[1], 12, seed=3)
    assert_array_equal(centres, tessellation.make_tessellation(clusters[1], 12, seed=3))
    assert (centres != tessellation.make_tessellation(clusters[1], 12, seed=4)).any()


def test_there_are_no_more_cells_than_different_points_among_a_seventh():
    points = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    assert len(tessellation.make_tessellation(points)) == 2
    assert len(tessellation.make_tessellation(np.arange(100.0)[:, None])) == 15


def test_centres_move_to_the_middles_wherever_they_began():
    points = np.repeat([[0.0], [1.0], [10.0], [11.0]], 70, axis=0)
    for seed in range(10):
        low, high = np.sort(tessellation.make_tessellation(points, 2, seed), axis=None)
        assert 0 < low < 1 < 10 < high < 11


@pytest.mark.parametrize(("points", "cells"), [(np.zeros((0, 3)), 9), (np.full((9, 3), np.nan), 9),
                                           (np.zeros((9, 3)), 1)])  # fmt: skip
def test_what_makes_no_tessellation_is_said(points, cells):
    with pytest.raises(ValueError, match="finite points and at least 2 cells; got"):
        tessellation.make_tessellation(points, cells)
