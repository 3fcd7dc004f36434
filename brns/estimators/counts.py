"""Novelty by counting visits: the smallest estimator, and the one to copy for your own."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from brns.core import Box, Generation, Population, unite


class Counts(NamedTuple):
    """What the search has visited, and the box that the grid divides."""

    visits: Int[Array, " cells"]
    space: Box


class GridCounts(eqx.Module):
    r"""Novelty as the rarity of a cell of a grid: $1 / \sqrt{1 + N(b)}$ with N(b) the visits of b's cell so far.

    Every individual is one visit, in the generation in which it is born; the founders with the first offspring.
    Descriptors outside the box count in the cells at its border.

    Source: the exploration bonus of Strehl & Littman 2008, doi:10.1016/j.jcss.2007.08.009, as Bellemare et al. 2016,
    arXiv:1606.01868, use it with pseudo-counts. The 1 gives an unvisited cell novelty 1.
    Shapes: descriptors `(n, d)` in the units of `task.behavior_space`; novelty `(n,)`, in (0, 1].
    Errors: `ValueError` if the grid has more than 10 million cells.
    """

    cells: int = 20
    """cells in each dimension; our own choice: 30 units of the paper's maze"""

    def init(self, space: Box, key: Key[Array, ""]) -> Counts:
        total = self.cells**space.dimension
        if self.cells < 1 or total > 10_000_000:
            raise ValueError(
                f"a grid of cells={self.cells} in each of {space.dimension} dimensions needs 1 to 10 million cells "
                f"in all; got {total if total < 10**9 else 'more than a billion'}: take cells from 1 on, but fewer, or "
                "a descriptor of fewer dimensions"
            )
        return Counts(jnp.zeros(total, jnp.int32), space)

    def score(self, state: Counts, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        return 1 / jnp.sqrt(1.0 + state.visits[self._cell(state.space, descriptors)])

    def update(self, state: Counts, generation: Generation, key: Key[Array, ""]) -> Counts:
        everyone, g = unite(generation.parents, generation.offspring), generation.offspring.born[0]
        visit = (everyone.born == g) | (g == 1)  # the founders are the parents of generation 1
        return state._replace(visits=state.visits.at[self._cell(state.space, everyone.descriptor)].add(visit))

    def _cell(self, space: Box, descriptors: Float[Array, "n d"]) -> Int[Array, " n"]:
        """The number of each descriptor's cell, the last dimension running fastest."""
        place = jnp.floor((descriptors - space.low) / (space.high - space.low) * self.cells).astype(jnp.int32)
        power = self.cells ** jnp.arange(space.dimension - 1, -1, -1, dtype=jnp.int32)
        return jnp.clip(place, 0, self.cells - 1) @ power
