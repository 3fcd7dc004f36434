"""A batch cut into chunks: what is evaluated together, whoever evaluates it.

A batch is cut into chunks of `chunk` genotypes, and every chunk is evaluated by the wrapped task with the batch's own
key. A task's answer for a genotype depends on that genotype and the key alone (`brns.Task`, `brns.check_task`), so that
cutting changes no answer: a task without chance gives the same, a task that draws one world a generation from the key
gives all individuals the same world, and one that wants chance of its own for each individual folds the genotype into
the key (noise drawn by row number would repeat from chunk to chunk, and `check_task` refuses it).

`Chunked` does this in one process. `Processes` and `Dask` give the same bits with any number of workers: what is
evaluated together is settled by `chunk`, never by who is free. Only rounding can tell one `chunk` from another, since
compiled code and matrix products round by the shape of their batch; for that a record keeps `chunk`, and nothing else
of this page: a run goes on with other workers to the same bits.

It goes on without workers to the same bits too, if the libraries that the task calls round alike with any number of
threads. Matrix products of BLAS do not: workers use one thread each, and `Chunked` as many as this process. For such a
task start Python with the variable OMP_NUM_THREADS=1, or resume with one worker.
"""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.checks import conform
from brns.core import Box, Evaluation, Task
from brns.settings import describe

T = TypeVar("T")
LONGEST = 1e8
"""seconds, three years: clocks of some systems count no further"""


class EvaluationError(ValueError):
    """A task failed in a worker: the message names the task and the individuals, as rows of the batch from 0."""


class ChunkFailed(Exception):
    """Why a chunk has no evaluation; `chunk` is its number, or None where no worker came as far as to receive one."""

    def __init__(self, chunk: int | None, reason: str, traceback: str = ""):
        super().__init__(chunk, reason, traceback)
        self.chunk = chunk
        self.reason = reason
        self.traceback = traceback


class InChunks(eqx.Module):
    """A task that wraps another and evaluates a batch `chunk` individuals at a time."""

    task: Task
    """the world"""
    chunk: int = eqx.field(default=4, kw_only=True)
    """individuals evaluated together; of a traceable task the last chunk is filled up, so that one shape is compiled"""

    traceable = False

    def __check_init__(self):
        at_least_one(chunk=self.chunk)

    @property
    def genotype_space(self) -> Box:
        return self.task.genotype_space

    @property
    def behavior_space(self) -> Box:
        return self.task.behavior_space

    def evaluate(self, genotypes: Float[Array, "n p"] | Float[np.ndarray, "n p"], key: Key[Array, ""]) -> Evaluation:
        batch = _cut(self.task, genotypes, self.chunk)
        return batch.join(self._evaluations(batch, key))

    @abc.abstractmethod
    def _evaluations(self, batch: "Batch", key: Key[Array, ""]) -> list[Evaluation]:
        """Every chunk's evaluation, in order."""


class Chunked(InChunks):
    """A task evaluated `chunk` individuals at a time, in this process.

    A record made by `Processes` or `Dask` names this one, so that a run is resumed without workers.
    """

    def _evaluations(self, batch: "Batch", key: Key[Array, ""]) -> list[Evaluation]:
        return [evaluate_chunk(self.task, genotypes, key) for genotypes in batch.chunks]


class ByWorkers(InChunks):
    """A task whose chunks are evaluated by workers, who end on `close()` or at the end of a `with` block."""

    timeout: float | None = eqx.field(default=None, kw_only=True)
    """seconds that a chunk may take, loading and compiling the task included; none waits for ever"""
    deaths: int = eqx.field(default=3, kw_only=True)
    """processes that may die on a chunk before the run gives up"""

    def __check_init__(self):
        at_least_one(deaths=self.deaths)
        if self.timeout is not None and not 0 < self.timeout <= LONGEST:
            raise ValueError(
                f"timeout must be a positive number of seconds, up to {LONGEST:g}, or None to wait for ever; got "
                f"{self.timeout}"
            )

    @abc.abstractmethod
    def close(self) -> None: ...

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@describe.register
def _(part: ByWorkers) -> Any:
    return describe(Chunked(part.task, chunk=part.chunk))


def innermost(task: Task) -> Task:
    """The world itself: the task within `Chunked`, `Processes` and `Dask`, or the task where it is in none of them."""
    while isinstance(task, InChunks):
        task = task.task
    return task


def chunked_as(task: Task, description: Mapping[str, Any]) -> Task:
    """The task in the chunks in which a record describes one, by its own workers if it has them; else as it is."""
    if description["name"] != "Chunked" or (isinstance(task, InChunks) and task.chunk == description["chunk"]):
        return task
    return Chunked(innermost(task), chunk=description["chunk"])


def at_least_one(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on; got {value!r}")


class Batch(NamedTuple):
    """A batch of n genotypes in chunks of `size` rows."""

    task: str
    chunks: list[np.ndarray]
    n: int
    size: int

    def join(self, evaluations: list[Evaluation]) -> Evaluation:
        columns = zip(*evaluations, strict=True)
        return Evaluation(*(jnp.asarray(np.concatenate(column)[: self.n]) for column in columns))

    def error(self, failure: ChunkFailed, chunk: int | None) -> EvaluationError:
        """The failure of a chunk, by its number in this batch, as an error that names its individuals."""
        if failure.chunk is None or chunk is None:
            return EvaluationError(failure.reason)
        first = chunk * self.size
        last = min(first + self.size, self.n) - 1
        rows = f"individual {first}" if first == last else f"individuals {first} to {last}"
        error = EvaluationError(f"{self.task}.evaluate of {rows} of {self.n} (rows from 0) {failure.reason}")
        if failure.traceback:
            error.add_note(f"In the worker:\n{failure.traceback}")
        return error


def _cut(task: Task, genotypes: Any, size: int) -> Batch:
    genotypes = np.asarray(genotypes)
    chunks = [genotypes[i : i + size] for i in range(0, len(genotypes), size)]
    if task.traceable:
        chunks[-1] = np.pad(chunks[-1], ((0, size - len(chunks[-1])), (0, 0)), mode="edge")
    return Batch(type(task).__name__, chunks, len(genotypes), size)


def evaluate_chunk(task: Task, genotypes: np.ndarray, key: Key[Array, ""]) -> Evaluation:
    """What a task says about one chunk, checked while it is still known which chunk it was."""
    evaluate = _compiled if task.traceable else _plain
    evaluation = conform(evaluate(task, jnp.asarray(genotypes), key), len(genotypes), task)
    return Evaluation(*(np.asarray(column) for column in evaluation))  # ty: ignore[invalid-argument-type]


def _plain(task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
    return task.evaluate(genotypes, key)


_compiled = eqx.filter_jit(_plain)
