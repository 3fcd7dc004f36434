"""The encoders of behavior recognition: a fully connected network, and how its weights begin."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

# of "he-biased": an encoder's folds lie all over [-1, 1], and not at 0 as with zero biases
BIAS = 0.3
WIDEST_LAYER = 2**15  # the square is the number of its weights


def init_weights_and_count_outputs(
    encoder: Callable[..., Any], d: int, depth: int, key: Key[Array, ""]
) -> tuple[PyTree, int]:
    """The weights of a user's encoder and how many outputs it has, if it maps `(n, d)` to `(n, m)`.

    The weights are its JAX arrays. All else, such as a constant of NumPy's, is the same for every
    key; `build_encoder` makes it again.
    """
    network = encoder(key, depth)
    outputs = jax.eval_shape(network, jax.ShapeDtypeStruct((2, d), jnp.float32))
    if len(getattr(outputs, "shape", ())) != 2 or outputs.shape[0] != 2:
        raise ValueError(
            f"an encoder must map descriptors (n, {d}) to outputs (n, m); (2, {d}) gave {outputs}"
        )
    return eqx.filter(network, _is_jax_array), outputs.shape[1]


def build_encoder(encoder: Callable[..., Any], weights: PyTree, depth: int) -> Callable[..., Any]:
    """The user's encoder of this depth with weights of `init_weights_and_count_outputs`."""
    others = []

    def append_non_weights(key: Key[Array, ""]) -> None:
        others.append(eqx.filter(encoder(key, depth), _is_jax_array, inverse=True))

    jax.eval_shape(append_non_weights, jax.random.key(0))  # whose weights nobody needs
    return eqx.combine(weights, others[0])


def _is_jax_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


class Encoder(eqx.Module):
    r"""Fully connected, $y^l = \sigma(V^l y^{l-1} + c^l)$ with leaky ReLU,
    and a linear last layer; section 3.2.

    Args:
        inputs: dimensions of a descriptor.
        outputs: dim(E).
        width: neurons in a hidden layer.
        depth: hidden layers.
        initialisation: `he`, `he-biased` or `uniform`, as `BehaviorRecognition` says.
        key: for the weights.
    """

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int,
        depth: int,
        initialisation: str,
        key: Key[Array, ""],
    ):
        sizes = list(pairwise([inputs, *[width] * depth, outputs]))

        def draw(key: Key[Array, ""]) -> tuple[eqx.nn.Linear, ...]:
            keys = jax.random.split(key, depth + 1)
            return tuple(eqx.nn.Linear(m, n, key=k) for (m, n), k in zip(sizes, keys, strict=True))

        if initialisation == "uniform":
            self.layers = draw(key)
        else:
            undrawn = eqx.filter_eval_shape(draw, key)
            self.layers = init_he(undrawn, key, BIAS if initialisation == "he-biased" else 0.0)

    def __call__(self, points: Float[Array, "n i"]) -> Float[Array, "n e"]:
        """Embed descriptors.

        Args:
            points: `(n, inputs)`.

        Returns:
            `(n, outputs)`.
        """
        *hidden, last = self.layers
        for layer in hidden:
            points = jax.nn.leaky_relu(_apply_affine(layer, points))
        return _apply_affine(last, points)


def _apply_affine(layer: eqx.nn.Linear, points: Float[Array, "n i"]) -> Float[Array, "n o"]:
    """All rows in one matrix product; `layer` itself takes a single one."""
    assert layer.bias is not None
    return points @ layer.weight.T + layer.bias


def init_he(module: PyTree, key: Key[Array, ""], bias: float = 0.0) -> PyTree:
    """The module with He's initialisation in all of its linear and convolutional layers,
    as section 3.2 asks.

    Weights from N(0, 2 / fan_in), biases from U(+-bias). For encoders of your own: Equinox's own
    draws, both from U(+-1 / sqrt(fan_in)), have a sixth of He's variance, with which novelty hardly
    tells behaviors apart.

    Args:
        module: whose layers are drawn anew; the rest stays.
        key: for the weights.
        bias: the largest bias, by default 0 as in the paper.

    Returns:
        A module of the same structure.
    """

    def is_layer(node):
        return isinstance(node, eqx.nn.Linear | eqx.nn.Conv)

    def init_layer(node, key, key_bias):
        if not is_layer(node):
            return node
        inputs = tuple(range(1, node.weight.ndim))
        gaussian = jax.nn.initializers.variance_scaling(
            2.0, "fan_in", "normal", in_axis=inputs, out_axis=0
        )
        weight = gaussian(key, node.weight.shape, jnp.float32)
        node = eqx.tree_at(lambda it: it.weight, node, weight)
        if node.bias is None:
            return node
        uniform = jax.random.uniform(key_bias, node.bias.shape, minval=-bias, maxval=bias)
        return eqx.tree_at(lambda it: it.bias, node, uniform)

    nodes, structure = jax.tree.flatten(module, is_leaf=is_layer)
    keys = jax.random.split(key, 2 * len(nodes))
    return structure.unflatten(map(init_layer, nodes, keys[: len(nodes)], keys[len(nodes) :]))
