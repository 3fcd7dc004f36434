"""Saturation: whether a run has almost stopped reaching new places."""

from typing import Any

import numpy as np
from jaxtyping import Float

from brns.core import Box
from brns.metrics.recorded import Record, read_valid_rows_by_generation

SATURATED = 0.05
"""chosen in the tuning half of the suite: results/saturation.md"""
LEAST = 20
"""generations, before which nothing is said: the first step may be rare"""
GRIDS, ROWS = 16, 4096
PITCHES = (1e-3, 0.5)
"""the finest and the coarsest, of half the box"""
TELLING = (30, 1000)
"""visited cells of a grid that tells: of fewer all are visited, of more each by one behavior"""

FAR = 1e9
"""widths of the box, beyond which all behaviors are in one place: their cells have no numbers"""


class VisitedCells:
    """The visited cells of grids at every scale, each over a random plane of the behavior space.

    Args:
        space: the behavior space.
    """

    def __init__(self, space: Box):
        directions = np.random.default_rng(0).normal(size=(space.dimension, GRIDS, 2))
        self.low, self.width = np.asarray(space.low), np.asarray(space.high - space.low)
        plane = directions / np.geomspace(*PITCHES, GRIDS)[:, None]
        self.plane = 2 * plane.reshape(space.dimension, 2 * GRIDS) / np.sqrt(space.dimension)
        self.visited = np.zeros((GRIDS, ROWS), bool)
        self.counts: list[np.ndarray] = []

    def update_new_cell_fraction(self, descriptors: Float[np.ndarray, "n d"]) -> float:
        """After one more generation: of the visited cells, the share first visited in the last half
        of all generations.

        A cell is known by a hash.

        Args:
            descriptors: of the generation's offspring, `(n, d)`, finite.

        Returns:
            The mean over the grids that tell; 1 after generation 0.
        """
        with np.errstate(over="ignore"):
            share = np.clip((descriptors - self.low) / self.width, -FAR, FAR)
        along = share @ self.plane
        cell = np.floor(along).astype(np.int64).reshape(-1, GRIDS, 2)
        row = (cell[..., 0] * 73_856_093 ^ cell[..., 1] * 19_349_663) % ROWS
        self.visited[np.arange(GRIDS), row] = True
        now = self.visited.sum(axis=1)
        self.counts.append(now)
        generation = len(self.counts) - 1
        before = self.counts[generation // 2] if generation else 0
        telling = (now >= min(TELLING[0], now.max())) & (now <= TELLING[1])
        return float((1 - before / now)[telling].mean()) if telling.any() else 1.0


def fraction_new_in_last_half_of_record(record: Record) -> Float[np.ndarray, " g"]:
    """The share of visited cells that is new, after each generation of a run.

    Args:
        record: the run.

    Returns:
        From 0 to 1, from generation 0 on.
    """
    seen = VisitedCells(record.behavior_space)
    points = read_valid_rows_by_generation(record, "descriptor")
    return np.array([seen.update_new_cell_fraction(rows) for rows in points])


def saturated(saved: Any) -> bool:
    """Whether a run has almost stopped reaching new places: `brns.run(..., until=brns.saturated)`.

    It has, if less than 5 % of the places it has visited were first visited in the last half of its
    generations, and there are 20 or more. It cannot foresee rooms behind a door not found yet.

    Args:
        saved: the run's newest generation.

    Returns:
        True where the run may end.
    """
    return saved.row.generation >= LEAST and saved.row.new < SATURATED
