"""Ages and distances to parents, by hand on a family of four."""

import numpy as np
from fake_record import FakeRecord, family

from brns.metrics import dynamics


def test_ages_by_hand():
    """Generation 1: ages 1 and 0. Generation 2: ages 1 and 0 again, of others."""
    np.testing.assert_array_equal(dynamics.age_of_record(FakeRecord(family())), [0, 0.5, 0.5])


def test_parent_distances_by_hand():
    """Founders have no parent. From (3, 4) to its dead parent (3, 0) it is 4, from (5.5, 4) to (3, 4) it is 2.5."""
    found = dynamics.parent_distance_of_record(FakeRecord(family()))
    np.testing.assert_allclose(found, [np.nan, 4.0, (4 + 2.5) / 2])
