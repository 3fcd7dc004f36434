"""Estimators that learn batch after batch, in a square; their steps are compiled once."""

import equinox as eqx
import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from searches import search
from small_tasks import HostIdentity

from brns import Box, ExactRecognition, VisitCounts
from brns.core import Population
from brns.core.population import make_initial_generation

KEY = jax.random.key(0)
SQUARE = Box([0.0, 0.0], [600.0, 600.0])
people = jax.jit(Population.from_descriptors)
newborn = jax.jit(
    lambda descriptors, number: make_initial_generation(
        Population.from_descriptors(descriptors, number)
    )
)
SMALL = ExactRecognition(size=32)
COUNTS = VisitCounts(grids=16, rows=256)
LEARNERS = pytest.mark.parametrize(
    ("estimator", "rounding"), [(SMALL, 1e-5), (COUNTS, 0.0)], ids=["exact", "counts"]
)
"""those that never forget, and the share by which the novelty of one of them may rise"""
SEARCH = search(HostIdentity(), COUNTS)
NOBODY = people(np.zeros((0, 2), np.float32))
_init = eqx.filter_jit(lambda estimator, *given: estimator.init(*given))
_update = eqx.filter_jit(lambda estimator, *given: estimator.update(*given))


def init(estimator, space=SQUARE, key=KEY):
    return _init(estimator, space, key)


def update(estimator, state, generation, key=KEY):
    return _update(estimator, state, generation, key)


def learned(estimator, batches, state=None):
    """The state after these batches of descriptors, each a generation's offspring."""
    state = init(estimator) if state is None else state
    for number, batch in enumerate(batches, max(int(state.newest), 0) + 1):
        state = update(estimator, state, newborn(np.asarray(batch, np.float32), number))
    return state


score = eqx.filter_jit(lambda estimator, *asked: estimator.score(*asked))


def novelty(estimator, state, points, living=NOBODY):
    return np.asarray(score(estimator, state, np.asarray(points, np.float32), living), np.float64)


def walked(estimator, seed, spread):
    """Fixed behaviors' novelty along a walk that clusters, repeats and leaves the box."""
    generator = np.random.default_rng(seed)
    state = learned(estimator, [generator.uniform(0, 600, (10, 2))])
    all_over, inside = generator.uniform(-600, 1200, (20, 2)), generator.normal(size=(20, 2))
    probes = np.concatenate([all_over, 300 + spread * inside])
    yield novelty(estimator, state, probes)
    for _ in range(6):
        batch = generator.uniform(0, 600, 2) + spread * generator.normal(size=(10, 2))
        state = learned(estimator, [batch], state)
        yield novelty(estimator, state, probes)


def uniform(seed, *shape):
    return np.random.default_rng(seed).uniform(0, 600, (*shape, 2))


def equations(jaxpr):
    """All of a program, in what it calls too."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from equations(inner)
