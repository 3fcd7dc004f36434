"""Nothing that is not a finite number gets into a record."""

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np

from brns.core import Generation
from brns.runs.storage import named_leaves
from brns.search import NoveltySearch, SearchState

SAFE = "Nothing of this generation was saved; the generations before it are safe"


def check(
    search: NoveltySearch,
    number: int,
    generation: Generation,
    state: SearchState,
    before: SearchState | None = None,
) -> None:
    """A `ValueError` where a generation, or the estimator's state after it, holds what is not a finite number.

    An estimator may mark what is empty by infinity: an array of its state may hold some if it did so `before`, or
    among the founders. NaN is nowhere allowed.
    """
    sources: list[tuple[str, Any]] = [
        ("genotype", search.founders if number == 0 else search.mutate),
        ("descriptor", search.task),
        ("fitness", search.task),
        ("novelty", search.estimator),
    ]
    for individuals, (column, source) in itertools.product((generation.offspring, generation.parents), sources):
        values = np.asarray(getattr(individuals, column))
        bad = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        if bad.any():
            ids = np.asarray(individuals.id)[bad]
            listed = ", ".join(map(str, ids[:5])) + (" ..." if ids.size > 5 else "")
            raise ValueError(
                f"{_name(source)} gave a {column} that is not finite for {ids.size} of {bad.size} individuals of "
                f"generation {number} (ids {listed}). {SAFE}"
            )
    wrong = _not_finite(state.estimator, None if before is None else before.estimator)
    if wrong:
        arrays = ", ".join(list(wrong)[:3]) + (" ..." if len(wrong) > 3 else "")
        raise ValueError(
            f"{_name(search.estimator)} has {sum(wrong.values())} numbers in its state that are not finite after "
            f"generation {number} (in {arrays}); a smaller learning rate may help. {SAFE}"
        )


def _not_finite(state: Any, before: Any) -> dict[str, int]:
    """How many numbers are wrong in each array of an estimator's state, by its name."""
    found = {}
    for name, leaf in named_leaves(state).items():
        array = np.asarray(leaf)
        if not jnp.issubdtype(array.dtype, jnp.inexact) or np.isfinite(array).all():
            continue
        marked = before is None or not np.isfinite(named_leaves(before)[name]).all()
        wrong = int((np.isnan(array) if marked else ~np.isfinite(array)).sum())
        if wrong:
            found[name] = wrong
    return found


def _name(part: Any) -> str:
    """A part's class, or the name of a function."""
    return getattr(part, "__name__", type(part).__name__)
