"""Paths in the space of their signatures: by hand and against signax."""

import numpy as np
import signax
from fake_record import FakeRecord, population
from numpy.testing import assert_allclose
from scipy.spatial.distance import jensenshannon

from brns import Box
from brns.metrics import paths
from brns.metrics.measures import summarize_run

SPACE = Box([-50.0, -20.0] * 3, [50.0, 20.0] * 3)


def test_signatures_and_their_box_by_hand():
    # 3 to the right, then 4 up: xx = 9 / 2, yy = 16 / 2, xy = 3 * 4 (x moves before y), yx = 0.
    corner = np.array([[0, 0, 3, 0, 3, 4]], np.float32)
    assert_allclose(paths.compute_path_signatures(corner), [[3, 4, 4.5, 12, 0, 8]])
    # Around the unit square against the clock: closed, and xy = -yx is its area.
    square = np.array([[0, 0, 1, 0, 1, 1, 0, 1, 0, 0]], np.float32)
    assert_allclose(paths.compute_path_signatures(square), [[0, 0, 0, 1, -1, 0]], atol=1e-12)
    box = paths.make_signature_space(SPACE)
    assert_allclose(box.low, [-50, -20, 0, -500, -500, 0])
    assert_allclose(box.high, [50, 20, 1250, 500, 500, 200])


def test_signatures_are_signaxs_and_place_and_speed_do_not_matter():
    walks = np.random.default_rng(0).normal(size=(5, 7, 2)).astype(np.float32)
    found = paths.compute_path_signatures(walks.reshape(5, 14))
    theirs = signax.signature(walks, 2, flatten=True)
    assert_allclose(found, theirs, rtol=1e-4, atol=1e-4)
    slower = np.insert(walks + 5, 3, 5 + (walks[:, 2] + walks[:, 3]) / 2, axis=1)
    assert_allclose(
        paths.compute_path_signatures(slower.reshape(5, 16)), found, rtol=1e-4, atol=1e-4
    )


def recorded(first_novelty=(1, 3), last_novelty=(2, 2)):
    """Two generations of two paths of two points;
    of two far away that are born in the second one survives."""
    near, far = [[0, 0, 1, 1], [0, 0, 2, 1]], [[40, -40, -40, 40], [-40, -40, 40, 40]]
    founders, survivors = population([0, 1], near), population([0, 3], [near[0], far[1]])
    founders.novelty[:] = first_novelty
    survivors.novelty[:] = last_novelty
    history = [(founders, founders), (population([2, 3], far), survivors)]
    return FakeRecord(history, box=Box([-50.0] * 4, [50.0] * 4))


def test_coverage_and_spread_are_those_of_everything_evaluated():
    cells = 3 * 3 * 5 * 20 * 15 * 10
    assert_allclose(paths.signature_coverage_of_record(recorded()), [1 / cells, 3 / cells])
    assert_allclose(summarize_run(recorded(), of_paths=True)["coverage_signatures"], 3 / cells)
    spread = paths.signature_spread_by_term_of_record(recorded())
    assert_allclose(spread[:2], [np.std([1, 2, -80, 80]), np.std([1, 1, 80, 80])])


def test_uniformity_weighs_occupied_cells_by_their_mean_novelty():
    """One cell, then two of equal novelty: uniform. Novelty 0 and 3 is not;
    where nobody is novel it is unknown."""
    found = paths.signature_novelty_distance_to_uniform_of_record(recorded(last_novelty=(0, 3)))
    expected = jensenshannon([0, 3], [1, 1], base=2)
    assert_allclose(found, [0, expected], rtol=1e-6, atol=1e-9)
    found = paths.signature_novelty_distance_to_uniform_of_record(recorded(first_novelty=(0, 0)))
    assert_allclose(found, [np.nan, 0], atol=1e-9)
