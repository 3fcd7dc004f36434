"""The rivals at constant cost, by hand: density of random features, counts of hash codes, coin flips."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns import Box, check_estimator, observed
from reproduction.rivals.coins import CoinFlips
from reproduction.rivals.density import FeatureDensity
from reproduction.rivals.hashing import HashCounts

KEY = jax.random.key(0)
SPACE = Box([-1, -1], [1, 1])
NOBODY = observed(np.zeros((0, 2)), 1).offspring
RIVALS = [FeatureDensity(size=64), HashCounts(bits=16), CoinFlips(reservoir=100, steps=2)]


@eqx.filter_jit
def init(estimator):
    return estimator.init(SPACE, KEY)


@eqx.filter_jit
def update(estimator, state, generation, key=KEY):
    return estimator.update(state, generation, key)


@eqx.filter_jit
def novelty(estimator, state, points):
    return estimator.score(state, jnp.asarray(points, jnp.float32), NOBODY)


def learned(estimator, batches):
    state = init(estimator)
    for number, batch in enumerate(batches, 1):
        state = update(estimator, state, observed(batch, number), jax.random.fold_in(KEY, number))
    return state


@pytest.mark.slow
@pytest.mark.parametrize("rival", RIVALS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("d", [2, 40])
def test_they_fulfil_the_contract(rival, d):
    check_estimator(rival, dimension=d)


def test_density_by_hand():
    """Two at one place and one far away: the place has two thirds of the visits and the kernel of the third."""
    estimator = FeatureDensity(size=4096, frequencies=(8.0, 8.0))
    state = learned(estimator, [[[0.5, 0], [0.5, 0], [-0.5, 0]]])
    # In units of three root mean deviations, w ~ N(0, 8^2 I): k(b, b') = exp(-32 |b - b'|^2 / scale^2).
    scale = 3 * np.sqrt(np.var([0.5, 0.5, -0.5]) / 2)
    far = np.exp(-32 / scale**2)
    found = novelty(estimator, state, [[0.5, 0], [-0.5, 0]])
    np.testing.assert_allclose(found, [1 - (2 + far) / 3, 1 - (1 + 2 * far) / 3], atol=0.03)


def test_counts_by_hand():
    """Four visits of one code and one of another: 1 / sqrt(5) and 1 / sqrt(2), and 1 where nobody was."""
    estimator = HashCounts(bits=64)
    state = learned(estimator, [[[0.5, 0.5], [0.5, 0.5], [-0.5, -0.5]], [[0.5, 0.5], [0.5, 0.5], [0.5, -0.5]]])
    found = novelty(estimator, state, [[0.5, 0.5], [-0.5, -0.5], [-0.5, 0.5]])
    np.testing.assert_allclose(found, [1 / np.sqrt(5), 1 / np.sqrt(2), 1], rtol=1e-6)


def test_visits_of_a_code_are_never_forgotten():
    estimator = HashCounts(bits=16)
    state = learned(estimator, np.random.default_rng(0).uniform(-1, 1, (1, 20, 2)))
    before = novelty(estimator, state, np.zeros((1, 2)))
    for number in range(2, 6):
        batch = np.random.default_rng(number).uniform(-1, 1, (20, 2))
        state = update(estimator, state, observed(batch, number))
        after = novelty(estimator, state, np.zeros((1, 2)))
        assert after <= before
        before = after
    assert state.visits.sum() == state.seen == 100


def test_coins_tell_one_over_the_visits():
    """A behavior seen 16 times, where 1600 coins are thrown: f is the mean coin, whose square is 1 / 16 on average."""
    estimator = CoinFlips(coins=100, reservoir=32, batch=64, steps=300, learning_rate=1e-2)
    state = learned(estimator, [np.repeat([[0.5, 0.5], [-0.5, -0.5]], [16, 4], axis=0)])
    often, seldom = novelty(estimator, state, [[0.5, 0.5], [-0.5, -0.5]])
    assert 0.03 < often < 0.12
    assert 0.15 < seldom < 0.4


@pytest.mark.slow
def test_the_sample_of_visits_is_uniform_over_time():
    """20 batches of 10 through a sample of 40: each batch is left with a fifth of its visits, the first as the last."""
    estimator = CoinFlips(coins=1, width=1, reservoir=40, steps=1, batch=1)
    left = np.zeros(20)
    for seed in range(30):
        state = init(estimator)
        for number in range(1, 21):
            batch = observed(np.full((10, 2), number / 20), number)
            state = update(estimator, state, batch, jax.random.fold_in(jax.random.key(seed), number))
        left += np.bincount(np.rint(np.asarray(state.flips.behavior[:, 0]) * 20).astype(int) - 1, minlength=20)
    # Binomial: 300 visits of each batch, a fifth of which stays: 60 +- 7.
    np.testing.assert_allclose(left, 60, atol=28)
    assert left.sum() == 30 * 40
