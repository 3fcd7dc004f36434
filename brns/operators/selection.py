"""Survivor selection: which rows of parents united with offspring live on."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types
from brns.core import Population


class Elitist(eqx.Module):
    """Keeps the most novel of parents and offspring (mu + lambda), Algorithm 1's
    `select_most_novel`. Ties keep the order: parents before offspring.
    """

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """The rows of the survivors; see `brns.core.Selection`."""
        return jnp.argsort(-population.novelty, stable=True)[:size]


class Generational(eqx.Module):
    """Generational replacement: the latest born survive, whatever their novelty. There is no
    selection pressure, unlike in comma selection. Ties keep the order.
    """

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """The rows of the survivors; see `brns.core.Selection`."""
        return jnp.argsort(-population.born, stable=True)[:size]


class NSGA2(eqx.Module):
    """NSGA-II's survivor selection on (novelty, fitness), both maximised.

    Whole non-dominated fronts survive in order; of the front that does not fit, the individuals
    with the largest crowding distance. Ties keep the order: parents before offspring.

    Source: Deb, Pratap, Agarwal & Meyarivan 2002; the paper's section 5.2. Selects what DEAP's
    `selNSGA2` selects, ties in crowding distance aside. Cost O(n log n).
    """

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """The rows of the survivors; see `brns.core.Selection`."""
        return _order_by_front_and_crowding(population.novelty, population.fitness)[:size]


class LocalCompetition(eqx.Module):
    """Novelty search with local competition (NSLC): NSGA-II's selection on novelty and on how many
    of the k nearest in behavior space are less fit.

    Source: Lehman & Stanley 2011, doi:10.1145/2001576.2001606. There neighbours are of population
    and archive; here of parents and offspring.
    """

    k: PositiveInt = 15
    """nearest neighbours, as in the source"""

    __check_init__ = check_setting_types

    def __call__(self, population: Population, size: int) -> Int[Array, " size"]:
        """The rows of the survivors; see `brns.core.Selection`."""
        point = population.descriptor
        squared = jnp.sum((point[:, None] - point) ** 2, axis=2)
        squared = jnp.where(population.failed, jnp.inf, squared)  # they are nobody's rivals
        near = jnp.argsort(squared.at[jnp.diag_indices(len(squared))].set(-1.0), axis=1)
        rivals = near[:, 1 : self.k + 1]
        less_fit = population.fitness[:, None] > population.fitness[rivals]
        beaten = jnp.sum(less_fit & ~population.failed[rivals], axis=1, dtype=jnp.float32)
        return _order_by_front_and_crowding(population.novelty, beaten)[:size]


def _order_by_front_and_crowding(
    first: Float[Array, " n"], second: Float[Array, " n"]
) -> Int[Array, " n"]:
    """The rows front by front, within one by crowding distance; both objectives are maximised."""
    objectives = jnp.stack([first, second], axis=1)
    front = assign_fronts(objectives)
    return jnp.lexsort((-compute_crowding_distance(objectives, front), front))


def assign_fronts(objectives: Float[Array, "n 2"]) -> Int[Array, " n"]:
    """The number of the non-dominated front of each individual, from 0; both objectives are finite,
    and maximised.

    In the order of the first objective each individual joins the first front whose largest second
    objective is below its own; these fall from front to front, and the first is found by halving.
    Equals stand in one front.

    Source: Jensen 2003, doi:10.1109/TEVC.2003.817234, for two objectives. Cost O(n log n).
    """
    n = len(objectives)
    order = jnp.lexsort((-objectives[:, 1], -objectives[:, 0]))
    ranked = objectives[order]
    repeated = jnp.append(False, jnp.all(ranked[1:] == ranked[:-1], axis=1))

    def place(carry, individual):
        lowest, before = carry  # lowest: minus the largest second objective of each front
        value, same = individual
        next_front = jnp.searchsorted(lowest, value, side="right", method="scan_unrolled")
        front = jnp.where(same, before, next_front)
        return (lowest.at[front].set(value), front), front

    start = (jnp.full(n, jnp.inf, objectives.dtype), jnp.int32(0))
    front = jax.lax.scan(place, start, (-ranked[:, 1], repeated))[1]
    return jnp.zeros(n, jnp.int32).at[order].set(front)


def compute_crowding_distance(
    objectives: Float[Array, "n m"], front: Int[Array, " n"]
) -> Float[Array, " n"]:
    """The sum over objectives of neighbours' gap over the front's range; infinite at its ends."""

    def along(values: Float[Array, " n"]) -> Float[Array, " n"]:
        order = jnp.lexsort((values, front))
        v, f = values[order], front[order]
        changes = f[1:] != f[:-1]
        ends = jnp.append(True, changes) | jnp.append(changes, True)
        gap = jnp.roll(v, -1) - jnp.roll(v, 1)
        n = f.shape[0]
        span = (jax.ops.segment_max(v, f, n) - jax.ops.segment_min(v, f, n))[f]
        inner = jnp.where(span > 0, gap / jnp.where(span > 0, span, 1.0), 0.0)
        return jnp.zeros_like(v).at[order].set(jnp.where(ends, jnp.inf, inner))

    return jax.vmap(along, in_axes=1)(objectives).sum(axis=0)
