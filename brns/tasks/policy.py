"""Policies: a flat genotype read as a small network that turns observations into actions."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from brns.core import Box

Layers = list[tuple[Float[Array, "_outputs _inputs n"], Float[Array, "_outputs n"]]]
HostLayers = list[tuple[Float[np.ndarray, "n _outputs _inputs"], Float[np.ndarray, "n _outputs"]]]


class FeedForward(eqx.Module):
    r"""n feed-forward networks, one a genotype: $h_{l+1} = \tanh(W_l h_l + b_l)$.

    A genotype is $W_0, b_0, W_1, b_1, \dots$ end to end, each $W_l$ by rows; a row belongs to an output unit.

    Shapes: genotypes `(n, genotype_length)`, observations `(n, sizes[0])`, actions `(n, sizes[-1])`. A loop over time
    calls `layers` before it and `act` in it: with policies along the trailing axis, networks this small are several
    times faster than by batched matrix products.
    """

    sizes: tuple[int, ...] = eqx.field(static=True)
    """neurons a layer: observations, hidden layers, actions"""
    squash_output: bool = eqx.field(static=True, default=False)
    """tanh on the output too, so that actions lie in [-1, 1]"""

    @property
    def genotype_length(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in pairwise(self.sizes))

    @property
    def genotype_space(self) -> Box:
        """Weights and biases in [-1, 1]."""
        return Box(np.full(self.genotype_length, -1.0), np.full(self.genotype_length, 1.0))

    def layers(self, genotypes: Float[Array, "n p"]) -> Layers:
        """The weights `(outputs, inputs, n)` and biases `(outputs, n)` of every layer."""
        columns = genotypes.T
        return [
            (columns[weights].reshape(outputs, inputs, -1), columns[biases])
            for inputs, outputs, weights, biases in self._genes(genotypes)
        ]

    def act(
        self, layers: Layers, observations: Float[Array, "o n"] | Sequence[Float[Array, " n"]]
    ) -> Float[Array, "a n"]:
        """One action a policy, policies along the trailing axis."""
        signal: Any = observations
        for depth, (weights, biases) in enumerate(layers, 1):
            signal = sum((weights[:, i] * signal[i] for i in range(weights.shape[1])), start=biases)
            if depth < len(layers) or self.squash_output:
                signal = jnp.tanh(signal)
        return signal

    @eqx.filter_jit
    def __call__(self, genotypes: Float[Array, "n p"], observations: Float[Array, "n o"]) -> Float[Array, "n a"]:
        wanted = (len(genotypes), self.sizes[0])
        if observations.shape != wanted:
            raise ValueError(f"these policies need observations of shape {wanted}; got {observations.shape}")
        return self.act(self.layers(genotypes), observations.T).T

    def on_host(self, genotypes: Float[np.ndarray, "n p"]) -> "HostPolicies":
        """The same policies in NumPy and float64, for worlds on the host."""
        rows = np.asarray(genotypes, np.float64)
        layers = [
            (np.ascontiguousarray(rows[:, weights]).reshape(-1, outputs, inputs), np.ascontiguousarray(rows[:, biases]))
            for inputs, outputs, weights, biases in self._genes(genotypes)
        ]
        return HostPolicies(layers, self.squash_output)

    def _genes(self, genotypes: Any) -> Iterator[tuple[int, int, slice, slice]]:
        """The inputs and outputs of every layer, and where its weights and its biases stand in a genotype."""
        if genotypes.shape[1] != self.genotype_length:
            raise ValueError(f"this policy needs genotypes of length {self.genotype_length}; got {genotypes.shape}")
        at = 0
        for inputs, outputs in pairwise(self.sizes):
            middle = at + outputs * inputs
            yield inputs, outputs, slice(at, middle), slice(middle, middle + outputs)
            at = middle + outputs


def fitted(policy: FeedForward | None, observations: int, actions: int) -> FeedForward:
    """The policy, by default with two hidden layers of 10 and a squashed output; a `ValueError` for other sizes."""
    policy = policy or FeedForward((observations, 10, 10, actions), squash_output=True)
    if (policy.sizes[0], policy.sizes[-1]) != (observations, actions):
        wanted = f"from {observations} observations to {actions} actions"
        raise ValueError(f"this environment needs a policy {wanted}; got sizes={policy.sizes}")
    return policy


class HostPolicies:
    """n policies in NumPy, from observations `(n, sizes[0])` to actions `(n, sizes[-1])`; indexing selects some.

    A policy's bits do not depend on its neighbours and their number, as they may in a batched matrix product.
    """

    def __init__(self, layers: HostLayers, squash_output: bool):
        self.layers, self.squash_output = layers, squash_output

    def __call__(self, observations: Float[np.ndarray, "n o"]) -> Float[np.ndarray, "n a"]:
        signal = observations
        for depth, (weights, biases) in enumerate(self.layers, 1):
            signal = np.einsum("noi,ni->no", weights, signal) + biases
            if depth < len(self.layers) or self.squash_output:
                signal = np.tanh(signal)
        return signal

    def __getitem__(self, rows: slice | Bool[np.ndarray, " n"] | Int[np.ndarray, " m"]) -> "HostPolicies":
        return HostPolicies([(weights[rows], biases[rows]) for weights, biases in self.layers], self.squash_output)
