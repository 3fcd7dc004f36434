"""Random policies of the deceptive maze."""

import jax

from brns.tasks.maze.rules import POLICY


def genotypes(n: int, seed: int = 0):
    shape = (n, POLICY.genotype_length)
    return jax.random.uniform(jax.random.key(seed), shape, minval=-1, maxval=1)
