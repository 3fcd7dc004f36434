"""Individuals that could not be evaluated: nobody computes with them, and none of them survives."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from brns.core.population import Population


def copy_parents_where_failed(children: Population, parents: Population) -> Population:
    """The children, those that failed with a parent's numbers, so that nobody computes with NaN."""
    like, failed = jnp.arange(len(children.id)) % len(parents.id), children.failed
    return children._replace(
        descriptor=jnp.where(failed[:, None], parents.descriptor[like], children.descriptor),
        fitness=jnp.where(failed, parents.fitness[like], children.fitness),
        solved=children.solved & ~failed,
    )


def lower_failed_scores_to_least(union: Population) -> Population:
    """The union, of which those who failed are no better than the last of the others."""

    def lowered(column: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.where(union.failed, jnp.min(jnp.where(union.failed, jnp.inf, column)), column)

    return union._replace(novelty=lowered(union.novelty), fitness=lowered(union.fitness))


def replace_failed_survivors(union: Population, rows: Int[Array, " mu"]) -> Int[Array, " mu"]:
    """The selected rows; in place of those who failed the most novel of those not selected."""
    selected = jnp.zeros(len(union.id), bool).at[rows].set(True)
    others = jnp.lexsort((-union.novelty, union.failed | selected))
    failed = union.failed[rows]
    number = jnp.cumsum(failed) - 1
    return jnp.where(failed, others[number], rows)


def set_failed_to_nan(offspring: Population) -> Population:
    """The offspring as a record has them: of those who failed nothing was measured."""
    failed, nothing = offspring.failed, jnp.float32(jnp.nan)
    return offspring._replace(
        descriptor=jnp.where(failed[:, None], nothing, offspring.descriptor),
        fitness=jnp.where(failed, nothing, offspring.fitness),
        novelty=jnp.where(failed, nothing, offspring.novelty),
    )
