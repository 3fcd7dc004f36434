"""A planar arm: the standard task of quality diversity."""

import math
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Evaluation
from brns.tasks.scene import Scene, make_plain_scene

PIXELS = 16
"""along a side of the arm's picture"""


class PlanarArm(eqx.Module):
    r"""A planar arm of several joints, whose behavior is its tip, all its joints, or a
    picture of it.

    Gene $g_i$ in [0, 1] is the angle $a_i = \pi (2 g_i - 1)$ of link i to the link before, or to
    the x axis. Link i ends at
    $p_i = p_{i-1} + l_i (\cos \sum_{j \le i} a_j, \sin \sum_{j \le i} a_j)$ with $p_0 = 0$ and
    $\sum l_i = 1$; behaviors are in units of $(p + 1) / 2$.

    Behavior is the tip $p_n$ (2-d), all link ends $p_1 \dots p_n$ (2n-d), or a picture (256-d) of
    16 x 16 pixels over [-1, 1]^2, by rows from the lowest y: 1 where the arm passes a pixel's
    centre, falling to 0 a pixel away. Fitness is minus the variance of the angles, in square
    radians. Nothing is ever solved, and nothing random.

    Source: Cully, Clune, Tarapore & Mouret 2015, doi:10.1038/nature14422 (an arm); Vassiliades &
    Mouret 2018, doi:10.1145/3205455.3205602 (fitness, and lengths that sum to 1).
    """

    joints: PositiveInt = 7
    """number of joints and links"""
    descriptor: Literal["tip", "joints", "picture"] = "tip"
    """behavior: the tip, the ends of all links, or a picture of 16 x 16 pixels"""
    lengths: tuple[float, ...] | None = None
    """lengths of the links, in any unit; by default all are equal"""

    traceable = True

    def __check_init__(self):
        check_setting_types(self)
        lengths = (1.0,) * self.joints if self.lengths is None else self.lengths
        fit = len(lengths) == self.joints and all(length > 0 for length in lengths)
        check_settings_obey_rules(
            self, lengths=(fit, f"as many numbers above 0 as joints, {self.joints}")
        )

    def scene(self) -> Scene:
        """The plane of the tip, or of the first link's end."""
        scene = make_plain_scene(self.behavior_space)
        if self.descriptor == "picture":
            return scene
        end = "the tip" if self.descriptor == "tip" else "joint 1"
        return scene._replace(axes=(f"x of {end} (2 arm lengths)", f"y of {end} (2 arm lengths)"))

    @property
    def genotype_space(self) -> Box:
        return Box(np.zeros(self.joints), np.ones(self.joints))

    @property
    def behavior_space(self) -> Box:
        d = {"tip": 2, "joints": 2 * self.joints, "picture": PIXELS**2}[self.descriptor]
        return Box(np.zeros(d), np.ones(d))

    @eqx.filter_jit
    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """The behavior of each arm, and how equal its angles are; see `Task.evaluate`."""
        n, places = len(genotypes), self.compute_joint_positions(genotypes)
        fitness = -jnp.var(math.pi * (2 * genotypes - 1), axis=1)
        if self.descriptor == "picture":
            descriptor = _rasterize_arms(places)
        else:
            descriptor = places[:, -1] if self.descriptor == "tip" else places.reshape(n, -1)
        return Evaluation(descriptor, fitness, jnp.zeros(n, bool))

    def compute_joint_positions(self, genotypes: Float[Array, "n p"]) -> Float[Array, "n joints 2"]:
        """Where each link ends.

        Args:
            genotypes: `(n, joints)`, in [0, 1].

        Returns:
            x and y in [0, 1]^2, `(n, joints, 2)`; the last is the tip.
        """
        heading = jnp.cumsum(math.pi * (2 * genotypes - 1), axis=1)
        lengths = np.array(self.lengths or (1.0,) * self.joints)
        links = lengths / lengths.sum()
        directions = jnp.stack([jnp.cos(heading), jnp.sin(heading)], axis=2)
        ends = jnp.cumsum(directions * links[:, None], axis=1)
        return jnp.clip((ends + 1) / 2, 0.0, 1.0)  # rounding may leave the box by a last bit


def _rasterize_arms(places: Float[Array, "n joints 2"]) -> Float[Array, "n pixels"]:
    """How arms look: 1 at the arm, 0 a pixel away from it."""
    at = (jnp.arange(PIXELS) + 0.5) / PIXELS
    y, x = (side.reshape(1, -1) for side in jnp.meshgrid(at, at, indexing="ij"))
    begin, nearest = jnp.full_like(places[:, 0], 0.5), jnp.inf
    for link in range(places.shape[1]):
        end = places[:, link]
        along_x, along_y = ((end - begin)[:, i, None] for i in range(2))
        from_x, from_y = x - begin[:, :1], y - begin[:, 1:]
        squared = jnp.maximum(along_x**2 + along_y**2, 1e-12)
        share = jnp.clip((from_x * along_x + from_y * along_y) / squared, 0, 1)
        away = (from_x - share * along_x) ** 2 + (from_y - share * along_y) ** 2
        nearest = jnp.minimum(nearest, away)
        begin = end
    return jnp.clip(1 - PIXELS * jnp.sqrt(nearest), 0.0, 1.0)
