"""Who enters an archive, and who leaves it when it is full."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from archives import archive, empty, generation, ids
from learning import update
from numpy.testing import assert_allclose, assert_array_equal

from brns.estimators.archive import ArchiveKNN

SIX = ArchiveKNN(k=3, additions=6, capacity=50)


def test_growth_is_constant_and_everyone_enters_at_most_once():
    state = empty(SIX)
    everyone: dict[int, np.ndarray] = {}
    for g in range(1, 21):
        facts = generation(g)
        for part in (facts.parents, facts.offspring):
            everyone |= dict(zip(part.id.tolist(), part.descriptor, strict=True))
        before = ids(state)
        state = update(SIX, state, facts, jax.random.key(g))
        entrants = set(ids(state)) - set(before)
        assert len(ids(state)) == len(set(ids(state))) == min(6 * g, 50)
        assert len(entrants) == 6
        assert entrants <= {*facts.parents.id.tolist(), *facts.offspring.id.tolist()}
        assert_array_equal(state.id >= 0, np.arange(50) < 6 * g)  # no gaps
        for row, number in enumerate(ids(state)):
            if number in entrants:
                assert_array_equal(np.asarray(state.descriptor)[row], everyone[number])
                assert (state.entered.tolist()[row], state.born.tolist()[row]) == (g, number // 10)


def test_who_is_in_the_archive_does_not_enter_again():
    facts = generation(1)  # 20 individuals
    facts.offspring.descriptor[4, 1] = np.nan
    facts.offspring.failed[7] = True
    state, sizes = empty(SIX), []
    for g in range(5):
        state = update(SIX, state, facts, jax.random.key(g))
        sizes.append(len(ids(state)))
    assert sizes == [6, 12, 18, 18, 18]
    assert sorted(set(range(20)) - set(ids(state))) == [14, 17]


def test_random_entry_draws_everyone_equally():
    estimator = ArchiveKNN(k=3, additions=5, capacity=5)
    start, facts, keys = empty(estimator), generation(1), jax.random.split(jax.random.key(3), 4000)
    drawn = jax.jit(jax.vmap(lambda key: estimator.update(start, facts, key).id))(keys)
    counts = np.bincount(np.asarray(drawn).ravel(), minlength=20)
    # Each of 20 enters with probability 1/4: 1000 times, standard deviation 27.
    assert np.all(abs(counts - 1000) < 5 * 27.4)


def test_the_most_novel_enter():
    estimator = ArchiveKNN(k=3, additions=3, capacity=50, entry="most_novel")
    # largest: 6.13 (id 13), 6.06 (6), 5.19 (19), 5.12 (12)
    novelty = np.arange(20) % 7 + np.arange(20) / 100
    state = update(estimator, empty(estimator), generation(1, novelty=novelty), jax.random.key(1))
    assert ids(state) == [13, 6, 19]
    assert_allclose(state.novelty[:3], [6.13, 6.06, 5.19])
    state = update(estimator, state, generation(1, novelty=novelty), jax.random.key(2))
    assert ids(state)[3] == 12


@pytest.mark.parametrize("entry", ["random", "most_novel"])
def test_only_novelty_above_the_threshold_enters(entry):
    estimator = ArchiveKNN(k=3, additions=6, capacity=50, entry=entry, threshold=1.0)
    novelty = np.zeros(20)
    novelty[[2, 5, 11]] = [3, 1, 2]  # 1 is not above 1
    state = update(estimator, empty(estimator), generation(1, novelty=novelty), jax.random.key(1))
    assert sorted(ids(state)) == [2, 11]


def full_archive(**settings):
    """Six entries, ids 100 to 105, with novelty and generation of entry in different orders."""
    estimator = ArchiveKNN(k=3, additions=2, capacity=6, **settings)
    points = np.zeros((6, 2))
    columns = [5, 1, 4, 2, 6, 3], [3, 6, 2, 5, 1, 4]
    return estimator, archive(estimator, points, range(100, 106), *columns)


@pytest.mark.parametrize(("removal", "gone"), [("oldest", {104, 102}), ("least_novel", {101, 103})])
def test_removal_from_a_full_archive(removal, gone):
    estimator, state = full_archive(removal=removal)
    after = update(estimator, state, generation(7), jax.random.key(0))
    assert set(range(100, 106)) - set(ids(after)) == gone
    assert len(ids(after)) == 6


def test_random_removal_takes_every_entry_equally():
    (estimator, state), facts = full_archive(), generation(7)
    keys = jax.random.split(jax.random.key(4), 3000)
    after = jax.jit(jax.vmap(lambda key: estimator.update(state, facts, key).id))(keys)
    left = (after[:, :, None] == jnp.arange(100, 106)).any(axis=1).sum(axis=0)
    # Each of 6 stays with probability 2/3: 2000 times, standard deviation 26.
    assert np.all(abs(np.asarray(left) - 2000) < 5 * 25.8)
