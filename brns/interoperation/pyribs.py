"""pyribs: a novelty of ours in its schedulers, and a record of ours as its grid of elites. Needs ribs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from brns.core import Box, NoveltyEstimator
from brns.interoperation.novelty import Novelty
from brns.runs.record import Record

try:
    from ribs.archives import ArchiveBase, GridArchive
except ImportError:
    raise ImportError("brns.interoperation.pyribs needs pyribs: pip install 'brns[peers]'") from None


class NoveltyArchive(ArchiveBase):
    """An archive for pyribs' schedulers whose `add` says how novel a batch was, and then learns it.

    For emitters with pyribs' own novelty ranker (`ranker="nov"`). Like pyribs' DensityArchive it stores no elites: give
    the scheduler a `result_archive` for them; `sample_elites` draws from the last batch. Unlike pyribs'
    ProximityArchive, `brns.ArchiveKNN` compares a batch with itself too, and needs more than k solutions in it.
    """

    def __init__(self, estimator: NoveltyEstimator, space: Box, solution_dim: int | tuple[int, ...], seed: int = 0):
        super().__init__(solution_dim=solution_dim, objective_dim=(), measure_dim=space.dimension)
        self.novelty = Novelty(estimator, space, seed)
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

    def add(self, solution: Any, objective: Any, measures: Any, **fields: Any) -> dict[str, np.ndarray]:
        """The novelty of each solution, as it was before any of the batch was learned; all have status 2, "new"."""
        measures = np.asarray(measures)
        novelty = self.novelty.score(measures)
        self.novelty.learn(measures, novelty)
        objective = np.zeros(len(measures)) if objective is None else objective
        told = {"solution": solution, "objective": objective, "measures": measures}
        self._last = {name: np.array(values, np.float32) for name, values in told.items()}
        return {"status": np.full(len(measures), 2, np.int32), "novelty": novelty}

    def sample_elites(self, n: int, *_: Any, **__: Any) -> dict[str, np.ndarray]:
        """Solutions of the last batch, drawn with replacement."""
        if self._last is None:
            raise IndexError("no solution was added yet, so that none can be drawn")
        rows = self._random.integers(len(self), size=n)
        return {name: values[rows] for name, values in self._last.items()}


def grid_archive(record: Record, dims: Sequence[int], **settings: Any) -> GridArchive:
    """Everything that a run evaluated in pyribs' `GridArchive`, over the box of behaviors: the elites of its cells.

    Fields beside pyribs' own: `id`, `born` (the generation) and `solved`. `settings` are those of `GridArchive`.
    """
    space = record.behavior_space
    extra: Any = {"id": ((), np.int32), "born": ((), np.int32), "solved": ((), np.bool_)}
    first = record.column("offspring.genotype", [0])
    archive = GridArchive(
        solution_dim=first.shape[2],
        dims=tuple(dims),
        ranges=np.stack([space.low, space.high], axis=1).tolist(),
        dtype=np.float32,
        extra_fields=extra,
        **settings,
    )
    names = {"solution": "genotype", "objective": "fitness", "measures": "descriptor", **{name: name for name in extra}}
    for g in record.generations:
        archive.add(**{field: record.column(f"offspring.{column}", [g])[0] for field, column in names.items()})
    return archive
