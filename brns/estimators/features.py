"""Frozen random features: behaviors are alike as far as their features' inner product is large."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from brns.core import Box, Population

NARROW = 1 / 16  # of half the box; a narrower scale may be too narrow, and longer waves are added
# below 1 there are more long waves than short ones: on the arm the box's scale needs them more
LONGER = 0.7
LEAST = 3e-6  # of half the box, the narrowest scale
SAMPLE = 64  # founders, the first ones, of which the directions are counted
FAR = 4.0  # half boxes from the box's center; founders beyond are outliers where they are few


class Frame(NamedTuple):
    """The origin and unit of descriptors: first the box, then the founders' spread."""

    space: Box
    center: Float[Array, " d"]
    """what is mapped to 0, as descriptors are"""
    scale: Float[Array, ""]
    """what is mapped to 1, in units of half the box; one number for all dimensions"""
    wide: Float[Array, ""]
    """1, or how many times the scale the longest waves are longer than else"""
    directions: Float[Array, ""]
    """in how many founders spread: their participation ratio; 0 for the box"""
    placed: Bool[Array, ""]
    """whether center and scale were taken from founders"""


def frame_from_box(space: Box) -> Frame:
    """The box itself: [-1, 1] in every dimension."""
    center, one = (space.low + space.high) / 2, jnp.ones(())
    return Frame(space, center, one, one, jnp.zeros(()), jnp.zeros((), bool))


def fit_frame_to_founders_once(frame: Frame, population: Population) -> Frame:
    """Center and scale taken, once, from the founders: their mean,
    and three times their root mean variance.

    Founders are the oldest of the first population that are finite. One that is far outside of the
    box, such as of a simulation that blew up, does not count, unless half of them are. The variance
    is the mean over dimensions: one that hardly moves at first would drown the others later. Where
    founders fill less than a sixteenth of the box, they may be alike or the box too large: then the
    scales reach from theirs to that sixteenth.
    """
    half = (frame.space.high - frame.space.low) / 2
    oldest = population.born == jnp.min(population.born, initial=jnp.iinfo(jnp.int32).max)
    finite = jnp.all(jnp.isfinite(population.descriptor), axis=1)
    founds = oldest & finite & ~population.failed
    from_box = (population.descriptor - (frame.space.low + frame.space.high) / 2) / half
    near = founds & jnp.all(jnp.abs(from_box) <= FAR, axis=1)
    counts = jnp.where(2 * jnp.sum(near) > jnp.sum(founds), near, founds)[:, None]
    number = jnp.maximum(jnp.sum(counts), 1)
    center = _round(_sum_rows(jnp.where(counts, population.descriptor, 0.0)) / number)
    away = jnp.where(counts, (population.descriptor - center) / half, 0.0)
    variance = _sum_rows(_sum_rows(_round(away**2))) / away.shape[1] / number
    scale = jnp.maximum(3 * jnp.sqrt(variance), LEAST)
    wide, directions = jnp.maximum(NARROW / scale, 1.0), _compute_participation_ratio(away, counts)
    from_founders = Frame(frame.space, center, scale, wide, directions, jnp.ones((), bool))
    return jax.tree.map(lambda old, new: jnp.where(frame.placed, old, new), frame, from_founders)


def _compute_participation_ratio(
    points: Float[Array, "n d"], counts: Bool[Array, "n 1"]
) -> Float[Array, ""]:
    r"""The participation ratio of the covariance of points around 0, $(\mathrm{tr}\,C)^2 /
    \mathrm{tr}\,C^2$: of d directions of equal variance d. Rows that do not count are zeros.

    Of n points $1 / n$ is taken off its inverse, by which few points seem to fill fewer.
    """
    missing = max(0, SAMPLE - len(points))
    sample = jnp.pad(points[:SAMPLE], ((0, missing), (0, 0)))
    gram = jnp.matmul(sample, sample.T, precision="highest")
    inverse = jnp.sum(gram**2) / jnp.maximum(jnp.trace(gram) ** 2, 1e-30)
    chance = 1 / jnp.maximum(jnp.sum(counts[:SAMPLE]), 1)
    ratio = jnp.where(inverse > 0, 1 / jnp.maximum(inverse - chance, 1e-3), 0.0)
    return _round(ratio, mantissa_bits=8)  # the others depend on the order in which it is summed


def _round(numbers: Float[Array, "*n"], mantissa_bits: int = 22) -> Float[Array, "*n"]:
    """Rounded now: else a product may be added before it is rounded, in one program or another."""
    return jax.lax.reduce_precision(numbers, exponent_bits=8, mantissa_bits=mantissa_bits)


def _sum_rows(rows: Float[Array, "n ..."]) -> Float[Array, "..."]:
    """Rows summed pair by pair: further zeros, such as offspring beside founders, change no bit."""
    missing = (1 << max(len(rows) - 1, 0).bit_length()) - len(rows)
    sums = jnp.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1))
    while len(sums) > 1:
        sums = sums[::2] + sums[1::2]
    return sums[0]


def normalize_descriptors(frame: Frame, descriptors: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Descriptors from the frame's center, in its unit."""
    return 2 * (descriptors - frame.center) / ((frame.space.high - frame.space.low) * frame.scale)


def draw_axis_subsets(
    key: Key[Array, ""], times: int, number: int, axes: int
) -> Int[Array, "times axes"]:
    """Each of `times` rows has some of the first numbers, drawn without replacement."""
    if not times:  # of which JAX's generator rbg can draw none
        return jnp.zeros((0, axes), jnp.int32)
    draw = jax.vmap(lambda key: jax.random.permutation(key, number)[:axes])
    return draw(jax.random.split(key, times)).astype(jnp.int32)


def mask_not_learned(
    seen: Int[Array, ""], newest: Int[Array, ""], population: Population
) -> Bool[Array, " n"]:
    """Who is not learned yet, never one that is not finite: whoever is younger than all that was.

    Where nothing was seen these are the first two generations of a search, whatever the age of the
    state: that of an island has the age of the search that it is from.
    """
    beginning = (seen == 0) & (jnp.max(population.born, initial=0) <= 1)
    new = (population.born > newest) | (beginning & (population.born >= 0))
    return new & ~population.failed & jnp.all(jnp.isfinite(population.descriptor), axis=1)


def check_and_find_ancestor(
    estimator: Any, states: Sequence[Any], ancestor: Any, shared: Callable[[Any], PyTree]
) -> Any:
    """The state from which all to be merged went on, by default an empty island.

    A `ValueError` where there is none to merge, or one has learned less than `ancestor`, or
    nothing: who lives in a search before its first update would count for old in a merged state;
    and where what is `shared` of one differs from that of the first.
    """
    if not states:
        raise ValueError("merge needs states that have learned something; got none")
    for number, state in enumerate(states, 1):
        if not state.seen:
            raise ValueError(
                f"merge needs states that have learned something; number {number} has not: leave "
                "it out until its next generation"
            )
        if ancestor is not None and state.seen < ancestor.seen:
            raise ValueError(
                f"ancestor must be a state from which all went on; number {number} has seen "
                f"{state.seen} behaviors, ancestor {ancestor.seen}"
            )
    common = estimator.start_empty_island(states[0]) if ancestor is None else ancestor
    for number, state in enumerate([*states[1:], common], 2):
        if not eqx.tree_equal(shared(states[0]), shared(state)):
            raise ValueError(
                f"merged states must share features, box and scale; the first and number {number} "
                "do not. Begin the others from estimator.start_empty_island(state) of an updated "
                "state"
            )
    return common


class Cosines(eqx.Module):
    r"""$\phi(x) = \sqrt{2 / m} \, (\cos w_1 x, \sin w_1 x, \dots)$:
    m features of m / 2 frequencies, of length 1.

    $w \sim N(0, 2 s^2 / d)$, so that two points that differ by 0.71 in every dimension differ by an
    angle of about $s$, whatever d. The scales s lie evenly between `low` and `high` on a
    logarithmic axis: every octave has as many.

    Source: Rahimi & Recht 2007, random features of a shift-invariant kernel;
    here a mixture over its width.

    Args:
        d: dimensions of a descriptor.
        size: m, even.
        low: the lowest scale of frequencies, in radians over the frame's unit.
        high: the highest.
        key: for the frequencies.
    """

    frequency: Float[Array, "d half"]
    place: Float[Array, " half"]
    """of each frequency on the logarithmic axis, from 0 to 1"""

    def __init__(self, d: int, size: int, low: float, high: float, key: Key[Array, ""]):
        draw, shift = jax.random.split(key)
        half = size // 2
        self.place = (jnp.arange(half) + jax.random.uniform(shift)) / half
        scale = low * (high / low) ** self.place
        self.frequency = jax.random.normal(draw, (d, half)) * scale * math.sqrt(2 / d)

    def __call__(
        self, points: Float[Array, "n d"], wide: Float[Array, ""] | float = 1.0
    ) -> Float[Array, "n m"]:
        """The features `(n, m)` of points in the frame's unit. Above 1, `wide` is by how much the
        longest wave is longer; the others reach from there.
        """
        angle = points @ self.frequency * wide ** -((1 - self.place) ** LONGER)
        pairs = jnp.concatenate(compute_cosine_and_sine(angle), axis=1)
        return pairs / math.sqrt(self.frequency.shape[1])


def _list_sine_or_cosine_coefficients(lowest: int) -> np.ndarray:
    """Of sin y / y where the lowest power is 1, of cos y where it is 0; the highest power first."""
    terms = [(-1) ** k / math.factorial(2 * k + lowest) for k in range(7 - lowest)]
    return np.array(terms[::-1], np.float32)


_SINE, _COSINE = _list_sine_or_cosine_coefficients(1), _list_sine_or_cosine_coefficients(0)
"""Taylor's series of sin y / y and of cos y, both in y^2"""


def compute_cosine_and_sine(
    angle: Float[Array, "*n"],
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    r"""Both, as exact as the angle's own rounding: 6e-6 for angles up to 60 radians.

    On one core XLA's own take 6 to 15 times as long, and they were most of what novelty cost. With
    y half the angle less whole turns, $|y| \le \pi / 2$: $\cos 2y = 1 - 2 \sin^2 y$ and
    $\sin 2y = 2 \sin y \cos y$.
    """
    turn = angle / (2 * math.pi)
    y = math.pi * (turn - jnp.round(turn))
    sine, cosine = y * jnp.polyval(_SINE, y**2), jnp.polyval(_COSINE, y**2)
    return 1 - 2 * sine**2, 2 * sine * cosine
