"""Variation operators: genotypes in, mutants of the same shape out, always inside the box."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from brns.core import Box, Mutation


class PolynomialMutation(eqx.Module):
    r"""Bounded polynomial mutation.

    With $u \sim U(0, 1)$, $\delta_1 = (x - low) / (high - low)$ and $\delta_2 = (high - x) / (high - low)$ a gene
    moves by $\delta_q (high - low)$, where

    $\delta_q = (2u + (1 - 2u)(1 - \delta_1)^{\eta + 1})^{1/(\eta + 1)} - 1$ for $u < 1/2$ and
    $\delta_q = 1 - (2(1 - u) + 2(u - 1/2)(1 - \delta_2)^{\eta + 1})^{1/(\eta + 1)}$ otherwise.

    Source: Deb, Pratap, Agarwal & Meyarivan 2002; agrees in distribution with DEAP's `mutPolynomialBounded`.
    Shapes: genotypes `(n, p)` inside `box`. A gene on a bound can still move inwards.
    """

    eta: float = 10.0
    """crowding degree: the larger, the closer a mutant stays to its parent; paper notes, settings"""
    rate: float = 0.1
    """probability that a gene mutates; paper notes, settings"""

    def __check_init__(self):
        if not 0 <= self.eta < math.inf or not 0 <= self.rate <= 1:
            raise ValueError(f"a finite eta >= 0 and 0 <= rate <= 1 are needed; got {self}")

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        key_which, key_move = jax.random.split(key)
        width, power = box.high - box.low, self.eta + 1.0
        delta_1, delta_2 = (genotypes - box.low) / width, (box.high - genotypes) / width
        u = jax.random.uniform(key_move, genotypes.shape)
        down = (2 * u + (1 - 2 * u) * (1 - delta_1) ** power) ** (1 / power) - 1
        up = 1 - (2 * (1 - u) + 2 * (u - 0.5) * (1 - delta_2) ** power) ** (1 / power)
        moved = jnp.clip(genotypes + jnp.where(u < 0.5, down, up) * width, box.low, box.high)
        return jnp.where(jax.random.bernoulli(key_which, self.rate, genotypes.shape), moved, genotypes)


class GaussianMutation(eqx.Module):
    r"""$x + \sigma (high - low) \mathcal{N}(0, 1)$ on each gene with probability `rate`, clipped to the box."""

    sigma: float = 0.05
    """standard deviation as a share of the box's width"""
    rate: float = 0.1
    """probability that a gene mutates"""

    def __check_init__(self):
        if not 0 < self.sigma < math.inf or not 0 <= self.rate <= 1:
            raise ValueError(f"finite sigma > 0 and 0 <= rate <= 1 are needed; got {self}")

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        key_which, key_move = jax.random.split(key)
        step = self.sigma * (box.high - box.low) * jax.random.normal(key_move, genotypes.shape)
        moved = jnp.clip(genotypes + step, box.low, box.high)
        return jnp.where(jax.random.bernoulli(key_which, self.rate, genotypes.shape), moved, genotypes)


class IsoLineDD(eqx.Module):
    r"""Steps all around, and along the line to another parent: $x + \sigma_1 w z + \sigma_2 (y - x) \zeta$.

    $y$ is another genotype of the batch, drawn uniformly, $w$ the box's width, $z \sim \mathcal{N}(0, I)$ and
    $\zeta \sim \mathcal{N}(0, 1)$, one number for all genes. What leaves the box is put on its border. A batch of one
    has no line.

    Source: Vassiliades & Mouret, GECCO 2018, "Discovering the elite hypervolume by leveraging interspecies
    correlation", doi:10.1145/3205455.3205602; there both are elites of an archive.
    """

    sigma_iso: float = 0.01
    """standard deviation all around, as a share of the box's width; Vassiliades & Mouret, where the width is 1"""
    sigma_line: float = 0.2
    """standard deviation along the line, as a share of the distance to the other parent; Vassiliades & Mouret"""

    def __check_init__(self):
        if min(self.sigma_iso, self.sigma_line) < 0 or not 0 < self.sigma_iso + self.sigma_line < math.inf:
            raise ValueError(f"finite sigma_iso and sigma_line from 0 on are needed, one of them above 0; got {self}")

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        key_other, key_iso, key_line = jax.random.split(key, 3)
        n = genotypes.shape[0]
        further = jax.random.randint(key_other, (n,), 1, max(n, 2))  # never 0 rows on, but in a batch of one
        other = genotypes[(jnp.arange(n) + further) % n]
        iso = self.sigma_iso * (box.high - box.low) * jax.random.normal(key_iso, genotypes.shape)
        line = self.sigma_line * (other - genotypes) * jax.random.normal(key_line, (n, 1))
        return jnp.clip(genotypes + iso + line, box.low, box.high)


class MultiscaleMutation(eqx.Module):
    r"""Gaussian steps of all sizes: $x + \sigma w \mathcal{N}(0, 1)$ on a share of the genes, clipped to the box.

    Each offspring has a $\sigma$ and a share of its own, both drawn evenly on logarithmic axes: the share from one gene
    to all. $w$ is the box's width.
    """

    sigmas: tuple[float, float] = (0.003, 0.3)
    """least and largest standard deviation as shares of the box's width"""

    def __check_init__(self):
        if len(self.sigmas) != 2 or not 0 < self.sigmas[0] <= self.sigmas[1] < math.inf:
            raise ValueError(f"sigmas must be 0 < least <= largest, both finite; got {self}")

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        key_size, key_share, key_which, key_move = jax.random.split(key, 4)
        n, p = genotypes.shape
        least, largest = self.sigmas
        sigma = least * (largest / least) ** jax.random.uniform(key_size, (n, 1))
        share = p ** -jax.random.uniform(key_share, (n, 1))
        step = sigma * (box.high - box.low) * jax.random.normal(key_move, (n, p))
        moved = jnp.clip(genotypes + step, box.low, box.high)
        return jnp.where(jax.random.bernoulli(key_which, share, (n, p)), moved, genotypes)


class MixedMutation(eqx.Module):
    """Each offspring by one of several operators, drawn evenly."""

    operators: tuple[Mutation, ...] = (PolynomialMutation(), IsoLineDD())

    def __check_init__(self):
        if not self.operators or not all(isinstance(each, Mutation) for each in self.operators):
            raise ValueError(f"MixedMutation needs mutation operators; got operators={self.operators}")

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        keys = jax.random.split(key, len(self.operators) + 1)
        mutants = [mutate(one, genotypes, box) for mutate, one in zip(self.operators, keys[1:], strict=True)]
        which = jax.random.randint(keys[0], (len(genotypes),), 0, len(self.operators))
        return jnp.stack(mutants)[which, jnp.arange(len(genotypes))]


class Redraw(eqx.Module):
    """Genotypes drawn anew, uniformly from the box, whatever the parents': what random search does."""

    def __call__(self, key: Key[Array, ""], genotypes: Float[Array, "n p"], box: Box) -> Float[Array, "n p"]:
        return box.uniform(key, genotypes.shape[0])
