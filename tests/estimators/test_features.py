"""Frozen random features, and the scale in which they see behaviors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning import KEY, init, learned, novelty, people
from numpy.testing import assert_allclose

from brns import Box, ExactRecognition, VisitCounts
from brns.core import Population
from brns.estimators.features import (
    Cosines,
    compute_cosine_and_sine,
    fit_frame_to_founders_once,
    frame_from_box,
)


@settings(deadline=None)
@given(
    st.lists(st.floats(-200, 200, width=32), min_size=20, max_size=20)
)  # of one length: compiled once
def test_cosine_and_sine_are_as_exact_as_the_angle(angles):
    angle = np.asarray(angles, np.float32)
    bound = 3e-7 + 1.2e-7 * np.abs(angle).max()  # rounding of a float32 of that size, twice
    cosine, sine = compute_cosine_and_sine(jnp.asarray(angle))
    assert_allclose(cosine, np.cos(angle.astype(np.float64)), atol=bound)
    assert_allclose(sine, np.sin(angle.astype(np.float64)), atol=bound)


def test_the_inner_product_of_features_is_of_the_difference():
    points = jnp.asarray([[0.1, 0.2, 0.3], [0.4, -0.2, 0.0], [1.1, 1.2, 1.3], [1.4, 0.8, 1.0]])
    phi = np.asarray(jax.jit(lambda key: Cosines(3, 64, 0.5, 8.0, key)(points))(KEY))
    assert_allclose(np.sum(phi**2, axis=1), 1.0, rtol=2e-6)
    assert_allclose(phi[0] @ phi[1], phi[2] @ phi[3], atol=2e-6)
    angle = 0.71 * Cosines(50, 4000, 3.0, 3.0, KEY).frequency.sum(axis=0)  # whatever d
    assert_allclose(angle.std(), 3.0, rtol=0.1)


def test_waves_are_longer_the_longer_they_are_and_most_of_them_rather_long():
    cosines, point = Cosines(1, 64, 0.5, 8.0, KEY), jnp.full((1, 1), 1e-2)
    usual, wide = (np.arctan2(*np.split(cosines(point, w)[0], 2)[::-1]) for w in (1.0, 100.0))
    longer = usual / wide
    assert (np.diff([100, *longer, 1]) < 0).all()
    assert longer[16] > 12


def test_founders_far_from_the_box_change_nothing_unless_half_are():
    """Neither do those who failed. Three root mean deviations become 1, of half boxes."""
    low, high = [-1.0, -9.0], [1.0, 11.0]
    space, points = Box(low, high), np.random.default_rng(0).uniform(low, high, (50, 2))
    everybody = np.concatenate([points, np.tile([0.5, 43.5], (50, 1))])  # 4.25 half boxes away
    fit, founders = jax.jit(fit_frame_to_founders_once), people(everybody)
    for outliers, counted in ((49, points), (50, everybody)):
        failed = jnp.arange(100) >= 50 + outliers
        frame = fit(frame_from_box(space), founders._replace(failed=failed))
        assert_allclose(frame.center, counted.mean(axis=0), rtol=1e-5)
        assert_allclose(frame.scale**2, 9 * (counted.var(axis=0) / [1, 100]).mean(), rtol=1e-5)


SLOW = [pytest.param(number, marks=pytest.mark.slow) for number in (100, 2000)]


@pytest.mark.parametrize("number", [10, *SLOW])
@pytest.mark.parametrize("directions", [1, 4, 30])
def test_founders_tell_in_how_many_directions_they_spread(number, directions):
    """The participation ratio of as many equal variances, in turned axes of another unit each."""
    found, d = [], 60
    space = Box(np.zeros(d), np.geomspace(1.0, 1e6, d))
    for seed in range(20):
        generator = np.random.default_rng(seed)
        turned = np.linalg.qr(generator.normal(size=(d, d)))[0][:directions]
        rows = 0.5 + 0.1 * generator.normal(size=(number, directions)) @ turned
        founders = people(rows * np.asarray(space.high))
        found.append(fit_frame_to_founders_once(frame_from_box(space), founders).directions)
    assert_allclose(np.median(found), directions, rtol=0.3)
    alike = people(np.full((number, d), 0.3))
    assert fit_frame_to_founders_once(frame_from_box(space), alike).directions < 2


@pytest.mark.parametrize(("deviation", "times"), [(0.3, 1.0), (0.0, 1.0), (1e-3, 1e5)])
@pytest.mark.parametrize("estimator", [ExactRecognition(), VisitCounts()], ids=["exact", "counts"])
def test_what_was_visited_is_told_whatever_the_founders_and_the_box(estimator, deviation, times):
    """Founders around the middle, of this deviation in units of half the square;
    then the left half is visited.

    The box about the square is `times` too wide."""
    generator = np.random.default_rng(0)
    half = 300 * times
    founders = 300 + 300 * deviation * generator.normal(size=(50, 2))
    visited = generator.uniform([0, 0], [290, 600], (20, 50, 2))
    state = learned(estimator, [founders], init(estimator, Box([300 - half] * 2, [300 + half] * 2)))
    state = learned(estimator, visited, state)
    points = generator.uniform([0, 0], [250, 600], (200, 2))
    left, right = (novelty(estimator, state, x) for x in (points, [600, 0] + points * [-1, 1]))
    # the share of pairs in the right order; 0.5 is blind
    assert np.mean(left[:, None] < right) > 0.97


@pytest.mark.parametrize(
    ("founders", "d"),
    [(5, 3), (8, 32), *(pytest.param(n, 3, marks=pytest.mark.slow) for n in (100, 500))],
)
def test_founders_have_one_frame_alone_and_beside_offspring(founders, d):
    """To the bit: a novelty that never rises would from generation 0 to 1."""
    fit, frame = jax.jit(fit_frame_to_founders_once), frame_from_box(Box([-1.0] * d, [1.0] * d))
    for seed in range(20):
        rows = np.random.default_rng(seed).uniform(-0.7, 0.9, (founders + 37, d))
        union = Population.from_descriptors(rows)
        union = union._replace(born=jnp.arange(len(rows)) // founders)
        alone = jax.tree.map(lambda leaf: leaf[:founders], union)
        assert eqx.tree_equal(fit(frame, alone), fit(frame, union))
