"""Populations, archives and generations that a test writes down."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns.core import Box, Generation, Population, individuals
from brns.estimators.archive import Archive

score = eqx.filter_jit(lambda estimator, *args: estimator.score(*args))


def population(descriptors, first=0, novelty=None, born=0) -> Population:
    everyone = individuals(descriptors, born, first)
    return everyone if novelty is None else everyone._replace(novelty=jnp.asarray(novelty, jnp.float32))


def archive(estimator, descriptor, ids, novelty=None, entered=None) -> Archive:
    """An archive of the estimator's capacity whose first rows are these."""
    descriptor = np.asarray(descriptor, np.float32)
    d, n = descriptor.shape[1], len(ids)
    empty = estimator.init(Box(np.zeros(d), np.ones(d)), jax.random.key(0))
    return empty._replace(
        descriptor=empty.descriptor.at[:n].set(descriptor),
        id=empty.id.at[:n].set(jnp.asarray(ids, jnp.int32)),
        novelty=empty.novelty.at[:n].set(0.0 if novelty is None else jnp.asarray(novelty, jnp.float32)),
        entered=empty.entered.at[:n].set(0 if entered is None else jnp.asarray(entered, jnp.int32)),
    )


def generation(g, size=10, d=2, novelty=None) -> Generation:
    """Offspring g * size, g * size + 1, ... of the offspring of the generation before."""
    rng = np.random.default_rng(g)
    novelty = rng.random((2, size)) if novelty is None else np.reshape(novelty, (2, size))
    parents = population(rng.random((size, d)), (g - 1) * size, novelty[0], g - 1)
    offspring = population(rng.random((size, d)), g * size, novelty[1], g)
    return Generation(parents, offspring, offspring)


def ids(state: Archive) -> list[int]:
    return [int(i) for i in state.id if i >= 0]
