"""Novelty as low density, the density kept as one mean of random features."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from brns.core import Box, Generation, Population, unite
from brns.estimators.features import (
    Cosines,
    Frame,
    declared,
    founded,
    in_frame,
    newcomers,
    refuse_frequencies,
)


class DensityState(NamedTuple):
    """The sum of the features of everything seen."""

    features: Cosines
    frame: Frame
    total: Float[Array, " m"]
    seen: Float[Array, ""]


class FeatureDensity(eqx.Module):
    r"""Novelty as one minus a kernel density: $1 - \phi(b)^\top \mu$ with $\mu$ the mean of phi over everything seen.

    $\phi(b)^\top \phi(b') \approx k(b, b')$ with k(b, b) = 1, so $\phi(b)^\top \mu$ is a kernel density estimate that
    needs none of its samples: density descent at a constant cost, a rival of `ExactRecognition`, which has A's inverse
    where this has a mean. The density is a share: what was seen becomes novel again as the search goes elsewhere.

    Source: Lee et al. 2024, Density descent for diversity optimization, arXiv:2312.11331 (the density of a
    sample as novelty); Rahimi & Recht 2007 (the features). Departs from both in the many widths of the kernel.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in [0, 2], 1 before anything.
    Errors: `ValueError` for a `size` that is odd or below 2, and for frequencies that are none.
    """

    size: int = 512
    """m, the number of features, in pairs of cosine and sine"""
    frequencies: tuple[float, float] = (0.125, 16.0)
    """lowest and highest frequency, as in `ExactRecognition`"""

    def __check_init__(self):
        if self.size < 2 or self.size % 2:
            raise ValueError(f"FeatureDensity.size must be even and at least 2; got {self.size}")
        refuse_frequencies("FeatureDensity", self.frequencies)

    def init(self, space: Box, key: Key[Array, ""]) -> DensityState:
        features = Cosines(space.dimension, self.size, *self.frequencies, key)
        return DensityState(features, declared(space), jnp.zeros(self.size), jnp.zeros(()))

    def score(
        self, state: DensityState, descriptors: Float[Array, "n d"], population: Population
    ) -> Float[Array, " n"]:
        """One minus the density; the population plays no part."""
        mean = state.total / jnp.maximum(state.seen, 1.0)
        return 1 - state.features(in_frame(state.frame, descriptors), state.frame.wide) @ mean

    def update(self, state: DensityState, generation: Generation, key: Key[Array, ""]) -> DensityState:
        """Each individual added once, when it is born."""
        frame, first = founded(state.frame, unite(generation.parents, generation.offspring)), state.seen == 0
        everyone = unite(generation.parents, generation.offspring).descriptor
        features = state.features(in_frame(frame, everyone), frame.wide)
        new = newcomers(generation, first) & jnp.all(jnp.isfinite(features), axis=1)
        total = state.total + jnp.sum(jnp.where(new[:, None], features, 0.0), axis=0)
        return state._replace(frame=frame, total=total, seen=state.seen + jnp.sum(new))
