"""Calibration: an archive that keeps everybody is its own oracle; its opposite is the opposite."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import Identity

from brns import ArchiveKNN, NoveltySearch, PolynomialMutation
from brns.comparison import calibration
from brns.comparison.calibration import calibrated
from brns.comparison.worlds import Cells

CELLS = Cells((0.0, 0.0), (600.0, 600.0), 5, 25, "all")


K = 3  # compiles sooner than 15
EVERYBODY = ArchiveKNN(k=K, growth=40, capacity=400)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """The oracle counts as many neighbours as the archive."""
    monkeypatch.setattr(calibration, "NEIGHBOURS", K)


def search(estimator):
    """Every gene mutates: of duplicates an archive says one thing before they are born, and another after."""
    return NoveltySearch(Identity(), estimator, 20, 20, PolynomialMutation(rate=1.0))


class Backwards(eqx.Module):
    """What an archive of everybody says, the other way round."""

    def init(self, space, key):
        return EVERYBODY.init(space, key)

    def score(self, state, descriptors, population):
        return -EVERYBODY.score(state, descriptors, population)

    def update(self, state, generation, key):
        return EVERYBODY.update(state, generation, key)


@pytest.mark.slow
def test_an_archive_of_everybody_has_the_oracle_s_order():
    found = calibrated(search(EVERYBODY), CELLS, 10, [0, 1], moments=2, probes=100)
    assert found.generation.tolist() == [5, 10]
    assert found.distance.shape == (2, 2)
    assert (found.distance > 0.99).all()
    assert (found.rarity > 0.15).all()  # 0.23 to 0.54


@pytest.mark.slow
def test_its_opposite_has_the_opposite_order():
    found = calibrated(search(Backwards()), CELLS, 5, [0], moments=1, probes=100)
    assert (found.distance < -0.98).all()


def test_all_equally_novel_is_no_correlation():
    class Nothing(Backwards):
        def score(self, state, descriptors, population):
            return jnp.zeros(len(descriptors))

    with pytest.warns(match="constant"):
        found = calibrated(search(Nothing()), CELLS, 4, [0], moments=1)
    assert np.isnan(found.distance).all()


def test_what_makes_no_calibration():
    with pytest.raises(ValueError, match="1 to as many moments as generations"):
        calibrated(search(EVERYBODY), CELLS, 4, [0], moments=5)
