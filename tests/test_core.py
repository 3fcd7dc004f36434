"""The nouns: boxes, and rows of columns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns.core import Box, individuals, observed, take, unite


def population(ids):
    n = len(ids)
    rows = individuals(np.arange(n * 2).reshape(n, 2))
    return rows._replace(
        genotype=jnp.arange(n * 3.0).reshape(n, 3),
        fitness=jnp.arange(float(n)),
        solved=jnp.arange(n) % 2 == 0,
        id=jnp.asarray(ids, jnp.int32),
    )


def test_uniform_points_fill_the_box():
    box = Box([-1, 100], [1, 600])
    assert box.low.dtype == box.high.dtype == jnp.float32
    assert (box.dimension, Box(0.0, 1.0).dimension) == (2, 1)
    points = np.asarray(box.uniform(jax.random.key(0), 20_000))
    assert ((points >= box.low) & (points <= box.high)).all()
    # Mean and standard deviation of U(a, b): (a + b) / 2 and (b - a) / sqrt(12); tolerances of 4 standard errors.
    np.testing.assert_allclose(points.mean(0), [0, 350], atol=4 * 500 / np.sqrt(12 * 20_000))
    np.testing.assert_allclose(points.std(0), np.array([2, 500]) / np.sqrt(12), rtol=0.02)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([0, 0], [1, 1, 1]),
        ([], []),
        ([0, 1], [1, 1]),
        ([0], [np.nan]),
        ([0, -3e38], [1, 3e38]),
    ],
)
def test_what_is_no_box_is_refused(low, high):
    with pytest.raises(ValueError, match="a box needs"):
        Box(low, high)


def test_take_gives_the_same_rows_of_every_column():
    taken = take(population([7, 8, 9]), jnp.array([2, 0]))
    np.testing.assert_array_equal(taken.id, [9, 7])
    np.testing.assert_array_equal(taken.genotype, [[6, 7, 8], [0, 1, 2]])
    np.testing.assert_array_equal(taken.solved, [True, True])
    assert take(population([7, 8, 9]), slice(1, 2)).descriptor.tolist() == [[2, 3]]
    assert int(take(population([7, 8, 9]), 1).id) == 8


def test_unite_puts_parents_before_offspring_in_every_column():
    union = unite(population([0, 1]), population([5, 6, 7]))
    np.testing.assert_array_equal(union.id, [0, 1, 5, 6, 7])
    np.testing.assert_array_equal(union.fitness, [0, 1, 0, 1, 2])
    assert [column.shape[0] for column in union] == [5] * 8


def test_observed_behaviors_are_a_generation_without_parents_that_goes_on_from_the_last():
    generation = observed([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]], 2)
    assert generation.offspring is generation.survivors
    assert [column.shape[0] for column in generation.parents] == [0] * 8
    np.testing.assert_array_equal(generation.offspring.descriptor, [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(generation.offspring.id, [3, 4, 5])
    np.testing.assert_array_equal(generation.offspring.born, [2, 2, 2])
    np.testing.assert_array_equal(generation.offspring.parent, [-1, -1, -1])
    assert generation.offspring.descriptor.dtype == generation.offspring.novelty.dtype == np.float32


@pytest.mark.parametrize(("shape", "number"), [((3,), 1), ((3, 2), 0)])
def test_what_is_no_batch_of_behaviors_is_refused(shape, number):
    with pytest.raises(ValueError, match="got"):
        observed(np.zeros(shape), number)
