"""Novelty for a loop that is not ours: behaviors in and novelty out, in NumPy."""

import dataclasses
import json
import os
import threading
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from brns.checks.generations import check_structure, warn_if_many_outside
from brns.checks.parts import check_part, explain_compile_errors
from brns.core import Box, NoveltyEstimator, Population
from brns.core.box import (
    FARTHEST,
    as_array_and_check_real,
    cast_to_float32,
    is_within_numeric_range,
)
from brns.core.forks import check_not_forked
from brns.core.novelty import init_state, score_novelty, update_estimator
from brns.core.population import flatten_by_name, make_initial_generation
from brns.estimators.archive import ArchiveKNN, PopulationKNN
from brns.jit import is_traced
from brns.runs.arrays import read_arrays, restore_tree, write_arrays
from brns.runs.files import RecordError
from brns.runs.paths import expand_home, resolve_seeds
from brns.settings.description import part_from_json, part_to_json
from brns.settings.differences import find_differences, format_diff, short_repr
from brns.settings.edits import discard_compiled_if_edited
from brns.settings.parts import SettingsError
from brns.settings.sources import UserCode

SEAL = "brns.Novelty"
SMALLEST = 16  # rows of a compiled program: batches are padded to powers of two from here on


class Novelty:
    """A novelty estimator and its memory, for your own loop: `score` behaviors, then `learn` them.

    `score` asks, `learn` remembers; neither does the other. Both may be called from several
    threads. Batches are padded to a power of two by rows that do not count, so that few sizes are
    compiled.

    An archive takes in all of a batch while it has room, where a search lets `additions` enter a
    generation: what you do not want remembered you do not give to `learn`.

    Args:
        estimator: the novelty, such as `brns.VisitCounts()`.
        space: where behaviors lie; all descriptors are in its units.
        seed: decides all that is random: the same seed and calls give the same bits.

    Raises:
        ValueError: where the estimator or the space is none.
    """

    def __init__(self, estimator: NoveltyEstimator, space: Box, seed: SupportsIndex = 0):
        check_not_forked("a brns.Novelty")
        check_part("estimator", estimator, NoveltyEstimator)
        if not isinstance(space, Box):
            raise ValueError(f"space must be a brns.Box(low, high); got {short_repr(space)}")
        if isinstance(estimator, ArchiveKNN):
            estimator = dataclasses.replace(estimator, additions=estimator.capacity)
        discard_compiled_if_edited(UserCode(estimator))
        self.estimator = estimator
        self.space = space
        (self.seed,) = resolve_seeds(seed)
        self.batches = self.learned = 0
        self._lock = threading.RLock()
        key = jax.random.fold_in(jax.random.key(self.seed), 0)
        self.state: PyTree = _init(estimator, space, key)

    def __repr__(self) -> str:
        dimensions = f"{self.space.dimension} dimensions in {self.batches} batches"
        memory = f"{self.learned} behaviors of {dimensions}"
        return f"Novelty({short_repr(self.estimator)}, seed={self.seed}, {memory})"

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values, _lock=threading.RLock())

    def score(self, descriptors: Any, population: Any = None) -> Float[np.ndarray, " n"]:
        """How novel behaviors are, given all that were learned; higher is more novel.

        Args:
            descriptors: `(n, d)` of NumPy or any other kind, finite, in the units of the space.
            population: behaviors `(m, d)` that count as seen too, such as the batch itself where
                its members compete; by default none. Where there is one, nearest neighbours take
                what lies at distance 0 for the behavior itself, once.

        Returns:
            Novelty `(n,)`. An archive takes the mean of the neighbours that there are, and the
            space's diagonal where there are none.

        Raises:
            ValueError: where descriptors have another shape or are not finite; without a
                population for an estimator that remembers nothing.
        """
        if population is None and isinstance(self.estimator, PopulationKNN):
            raise ValueError(
                "PopulationKNN remembers nothing: give the population among which behaviors are "
                "novel, as in score(descriptors, population=descriptors)"
            )
        rows = self._as_rows(descriptors)
        living = rows[:0] if population is None else self._as_rows(population, "population")
        if not len(rows):
            return np.zeros(0, np.float32)
        with self._lock:
            state, numbers = self.state, self._count_rows_batches_and_learned(living)
        if isinstance(self.estimator, PopulationKNN):
            self.estimator.check_size(len(living))
        batch = self._pad_to_power_of_two(rows), self._pad_to_power_of_two(living), numbers
        with explain_compile_errors("estimator", self.estimator):
            novelty = np.array(_score(self.estimator, state, *batch))[: len(rows)]
        if (alone := np.isposinf(novelty)).any():
            low, high = np.asarray(self.space.low, float), np.asarray(self.space.high, float)
            novelty[alone] = np.linalg.norm(high - low)
        if np.isnan(novelty).any():
            raise ValueError(
                f"the estimator gave {np.isnan(novelty).sum()} of {len(rows)} behaviors a novelty "
                "of NaN: what it has learned may lie too far from the space"
            )
        return novelty

    def learn(self, descriptors: Any, novelty: Any = None) -> None:
        """Remember behaviors, as one generation's offspring; of none nothing changes.

        Args:
            descriptors: `(n, d)`, as `score` takes them.
            novelty: `(n,)`, what `score` gave them, by default zeros; archives that take in the
                most novel, or those above a threshold, need it.

        Raises:
            ValueError: where a shape is another, a number is not finite, or an archive lacks it.
        """
        rows = self._as_rows(descriptors)
        archive = isinstance(self.estimator, ArchiveKNN)
        if novelty is None and archive and self.estimator.needs_novelty_to_add_or_remove:
            raise ValueError(
                "this archive chooses by novelty who enters or leaves: give it, as in "
                "learn(descriptors, score(descriptors))"
            )
        scores = np.zeros(len(rows)) if novelty is None else novelty
        scores = np.asarray(as_array_and_check_real("novelty", scores, "learn needs"), np.float32)
        if scores.shape != (len(rows),) or not np.isfinite(scores).all():
            raise ValueError(
                f"novelty must be {len(rows)} finite numbers, one a descriptor; got "
                f"{scores!r:.80} of shape {scores.shape}"
            )
        if not len(rows):
            return
        warn_if_many_outside(rows, self.space)
        with self._lock:
            padded = map(self._pad_to_power_of_two, (rows, scores))
            numbers = self._count_rows_batches_and_learned(rows)
            key = jax.random.key(self.seed)
            with explain_compile_errors("estimator", self.estimator):
                after = _learn(self.estimator, self.state, *padded, numbers, key)
            check_structure(self.estimator, self.state, after)
            self.state = after
            self.batches += 1
            self.learned += len(rows)

    def save(self, path: str | os.PathLike) -> None:
        """Write all of it to an .npz file that NumPy alone can read, whole or not at all.

        Args:
            path: of the file.
        """
        space = {"low": self.space.low.tolist(), "high": self.space.high.tolist()}
        with self._lock:
            facts = {
                "estimator": part_to_json(self.estimator),
                "space": space,
                "seed": self.seed,
                "batches": self.batches,
                "learned": self.learned,
            }
            state = self.state
        arrays = {f"state.{name}": leaf for name, leaf in flatten_by_name(state).items()}
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        write_arrays(expand_home(path), arrays, SEAL)

    @classmethod
    def load(cls, path: str | os.PathLike, estimator: NoveltyEstimator | None = None) -> "Novelty":
        """Read it back; nothing in the file can run code.

        Args:
            path: of the file that `save` wrote.
            estimator: the one that was saved, where it is your own.

        Returns:
            One that goes on to the same bits.

        Raises:
            RecordError: where the file is damaged, or another estimator made it.
        """
        path = expand_home(path)
        arrays = read_arrays(path, SEAL)
        facts = json.loads(arrays.pop("facts").tobytes())
        if estimator is None:
            try:
                estimator = part_from_json(facts["estimator"])
            except SettingsError as error:
                raise RecordError(
                    f"{path} has an estimator {facts['estimator']['name']}, which is not of brns "
                    "or may hold functions of yours: give load the estimator="
                ) from error
        novelty = cls(estimator, Box(**facts["space"]), facts["seed"])
        if other := find_differences(facts["estimator"], part_to_json(novelty.estimator)):
            raise RecordError(f"{path} was made by another estimator: {format_diff(other)}")
        novelty.batches = facts["batches"]
        novelty.learned = facts["learned"]
        leaves = {name.removeprefix("state."): leaf for name, leaf in arrays.items()}
        novelty.state = restore_tree(novelty.state, leaves, path)
        return novelty

    def _as_rows(self, behaviors: Any, name: str = "descriptors") -> Float[np.ndarray, "n d"]:
        check_not_forked("a brns.Novelty")
        if is_traced(behaviors):
            raise ValueError(
                f"brns.Novelty needs {name} of numbers, outside jax.jit and jax.vmap: within them "
                "use the estimator's own init, score and update"
            )
        numbers = as_array_and_check_real(name, behaviors, "brns.Novelty needs")
        rows = np.asarray(cast_to_float32(numbers))
        if rows.shape == (0,):
            rows = rows.reshape(0, self.space.dimension)
        if rows.ndim != 2 or rows.shape[1] != self.space.dimension:
            d = self.space.dimension
            raise ValueError(f"{name} must have shape (n, {d}); got {rows.shape}")
        if (far := ~is_within_numeric_range(rows, self.space)).any():
            raise ValueError(
                f"{name} must be finite, and within {FARTHEST:g} widths of the space; got "
                f"{far.sum()} rows that are not, the first of them row {np.argmax(far)}"
            )
        return rows

    def _count_rows_batches_and_learned(self, rows: np.ndarray) -> np.ndarray:
        """How many rows there are, the next batch's number, and how many were learned before."""
        return np.array([len(rows), self.batches + 1, self.learned], np.int32)

    def _pad_to_power_of_two(self, rows: np.ndarray) -> np.ndarray:
        """The rows, and up to a power of two the last again; none and one as they are."""
        if len(rows) < 2 or not type(self.estimator).__module__.startswith("brns."):
            return rows
        size = max(SMALLEST, 1 << (len(rows) - 1).bit_length())
        filling = [(0, size - len(rows))] + [(0, 0)] * (rows.ndim - 1)
        return np.pad(rows, filling, mode="edge")


def _as_population_with_padding_failed(rows: Any, numbers: Int[Array, "3"]) -> Population:
    """These rows as the next batch; who are beyond their number failed."""
    number, born, first = numbers
    population = Population.from_descriptors(rows, born, first)
    return population._replace(failed=jnp.arange(len(rows)) >= number)


_init = eqx.filter_jit(init_state)


@eqx.filter_jit
def _score(estimator: Any, state: Any, rows: Any, living: Any, numbers: Any) -> Float[Array, " n"]:
    population = _as_population_with_padding_failed(living, numbers)
    return score_novelty(estimator, state, jnp.asarray(rows), population)


@eqx.filter_jit
def _learn(estimator: Any, state: Any, rows: Any, novelty: Any, numbers: Any, key: Any) -> PyTree:
    population = _as_population_with_padding_failed(rows, numbers)._replace(novelty=novelty)
    generation = make_initial_generation(population)
    return update_estimator(estimator, state, generation, jax.random.fold_in(key, numbers[1]))
