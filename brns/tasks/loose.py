"""A world whose behavior box is declared too large."""

import math

import equinox as eqx
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation, Task


class RescaledBehaviorSpace(eqx.Module):
    """A task whose behavior box is declared too wide; its behaviors stay the same."""

    task: Task
    times: float = 10.0
    """the box's width over that of the task's own, in every dimension, about the same middle"""

    def __check_init__(self):
        if not (math.isfinite(self.times) and self.times >= 1):
            raise ValueError(f"a behavior box can be declared 1 or more times too wide; got times={self.times}")

    @property
    def traceable(self) -> bool:
        return self.task.traceable

    @property
    def genotype_space(self) -> Box:
        return self.task.genotype_space

    @property
    def behavior_space(self) -> Box:
        box = self.task.behavior_space
        middle, half = (box.high + box.low) / 2, self.times * (box.high - box.low) / 2
        return eqx.tree_at(lambda b: (b.low, b.high), box, (middle - half, middle + half))

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """What the task says."""
        return self.task.evaluate(genotypes, key)
