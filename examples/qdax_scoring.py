"""A scoring function of QDax as a task. It is JAX code,
so whole runs are compiled and batched over seeds.

    python examples/qdax_scoring.py            (QDax need not be installed)

For QDax 0.5: (genotypes, key) -> (fitnesses, descriptors, extra scores); up to 0.4 a key was
returned as a fourth value. In QDax genotypes are a tree of arrays, such as a network's parameters;
here they are flat vectors.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

import brns
from brns.metrics.coverage import coverage_of_record


class QDaxTask(eqx.Module):
    """`unravel` makes one genotype of QDax, a tree, of a row of genes:
    `ravel_pytree(example)[1]`.
    """

    scoring_function: Callable[..., Any]
    unravel: Callable[..., Any]
    genotype_space: brns.Box
    behavior_space: brns.Box
    traceable: bool = True

    def evaluate(self, genotypes, key):
        fitness, descriptor, *_ = self.scoring_function(jax.vmap(self.unravel)(genotypes), key)
        return brns.Evaluation(descriptor, fitness)


def scoring_function(genotypes, key):
    """An arm of seven joints in QDax's manner: angles as turns in [0, 1], descriptors in [0,
    1]^2.
    """
    angles = jnp.cumsum(2 * jnp.pi * genotypes["turns"] - jnp.pi, axis=1)
    tip = jnp.stack([jnp.cos(angles).mean(axis=1), jnp.sin(angles).mean(axis=1)], axis=1) / 2 + 0.5
    return -jnp.std(genotypes["turns"], axis=1), tip, {}


def main():
    _, unravel = ravel_pytree({"turns": jnp.zeros(7)})
    task = QDaxTask(scoring_function, unravel, brns.Box([0] * 7, [1] * 7), brns.Box([0, 0], [1, 1]))
    brns.check_task(task)
    search = brns.NoveltySearch(task)
    for record in brns.run(search, generations=100, seeds=range(3)):
        visited = coverage_of_record(record, (20, 20), "evaluated")[-1]
        print(
            f"seed {record.seed}: {visited:.0%} of a 20 x 20 grid visited in "
            f"{record.last_generation} generations"
        )


if __name__ == "__main__":
    main()
