"""How a search begins: the genotypes of generation 0, all inside the box."""

import hashlib
from itertools import pairwise
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import MinLen
from jaxtyping import Array, Float, Key
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types
from brns.core import Box
from brns.core.box import as_array_and_check_real


class UniformFounders(eqx.Module):
    """An initial population (founders) drawn uniformly from the genotype space."""

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        """Draw founders; see `brns.core.Founders`."""
        return box.uniform(key, n)


class LayerFounders(eqx.Module):
    r"""An initial population (founders) of networks, initialized as PyTorch does linear layers:
    weights and biases uniform in $\pm 1/\sqrt{fan\_in}$.

    The published code begins with it. The genotype is laid out as `FeedForward` reads it, whose
    `sizes` these are. What lies outside the box is put on its border.
    """

    sizes: Annotated[tuple[PositiveInt, ...], MinLen(2)] = (5, 10, 10, 10, 2)
    """neurons per layer, from observations to actions: the maze's. The ant's are
    [29, 10, 10, 10, 8]"""

    __check_init__ = check_setting_types

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        """Draw founders; see `brns.core.Founders`.

        Raises:
            ValueError: where the network has not as many weights and biases as the box dimensions.
        """
        layers = [(inputs, outputs * (inputs + 1)) for inputs, outputs in pairwise(self.sizes)]
        genes = sum(length for _, length in layers)
        if genes != box.dimension:
            raise ValueError(
                f"sizes={self.sizes} has {genes} weights and biases, the genotype space "
                f"{box.dimension} dimensions; give the sizes of the task's own policy"
            )
        bound = jnp.concatenate([jnp.full(length, inputs**-0.5) for inputs, length in layers])
        drawn = jax.random.uniform(key, (n, genes), minval=-bound, maxval=bound)
        return jnp.clip(drawn, box.low, box.high)


class GivenFounders(eqx.Module):
    """An initial population of your own, such as another run's survivors: row i is founder i.

    They are the same for every seed. With `GivenFounders(record.population().genotype)` a search
    goes on from where another ended, with settings of its own; the estimator begins anew. A record
    names them by their digest, and holds them as its generation 0. Shapes: finite genotypes
    `(n, p)` inside the box, as many as the population has.

    Args:
        genotypes: `(n, p)`, finite, of NumPy or any other kind.
        sha256: the digest alone, as in a record; it is computed where genotypes are given.

    Raises:
        ValueError: for genotypes that are no array of numbers.
    """

    _rows: Float[Array, "n p"] | None
    """row i is founder i; None where they come from a record, whose generation 0 they are"""
    sha256: str
    """of the genotypes as float32, row by row: by this a record knows them"""

    def __init__(self, genotypes: Any = None, sha256: str = ""):
        self._rows, self.sha256 = None, sha256
        if genotypes is not None:
            numbers = as_array_and_check_real("genotypes", genotypes, "GivenFounders needs")
            rows = np.asarray(numbers, np.float32)
            self._rows = jnp.asarray(rows)
            self.sha256 = hashlib.sha256(rows.tobytes()).hexdigest()

    def __call__(self, key: Key[Array, ""], n: int, box: Box) -> Float[Array, "n p"]:
        """Draw founders; see `brns.core.Founders`.

        Raises:
            ValueError: where only the digest of the genotypes is known.
        """
        if self._rows is None:
            raise ValueError(
                "a record knows founders that were given by their digest alone; give them again, "
                "as GivenFounders(record.population(0).genotype)"
            )
        return self._rows
