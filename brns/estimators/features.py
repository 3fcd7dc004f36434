r"""Frozen random features: what a behavior is made of, before anything is learned.

Two behaviors are alike as far as the inner product of their features is large. Cosines of many wavelengths tell what is
near from what is far at every scale at once; ReLU features are smoother and know no scale.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from brns.core import Box, Generation

LEAST = 1e-4  # founders whose deviation is less, in units of half the box, are all alike


class Frame(NamedTuple):
    """Where descriptors are measured from, and in what unit: first the box, then the spread of the founders."""

    space: Box
    center: Float[Array, " d"]
    """what is mapped to 0, in units of half the box from its middle"""
    scale: Float[Array, ""]
    """what is mapped to 1, in the same units; one number for all dimensions"""
    placed: Bool[Array, ""]
    """whether center and scale were taken from founders"""


def declared(space: Box) -> Frame:
    """The box itself: [-1, 1] in every dimension."""
    return Frame(space, jnp.zeros(space.dimension), jnp.ones(()), jnp.zeros((), bool))


def founded(frame: Frame, founders: Float[Array, "n d"]) -> Frame:
    """Center and scale taken, once, from founders: their mean, and three times their root mean variance.

    The mean over dimensions, not one scale for each: a dimension that hardly moves at first would drown the others when
    it does. Founders that are all alike leave the box. Those that are not finite do not count.
    """
    points = in_box(frame.space, founders)
    finite = jnp.all(jnp.isfinite(points), axis=1, keepdims=True)
    number = jnp.maximum(jnp.sum(finite), 1)
    center = jnp.sum(jnp.where(finite, points, 0.0), axis=0) / number
    deviation = jnp.sqrt(jnp.sum(jnp.where(finite, (points - center) ** 2, 0.0)) / (number * points.shape[1]))
    take = ~frame.placed & (deviation > LEAST)
    return Frame(
        frame.space,
        jnp.where(take, center, frame.center),
        jnp.where(take, 3 * deviation, frame.scale),
        jnp.ones((), bool),
    )


def in_frame(frame: Frame, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return (in_box(frame.space, descriptors) - frame.center) / frame.scale


def in_box(space: Box, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Descriptors in units of half the declared box, its middle at 0."""
    return (2 * descriptors - (space.low + space.high)) / (space.high - space.low)


def newcomers(generation: Generation, first: Bool[Array, ""]) -> Bool[Array, " n"]:
    """Who of parents united with offspring is learned: the offspring, in the first update the founders with them."""
    mu, n = generation.parents.id.shape[0], generation.offspring.id.shape[0]
    return first | (jnp.arange(mu + n) >= mu)


def founders(generation: Generation) -> Float[Array, "n d"]:
    """The founders' descriptors, given the first generation: its parents, or its offspring where it has none."""
    return (generation.parents if generation.parents.id.shape[0] else generation.offspring).descriptor


def refuse_frequencies(estimator: str, frequencies: tuple[float, ...]) -> None:
    """A `ValueError` where these are not the lowest and the highest of some frequencies."""
    if len(frequencies) != 2 or not 0 < frequencies[0] <= frequencies[1] < math.inf:
        raise ValueError(f"{estimator}.frequencies needs 0 < lowest <= highest, both finite; got {frequencies}")


class Cosines(eqx.Module):
    r"""$\phi(x) = \sqrt{2 / m} \, (\cos w_1 x, \sin w_1 x, \dots)$: m features of m / 2 frequencies, of length 1.

    $w \sim N(0, 2 s^2 / d)$, so that two points that differ by 0.71 in every dimension differ by an angle of about $s$,
    whatever d. The scales s lie evenly between `low` and `high` on a logarithmic axis: every octave has as many.

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
        pairs = jnp.concatenate(cosine_and_sine(points @ self.frequency), axis=1)
        return pairs / math.sqrt(self.frequency.shape[1])


_SINE, _COSINE = (
    np.array([(-1) ** k / math.factorial(2 * k + odd) for k in reversed(range(7 - odd))], np.float32) for odd in (1, 0)
)
"""Taylor's series, the highest power first: of sin y / y and of cos y, both in y^2"""


def cosine_and_sine(angle: Float[Array, "*n"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    r"""Both, as exact as the angle's own rounding: 6e-6 for angles up to 60 radians.

    On one core XLA's own take 6 to 15 times as long, and they were most of what novelty cost. With y half the angle
    less whole turns, $|y| \le \pi / 2$: $\cos 2y = 1 - 2 \sin^2 y$ and $\sin 2y = 2 \sin y \cos y$.
    """
    turn = angle / (2 * math.pi)
    y = math.pi * (turn - jnp.round(turn))
    sine, cosine = y * jnp.polyval(_SINE, y**2), jnp.polyval(_COSINE, y**2)
    return 1 - 2 * sine**2, 2 * sine * cosine


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
