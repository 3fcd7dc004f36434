"""Novelty for a loop that is not ours: behaviors in and novelty out, in NumPy."""

import json
import os
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from brns.checks import refuse_wrong, same_structure
from brns.core import Box, NoveltyEstimator, founding, individuals, learned, scored
from brns.runs.storage import RecordError, named_leaves, read_arrays, restore, write_arrays
from brns.settings import build, changes, describe, shown, told

SEAL = "brns.Novelty"


class Novelty:
    """How novel behaviors are, given all that were learned: an estimator with its state, for any loop.

    `score` asks, `learn` remembers; neither does the other. `seed` decides all that is random: the same seed
    and calls give the same bits. Code is compiled for each number of rows, so that batches of one size are quickest.

    Shapes: descriptors `(n, d)` of NumPy or any other kind, finite, in the units of `space`; novelty `(n,)`.
    """

    def __init__(self, estimator: NoveltyEstimator, space: Box, seed: SupportsIndex = 0):
        refuse_wrong("estimator", estimator, NoveltyEstimator)
        if not isinstance(space, Box):
            raise ValueError(f"space must be a brns.Box(low, high); got {shown(space)}")
        self.estimator = estimator
        self.space = space
        self.seed = index(seed)
        self.batches = self.learned = 0
        self.state: PyTree = eqx.filter_jit(estimator.init)(space, jax.random.key(self.seed))

    def __repr__(self) -> str:
        known = f"{self.learned} behaviors of {self.space.dimension} dimensions in {self.batches} batches"
        return f"Novelty({shown(self.estimator)}, seed={self.seed}, {known})"

    def score(self, descriptors: Any, population: Any = None) -> Float[np.ndarray, " n"]:
        """The novelty of behaviors; higher is more novel.

        `population` are the behaviors `(m, d)` of who lives now, by default those that are scored. Estimators with
        neighbours look among them too; one that an archive holds has itself as a neighbour.
        """
        rows = self._rows(descriptors)
        living = rows if population is None else self._rows(population)
        if not len(rows):
            return np.zeros(0, np.float32)
        if not len(living):
            raise ValueError("population is empty; leave it out")
        return np.asarray(_score(self.estimator, self.state, rows, living, np.int32(self.learned)))

    def learn(self, descriptors: Any, novelty: Any = None) -> None:
        """Remember behaviors, as one generation's offspring; of none nothing changes.

        `novelty` `(n,)` is what `score` gave them, by default zeros; archives that take in the most novel ask for it.
        """
        rows, number = self._rows(descriptors), self.batches + 1
        told = (
            np.zeros(len(rows), np.float32) if novelty is None else np.asarray(novelty, np.float32)
        )
        if told.shape != (len(rows),) or not np.isfinite(told).all():
            raise ValueError(
                f"novelty must be {len(rows)} finite numbers, one a descriptor; got shape {told.shape}"
            )
        if not len(rows):
            return
        batch = rows, told, np.int32(number), np.int32(self.learned)
        after = _learn(self.estimator, self.state, *batch, jax.random.key(self.seed))
        same_structure(self.estimator, self.state, after)
        self.state = after
        self.batches = number
        self.learned += len(rows)

    def save(self, path: str | os.PathLike) -> None:
        """Write all of it to an .npz file that NumPy alone can read, whole or not at all."""
        facts = {
            "estimator": describe(self.estimator),
            "space": {
                "low": np.asarray(self.space.low).tolist(),
                "high": np.asarray(self.space.high).tolist(),
            },
            "seed": self.seed,
            "batches": self.batches,
            "learned": self.learned,
        }
        written = {"facts": np.frombuffer(json.dumps(facts).encode(), np.uint8)}
        write_arrays(
            Path(path),
            written | {f"state.{k}": leaf for k, leaf in named_leaves(self.state).items()},
            SEAL,
        )

    @classmethod
    def load(cls, path: str | os.PathLike, estimator: NoveltyEstimator | None = None) -> "Novelty":
        """Read it back; nothing in the file can run code. Give `estimator` where it is your own."""
        arrays = read_arrays(Path(path), SEAL)
        facts = json.loads(arrays.pop("facts").tobytes())
        made = build(facts["estimator"]) if estimator is None else estimator
        if other := changes(facts["estimator"], describe(made)):
            raise RecordError(f"{path} was made by another estimator: {told(other)}")
        novelty = cls(made, Box(**facts["space"]), facts["seed"])
        novelty.batches = facts["batches"]
        novelty.learned = facts["learned"]
        leaves = {k.removeprefix("state."): v for k, v in arrays.items()}
        novelty.state = restore(novelty.state, leaves, Path(path))
        return novelty

    def _rows(self, descriptors: Any) -> Float[np.ndarray, "n d"]:
        rows = np.asarray(descriptors, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.space.dimension or not np.isfinite(rows).all():
            raise ValueError(
                f"descriptors must have shape (n, {self.space.dimension}) and be finite; got {rows.shape}"
            )
        return rows


@eqx.filter_jit
def _score(estimator: Any, state: PyTree, rows: Any, living: Any, first: Any) -> Float[Array, " n"]:
    born = -1  # before all that was learned, so that nobody counts as seen who was not
    return scored(estimator, state, jnp.asarray(rows), individuals(living, born, first))


@eqx.filter_jit
def _learn(
    estimator: Any, state: PyTree, rows: Any, novelty: Any, number: Any, first: Any, key: Any
) -> PyTree:
    batch = individuals(rows, number, first)._replace(novelty=novelty)
    return learned(estimator, state, founding(batch), jax.random.fold_in(key, number))
