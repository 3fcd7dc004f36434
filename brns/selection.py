"""Survivor selection: which rows of parents united with offspring live on."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from brns.core import Population


def novel(population: Population, threshold: float | None) -> Float[Array, " n"]:
    """Novelty as selection sees it: at or below the threshold t of section 3.1 an individual counts 0."""
    if threshold is None:
        return population.novelty
    return jnp.where(population.novelty > threshold, population.novelty, 0.0)


class Elitist(eqx.Module):
    """The most novel individuals, Algorithm 1's `select_most_novel`. Ties keep the order: parents before offspring."""

    threshold: float | None = None
    """novelty at or below it counts as 0; section 3.1's t, off by default"""

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        return jnp.argsort(-novel(population, self.threshold), stable=True)[:size]


class NSGA2(eqx.Module):
    """NSGA-II's survivor selection on (novelty, fitness), both maximised.

    Whole non-dominated fronts survive in order; of the front that does not fit, the individuals with the largest
    crowding distance. Ties keep the order: parents before offspring.

    Source: Deb, Pratap, Agarwal & Meyarivan 2002; the paper's section 5.2. Selects what DEAP's `selNSGA2` selects,
    ties in crowding distance aside. Cost O(n^2).
    """

    threshold: float | None = None
    """novelty at or below it counts as 0; section 3.1's t, off by default"""

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        objectives = jnp.stack([novel(population, self.threshold), population.fitness], axis=1)
        front = fronts(objectives)
        return jnp.lexsort((-crowding_distance(objectives, front), front))[:size]


def fronts(objectives: Float[Array, "n m"]) -> Int[Array, " n"]:
    """The number of the non-dominated front of each individual, from 0; objectives are maximised."""
    at_least = jnp.all(objectives[:, None] >= objectives[None], axis=-1)
    dominates = at_least & ~at_least.T  # at least as good in all, and not equal in all

    def peel(carry):
        front, left, number = carry
        best = left & ~jnp.any(dominates & left[:, None], axis=0)
        return jnp.where(best, number, front), left & ~best, number + 1

    n = objectives.shape[0]
    start = (jnp.zeros(n, jnp.int32), jnp.ones(n, bool), jnp.int32(0))
    return jax.lax.while_loop(lambda carry: jnp.any(carry[1]), peel, start)[0]


def crowding_distance(objectives: Float[Array, "n m"], front: Int[Array, " n"]) -> Float[Array, " n"]:
    """The sum over objectives of the gap between an individual's two neighbours in its front, over the front's range.

    Infinite at the ends of a front.
    """

    def along(values: Float[Array, " n"]) -> Float[Array, " n"]:
        order = jnp.lexsort((values, front))
        v, f = values[order], front[order]
        first: Bool[Array, " n"] = jnp.concatenate([jnp.ones(1, bool), f[1:] != f[:-1]])
        last = jnp.concatenate([f[1:] != f[:-1], jnp.ones(1, bool)])
        gap = jnp.roll(v, -1) - jnp.roll(v, 1)
        n = f.shape[0]
        span = (
            jax.ops.segment_max(v, f, n, indices_are_sorted=True)
            - jax.ops.segment_min(v, f, n, indices_are_sorted=True)
        )[f]
        inner = jnp.where(span > 0, gap / jnp.where(span > 0, span, 1.0), 0.0)
        return jnp.zeros_like(v).at[order].set(jnp.where(first | last, jnp.inf, inner))

    return jax.vmap(along, in_axes=1)(objectives).sum(axis=0)
