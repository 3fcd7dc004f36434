"""The NumPy face of an estimator: what the pure functions say, also from a file."""

import equinox as eqx
import jax
import numpy as np
import pytest
from searches import Distance

import brns
from brns import Box, Novelty
from brns.core import observed
from brns.runs.storage import RecordError, write_arrays

SPACE = Box([-1.0, -1.0], [1.0, 1.0])
ARCHIVE = brns.ArchiveKNN(k=3, additions=2, capacity=30)  # whom it takes in is drawn
BATCHES = np.random.default_rng(0).uniform(-1, 1, (4, 20, 2))


def test_it_says_what_the_pure_functions_say():
    novelty, key = Novelty(ARCHIVE, SPACE, seed=3), jax.random.key(3)
    score, update = eqx.filter_jit(ARCHIVE.score), eqx.filter_jit(ARCHIVE.update)
    state = eqx.filter_jit(ARCHIVE.init)(SPACE, key)
    for number, behaviors in enumerate(BATCHES, 1):
        batch = observed(behaviors, number)
        found = novelty.score(behaviors)
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(
            found, score(state, batch.offspring.descriptor, batch.offspring)
        )
        novelty.learn(behaviors, found)
        state = update(state, batch, jax.random.fold_in(key, number))
    assert repr(novelty).endswith("seed=3, 80 behaviors of 2 dimensions in 4 batches)")


def test_neighbours_by_hand_and_no_two_batches_share_an_individual():
    """On a line at 0, 1, 3 all are learned, and then 10, 12 of another number of rows: all five are in the archive."""
    novelty = Novelty(brns.ArchiveKNN(k=1, additions=3, capacity=9), Box([0.0], [20.0]))
    assert novelty.score([[0], [1], [3]]).tolist() == [1, 1, 2]
    novelty.learn([[0], [1], [3]])
    novelty.learn([[10], [12]])
    # Who lives is far away: the nearest others are archived, at 0, 3, 10 and 12.
    assert novelty.score([[0.5], [5], [9], [15]], population=[[20], [19]]).tolist() == [
        0.5,
        2,
        1,
        3,
    ]


def test_an_archive_that_takes_the_most_novel_is_told_which_those_are():
    novelty = Novelty(
        brns.ArchiveKNN(k=1, additions=1, capacity=9, entry="most_novel"), Box([0.0], [20.0])
    )
    points = np.array([[0.0], [1.0], [9.0]])
    novelty.learn(points, novelty.score(points))
    assert novelty.state.descriptor[0, 0] == 9


def test_a_saved_one_goes_on_to_the_same_bits(tmp_path):
    whole = Novelty(ARCHIVE, SPACE, seed=np.int64(1))
    whole.learn(BATCHES[0])
    whole.save(tmp_path / "novelty.npz")
    again = Novelty.load(tmp_path / "novelty.npz")
    assert repr(again) == repr(whole)
    for one in (whole, again):
        one.learn(BATCHES[1])
    np.testing.assert_array_equal(again.score(BATCHES[2]), whole.score(BATCHES[2]))


class Mine(Distance):
    weight: float = 1.0

    def score(self, state, descriptors, population):
        return self.weight * super().score(state, descriptors, population)


def test_an_estimator_of_ones_own_is_given_again_and_another_is_refused(tmp_path):
    novelty = Novelty(Mine(), SPACE)
    novelty.learn([[0.5, 0.5]])
    novelty.save(tmp_path / "mine.npz")
    assert Novelty.load(tmp_path / "mine.npz", Mine()).score([[1.0, 0.5]]).tolist() == [0.5]
    with pytest.raises(ValueError, match="'Mine' is not in brns"):
        Novelty.load(tmp_path / "mine.npz")
    with pytest.raises(RecordError, match=r"another estimator: weight was 1.0 and is 2.0"):
        Novelty.load(tmp_path / "mine.npz", Mine(2.0))
    write_arrays(tmp_path / "other.npz", {"a": np.zeros(3)}, "generation 0 of run 0123")
    with pytest.raises(RecordError, match="Novelty"):
        Novelty.load(tmp_path / "other.npz")


def test_nobody_is_scored_and_learned_without_a_change():
    novelty, nobody = Novelty(brns.VisitCounts(grids=8), SPACE), np.zeros((0, 2))
    assert novelty.score(nobody).shape == (0,)
    novelty.learn(nobody)
    assert (novelty.batches, novelty.learned) == (0, 0)
    with pytest.raises(ValueError, match="population is empty"):
        novelty.score([[0.0, 0.0]], population=nobody)


def test_what_are_no_descriptors_and_no_novelty_is_refused():
    novelty = Novelty(brns.VisitCounts(grids=8), SPACE)
    for wrong in (np.zeros(2), [[np.nan, 0], [0, 0]]):
        with pytest.raises(ValueError, match=r"shape \(n, 2\).* finite"):
            novelty.score(wrong)
    with pytest.raises(ValueError, match="1 finite numbers"):
        novelty.learn([[0.0, 0.0]], novelty=[1.0, 2.0])
