"""Saturation: the share of visited places that are new, by hand and in a run."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from searches import HOST

import brns
from brns.metrics import saturation


@pytest.mark.parametrize("dimension", [1, 2, 32])
def test_what_is_found_again_is_not_new_at_any_scale(dimension):
    """Behaviors far apart: 16 in each generation, then the same ones for as long again,
    and longer. The unit of the box and its origin do not matter."""
    space = brns.Box([-7.0] * dimension, [5.0] * dimension)
    found = np.array(space.uniform(jax.random.key(0), 20 * 16), float).reshape(20, 16, dimension)
    seen = saturation.VisitedCells(space)
    new = np.array(
        [seen.update_new_cell_fraction(behaviors) for behaviors in [*found, *found, *found]]
    )
    unit = saturation.VisitedCells(brns.Box([0.0] * dimension, [1.0] * dimension))
    shares = (np.concatenate([found, found, found]) + 7) / 12
    same = [unit.update_new_cell_fraction(behaviors) for behaviors in shares]
    np.testing.assert_allclose(new, same, atol=1e-9)
    assert new[0] == 1
    if dimension > 1:  # 320 places of a line are not far apart
        assert 0.35 < new[19] < 0.55
    assert (np.diff(new[19:]) <= 0).all()
    assert new[39] < 0.05
    assert (new[40:] == 0).all()


def test_a_run_ends_where_it_is_saturated(tmp_path):
    still = replace(HOST, mutate=brns.PolynomialMutation(rate=0.0))
    (record,) = brns.run(still, 30, out=tmp_path, until=brns.saturated)
    new = saturation.fraction_new_in_last_half_of_record(record)
    ends = np.flatnonzero(new < saturation.SATURATED)
    assert record.last_generation == ends[ends >= saturation.LEAST][0] < 30
    np.testing.assert_allclose(record.to_dataframe()["new"], new[record.generations])
