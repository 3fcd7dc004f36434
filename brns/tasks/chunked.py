"""A task that evaluates a batch in chunks: in this process, or by an executor.

`chunk` says what is evaluated together, so that the bits are the same for any number of workers.
Large matrix products also round by BLAS's threads. Workers have one each: where there are none,
start Python with OMP_NUM_THREADS=1.

A worker is given a task once, by its digest. `worker.py` is what happens there.
"""

import functools
import hashlib
import math
import pickle
import queue
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from threading import TIMEOUT_MAX
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from jaxtyping import Array, Key, UInt32
from pydantic import PositiveInt

from brns.checks.generations import SKIP
from brns.checks.parts import JAX_DEFAULTS, check_setting_types, check_settings_obey_rules
from brns.core import Box, Evaluation, Task
from brns.core.box import is_within_numeric_range
from brns.settings.description import part_to_json
from brns.settings.edits import count_process_edits, list_evaluation_side_effects
from brns.settings.sources import UserCode
from brns.tasks import worker
from brns.tasks.policy import Genotypes
from brns.tasks.processes import START, ProcessThreads
from brns.tasks.sharded import Sharded, Wrapper
from brns.tasks.worker import EvaluationError, WorkerError

QUICK = 0.002  # seconds, about what a chunk's way to a process and back takes
FEW = 3  # individuals may fail, wherever any may: of 8 a tenth would be none
Seconds = Annotated[float, Gt(0), Le(TIMEOUT_MAX)]
_tell_once = functools.cache(lambda text: print(text, file=sys.stderr))


class Chunked(Wrapper):
    """A task evaluated `chunk` individuals at a time, in this process or by an executor of yours;
    some may fail (`failures`).

    A record names no executor, so that a run is resumed without workers.

    With `failures` above 0 a run goes on without individuals for whom the task raises, gives what
    is not finite, or, with `Processes` and `Dask`, hangs or ends its process. They are found by
    evaluating a chunk that failed one by one. `Evaluation.failed` names them, and the folder
    `failed` of a run keeps them.

    Raises:
        EvaluationError: by `evaluate`, where more fail than may.
    """

    chunk: PositiveInt | None = eqx.field(default=4, kw_only=True)
    """individuals evaluated together; of a JAX task the last chunk is padded, so that one shape
    is compiled. None is all; then a record names only the task, so that runs of the task can be
    resumed with this wrapper"""
    executor: Executor | None = eqx.field(default=None, kw_only=True, static=True)
    """an executor as in `concurrent.futures`, whose processes are not forked; you shut it down"""
    failures: Annotated[float, Ge(0), Lt(1)] = eqx.field(default=0.0, kw_only=True, static=True)
    """the share of a batch that may fail; 3 individuals always may, with 0 none"""
    timeout: Seconds | None = eqx.field(default=None, kw_only=True, static=True)
    """seconds for a chunk; with your own executor, seconds in which some chunk must finish. None,
    or no executor, is no limit"""

    traceable = False

    def __check_init__(self):
        check_setting_types(self)
        submits = hasattr(self.executor, "submit") and not isinstance(self.executor, type)
        rule = self.executor is None or submits, "an executor, with submit, or None"
        check_settings_obey_rules(self, executor=rule)
        if isinstance(self.task, Chunked):
            raise ValueError(
                f"{type(self).__name__} needs a task itself; got {type(self.task).__name__}, which "
                "evaluates one in chunks already. Give its task: "
                f"{type(self).__name__}(x.task)"
            )
        if self.chunk is None and self.task.traceable:
            raise ValueError(
                f"chunk=None is for tasks on the host: {type(self.task).__name__} is JAX code; let "
                "it say Evaluation(descriptor, failed=~jnp.isfinite(descriptor).all(axis=1))"
            )

    @functools.cached_property
    def _pickled_tasks(self) -> dict[bytes, tuple[str, bytes]]:
        """The last one, by `count_process_edits` and the settings of JAX."""
        return {}

    def _pickle_task(self) -> tuple[str, bytes]:
        """A digest, and the task for its workers with what a script or a notebook defines and
        registers.
        """
        settings = {name: getattr(jax.config, name) for name in JAX_DEFAULTS}
        # After an edit workers take it anew, though it may be what they had before that.
        now = f"{count_process_edits()} {settings}".encode()
        if packed := self._pickled_tasks.get(now):
            return packed
        environments = worker.pickle_registered_environments()
        try:
            task = worker.pickle_by_value(self.task)
        except Exception as error:
            raise EvaluationError(
                f"{type(self.task).__name__} cannot be sent to workers ({error}): leave out what "
                "cannot be pickled, such as a lock or a simulator, by __getstate__, and make it in "
                "evaluate where it is missing"
            ) from error
        code = UserCode(unwrap_task(self.task))
        changing = list_evaluation_side_effects(code)
        # Of this process: a cluster that has the task of an earlier one may have its code too.
        here = worker.PROCESS, worker.VERSIONS, settings
        content = pickle.dumps((*here, environments, task, code.texts, changing))
        packed = hashlib.sha256(content + now).hexdigest(), content
        self._pickled_tasks.clear()
        self._pickled_tasks[now] = packed
        return packed

    @functools.cached_property
    def failure_reasons(self) -> dict[tuple[bytes, bytes], str]:
        """Why individuals failed, by genotype and key, until a record asks."""
        return {}

    @functools.cached_property
    def _warmup_done(self) -> list[bool]:
        """Not empty once a chunk is evaluated; before, workers may still start and import."""
        return []

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        """The task's own evaluation, chunk by chunk; see `Task.evaluate`."""
        genotypes, n = np.asarray(genotypes), len(genotypes)
        size = self.chunk or n
        chunks = [range(first, min(first + size, n)) for first in range(0, n, size)]
        # JAX's own arrays must not reach a forked process: making them there can wait for ever.
        seed = np.asarray(jax.random.key_data(key)), str(jax.random.key_impl(key))

        def submit(rows: range) -> Future:
            part = genotypes[rows.start : rows.stop]
            if self.task.traceable:
                part = np.pad(part, ((0, size - len(rows)), (0, 0)), mode="edge")
            individuals = f"individuals {rows.start} to {rows.stop - 1} of {n} (rows from 0)"
            request = f"{self._evaluate_name} of {individuals}"
            if self.executor is not None:
                arguments = request, self._pickle_task(), part, seed
                future = self.executor.submit(worker.evaluate_and_time_packed, *arguments)
                if not isinstance(future, Future):
                    raise TypeError(
                        "its submit must give a concurrent.futures.Future; got a "
                        f"{type(future).__module__}.{type(future).__name__}. Of a Dask client take "
                        "client.get_executor(), or brns.Dask"
                    )
                return future
            if self.failures:
                return _call_as_future(worker.evaluate_and_time, request, self.task, part, seed)
            return _call_as_future(lambda: (worker.evaluate_chunk(self.task, part, seed), 0.0))

        if isinstance(self.executor, ProcessThreads):
            self.executor.get_or_open_executor()
        batch = Batch(n, self.task.behavior_space)
        try:
            self._collect_results(submit, chunks, batch)
        finally:
            for row, text in batch.reasons.items():
                if text != worker.MARKED:
                    self.failure_reasons[genotypes[row].tobytes(), seed[0].tobytes()] = text
        if self.executor and batch.seconds < QUICK * len(chunks):
            _tell_once(
                f"{self._evaluate_name} is quicker than a chunk's way to a worker and back: take "
                "larger chunks (chunk=), or no workers (on the command line, leave --workers out)"
            )
        return Evaluation(*map(jnp.asarray, batch.columns))

    def close(self) -> None:
        """End the workers, or leave the cluster; the next evaluation begins anew."""
        if isinstance(self.executor, ProcessThreads):
            self.executor.shutdown()

    def __enter__(self) -> "Chunked":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _collect_results(
        self, submit: Callable[[range], Future], chunks: Iterable[range], batch: "Batch"
    ) -> None:
        """Fill the batch with the results of all chunks."""
        waiting: dict[Future, range] = {}
        done: queue.SimpleQueue[Future] = queue.SimpleQueue()  # also what an executor cancelled

        def start_chunk(rows: range) -> None:
            future = submit(rows)
            waiting[future] = rows
            future.add_done_callback(done.put)

        # Processes of ours see to their time themselves, and have started after the first chunk.
        timed = self.executor is not None and not isinstance(self.executor, ProcessThreads)
        patience = self.timeout and self.timeout + (0 if self._warmup_done else START)
        try:
            for rows in chunks:
                start_chunk(rows)
            while waiting:
                try:
                    future = done.get(timeout=patience if timed else None)
                except queue.Empty:
                    raise EvaluationError(
                        f"{self._evaluate_name}: no chunk was evaluated for "
                        f"timeout={self.timeout} seconds; an executor of yours goes on with it, "
                        "brns.Processes would end it"
                    ) from None
                patience = self.timeout
                self._warmup_done.append(True)
                for part in self._store_chunk_or_split(batch, waiting.pop(future), future):
                    start_chunk(part)
        except EvaluationError:
            raise
        except Exception as error:
            if self.executor is None:
                raise
            self.close()
            reason = error if isinstance(error, WorkerError) else repr(error)
            whose = getattr(self.executor, "name", "its executor")
            raise EvaluationError(
                f"{self._evaluate_name} was given up by {whose}: {reason}"
            ) from error
        except BaseException:  # Ctrl-C
            self.close()
            raise
        finally:
            for future in waiting:
                future.cancel()

    def _store_chunk_or_split(self, batch: "Batch", rows: range, future: Future) -> list[range]:
        """Write down what became of a chunk; the rows of one that failed are evaluated again."""
        try:
            batch.fill_rows(rows, future.result(), bool(self.failures))
        except EvaluationError as error:
            if not self.failures:
                error.add_note(SKIP)
                raise
            if len(rows) > 1:
                return [range(row, row + 1) for row in rows]
            notes = getattr(error, "__notes__", [])
            batch.mark_failed(rows[0], "\n".join([str(error), *notes]))
        most = max(FEW, math.floor(self.failures * batch.size + 1e-9))
        if self.failures and len(batch.reasons) > most:
            raise EvaluationError(
                f"{len(batch.reasons)} of {batch.size} individuals failed; with failures="
                f"{self.failures} {most} may. One of them: {next(iter(batch.reasons.values()))}"
            )
        return []

    @property
    def _evaluate_name(self) -> str:
        return f"{type(self.task).__name__}.evaluate"


class Batch:
    """What is known by now about `size` individuals, and why those who failed did."""

    def __init__(self, size: int, space: Box):
        self.size, self.space, self.seconds = size, space, 0.0
        self.reasons: dict[int, str] = {}
        descriptors = np.zeros((size, space.dimension), np.float32)
        solved, failed = np.zeros((2, size), bool)
        columns: Any = descriptors, np.zeros(size, np.float32), solved, failed
        self.columns = Evaluation(*columns)

    def fill_rows(self, rows: range, result: tuple[Evaluation, float], finite: bool) -> None:
        """What a task said of these rows and maybe others; with `finite`, what is no finite number,
        or too far from the space, has failed.
        """
        evaluation, seconds = result
        self.seconds += seconds
        for column, values in zip(self.columns, evaluation, strict=True):
            column[rows.start : rows.stop] = values[: len(rows)]
        part = Evaluation(*(column[rows.start : rows.stop] for column in self.columns))
        for row in rows.start + np.flatnonzero(part.failed):
            self.reasons[int(row)] = worker.MARKED
        if finite:
            sound = is_within_numeric_range(np.asarray(part.descriptor), self.space)
            sound &= np.isfinite(part.fitness)
            for row in rows.start + np.flatnonzero(~sound & ~np.asarray(part.failed)):
                numbers = np.append(self.columns.descriptor[row], self.columns.fitness[row])
                text = f"a descriptor or fitness not finite or too far: {numbers}"
                self.mark_failed(int(row), text)

    def mark_failed(self, row: int, text: str) -> None:
        self.columns.failed[row] = True
        self.reasons[row] = text


def pop_failure_reasons(
    task: Task | None, genotypes: np.ndarray, key: UInt32[np.ndarray, " k"]
) -> list[str]:
    """A text for each genotype on why the task could not evaluate it with this key; asked once."""
    if not isinstance(task, Chunked):
        return [worker.MARKED] * len(genotypes)
    request = [(np.asarray(genotype).tobytes(), key.tobytes()) for genotype in genotypes]
    texts = [task.failure_reasons.get(cause, worker.MARKED) for cause in request]
    for cause in request:
        task.failure_reasons.pop(cause, None)
    return texts


@part_to_json.register
def _sharded_to_json(task: Sharded) -> Any:
    return part_to_json(task.task)


@part_to_json.register
def _chunked_to_json(task: Chunked) -> Any:
    if task.chunk is None:
        return part_to_json(task.task)
    return {"name": "Chunked", "task": part_to_json(task.task), "chunk": task.chunk}


def unwrap_task(task: Task) -> Task:
    """The task itself, within those that evaluate it in chunks or on several devices."""
    while isinstance(task, Chunked | Sharded):
        task = task.task
    return task


def rewrap_task(wrapper: Task, task: Task) -> Task:
    """Another task, evaluated as the one within a wrapper is: in its chunks, on its devices."""
    if isinstance(wrapper, Sharded):
        return Sharded(task, wrapper.mesh.size)
    if isinstance(wrapper, Chunked):
        inner = rewrap_task(wrapper.task, task)
        return eqx.tree_at(lambda each: each.task, wrapper, inner)
    return task


def has_chunks(task: Task) -> bool:
    """Whether it is evaluated in chunks, whose size a record keeps."""
    return isinstance(task, Chunked) and task.chunk is not None


def has_workers(task: Task) -> bool:
    """Whether others evaluate it, who take the batches of several threads side by side."""
    return isinstance(task, Chunked) and task.executor is not None


def _call_as_future(call: Callable[..., Any], *arguments: Any) -> Future:
    """What the call gives, or its error, at once."""
    future = Future()
    try:
        future.set_result(call(*arguments))
    except Exception as error:
        future.set_exception(error)
    return future
