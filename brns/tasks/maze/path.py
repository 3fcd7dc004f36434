"""The deceptive maze with the robot's whole path as behavior."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation
from brns.tasks.maze.map import PIXEL
from brns.tasks.maze.rules import DeceptiveMaze
from brns.tasks.scene import Scene


class MazePath(eqx.Module):
    """A maze in which a behavior is the robot's path: x1, y1, x2, y2, ..., evenly in time, without the start.

    Shapes: descriptors `(n, 2 positions)`. All else is the maze's.
    """

    maze: DeceptiveMaze = eqx.field(default_factory=DeceptiveMaze)
    positions: int = 20
    """of the path in a behavior; they must divide the maze's steps"""

    traceable = True

    def __check_init__(self):
        if self.positions < 1 or self.maze.steps % self.positions:
            raise ValueError(f"positions must divide the maze's {self.maze.steps} steps; got {self.positions}")

    @property
    def genotype_space(self) -> Box:
        return self.maze.genotype_space

    @property
    def behavior_space(self) -> Box:
        furthest = PIXEL * self.maze.tables.touched.shape[0]
        return Box(np.zeros(2 * self.positions), np.full(2 * self.positions, furthest))

    def scene(self) -> Scene:
        """The maze, in which a behavior is a path."""
        return self.maze.scene()._replace(paths=True)

    def trajectory(self, genotypes: Float[Array, "n p"]) -> Float[Array, "n times 3"]:
        """The maze's."""
        return self.maze.trajectory(genotypes)

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """The paths of n policies. Nothing is random: `key` changes nothing."""
        path = self.maze.trajectory(genotypes, every=self.maze.steps // self.positions)[:, 1:, :2]
        descriptor = path.reshape(len(genotypes), -1)
        return Evaluation(descriptor, jnp.zeros(len(path)), self.maze.solved(path[:, -1]))
