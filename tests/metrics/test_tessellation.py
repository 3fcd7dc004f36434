"""Coverage in cells that k-means places among behaviors."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from brns.metrics import tessellation


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
    assert tessellation.coverage(points, centres) == 1
    assert tessellation.coverage(points[:70], centres) == len(own) / 12 < 1


def test_coverage_adds_up_over_generations_of_any_size():
    """Centres at 0, 1, 2 and 3; the third generation is nowhere new, the fourth is empty."""
    centres = np.arange(4.0)[:, None] * np.ones(5)
    generations = [np.full((2, 5), 0.2), np.array([[2.4], [1.1], [2.0]]) * np.ones(5)]
    generations += [np.ones((1, 5)), np.zeros((0, 5))]
    shares = tessellation.cumulative_coverage(generations, centres)
    assert_array_equal(shares, [0.25, 0.75, 0.75, 0.75])


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
