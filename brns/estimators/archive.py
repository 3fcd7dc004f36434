"""Novelty as the mean distance to the nearest neighbours, in an archive or the population."""

from functools import partial
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key
from pydantic import FiniteFloat, PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Generation, Population
from brns.core.population import concatenate_populations, take_rows
from brns.estimators.neighbours import References, nearest_squared_distances


class Archive(NamedTuple):
    """Stored behaviors, kept until the archive is full; they fill rows from 0 on without gaps."""

    descriptor: Float[Array, "capacity d"]
    id: Int[Array, " capacity"]
    """-1 in empty rows"""
    novelty: Float[Array, " capacity"]
    """as scored when it entered"""
    born: Int[Array, " capacity"]
    """the generation of birth"""
    entered: Int[Array, " capacity"]
    """the generation in which it entered"""


class ArchiveKNN(eqx.Module):
    r"""Mean distance to the k nearest of population and archive, a list of past descriptors that
    keeps no elites.

    $\rho(x) = \frac{1}{k} \sum_{i=1}^{k} \lVert x - \mu_i \rVert_2$ with $\mu_1 \dots \mu_k$ the
    nearest neighbours of $x$ in $A \cup P$; who is in both counts once. Nobody is its own
    neighbour: one reference at distance exactly 0 is left out, whoever's it is. So in Q(i, j) who
    died is as novel as a twin of the same behavior that lives. Then `additions` of parents and
    offspring enter, fewer if fewer qualify; in a full archive each takes the place of an entry.
    Where nobody lives, an entry may be a query itself, at distance 0.

    Source: Lehman & Stanley 2011, doi:10.1162/EVCO_a_00025; Salehi, Coninx & Doncieux, GECCO 2021,
    equation 1 and sections 3 and 5. Departs from equation 1 as printed, which sums k + 1 terms and
    divides by k, and from the published code, which averages k - 1.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in those
    units, NaN where a descriptor is not finite; where there are fewer neighbours than k, the mean
    of those that there are.
    """

    k: PositiveInt = 15
    """nearest neighbours; paper, section 5"""
    additions: PositiveInt = 6
    """individuals that enter per generation; paper, section 5.1 (10 in section 5.2)"""
    capacity: int = 10000
    """largest number of entries; paper, section 5.1 (2000, 4000 and 6000 in section 5.2)"""
    entry: Literal["random", "most_novel"] = "random"
    """which enter: drawn uniformly without replacement, or the most novel; published code"""
    threshold: FiniteFloat | None = None
    """only individuals of larger novelty enter; section 3.1's t, off by default"""
    removal: Literal["random", "oldest", "least_novel"] = "random"
    """which leave a full archive: random ones (published code), the oldest, or those least novel at
    entry"""

    def __check_init__(self):
        check_setting_types(self)
        rule = self.additions <= self.capacity, f"from 1 to the capacity, {self.capacity}"
        check_settings_obey_rules(self, additions=rule)

    @property
    def needs_novelty_to_add_or_remove(self) -> bool:
        """Whether novelty says who enters or leaves."""
        by_rank = self.entry == "most_novel" or self.removal == "least_novel"
        return by_rank or self.threshold is not None

    def init(self, space: Box, key: Key[Array, ""]) -> Archive:
        """An empty archive; see `NoveltyEstimator.init`."""
        nobody, nothing = jnp.full(self.capacity, -1, jnp.int32), jnp.zeros(self.capacity)
        nowhere = jnp.zeros((self.capacity, space.dimension))
        return Archive(nowhere, nobody, nothing, nobody, nobody)

    def score(
        self, state: Archive, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """The mean distance to the k nearest others of A and P; see `NoveltyEstimator.score`."""
        archived = (state.id >= 0) & ~_isin(state.id, population.id)
        references = References(state.descriptor, archived)
        return _compute_sparseness(self.k, descriptors, population, references)

    def embed(self, state: Archive, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Behavior space itself: novelty is a distance there; see `metrics.cycling.Embeds`."""
        return descriptors

    def update(self, state: Archive, generation: Generation, key: Key[Array, ""]) -> Archive:
        """The archive with `additions` individuals more; see `NoveltyEstimator.update`."""
        key_entry, key_removal = jax.random.split(key)
        everyone = concatenate_populations(generation.parents, generation.offspring)
        eligible = _mask_valid(everyone) & ~_isin(everyone.id, state.id)
        if self.threshold is not None:
            eligible &= everyone.novelty > self.threshold
        if self.entry == "random":
            rank = jax.random.uniform(key_entry, eligible.shape)
        else:
            rank = -everyone.novelty
        selected = jnp.lexsort((rank, ~eligible))[: self.additions]
        slots = self._choose_archive_slots(state, key_removal, len(selected))
        rows = jnp.where(eligible[selected], slots, self.capacity)
        chosen = take_rows(everyone, selected)
        entered = jnp.broadcast_to(generation.offspring.born[0], selected.shape)
        entries = Archive(chosen.descriptor, chosen.id, chosen.novelty, chosen.born, entered)
        return jax.tree.map(lambda old, new: old.at[rows].set(new, mode="drop"), state, entries)

    def _choose_archive_slots(
        self, state: Archive, key: Key[Array, ""], number: int
    ) -> Int[Array, " number"]:
        """The rows that entries take: empty ones in order, then those that the rule vacates."""
        if self.removal == "random":
            rank = jax.random.uniform(key, state.id.shape)
        elif self.removal == "oldest":
            rank = -state.entered.astype(jnp.float32)
        else:
            rank = -state.novelty
        _, rows = jax.lax.top_k(jnp.where(state.id < 0, jnp.inf, rank), number)
        return rows  # of equals, the first


class PopulationKNN(eqx.Module):
    """Novelty as sparseness in the population alone: `ArchiveKNN` with an archive that stays empty.

    Source: Salehi, Coninx & Doncieux, GECCO 2021, section 2.
    """

    k: PositiveInt = 15
    """nearest neighbours; paper, section 5"""

    __check_init__ = check_setting_types

    def init(self, space: Box, key: Key[Array, ""]) -> tuple[()]:
        """Nothing is remembered; see `NoveltyEstimator.init`."""
        return ()

    def score(
        self, state: tuple[()], descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """The mean distance to the k nearest others of P; see `NoveltyEstimator.score`.

        Raises:
            ValueError: where the population has k individuals or fewer.
        """
        self.check_size(len(population.id))
        return _compute_sparseness(self.k, descriptors, population)

    def check_size(self, population_size: int) -> None:
        """A `ValueError` where so few have no k neighbours."""
        if population_size <= self.k:
            raise ValueError(
                f"k={self.k} nearest neighbours need a population above {self.k}; got "
                f"{population_size}"
            )

    def embed(self, state: tuple[()], descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Behavior space itself: novelty is a distance there; see `metrics.cycling.Embeds`."""
        return descriptors

    def update(self, state: tuple[()], generation: Generation, key: Key[Array, ""]) -> tuple[()]:
        """Nothing is learned; see `NoveltyEstimator.update`."""
        return ()


_isin = partial(jnp.isin, method="binary_search")


def _mask_finite(descriptors: Float[Array, "n d"]) -> Bool[Array, " n"]:
    return jnp.all(jnp.isfinite(descriptors), axis=1)


def _mask_valid(population: Population) -> Bool[Array, " n"]:
    return _mask_finite(population.descriptor) & ~population.failed


def _compute_sparseness(
    k: int,
    descriptors: Float[Array, "n d"],
    population: Population,
    archived: References | None = None,
) -> Float[Array, " n"]:
    living = _mask_valid(population)
    references = References(population.descriptor, living)
    if archived is not None:  # one search among all: a second would be compiled anew
        references = jax.tree.map(lambda *columns: jnp.concatenate(columns), references, archived)
    distances = jnp.sqrt(nearest_squared_distances(descriptors, references, k + 1))
    itself = (distances[:, :1] == 0) & jnp.any(living)
    others = jnp.where(itself, distances[:, 1:], distances[:, :-1])
    present = jnp.isfinite(others)
    number = jnp.sum(present, axis=1)
    novelty = jnp.sum(jnp.where(present, others, 0.0), axis=1) / number
    novelty = jnp.where(number, novelty, jnp.inf)
    return jnp.where(_mask_finite(descriptors), novelty, jnp.nan)
