"""Random policies of the deceptive maze."""

import jax

from brns.tasks.maze.rules import POLICY


def genotypes(n: int, seed: int = 0):
    return jax.random.uniform(
        jax.random.key(seed), (n, POLICY.genotype_length), minval=-1, maxval=1
    )
