"""How a search begins: the genotypes of generation 0, all inside the box."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from brns.core import Box


class UniformFounders(eqx.Module):
    """Founders drawn uniformly from the genotype space."""

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        return box.uniform(key, n)


class LayerFounders(eqx.Module):
    r"""Founders whose genotype is a feed-forward network: weights and biases of a layer in $\pm 1/\sqrt{fan\_in}$.

    The usual initial weights of PyTorch's linear layers, with which the published code begins. The genotype is laid
    out as `FeedForward` reads it, whose `sizes` these are: `LayerFounders(policy.sizes)`. What lies outside the box is
    put on its border.

    Errors: `ValueError` where networks of these sizes have another number of weights than the box dimensions.
    """

    sizes: tuple[int, ...] = (5, 10, 10, 10, 2)
    """neurons a layer, from observations to actions; those of the maze's policy. The ant's is [29, 10, 10, 10, 8]"""

    def __check_init__(self):
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ValueError(f"founders need at least two layer sizes, each of 1 or more; got sizes={self.sizes}")

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        layers = [(inputs, outputs * (inputs + 1)) for inputs, outputs in pairwise(self.sizes)]
        genes = sum(length for _, length in layers)
        if genes != box.dimension:
            raise ValueError(
                f"networks of sizes={self.sizes} have {genes} weights and biases, and the genotype space has "
                f"{box.dimension} dimensions; give the sizes of the task's own policy"
            )
        bound = jnp.concatenate([jnp.full(length, inputs**-0.5) for inputs, length in layers])
        return jnp.clip(jax.random.uniform(key, (n, genes), minval=-bound, maxval=bound), box.low, box.high)
