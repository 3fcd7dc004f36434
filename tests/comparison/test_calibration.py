"""Calibration: an archive that keeps everybody is its own oracle; its opposite is the opposite."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import Identity

from brns import ArchiveKNN, NoveltySearch
from brns.comparison.calibration import calibrated
from brns.comparison.worlds import Cells

CELLS = Cells((0.0, 0.0), (600.0, 600.0), 5, 25, "all")


EVERYBODY = ArchiveKNN(k=15, growth=40, capacity=400)


class Backwards(eqx.Module):
    """What an archive of everybody says, the other way round."""

    def init(self, space, key):
        return EVERYBODY.init(space, key)

    def score(self, state, descriptors, population):
        return -EVERYBODY.score(state, descriptors, population)

    def update(self, state, generation, key):
        return EVERYBODY.update(state, generation, key)


def test_an_archive_of_everybody_has_the_oracle_s_order():
    found = calibrated(NoveltySearch(Identity(), EVERYBODY, 20, 20), CELLS, 10, [0, 1], moments=2, probes=100)
    assert found.generation.tolist() == [5, 10]
    assert found.distance.shape == (2, 2)
    assert (found.distance > 0.98).all()  # not 1: who is about to be born again is a duplicate already
    assert (found.rarity > 0.3).all()


def test_its_opposite_has_the_opposite_order():
    found = calibrated(NoveltySearch(Identity(), Backwards(), 20, 20), CELLS, 5, [0], moments=1, probes=100)
    assert (found.distance < -0.98).all()


def test_all_equally_novel_is_no_correlation():
    class Nothing(Backwards):
        def score(self, state, descriptors, population):
            return jnp.zeros(len(descriptors))

    with pytest.warns(match="constant"):
        found = calibrated(NoveltySearch(Identity(), Nothing(), 20, 20), CELLS, 4, [0], moments=1)
    assert np.isnan(found.distance).all()


def test_what_makes_no_calibration():
    with pytest.raises(ValueError, match="1 to as many moments as generations"):
        calibrated(NoveltySearch(Identity(), EVERYBODY, 8, 8), CELLS, 4, [0], moments=5)
