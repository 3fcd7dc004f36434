"""Behavior recognition: against Algorithm 1 written out in NumPy, and by laws."""

import itertools
from copy import deepcopy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import same
from learning import KEY, NOBODY, SQUARE, init, novelty, update
from literal import SMALL, Literal, generation, paper, uniform
from numpy.testing import assert_allclose
from small_tasks import Identity

from brns import Box, Novelty, NoveltySearch, PolynomialMutation


@pytest.mark.parametrize("fresh", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_algorithm_1_written_out(fresh):
    """Six generations of 2 + 3: novelty,
    survivors and weights are those of a literal implementation.

    In the first generation D holds the founders and the offspring, a batch of 3 and one of 2 in an
    unknown order: one of the 10 ways to split D so must explain the weights. Later D is the
    offspring, one batch."""
    estimator = paper(inputs="scaled", epochs=1, **SMALL)
    search = NoveltySearch(Identity(), estimator, 2, 3, PolynomialMutation(), rescore_parents=fresh)
    state = search.init(KEY)
    literal = Literal(estimator, state.estimator)
    assert_allclose(state.population.novelty, literal.novelty(scaled(state.population)), rtol=1e-3)
    parents, stored = scaled(state.population), literal.novelty(scaled(state.population))
    for g in range(1, 7):
        state, facts = search.step(state, KEY)
        offspring = scaled(facts.offspring)
        old = literal.novelty(parents) if fresh else stored
        novelty = np.concatenate([old, literal.novelty(offspring)])
        found = np.concatenate([facts.parents.novelty, facts.offspring.novelty])
        assert_allclose(found, novelty, rtol=2e-3)
        survivors = np.argsort(-novelty, kind="stable")[:2]
        union = np.concatenate([parents, offspring])
        assert_allclose(scaled(facts.survivors), union[survivors], rtol=1e-5)
        if g == 1:
            literal = _explain(literal, union, state.estimator.predictor)
        else:
            literal.descend(offspring)
        assert literal.distance(state.estimator.predictor) < 1e-4
        parents, stored = union[survivors], novelty[survivors]
    assert same(state.estimator.target, search.init(KEY).estimator.target)


def scaled(columns):
    """Descriptors of the square in [-1, 1]."""
    return (np.asarray(columns.descriptor, np.float64) - 300) / 300


def test_rows_that_do_not_count_leave_batches_of_equal_size():
    """Five behaviors, padded to 16, at most 4 in a batch: of 3 and of 2, in each pass others."""
    learner = Novelty(paper(inputs="scaled", epochs=2, batch=4, **SMALL), SQUARE)
    literal = Literal(learner.estimator, learner.state)
    behaviors = uniform(0, 5)
    learner.learn(behaviors)
    literal = _explain(literal, (np.asarray(behaviors) - 300) / 300, learner.state.predictor, 2)
    assert literal.distance(learner.state.predictor) < 1e-4


def _explain(literal, dataset, predictor, epochs=1):
    """The literal predictor after batches of 3 and 2, in each pass others, nearest to the other."""
    ends = []
    for batches in itertools.permutations(itertools.combinations(range(5), 3), epochs):
        ends.append(deepcopy(literal))
        for batch in batches:
            ends[-1].descend(dataset[list(batch)])
            ends[-1].descend(np.delete(dataset, batch, axis=0))
    return min(ends, key=lambda end: end.distance(predictor))


SCALED = paper(inputs="scaled", depths=(1, 2))


def test_divergence_is_gradient_ascent_written_out():
    """In a box that is all but one point every batch is known."""
    space = Box([0.5, -0.5], [0.5 + 6e-5, -0.5 + 6e-5])
    near, far = (init(paper(divergence_steps=steps, **SMALL), space) for steps in (0, 15))
    literal = Literal(paper(), near)
    literal.rate = -1e-3
    for _ in range(15):
        literal.descend(np.array([[0.5, -0.5]]))
    assert literal.distance(far.predictor) < 1e-5
    assert same(near.target, far.target)


A, B, C, D = (uniform(seed, 20) for seed in range(4))


SURVIVORS = paper(inputs="scaled", learn_from="survivors", depths=(1, 2))


def test_d_may_hold_survivors_instead_of_offspring():
    state = init(SURVIVORS)
    usual, other_survivors, other_offspring = (
        update(SURVIVORS, state, generation(3, A, *facts)).predictor
        for facts in ((B, C), (B, D), (D, C))
    )
    assert not same(usual, other_survivors)
    assert same(usual, other_offspring)


def test_what_was_visited_is_no_longer_novel():
    """In the third that was visited novelty falls, far more than in the opposite one."""
    points = uniform(1000, 500)
    left, falls = Box([0.0, 0.0], [200.0, 600.0]), []
    for seed in range(2):
        first = state = init(SCALED, SQUARE, jax.random.key(seed))
        for g in range(1, 30):
            state = update(SCALED, state, generation(g, A, uniform(g, 20, left)), jax.random.key(g))
        before, after = novelty(SCALED, first, points), novelty(SCALED, state, points)
        thirds = points[:, 0] < 200, points[:, 0] > 400
        falls.append([after[there].mean() / before[there].mean() for there in thirds])
    seen, unseen = np.mean(falls, axis=0)
    assert seen < 0.1
    assert seen < unseen / 3


def test_shapes_follow_the_dimension_of_the_behavior_space():
    d, space = 32, Box([0.0] * 32, [1.0] * 32)
    state = eqx.filter_eval_shape(paper().init, space, KEY)
    sizes = [layer.weight.shape for layer in state.target.layers]
    assert sizes == [(3 * d, d), (3 * d, 3 * d), (3 * d, 3 * d), (2 * d, 3 * d)]
    assert [layer.weight.shape[0] for layer in state.predictor.layers] == [3 * d] * 5 + [2 * d]
    points = jax.ShapeDtypeStruct((7, d), jnp.float32)
    assert eqx.filter_eval_shape(paper().embed, state, points).shape == (7, 2 * d)
    assert eqx.filter_eval_shape(paper().score, state, points, NOBODY).shape == (7,)
    state = eqx.filter_eval_shape(paper(width=5, embedding=3, depths=(0, 1)).init, space, KEY)
    assert [layer.weight.shape for layer in state.target.layers] == [(3, d)]
    assert [layer.weight.shape for layer in state.predictor.layers] == [(5, d), (3, 5)]
