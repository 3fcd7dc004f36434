"""Individuals for tests of tasks in chunks, and what is expected of them."""

import time

import jax
from small_tasks import HostIdentity, Identity

from brns.core.evaluation import as_evaluation

KEY = jax.random.key(3)
GENOTYPES = Identity().genotype_space.uniform(KEY, 26).at[:, 0].set(0.0).at[9, 0].set(0.9)
"""26 individuals of which Faulty's faults meet number 9 alone"""


def alone(task, genotypes=GENOTYPES):
    """What a task says about all of them at once."""
    return as_evaluation(task.evaluate(genotypes, KEY), len(genotypes), task)


EXPECTED = alone(HostIdentity())


class Slow(HostIdentity):
    def evaluate(self, genotypes, key):
        time.sleep(0.4)
        return super().evaluate(genotypes, key)
