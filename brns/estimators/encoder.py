"""The encoders of behavior recognition: a fully connected network, and how its weights begin."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

BIAS = 0.3  # of "he-biased": it puts the folds of an encoder all over [-1, 1], where zero biases put them through 0


def drawn(encoder: Callable[..., Any], d: int, depth: int, key: Key[Array, ""]) -> tuple[PyTree, int]:
    """The weights of an encoder of the user's own, `encoder(key, depth)`, and the number of its outputs.

    The weights are its JAX arrays. All else, such as a constant of NumPy's, is the same for every key; `whole` makes it
    again. Errors: `ValueError` where it does not map `(n, d)` to `(n, m)`.
    """
    made = encoder(key, depth)
    outputs = jax.eval_shape(made, jax.ShapeDtypeStruct((2, d), jnp.float32))
    if len(getattr(outputs, "shape", ())) != 2 or outputs.shape[0] != 2:
        raise ValueError(f"an encoder must map descriptors (n, {d}) to outputs (n, m); (2, {d}) gave {outputs}")
    return eqx.filter(made, _weight), outputs.shape[1]


def whole(encoder: Callable[..., Any], weights: PyTree, depth: int) -> Callable[..., Any]:
    """The user's encoder with these weights."""
    others = []

    def make(key: Key[Array, ""]) -> None:
        others.append(eqx.filter(encoder(key, depth), _weight, inverse=True))

    jax.eval_shape(make, jax.random.key(0))  # whose weights nobody needs
    return eqx.combine(weights, others[0])


def _weight(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


class Encoder(eqx.Module):
    r"""Fully connected, $y^l = \sigma(V^l y^{l-1} + c^l)$ with leaky ReLU, and a linear last layer; section 3.2."""

    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, inputs: int, outputs: int, width: int, depth: int, initialisation: str, key: Key[Array, ""]):
        sizes = [inputs, *[width] * depth, outputs]
        keys = jax.random.split(key, len(sizes) - 1)
        layers = [eqx.nn.Linear(m, n, key=k) for m, n, k in zip(sizes[:-1], sizes[1:], keys, strict=True)]
        if initialisation != "uniform":
            bias = BIAS if initialisation == "he-biased" else 0.0
            layers = [_he(layer, k, bias) for layer, k in zip(layers, keys, strict=True)]
        self.layers = tuple(layers)

    def __call__(self, points: Float[Array, "n i"]) -> Float[Array, "n e"]:
        *hidden, last = self.layers
        for layer in hidden:
            points = jax.nn.leaky_relu(_affine(layer, points))
        return _affine(last, points)


def _affine(layer: eqx.nn.Linear, points: Float[Array, "n i"]) -> Float[Array, "n o"]:
    """All rows in one matrix product; `layer` itself takes a single one."""
    assert layer.bias is not None
    return points @ layer.weight.T + layer.bias


def he(module: PyTree, key: Key[Array, ""]) -> PyTree:
    """The module with He's initialisation in all of its linear and convolutional layers, as section 3.2 asks.

    For encoders of your own: Equinox's weights have a sixth of He's variance, with which novelty hardly tells behaviors
    apart.
    """

    def is_layer(node):
        return isinstance(node, eqx.nn.Linear | eqx.nn.Conv)

    nodes, structure = jax.tree.flatten(module, is_leaf=is_layer)
    keys = jax.random.split(key, len(nodes))
    return structure.unflatten([_he(node, k) if is_layer(node) else node for node, k in zip(nodes, keys, strict=True)])


def _he(layer: Any, key: Key[Array, ""], most: float = 0.0) -> Any:
    """Weights from N(0, 2 / fan_in), biases from U(+-most) (Equinox's own draws both from U(+-1 / sqrt(fan_in)))."""
    outputs, *inputs = layer.weight.shape
    gaussian = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal", in_axis=-1, out_axis=-2)
    weight = gaussian(key, (outputs, math.prod(inputs)), jnp.float32).reshape(layer.weight.shape)
    bias = None
    if layer.bias is not None:
        bias = jax.random.uniform(jax.random.fold_in(key, 0), layer.bias.shape, minval=-most, maxval=most)
    return eqx.tree_at(lambda it: (it.weight, it.bias), layer, (weight, bias), is_leaf=lambda leaf: leaf is None)
