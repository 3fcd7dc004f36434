"""An estimator's two steps in a square, each compiled once."""

import equinox as eqx
import jax

from brns import Box

KEY = jax.random.key(0)
SQUARE = Box([0.0, 0.0], [600.0, 600.0])


@eqx.filter_jit
def init(estimator, space=SQUARE, key=KEY):
    return estimator.init(space, key)


@eqx.filter_jit
def update(estimator, state, generation, key=KEY):
    return estimator.update(state, generation, key)
