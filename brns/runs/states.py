"""An estimator's states on disk: without what can be counted again from the generations."""

from functools import partial
from typing import Any

import equinox as eqx
import numpy as np

from brns.core import Compactable
from brns.core.novelty import use_float32
from brns.runs.arrays import restore_tree
from brns.search import NoveltySearch

NOTHING = None, -1, None
"""no search, the generation before the founders, and no state"""


def compact_estimator_state(search: NoveltySearch, estimator: Any) -> Any:
    """An estimator's state without what can be counted again from the generations."""
    method = search.estimator
    return method.compact(estimator) if isinstance(method, Compactable) else estimator


def restore_estimator_state(record: Any, number: int, search: NoveltySearch) -> Any:
    """The estimator's state after a generation, counted on from the state that was read last."""
    compact = partial(compact_estimator_state, search)
    with use_float32():
        shapes = eqx.filter_eval_shape(compact, search.state_shapes.estimator)
    file = record.store.get_file_path("states", number)
    estimator = restore_tree(shapes, record.arrays("states", number), file)
    if isinstance(search.estimator, Compactable):
        whose, before, earlier = record.restored
        if whose is not search or before > number:
            _, before, earlier = NOTHING
        born = (_read_valid_offspring(record, g) for g in range(before + 1, number + 1))
        with use_float32():
            estimator = search.estimator.restore(estimator, born, earlier)
        # For who reads one state after another; nothing is held after the last.
        between = 0 < number < record.last_generation
        record.restored = (search, number, estimator) if between else NOTHING
    return estimator


def _read_valid_offspring(record: Any, number: int) -> np.ndarray:
    """The descriptors of a generation's offspring that did not fail, read without keeping them."""
    offspring = record.arrays("generations", number, ["offspring"])["offspring"]
    return offspring["descriptor"][~offspring["failed"]]
