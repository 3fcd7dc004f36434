"""Policies: a flat genotype read as a small network that turns observations into actions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from annotated_types import MinLen
from jaxtyping import Array, Float
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types
from brns.core import Box

Rows = Array | np.ndarray
Genotypes = Float[Rows, "n p"]
Layers = list[tuple[Float[Rows, "_outputs _inputs n"], Float[Rows, "_outputs n"]]]


class FeedForward(eqx.Module):
    r"""A feed-forward policy whose weights are the genotype: $h_{l+1} = \tanh(W_l h_l + b_l)$.

    A genotype is $W_0, b_0, W_1, b_1, \dots$ end to end, each $W_l$ by rows;
    a row belongs to an output unit.

    Shapes: genotypes `(n, genotype_length)`, observations `(n, sizes[0])`, actions
    `(n, sizes[-1])`. A loop over time calls `layers` before it and `act` in it: in JAX, or on the
    host in NumPy and in float64. A policy's bits do not depend on its neighbours. With policies
    along the trailing axis, JAX is several times faster for networks this small than by batched
    matrix products.
    """

    sizes: Annotated[tuple[PositiveInt, ...], MinLen(2)] = eqx.field(static=True)
    """neurons per layer: observations, hidden layers, actions"""
    squash_output: bool = eqx.field(static=True, default=False)
    """tanh on the output too, so that actions lie in [-1, 1]"""

    __check_init__ = check_setting_types

    @property
    def genotype_length(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in pairwise(self.sizes))

    @property
    def genotype_space(self) -> Box:
        """Weights and biases in [-1, 1]."""
        return Box(np.full(self.genotype_length, -1.0), np.full(self.genotype_length, 1.0))

    def layers(self, genotypes: Genotypes) -> Layers:
        """The networks' layers.

        Args:
            genotypes: `(n, p)`, of NumPy or JAX.

        Returns:
            Weights `(outputs, inputs, n)` and biases `(outputs, n)` of each layer.

        Raises:
            ValueError: for genotypes of another length than `genotype_length`.
        """
        if genotypes.shape[1] != self.genotype_length:
            raise ValueError(
                f"this policy needs genotypes of length {self.genotype_length}; got "
                f"{genotypes.shape}"
            )
        layers, at = [], 0
        for inputs, outputs in pairwise(self.sizes):
            middle, end = at + outputs * inputs, at + outputs * (inputs + 1)
            weights: Any = genotypes[:, at:middle]
            biases: Any = genotypes[:, middle:end]
            if isinstance(genotypes, np.ndarray):
                weights, biases = np.ascontiguousarray(weights, float), biases.astype(float)
            layers.append((weights.T.reshape(outputs, inputs, -1), biases.T))
            at = end
        return layers

    def act(
        self, layers: Layers, observations: Float[Rows, "o n"] | Sequence[Float[Rows, " n"]]
    ) -> Any:
        """One action a policy: policies along the trailing axis.

        Args:
            layers: as `layers` gave them; of NumPy arrays all is computed in NumPy.
            observations: row i of `(o, n)` is number i of each policy's observation.

        Returns:
            `(actions, n)`.
        """
        if isinstance(layers[0][0], np.ndarray):
            return act_on_host(layers, np.asarray(observations).T, self.squash_output).T
        signal: Any = observations
        for depth, (weights, biases) in enumerate(layers, 1):
            products = (weights[:, i] * signal[i] for i in range(weights.shape[1]))
            signal = sum(products, start=biases)
            if depth < len(layers) or self.squash_output:
                signal = jnp.tanh(signal)
        return signal

    @eqx.filter_jit
    def __call__(
        self, genotypes: Float[Array, "n p"], observations: Float[Array, "n o"]
    ) -> Float[Array, "n a"]:
        """One action a policy, whose row of the observations is its own.

        Raises:
            ValueError: where a shape is another than the policy's.
        """
        expected = (len(genotypes), self.sizes[0])
        if observations.shape != expected:
            raise ValueError(
                f"these policies need observations of shape {expected}; got {observations.shape}"
            )
        return self.act(self.layers(genotypes), observations.T).T


def act_on_host(layers: Layers, rows: np.ndarray, squash_output: bool) -> np.ndarray:
    """Actions of rows of observations in NumPy: in rows, or einsum adds in another order; without
    BLAS, whose sums depend on its threads.
    """
    rows = np.asarray(rows, float)
    for depth, (weights, biases) in enumerate(layers, 1):
        by_policy = np.ascontiguousarray(weights.transpose(2, 0, 1))
        rows = np.einsum("noi,ni->no", by_policy, np.ascontiguousarray(rows)) + biases.T
        if depth < len(layers) or squash_output:
            rows = np.tanh(rows)
    return rows


def make_or_check_policy(
    policy: FeedForward | None, observations: int, actions: int
) -> FeedForward:
    """The policy, if it has these sizes; by default two hidden layers of 10 neurons, squashed."""
    policy = policy or FeedForward((observations, 10, 10, actions), squash_output=True)
    if (policy.sizes[0], policy.sizes[-1]) != (observations, actions):
        expected = f"from {observations} observations to {actions} actions"
        raise ValueError(f"this environment needs a policy {expected}; got sizes={policy.sizes}")
    return policy
