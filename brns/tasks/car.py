"""A car too weak to climb its mountain without a run-up."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types
from brns.core import Box, Evaluation
from brns.tasks import cpu
from brns.tasks.policy import FeedForward

LEFT, RIGHT, TOP, START = -1.2, 0.6, 0.45, -0.5
FASTEST = 0.07  # the largest speed
POLICY = FeedForward((2, 8, 1), squash_output=True)

Cars = Float[Array, " n"]


class MountainCar(eqx.Module):
    r"""Gymnasium's MountainCarContinuous in JAX: a policy pushes a car in a valley.

    With the push $u$ in [-1, 1] a step is $v \leftarrow v + 0.0015 u - 0.0025 \cos 3x$, within
    [-0.07, 0.07], and $x \leftarrow x + v$, within [-1.2, 0.6]; at the left end the car stops. An
    episode begins at rest at x = -0.5 and ends at the top, x >= 0.45: that solves the task. The
    policy, 2 -> 8 -> 1 with tanh, sees the place, from -1 at the left end to 1 at the right, and
    the speed over 0.07. Behavior is how far to the left and to the right the car came, in the same
    units; fitness is 0.

    Shapes: genotypes `(n, 33)`, descriptors `(n, 2)`. Nothing is random.
    Source: Moore 1990; Gymnasium's MountainCarContinuous-v0, where the start is drawn from [-0.6,
    -0.4].
    """

    steps: PositiveInt = 200
    """steps of an evaluation"""

    traceable = True

    __check_init__ = check_setting_types

    @property
    def genotype_space(self) -> Box:
        return POLICY.genotype_space

    @property
    def behavior_space(self) -> Box:
        return Box([-1.0, -1.0], [1.0, 1.0])

    @eqx.filter_jit
    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """How far the cars of n policies came; see `Task.evaluate`."""
        n, genotypes = len(genotypes), cpu.pad_to_at_least_16_rows(genotypes)
        layers = POLICY.layers(genotypes)

        def advance(car, layers):
            position, speed, left, right = car
            push = POLICY.act(layers, (scale_position(position), speed / FASTEST))[0]
            there = position >= TOP  # the episode has ended
            further, faster = step(position, speed, push)
            position, speed = jnp.where(there, position, further), jnp.where(there, speed, faster)
            left, right = jnp.minimum(left, position), jnp.maximum(right, position)
            return (position, speed, left, right), None

        start = jnp.full(len(genotypes), START, jnp.float32)
        cars = start, jnp.zeros_like(start), start, start
        (position, _, left, right), _ = cpu.scan_in_one_kernel(advance, cars, self.steps, layers)
        reached = jnp.stack([scale_position(left), scale_position(right)], axis=1)
        descriptor = jnp.clip(reached, -1.0, 1.0)
        return Evaluation(descriptor[:n], jnp.zeros(n), position[:n] >= TOP)


def step(position: Cars, speed: Cars, push: Cars) -> tuple[Cars, Cars]:
    """The next places and speeds of n cars that are pushed by -1 to 1."""
    faster = jnp.clip(speed + 0.0015 * push - 0.0025 * jnp.cos(3 * position), -FASTEST, FASTEST)
    further = jnp.clip(position + faster, LEFT, RIGHT)
    return further, jnp.where((further <= LEFT) & (faster < 0), 0.0, faster)


def scale_position(position):
    """A place from the ends, LEFT and RIGHT, to -1 and 1."""
    return 2 * (position - LEFT) / (RIGHT - LEFT) - 1
