r"""Frozen random features: what a behavior is made of, before anything is learned.

Two behaviors are alike as far as the inner product of their features is large. Cosines of many wavelengths tell what is
near from what is far at every scale at once; ReLU features are smoother and know no scale.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from brns.core import Box


def in_box(space: Box, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Descriptors in units of half the declared box, its middle at 0."""
    return (2 * descriptors - (space.low + space.high)) / (space.high - space.low)


class Cosines(eqx.Module):
    r"""$\phi(x) = \sqrt{2 / m} \, (\cos w_1 x, \sin w_1 x, \dots)$: m features of m / 2 frequencies, of length 1.

    $w \sim N(0, 2 s^2 / d)$, so that $s$ is the change of angle over a distance of about 1 whatever d. The scales s lie
    evenly between `low` and `high` on a logarithmic axis, so that every octave has as many.

    Source: Rahimi & Recht 2007, random features of a shift-invariant kernel; here a mixture over its width.
    """

    frequency: Float[Array, "d half"]

    def __init__(self, d: int, size: int, low: float, high: float, key: Key[Array, ""]):
        draw, shift = jax.random.split(key)
        half = size // 2
        place = (jnp.arange(half) + jax.random.uniform(shift)) / half
        scale = low * (high / low) ** place
        self.frequency = jax.random.normal(draw, (d, half)) * scale * math.sqrt(2 / d)

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n m"]:
        angle = points @ self.frequency
        pairs = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1)
        return pairs / math.sqrt(self.frequency.shape[1])


class Rectified(eqx.Module):
    r"""$\phi(x) = \sqrt{2 / m} \, \sigma(V \sigma(U x + a) + c)$ with ReLU $\sigma$, one hidden layer, He's weights.

    Source: Cho & Saul 2009, the arc-cosine kernel of depth 2, here with biases uniform in [-1, 1].
    """

    hidden: Float[Array, "d+1 h"]
    last: Float[Array, "h+1 m"]

    def __init__(self, d: int, size: int, width: int, key: Key[Array, ""]):
        keys = jax.random.split(key)
        self.hidden, self.last = (_layer(k, *shape) for k, shape in zip(keys, ((d, width), (width, size)), strict=True))

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n m"]:
        for layer in (self.hidden, self.last):
            points = jax.nn.relu(points @ layer[:-1] + layer[-1])
        return points * math.sqrt(2 / self.last.shape[1])


def _layer(key: Key[Array, ""], inputs: int, outputs: int) -> Float[Array, "i o"]:
    """A layer's weights, and its biases in the last row."""
    weight, bias = jax.random.split(key)
    return jnp.concatenate(
        [
            jax.random.normal(weight, (inputs, outputs)) * math.sqrt(2 / inputs),
            jax.random.uniform(bias, (1, outputs), minval=-1.0),
        ]
    )
