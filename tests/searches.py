"""A search of 8 + 6 that takes milliseconds, and a novelty to be checked by hand."""

import equinox as eqx
import jax.numpy as jnp
from small_tasks import HostIdentity, Identity

from brns import BehaviorRecognition, NoveltySearch, PolynomialMutation, PopulationKNN
from brns.runs.loop import run

MUTATE = PolynomialMutation(eta=2.0, rate=0.5)
SETTINGS = {"population_size": 8, "offspring_size": 6, "mutate": MUTATE}
ESTIMATOR = BehaviorRecognition(depths=(0, 1))


def search(task=None, estimator=ESTIMATOR, **changes):
    return NoveltySearch(task or Identity(), estimator, **(SETTINGS | changes))


HOST = search(HostIdentity(), PopulationKNN(k=2))
"""on the host, where nothing is compiled but the novelty"""


class Distance(eqx.Module):
    """The distance to the mean of the last offspring, at first to the origin."""

    def init(self, space, key):
        return jnp.zeros(space.dimension)

    def score(self, state, descriptors, population):
        return jnp.linalg.norm(descriptors - state, axis=1)

    def update(self, state, generation, key):
        return generation.offspring.descriptor.mean(axis=0)


def run_known(search, generations, path, seeds):
    """Runs that keep every state and know their search."""
    records = run(search, generations, out=path, seeds=seeds, checkpoint_every=1)
    for record in records:
        record.search = search
    return records
