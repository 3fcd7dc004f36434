"""The nouns: boxes, and rows of columns."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_tasks import HostIdentity, Identity

from brns.comparison.worlds import WidenedBehaviorSpace
from brns.core import Box, Evaluation, Generation, Population
from brns.core.box import as_array_and_check_real, is_within_numeric_range
from brns.core.evaluation import as_evaluation
from brns.core.population import concatenate_populations, take_rows


def test_uniform_points_fill_the_box():
    box = Box([-1, 100], [1, 600])
    assert box.low.dtype == box.high.dtype == jnp.float32
    widest = Box([-1e15, 0.0, 1.0], [1e15, 2e-15, 1.0002])
    assert (box.dimension, Box(0.0, 1.0).dimension, widest.dimension) == (2, 1, 3)
    points = np.asarray(box.uniform(jax.random.key(0), 20_000))
    assert ((points >= box.low) & (points <= box.high)).all()
    # Mean and standard deviation of U(a, b): (a + b) / 2 and (b - a) / sqrt(12);
    # tolerances of 4 standard errors.
    assert_allclose(points.mean(0), [0, 350], atol=4 * 500 / np.sqrt(12 * 20_000))
    assert_allclose(points.std(0), np.array([2, 500]) / np.sqrt(12), rtol=0.02)


def test_a_box_is_known_where_jax_compiles():
    wider = WidenedBehaviorSpace(Identity(), 2.0)
    assert eqx.tree_equal(jax.jit(lambda task: task.behavior_space)(wider), wider.behavior_space)
    assert jax.jit(lambda high: Box(0.0, high))(2.0).high.tolist() == [2.0]


def test_points_are_in_range_up_to_a_trillion_widths_from_the_box():
    x = np.array([-2.1e12, -1.9e12, 1.9e12, 2.1e12, np.inf, np.nan], np.float32)
    points, box = np.stack([np.zeros(6, np.float32), x], axis=1), Box([0.0, 100.0], [1.0, 102.0])
    assert np.flatnonzero(is_within_numeric_range(points, box)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([0, 0], [1, 1, 1]),
        ([], []),
        ([0, 1], [1, 1]),
        ([0], [np.nan]),
        ([0, -2e15], [1, 0]),
        ([0, 0], [1, 5e-16]),
        ([0, -(2**24)], [1, -(2**24) + 1000]),
        ("0", "1"),
        ([[0], [0, 1]], [1, 1]),
        (None, None),
        ([0] * 400, [1] * 399 + [0]),
    ],
)
def test_what_is_no_box_is_refused(low, high):
    with pytest.raises(ValueError, match="a box needs") as refused:
        Box(low, high)
    assert len(f"{refused.value}") < 300


def test_a_box_without_bounds_such_as_an_environments_is_told_to_choose_some():
    with pytest.raises(ValueError, match=r"got -inf and inf in dimension 2 of 2; choose finite"):
        Box([-4.8, -np.inf], [4.8, np.inf])


def test_rows_are_united_with_the_parents_first_and_taken_from_every_column():
    parents = Population.from_descriptors([[0, 1], [2, 3]])
    offspring = Population.from_descriptors([[4, 5], [6, 7], [8, 9]], born=1, first=5)
    union = concatenate_populations(parents, offspring)
    assert (union.id.tolist(), union.born.tolist()) == ([0, 1, 5, 6, 7], [0, 0, 1, 1, 1])
    assert [len(column) for column in union] == [5] * 11
    taken = take_rows(union, jnp.array([4, 0]))
    assert (taken.id.tolist(), taken.descriptor.tolist()) == ([7, 0], [[8, 9], [0, 1]])
    assert take_rows(union, slice(1, 2)).descriptor.tolist() == [[2, 3]]
    assert int(take_rows(union, 1).id) == 1


def test_observed_behaviors_are_a_generation_without_parents():
    generation = Generation.from_descriptors([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]], 2)
    assert generation.offspring is generation.survivors
    assert [column.shape[0] for column in generation.parents] == [0] * 11
    assert_array_equal(generation.offspring.descriptor, [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_array_equal(generation.offspring.id, [3, 4, 5])
    assert_array_equal(generation.offspring.born, [2, 2, 2])
    compiled = jax.jit(Generation.from_descriptors)(np.zeros((3, 2)), 2)
    assert_array_equal(compiled.offspring.id, [3, 4, 5])
    assert_array_equal(generation.offspring.parent, [-1, -1, -1])
    assert generation.offspring.descriptor.dtype == generation.offspring.novelty.dtype == np.float32


@pytest.mark.parametrize(("shape", "number"), [((3,), 1), ((3, 2), 0)])
def test_what_is_no_batch_of_behaviors_is_refused(shape, number):
    with pytest.raises(ValueError, match="got"):
        Generation.from_descriptors(np.zeros(shape), number)


@pytest.mark.parametrize(
    ("evaluation", "message"),
    [
        (Evaluation([[1, 2], [3]]), r"descriptor as one array, .*; got \[\[1, 2\], \[3\]\]"),
        (Evaluation([None, [1, 2]]), r"descriptor as .*got \[None, \[1, 2\]\]"),
        (Evaluation([np.zeros(2), np.zeros(3)]), r"got \[array\(\[0\., 0\.\]\), array"),
        (Evaluation(np.zeros((2, 2)), ["a", "b"]), r"fitness as real numbers; got \['a', 'b'\]"),
        (Evaluation(np.zeros((2, 2)), [None, 1.0]), r"real numbers; got \[None, 1\.0\]"),
        (Evaluation(np.zeros((2, 2)), np.zeros((2, 1))), r"fitness of shape \(2,\); got \(2, 1\)"),
        (Evaluation(None), "descriptor as real numbers; got None"),
        (Evaluation(np.zeros((2, 2)), failed=[0, 1]), "failed as bools"),
        (Evaluation(np.ma.masked_equal([[0, 1]] * 2, 1)), "descriptor without masked values"),
    ],
)
def test_a_column_that_is_none_is_named_with_what_it_holds(evaluation, message):
    with pytest.raises(ValueError, match=f"HostIdentity.evaluate of 2 genotypes .*{message}"):
        as_evaluation(evaluation, 2, HostIdentity())


@pytest.mark.parametrize("kind", [float, int, jnp.bfloat16, jnp.float8_e4m3fn, bool])
def test_numbers_of_any_kind_are_real(kind):
    descriptor = np.array([[0, 1], [1, 1]]).astype(kind)
    for column in (
        descriptor,
        jnp.asarray(descriptor),
        descriptor.tolist(),
        np.ma.array(descriptor),
    ):
        evaluation = as_evaluation(Evaluation(column), 2, HostIdentity())
        assert evaluation.descriptor.tolist() == [[0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("others", [(), (None, None, None)])
def test_a_descriptor_alone_is_an_evaluation(others):
    evaluation = as_evaluation(Evaluation(np.zeros((2, 2)), *others), 2, HostIdentity())
    assert [column.tolist() for column in evaluation[1:]] == [[0.0, 0.0], [False] * 2, [False] * 2]


def test_arrays_that_a_caller_changes_later_change_nothing():
    """JAX copies some a little later."""
    rows = np.full((20, 5), 0.25, np.float32)
    assert not np.shares_memory(as_array_and_check_real("rows", rows, ""), rows)


def test_numbers_beyond_float32_become_zero_and_infinite_though_numpy_shall_raise_at_them():
    with np.errstate(all="raise"):
        evaluation = Evaluation(np.full((2, 2), 1e-60), np.array([1e-60, 1e60]))
        descriptor, fitness, *_ = as_evaluation(evaluation, 2, HostIdentity())
    assert not descriptor.any()
    assert fitness.tolist() == [0, np.inf]
