"""pyribs: a novelty of ours in its schedulers. Needs ribs."""

from typing import Any

import numpy as np

from brns.core import Box, NoveltyEstimator
from brns.interoperation.novelty import Novelty

try:
    from ribs.archives import ArchiveBase
except ImportError:
    raise ImportError("NoveltyArchive needs pyribs: pip install 'brns[peers]'") from None


class NoveltyArchive(ArchiveBase):
    """An archive for pyribs' schedulers whose `add` says how novel a batch was, and then learns it.

    For emitters with pyribs' own novelty ranker (`ranker="nov"`). Like pyribs' DensityArchive it
    stores no elites: give the scheduler a `result_archive` for them; `sample_elites` draws from the
    last batch. Unlike in pyribs' ProximityArchive, a batch is compared with itself too, as in
    `brns.NoveltySearch`.

    Args:
        estimator: the novelty, such as `brns.VisitCounts()`.
        space: where measures lie, in their units.
        solution_dim: the length or shape of a solution.
        seed: decides all that is random.
    """

    def __init__(
        self,
        estimator: NoveltyEstimator,
        space: Box,
        solution_dim: int | tuple[int, ...],
        seed: int = 0,
    ):
        self.novelty = Novelty(estimator, space, seed)
        super().__init__(solution_dim=solution_dim, objective_dim=(), measure_dim=space.dimension)
        self._last = None
        self._random = np.random.default_rng(seed)

    @property
    def dtypes(self) -> dict[str, Any]:
        return dict.fromkeys(("solution", "objective", "measures"), np.dtype(np.float32))

    @property
    def field_list(self) -> list[str]:
        return list(self.dtypes)

    @property
    def empty(self) -> bool:
        return self._last is None

    def __len__(self) -> int:
        return 0 if self._last is None else len(self._last["solution"])

    def add(self, solution: Any, objective: Any, measures: Any, **_: Any) -> dict[str, np.ndarray]:
        """The novelty of each solution among its batch and all that was learned before.

        Args:
            solution: `(n, ...)`.
            objective: `(n,)`, or None for zeros; novelty does not depend on it.
            measures: behaviors `(n, d)`, finite, in the units of the space.

        Returns:
            `novelty` `(n,)`, and `status` `(n,)`, which is 2, "new", for all.

        Raises:
            ValueError: where measures have another shape or are not finite, or numbers of rows
                differ.
        """
        objective = np.zeros(len(measures)) if objective is None else objective
        columns = {"solution": solution, "objective": objective, "measures": measures}
        batch = {name: np.array(values, np.float32) for name, values in columns.items()}
        measures = batch["measures"]
        rows = {name: len(values) for name, values in batch.items()}
        if len(set(rows.values())) > 1:
            raise ValueError(f"solution, objective and measures need a row each; got {rows}")
        novelty = self.novelty.score(measures, population=measures)
        self.novelty.learn(measures, novelty)
        self._last = batch if len(measures) else self._last
        return {"status": np.full(len(measures), 2, np.int32), "novelty": novelty}

    def sample_elites(self, n: int | np.integer, *_: Any, **__: Any) -> dict[str, np.ndarray]:
        """Solutions of the last batch, drawn with replacement.

        Args:
            n: how many.

        Returns:
            `solution`, `objective` and `measures`, n rows each.

        Raises:
            IndexError: where no solution was added yet.
        """
        if self._last is None:
            raise IndexError("no solution was added yet, so that none can be drawn")
        rows = self._random.integers(len(self), size=n)
        return {name: values[rows] for name, values in self._last.items()}
