"""Individuals, and an estimator's two steps in a square, each compiled once."""

import equinox as eqx
import jax

from brns import Box
from brns.core import founding, individuals

KEY = jax.random.key(0)
SQUARE = Box([0.0, 0.0], [600.0, 600.0])
people = jax.jit(individuals)
newborn = jax.jit(lambda descriptors, number: founding(individuals(descriptors, number)))


@eqx.filter_jit
def init(estimator, space=SQUARE, key=KEY):
    return estimator.init(space, key)


@eqx.filter_jit
def update(estimator, state, generation, key=KEY):
    return estimator.update(state, generation, key)
