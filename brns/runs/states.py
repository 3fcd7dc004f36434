"""An estimator's states on disk: without what can be counted again from the generations."""

from functools import partial
from typing import Any

import equinox as eqx
import numpy as np

from brns.core import Compactable
from brns.core.novelty import use_float32
from brns.runs.arrays import restore_tree
from brns.search import NoveltySearch

NOTHING = -1, None
"""the generation before the founders, and no state"""


def compact_estimator_state(search: NoveltySearch, estimator: Any) -> Any:
    """An estimator's state without what can be counted again from the generations."""
    method = search.estimator
    return method.compact(estimator) if isinstance(method, Compactable) else estimator


class EstimatorStateReader:
    """Reads the states of a run's estimator; of states that are read one after another each
    generation is counted once.
    """

    def __init__(self):
        self.search: NoveltySearch | None = None
        self.shapes: Any = None
        """of what is stored of its estimator's state"""
        self.restored: tuple[int, Any] = NOTHING
        """a generation, and its estimator's whole state"""

    def restore(self, record: Any, number: int, search: NoveltySearch) -> Any:
        """The estimator's state after a generation of a `Record`."""
        if self.search is not search:
            self.search, self.shapes, self.restored = (
                search,
                _compute_compact_shapes(search),
                NOTHING,
            )
        file = record.store.get_file_path("states", number)
        estimator = restore_tree(self.shapes, record.arrays("states", number), file)
        if isinstance(search.estimator, Compactable):
            before, earlier = self.restored if self.restored[0] <= number else NOTHING
            born = (
                _read_valid_offspring_descriptors(record, g) for g in range(before + 1, number + 1)
            )
            with use_float32():
                estimator = search.estimator.restore(estimator, born, earlier)
            # For who reads one state after another; nothing is held after the last.
            self.restored = (number, estimator) if 0 < number < record.last_generation else NOTHING
        return estimator


def _compute_compact_shapes(search: NoveltySearch) -> Any:
    """The shapes of what is stored of an estimator's state."""
    with use_float32():
        return eqx.filter_eval_shape(
            partial(compact_estimator_state, search), search.state_shapes.estimator
        )


def _read_valid_offspring_descriptors(record: Any, number: int) -> np.ndarray:
    """The descriptors of a generation's offspring, without those who failed."""
    offspring = record.read_generation_arrays(number, "offspring")["offspring"]
    return offspring["descriptor"][~offspring["failed"]]
