"""Exact recognition: by hand, against its equation in float64, and that it never forgets."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learning import KEY, SQUARE, equations, init, learned, novelty, uniform, update
from numpy.testing import assert_allclose

from brns import Box, ExactRecognition, Generation
from brns.core import Population
from brns.estimators.exact import update_inverse_root


class Angle(eqx.Module):
    """An encoder with two features that can be worked out by hand:
    the box's first axis as an angle."""

    weight: jax.Array

    def __init__(self, key, depth):
        self.weight = jnp.ones(())

    def __call__(self, points):
        angle = jnp.pi * points[:, 0]
        return self.weight * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)


def test_novelty_prior_and_memory_by_hand():
    """Of two orthogonal features one was seen three times: A = diag(1 + 3, 1),
    so novelty is 1/4 and 1, between 5/8."""
    estimator = ExactRecognition(encoder=Angle)
    state = learned(estimator, [[[300, 0], [300, 600], [300, 9]]])
    assert state.seen == 3
    places = [[300, 7], [450, 7], [375, 7]]
    assert_allclose(novelty(estimator, state, places), [1 / 4, 1, 5 / 8], rtol=1e-6)
    # A = 2 + 3 visits; then, with half a memory, 2 + 3/2 of one and 2 + 3 of the other.
    estimator = ExactRecognition(encoder=Angle, regularization=2.0, forgetting=0.5)
    state = learned(estimator, [[[300, 0]] * 3])
    assert_allclose(novelty(estimator, state, [[300, 0], [450, 0]]), [2 / 5, 1], rtol=1e-6)
    state = learned(estimator, [[[450, 0]] * 3], state)
    assert_allclose(novelty(estimator, state, [[300, 0], [450, 0]]), [2 / 3.5, 2 / 5], rtol=1e-6)


def test_a_behavior_whose_features_are_not_finite_is_not_learned():
    estimator = ExactRecognition(encoder=lambda key, depth: lambda points: points / (points < 2))
    state = learned(estimator, [[[600, 300], [1000, 300]]])
    assert state.seen == 1
    assert_allclose(novelty(estimator, state, [[600, 300], [300, 600]]), [1 / 2, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("regularization", "founders", "offspring"),
    [(1.0, 12, 1), pytest.param(1e-4, 100, 5, marks=pytest.mark.slow)],
)
def test_the_stated_rounding_holds_where_all_founders_coincide(regularization, founders, offspring):
    """lambda / (lambda + N) on the spot, by few and by many at once,
    as scored before and as learned: Q(0, 0), Q(0, 1).

    The error is at most 1e-6 sqrt(1 + N / lambda) of it, and nothing rises by more:
    neither there nor elsewhere."""
    estimator = ExactRecognition(size=64, regularization=regularization)
    spot = np.full((founders, 2), 420.0)
    empty, living = init(estimator), Population.from_descriptors(spot)
    probes = np.concatenate([spot[:1], uniform(0, 20)]).astype(np.float32)
    found = [novelty(estimator, empty, probes, living)]
    state, total = empty, founders
    for number in range(1, 7):
        born = Population.from_descriptors(np.full((offspring, 2), 420.0), number)
        state, total = update(estimator, state, Generation(living, born, born)), total + offspring
        found.append(novelty(estimator, state, probes))
        rounding = 1e-6 * np.sqrt(1 + total / regularization)
        assert_allclose(found[-1][0], regularization / (regularization + total), rtol=rounding)
        assert (found[-1] <= np.min(found[:-1], axis=0) * (1 + rounding)).all()
    assert state.seen == total
    rounding = 1e-6 * np.sqrt(1 + founders / regularization)
    assert_allclose(found[0][0], regularization / (regularization + founders), rtol=rounding)


embed = eqx.filter_jit(lambda estimator, state, points: estimator.embed(state, points))


@pytest.mark.parametrize("regularization", [1.0, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_more_may_be_born_at_once_than_there_are_features(regularization):
    """Against A in float64, for 100 at once with 32 features: on one spot, around it,
    and all over."""
    estimator = ExactRecognition(size=32, regularization=regularization)
    generator = np.random.default_rng(0)
    for spread in (0.0, 1.0, 100.0):
        around = 300 + spread * generator.normal(size=(4, 100, 2))
        batches = [generator.uniform(0, 600, (10, 2)), *around]
        state = learned(estimator, batches)
        probes = np.concatenate([batches[1][:20], generator.uniform(-300, 900, (20, 2))])
        points = jnp.asarray(np.concatenate([*batches, probes]), jnp.float32)
        features = np.asarray(embed(estimator, state, points), np.float64)
        seen, phi = features[:-40], features[-40:]
        expected = regularization * np.sum(
            phi * np.linalg.solve(regularization * np.eye(32) + seen.T @ seen, phi.T).T, axis=1
        )
        rounding = 1e-6 * np.sqrt(1 + 410 / regularization)
        assert_allclose(novelty(estimator, state, probes), expected, rtol=rounding)


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (lambda key, depth: lambda points: jnp.sqrt(points) / 2, "finite .*got nan"),
        (lambda key, depth: lambda points: 2 * jnp.cos(points), "at most 10000 x regularization"),
    ],
)
def test_encoders_that_do_not_fit(encoder, said):
    with pytest.raises(ValueError, match=said):
        ExactRecognition(encoder=encoder, regularization=1e-4).init(SQUARE, KEY)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.9, 1e-3])
def test_a_million_behaviors_in_float32_stay_near_float64(spread):
    """Over the square, or nearly on one spot:
    in 20,000 updates to twice what is promised of fewer."""
    box, estimator = Box([-1.0, -1.0], [1.0, 1.0]), ExactRecognition(size=64)
    empty = init(estimator, box)

    @jax.jit
    def learned(root, keys):
        def one(root, key):
            phi = empty.features(0.1 + spread * jax.random.uniform(key, (50, 2), minval=-1.0))
            return update_inverse_root(root, phi @ root.T, 1.0), phi

        return jax.lax.scan(one, root, keys)

    root, total = jnp.eye(64), np.eye(64)
    for part in range(10):
        root, phi = learned(root, jax.random.split(jax.random.fold_in(KEY, part), 2000))
        phi = np.asarray(phi, np.float64).reshape(-1, 64)
        total += phi.T @ phi
    probes = np.asarray(empty.features(box.uniform(KEY, 400)), np.float64)
    expected = np.sum(probes * np.linalg.solve(total, probes.T).T, axis=1)
    found = np.sum((probes @ np.asarray(root, np.float64).T) ** 2, axis=1)
    assert_allclose(found, expected, rtol=2e-3)


LAPACK = ("qr", "geqrf", "triangular_solve")


def test_of_several_seeds_no_matrix_is_factored_in_a_batch():
    estimator = ExactRecognition(size=8)
    union = Generation.from_descriptors(np.random.default_rng(0).uniform(size=(6, 2)), 1).offspring
    states = jax.eval_shape(
        jax.vmap(lambda key: estimator.init(SQUARE, key)), jax.random.split(KEY, 3)
    )
    scored = jax.vmap(lambda state: estimator.score(state, union.descriptor, union))
    shrinks = jax.vmap(lambda root: update_inverse_root(root, root[:3], 1.0))
    for program in (jax.make_jaxpr(scored)(states), jax.make_jaxpr(shrinks)(states.root)):
        given = [each for each in equations(program.jaxpr) if each.primitive.name in LAPACK]
        assert {each.invars[0].aval.ndim for each in given} == {2}
