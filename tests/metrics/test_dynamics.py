"""Ages and distances to parents, by hand on a family of four."""

import numpy as np
import pytest
from fake_record import FakeRecord, family

from brns.metrics import dynamics


def test_ages_by_hand():
    """Generation 1: ages 1 and 0. Generation 2: ages 1 and 0 again, of others."""
    np.testing.assert_array_equal(dynamics.age_of_record(FakeRecord(family())), [0, 0.5, 0.5])


def test_parent_distances_by_hand():
    """Founders have no parent. From (3, 4) to its dead parent (3, 0) it is 4, from (5.5, 4) to (3, 4) it is 2.5."""
    found = dynamics.parent_distance_of_record(FakeRecord(family()))
    np.testing.assert_allclose(found, [np.nan, 4.0, (4 + 2.5) / 2])


def test_ids_are_looked_up_in_any_order():
    generator = np.random.default_rng(0)
    known, behaviors = generator.permutation(50), generator.normal(size=(50, 3))
    parents, here = generator.integers(-1, 50, (6, 8)), generator.normal(size=(6, 8, 3))
    expected = []
    for g in range(6):
        pairs = [(x, behaviors[known.tolist().index(p)]) for x, p in zip(here[g], parents[g], strict=True) if p >= 0]
        expected.append(np.mean([np.linalg.norm(x - y) for x, y in pairs]))
    np.testing.assert_allclose(dynamics.parent_distance(here, parents, known, behaviors), expected)


def test_parents_that_never_lived_are_refused():
    with pytest.raises(ValueError, match="not known"):
        dynamics.parent_distance(np.zeros((1, 2, 1)), np.array([[0, 7]]), np.arange(3), np.zeros((3, 1)))
