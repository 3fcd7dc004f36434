"""Policies against matrix products."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from brns.tasks.policy import FeedForward


def dense(sizes, squash_output, genotype, observation):
    """One policy as a reader of the docstring would write it, in float64."""
    signal, rest = observation.astype(float), genotype.astype(float)
    for depth, (inputs, outputs) in enumerate(pairwise(sizes), 1):
        weights, biases, rest = np.split(rest, [outputs * inputs, outputs * (inputs + 1)])
        signal = weights.reshape(outputs, inputs) @ signal + biases
        if depth < len(sizes) - 1 or squash_output:
            signal = np.tanh(signal)
    return signal


@pytest.mark.parametrize(
    ("sizes", "squash_output"), [((5, 10, 10, 10, 2), False), ((29, 10, 10, 10, 8), True)]
)
def test_agrees_with_matrix_products(sizes, squash_output):
    policy, random = FeedForward(sizes, squash_output), np.random.default_rng(0)
    assert policy.genotype_length == {2: 302, 8: 29 * 10 + 10 + 2 * 110 + 88}[sizes[-1]]
    box = policy.genotype_space
    assert_array_equal([-box.low, box.high], np.ones((2, policy.genotype_length)))
    genotypes = random.uniform(-1, 1, (7, policy.genotype_length)).astype(np.float32)
    observations = random.normal(0, 2, (7, sizes[0])).astype(np.float32)
    actions = policy(jnp.asarray(genotypes), jnp.asarray(observations))
    rows = zip(genotypes, observations, strict=True)
    expected = [dense(sizes, squash_output, *row) for row in rows]
    assert_allclose(actions, expected, atol=1e-5)
    layers, sensed = policy.layers(genotypes.astype(float)), observations.T.astype(float)
    on_host = policy.act(layers, sensed)
    assert_allclose(on_host.T, expected, atol=1e-12)
    order = random.permutation(7)
    again = policy(jnp.asarray(genotypes[order]), jnp.asarray(observations[order]))
    assert_array_equal(actions[order], again)


@pytest.mark.parametrize("inputs", [3, 105, 9000])
def test_bits_on_the_host_depend_on_no_neighbour_nor_on_the_order_in_memory(inputs):
    policy, random = FeedForward((inputs, 10, 2)), np.random.default_rng(0)
    genotypes = random.uniform(-1, 1, (9, policy.genotype_length))
    observations = random.normal(0, 2, (9, inputs))
    together = policy.act(policy.layers(genotypes), observations.T)
    each = zip(genotypes, observations, strict=True)
    expected = [dense(policy.sizes, False, *row) for row in each]
    assert_allclose(together.T, expected, atol=1e-11)
    for rows in (slice(1), slice(2), slice(3, 8), slice(0, 9, 4), slice(None, None, -1)):
        for order in "CF":
            few = policy.layers(np.array(genotypes[rows], order=order))
            sensed = np.array(observations[rows].T, order=order)
            assert np.array_equal(policy.act(few, sensed), together[:, rows])
    ended = np.arange(9) % 2 == 0  # as a loop drops those that ended
    living = [(w[..., ~ended], b[:, ~ended]) for w, b in policy.layers(genotypes)]
    assert np.array_equal(policy.act(living, observations[~ended].T), together[:, ~ended])


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match=r"length 302; got \(3, 301\)"):
        FeedForward((5, 10, 10, 10, 2))(jnp.zeros((3, 301)), jnp.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"shape \(3, 2\); got \(3, 4\)"):
        FeedForward((2, 1))(jnp.zeros((3, 3)), jnp.zeros((3, 4)))
