"""MAP-Elites and dominated novelty search of QDax, as peers of `brns.comparison.peers`.

Both draw offspring by Iso+LineDD, with the deviations of QDax's README, in the unit box.
"""

import functools
from typing import Any

import equinox as eqx
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from qdax.core.containers.ga_repertoire import GARepertoire
from qdax.core.containers.mapelites_repertoire import (
    MapElitesRepertoire,
    compute_cvt_centroids,
    compute_euclidean_centroids,
)
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.standard_emitters import MixingEmitter

from brns.comparison.peers import CENTROIDS, PeerConfig


class QDaxMapElites(eqx.Module):
    """MAP-Elites: the fittest of each cell of a grid."""

    def __call__(self, terms: PeerConfig) -> "Scheduler":
        return Scheduler(terms, functools.partial(MapElitesRepertoire.init, centroids=cells(terms)))


class DominatedNovelty(eqx.Module):
    """Dominated novelty search: of parents and offspring those survive that are farthest, in the
    mean, from the k nearest that are at least as fit. Where all are equally fit, that is novelty.

    Source: Bahlous-Boldi, Faldor, Grillotti, Janmohamed, Coiffard, Spector & Cully 2025,
    arXiv:2502.00593; QDax 0.5 has no such repertoire.
    """

    capacity: int = 1024
    k: int = 3

    def __call__(self, terms: PeerConfig) -> "Scheduler":
        return Scheduler(terms, self.init)

    def init(
        self,
        genotypes: Float[Array, "n p"],
        fitnesses: Float[Array, " n"],
        descriptors: Float[Array, "n d"],
    ) -> "DominatedNoveltyRepertoire":
        """The founders, in a repertoire whose other places are empty: of a fitness of -inf."""
        empty = DominatedNoveltyRepertoire(
            genotypes=jnp.zeros((self.capacity, genotypes.shape[1])),
            fitnesses=jnp.full((self.capacity, 1), -jnp.inf),
            extra_scores={},
            keys_extra_scores=(),
            descriptors=jnp.zeros((self.capacity, descriptors.shape[1])),
            k=self.k,
        )
        return empty.add(genotypes, descriptors, fitnesses)


class DominatedNoveltyRepertoire(GARepertoire):
    """A population of constant size."""

    descriptors: Float[Array, "c d"]
    k: int = flax.struct.field(pytree_node=False)

    def add(self, genotypes: Any, descriptors: Any, fitnesses: Any) -> Any:
        """Of those who were here and these, the dominated novelty of whom is greatest."""
        genotypes = jnp.concatenate([self.genotypes, genotypes])
        fitnesses = jnp.concatenate([self.fitnesses, fitnesses[:, None]])
        descriptors = jnp.concatenate([self.descriptors, descriptors])
        novelty = dominated_novelty(fitnesses[:, 0], descriptors, self.k)
        stay = jnp.argsort(-novelty)[: len(self.fitnesses)]
        return self.replace(
            genotypes=genotypes[stay], fitnesses=fitnesses[stay], descriptors=descriptors[stay]
        )


def dominated_novelty(
    fitnesses: Float[Array, " n"], descriptors: Float[Array, "n d"], k: int
) -> Float[Array, " n"]:
    """Mean distance to the k nearest at least as fit: inf without any, -inf of an empty place."""
    distances = jnp.linalg.norm(descriptors[:, None] - descriptors[None], axis=-1)
    rivals = (fitnesses[None] >= fitnesses[:, None]) & ~jnp.eye(len(fitnesses), dtype=bool)
    nearest = jnp.sort(jnp.where(rivals, distances, jnp.inf), axis=1)[:, :k]
    near = jnp.isfinite(nearest)
    mean = jnp.where(near, nearest, 0).sum(axis=1) / jnp.maximum(near.sum(axis=1), 1)
    novelty = jnp.where(near.any(axis=1), mean, jnp.inf)
    return jnp.where(jnp.isfinite(fitnesses), novelty, -jnp.inf)


def cells(terms: PeerConfig) -> Float[Array, "c d"]:
    """The centers of the world's grid; of a tessellation of its box where there is none."""
    low, high = np.array(terms.ranges).T
    if terms.dims is not None:
        return compute_euclidean_centroids(terms.dims, low, high)
    return compute_cvt_centroids(
        num_descriptors=len(low),
        num_init_cvt_samples=10 * CENTROIDS,
        num_centroids=CENTROIDS,
        minval=low,
        maxval=high,
        key=jax.random.key(0),
    )


class Scheduler:
    """What a peer is asked for, around a repertoire of QDax."""

    def __init__(self, terms: PeerConfig, init: Any):
        self.archive = self.result_archive = self
        self.init, self.repertoire = init, None
        self.key, self.number = jax.random.key(terms.seed), 0
        vary = functools.partial(
            isoline_variation, iso_sigma=0.05, line_sigma=0.1, minval=0, maxval=1
        )
        emitter = MixingEmitter(
            mutation_fn=lambda genotypes, _: genotypes,
            variation_fn=vary,
            variation_percentage=1.0,
            batch_size=terms.offspring_size,
        )
        self.emit = jax.jit(lambda repertoire, key: emitter.emit(repertoire, None, key)[0])
        self.update = jax.jit(lambda repertoire, *evaluated: repertoire.add(*evaluated))

    def add(self, solutions: Any, fitness: Any, descriptors: Any) -> None:
        """The founders."""
        arrays = map(jnp.asarray, (solutions, fitness, descriptors))
        self.repertoire = self.init(*arrays)

    def ask(self) -> Float[np.ndarray, "n p"]:
        self.number += 1
        key = jax.random.fold_in(self.key, self.number)
        self.solutions = self.emit(self.repertoire, key)
        return np.asarray(self.solutions)

    def tell(self, fitness: Any, descriptors: Any) -> None:
        """What the solutions did."""
        arrays = jnp.asarray(descriptors), jnp.asarray(fitness)
        self.repertoire = self.update(self.repertoire, self.solutions, *arrays)
