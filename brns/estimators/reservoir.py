"""What recognition trains on: behaviors with their target embeddings, and a sample of the past that may join them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from brns.core import take


class Dataset(NamedTuple):
    """Behaviors with their target embeddings, stored so that xi* is never evaluated twice on one of them."""

    behavior: Float[Array, "n i"]
    """as the encoders see them"""
    embedding: Float[Array, "n e"]
    """xi*(behavior)"""
    present: Bool[Array, " n"]
    """rows that are in the set; the others fill it up to a constant shape"""


class Reservoir(NamedTuple):
    """A uniform sample, of constant size, of all behaviors seen so far: those with the lowest of random numbers."""

    dataset: Dataset
    rank: Float[Array, " n"]
    """the random number drawn when the behavior was seen; infinite in empty rows"""


def draw(reservoir: Reservoir, number: int, key: Key[Array, ""]) -> Dataset:
    """Behaviors drawn from the reservoir, uniformly with replacement among those that are there."""
    filled = jnp.sum(reservoir.dataset.present)
    rows = jax.random.randint(key, (number,), 0, jnp.maximum(filled, 1))
    return take(reservoir.dataset, rows)


def keep(reservoir: Reservoir, seen: Dataset, key: Key[Array, ""]) -> Reservoir:
    """The reservoir with the behaviors seen: of all ever seen, those whose random number is lowest stay."""
    rank = jnp.where(seen.present, jax.random.uniform(key, seen.present.shape), jnp.inf)
    candidates = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), reservoir, Reservoir(seen, rank))
    return take(candidates, jnp.argsort(candidates.rank)[: len(reservoir.rank)])
