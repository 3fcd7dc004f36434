"""Populations, archives and generations that a test writes down."""

import jax
import jax.numpy as jnp
import numpy as np
from learning import people

from brns.core import Box, Generation, Population
from brns.estimators.archive import Archive


def population(descriptors, first=0, novelty=None, born=0) -> Population:
    everyone = jax.tree.map(np.array, people(np.asarray(descriptors, np.float32), born, first))
    if novelty is None:
        return everyone
    return everyone._replace(novelty=np.asarray(novelty, np.float32))


def archive(estimator, descriptor, ids, novelty=None, entered=None) -> Archive:
    """An archive of the estimator's capacity whose first rows are these."""
    d, n = np.shape(descriptor)[1], len(ids)
    columns = [np.array(column) for column in empty(estimator, d)]
    for column, values in zip(columns, (descriptor, ids, novelty, None, entered), strict=True):
        column[:n] = 0 if values is None else values
    return Archive(*map(jnp.asarray, columns))


def empty(estimator, d=2) -> Archive:
    return estimator.init(Box(np.zeros(d), np.ones(d)), jax.random.key(0))


def generation(g, size=10, d=2, novelty=None) -> Generation:
    """Offspring g * size, g * size + 1, ... of the offspring of the generation before."""
    rng = np.random.default_rng(g)
    novelty = rng.random((2, size)) if novelty is None else np.reshape(novelty, (2, size))
    parents = population(rng.random((size, d)), (g - 1) * size, novelty[0], g - 1)
    offspring = population(rng.random((size, d)), g * size, novelty[1], g)
    return Generation(parents, offspring, offspring)


def ids(state: Archive) -> list[int]:
    return [i for i in state.id.tolist() if i >= 0]
