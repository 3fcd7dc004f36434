"""Quality diversity's linear projection benchmark."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types, check_settings_obey_rules
from brns.core import Box, Evaluation

BOUND = 5.12
CENTER = 0.4 * BOUND


class LinearProjection(eqx.Module):
    r"""The linear projection benchmark (sphere): each number of a descriptor is the sum of a
    group of genes, so that the far corners are hard to reach.

    With $c(x) = x$ for $|x| \le 5.12$ and $5.12 / x$ beyond, the behavior of $\theta$ in
    $[-10.24, 10.24]^n$ are the sums of $c(\theta_i)$ over d groups of n/d genes, one after another,
    in $[-5.12 n/d, 5.12 n/d]^d$. Fitness is minus the sphere, $-\sum (\theta_i - 2.048)^2$; nothing
    is ever solved, and nothing random.

    Shapes: genotypes `(m, n)`, descriptors `(m, d)`.
    Source: Fontaine, Togelius, Nikolaidis & Hoover 2020, doi:10.1145/3377930.3390232, section 4,
    where genes have no bound and the sphere another scale.
    """

    genes: PositiveInt = 100
    """n, the number of genes; Fontaine et al. 2020 use 20 and 100"""
    measures: PositiveInt = 2
    """d, a divisor of n"""

    traceable = True

    def __check_init__(self):
        check_setting_types(self)
        divides = self.genes % self.measures == 0
        check_settings_obey_rules(self, measures=(divides, f"a divisor of genes={self.genes}"))

    @property
    def genotype_space(self) -> Box:
        return Box(np.full(self.genes, -2 * BOUND), np.full(self.genes, 2 * BOUND))

    @property
    def behavior_space(self) -> Box:
        furthest = np.full(self.measures, BOUND * self.genes / self.measures)
        return Box(-furthest, furthest)

    @eqx.filter_jit
    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """The sums of each genotype, and minus the sphere; see `Task.evaluate`."""
        inside = jnp.abs(genotypes) <= BOUND
        clipped = jnp.where(inside, genotypes, BOUND / jnp.where(inside, 1.0, genotypes))
        descriptor = clipped.reshape(len(genotypes), self.measures, -1).sum(axis=2)
        space = self.behavior_space
        descriptor = jnp.clip(descriptor, space.low, space.high)
        fitness = -jnp.sum((genotypes - CENTER) ** 2, axis=1)
        return Evaluation(descriptor, fitness, jnp.zeros(len(genotypes), bool))
