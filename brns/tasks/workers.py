"""Tasks that evaluate a batch in chunks: in this process, in others, on a Dask cluster,
or by an executor of yours.

`chunk` says what is evaluated together, so that the bits are the same for any number of workers.
Large matrix products also round by BLAS's threads. Workers have one each: where there are none,
start Python with OMP_NUM_THREADS=1.

A worker is given a task once, by its digest. `worker.py` is what happens there.
"""

import contextlib
import functools
import hashlib
import math
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any, NamedTuple

import cloudpickle
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, UInt32

from brns.checks import SKIP
from brns.core import Evaluation, Task
from brns.settings.description import part_to_json
from brns.tasks import worker
from brns.tasks.cpu import one_thread
from brns.tasks.policy import Genotypes
from brns.tasks.sharded import Sharded, Wrapper
from brns.tasks.worker import EvaluationError, WorkerError

# Of compiled code, as JAX was told in the process of the search.
CACHE = (
    "compilation_cache_dir",
    "compilation_cache_max_size",
    "persistent_cache_min_compile_time_secs",
)
DEATHS = 2  # of workers on one chunk, before its individuals are taken for the cause
QUICK = 0.002  # seconds, about what a chunk's way to a process and back takes
# seconds beyond `timeout` for a process to start: importing JAX from a slow disk takes long
START = 120.0
PATIENCE = 600.0  # seconds within which a cluster must have a worker
FEW = 3  # individuals may fail, wherever any may: of 8 a tenth would be none
LARGE = 1_000_000  # bytes of a task, from which on a cluster keeps it, and chunks come without it
_tell_once = functools.cache(lambda text: print(text, file=sys.stderr))
_THREAD = threading.local()  # has the process of a thread that evaluates


class Chunked(Wrapper):
    """A task evaluated `chunk` individuals at a time, in this process or by an executor of yours.

    A record names this one, without an executor, whoever evaluated.
    So a run is resumed without workers.

    With `failures` above 0 a run goes on without individuals for whom the task raises, gives what
    is not finite, or, with `Processes` and `Dask`, hangs or ends its process. They are found by
    evaluating a chunk that failed one by one. `Evaluation.failed` names them, and the folder
    `failed` of a run keeps them.

    Raises:
        EvaluationError: by `evaluate`, where more fail than may.
    """

    chunk: int | None = eqx.field(default=4, kw_only=True)
    """individuals evaluated together; of a JAX task the last chunk is filled up, so that one shape
    is compiled. None are all: a record then names the task alone, so that its runs go on with this
    one"""
    executor: Executor | None = eqx.field(default=None, kw_only=True, static=True)
    """any of the kind of `concurrent.futures`, whose processes are no forks;
    it stays yours to shut down"""
    failures: float = eqx.field(default=0.0, kw_only=True, static=True)
    """the share of a batch that may fail, though 3 individuals always may; of 0 none may"""
    timeout: float | None = eqx.field(default=None, kw_only=True, static=True)
    """seconds for a chunk; by an executor of yours, within which one of all chunks must be
    finished; without any nobody looks at the clock"""

    traceable = False

    def __check_init__(self):
        if not (isinstance(self.failures, int | float) and 0 <= self.failures < 1):
            raise ValueError(
                "failures is the share of a batch that may fail, 0 <= failures < 1, such as 0.1; "
                f"got {self.failures!r}"
            )
        if self.chunk is None and self.task.traceable:
            raise ValueError(
                f"chunk=None is for tasks on the host: {type(self.task).__name__} is JAX code, "
                "and says itself which individuals failed, as in Evaluation(descriptor, "
                "failed=~jnp.isfinite(descriptor).all(axis=1))"
            )

    @functools.cached_property
    def pickled(self) -> bytes:
        """The task for its workers, with what a script or a notebook defines and registers.

        No pickle from a disk is ever read.
        """
        return cloudpickle.dumps((worker.registered(), cloudpickle.dumps(self.task)))

    @functools.cached_property
    def _packed(self) -> "Packed":
        """The same with its digest."""
        return Packed(hashlib.sha256(self.pickled).hexdigest(), self.pickled)

    @functools.cached_property
    def reasons(self) -> dict[tuple[bytes, bytes], str]:
        """Why individuals failed, by genotype and key, until a record asks."""
        return {}

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
            request = (
                f"{type(self.task).__name__}.evaluate of individuals {rows.start} to "
                f"{rows.stop - 1} of {n} (rows from 0)"
            )
            if self.executor is None and not self.failures:
                return _here(lambda: (worker.evaluate_chunk(self.task, part, seed), 0.0))
            if self.executor is None:
                return _here(lambda: worker.evaluate(request, self.task, part, seed))
            return self.executor.submit(worker.evaluate_packed, request, self._packed, part, seed)

        if isinstance(self.executor, ProcessThreads):
            self.executor.begin()
        batch = Batch(n, self.task.behavior_space.dimension)
        try:
            self._collect(submit, chunks, batch)
        finally:
            for row, text in batch.reasons.items():
                if text != worker.MARKED:
                    self.reasons[genotypes[row].tobytes(), seed[0].tobytes()] = text
        if self.executor and batch.seconds < QUICK * len(chunks):
            _tell_once(
                f"{type(self.task).__name__}.evaluate is quicker than a chunk's way to a worker "
                "and back: take larger chunks, or no workers"
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

    def _collect(
        self, submit: Callable[[range], Future], chunks: Iterable[range], batch: "Batch"
    ) -> None:
        """Fill the batch, the rows of a chunk that failed one by one."""
        most = max(FEW, math.floor(self.failures * batch.size)) if self.failures else 0
        waiting: dict[Future, range] = {}
        errors = self.executor is not None and not isinstance(self.executor, ProcessThreads)
        patience = self.timeout and self.timeout + START
        try:
            for rows in chunks:
                waiting[submit(rows)] = rows
            while waiting:
                done = wait(waiting, patience if errors else None, FIRST_COMPLETED).done
                patience = self.timeout  # from now on the processes have started
                if not done:
                    raise EvaluationError(
                        f"{type(self.task).__name__}.evaluate: no chunk was evaluated for "
                        f"timeout={self.timeout} seconds. An executor of yours cannot be freed of "
                        "it; brns.Processes can"
                    )
                for future in done:
                    rows = waiting.pop(future)
                    try:
                        batch.fill(rows, future.result(), bool(self.failures))
                    except EvaluationError as error:
                        if not self.failures:
                            error.add_note(SKIP)
                            raise
                        if len(rows) > 1:
                            parts = [range(row, row + 1) for row in rows]
                            waiting |= {submit(part): part for part in parts}
                        else:
                            batch.fail(
                                rows[0], "\n".join([str(error), *getattr(error, "__notes__", [])])
                            )
                    if len(batch.reasons) > most and self.failures:
                        raise EvaluationError(
                            f"{len(batch.reasons)} of {batch.size} individuals failed; with "
                            f"failures={self.failures} {most} may. One of them: "
                            f"{next(iter(batch.reasons.values()))}"
                        )
        except EvaluationError:
            raise
        except Exception as error:
            if self.executor is None:
                raise
            self.close()
            raise EvaluationError(
                f"{type(self.task).__name__}.evaluate was given up by {self._whose}: "
                f"{error if isinstance(error, WorkerError) else repr(error)}"
            ) from error
        except BaseException:  # Ctrl-C
            self.close()
            raise
        finally:
            for future in waiting:
                future.cancel()

    @property
    def _whose(self) -> str:
        return self.executor.name if isinstance(self.executor, ProcessThreads) else "its executor"


class Packed(NamedTuple):
    """A task on its way to workers."""

    digest: str
    content: Any
    """bytes; on its way to a cluster that has them already, what stands for them there"""


class Batch:
    """What is known by now about `size` individuals, and why those who failed did."""

    def __init__(self, size: int, dimension: int):
        self.size, self.seconds = size, 0.0
        self.reasons: dict[int, str] = {}
        self.columns = Evaluation(
            np.zeros((size, dimension), np.float32),  # ty: ignore[invalid-argument-type]
            np.zeros(size, np.float32),  # ty: ignore[invalid-argument-type]
            np.zeros(size, bool),  # ty: ignore[invalid-argument-type]
            np.zeros(size, bool),  # ty: ignore[invalid-argument-type]
        )

    def fill(self, rows: range, result: tuple[Evaluation, float], finite: bool) -> None:
        """What a task said of these rows; with `finite`, what is no finite number has failed."""
        evaluation, seconds = result
        self.seconds += seconds
        for column, values in zip(self.columns, evaluation, strict=True):
            column[rows.start : rows.stop] = values[: len(rows)]
        part = Evaluation(*(column[rows.start : rows.stop] for column in self.columns))
        for row in rows.start + np.flatnonzero(part.failed):
            self.reasons[int(row)] = worker.MARKED
        if finite:
            sound = np.isfinite(part.descriptor).all(axis=1) & np.isfinite(part.fitness)
            for row in rows.start + np.flatnonzero(~sound & ~np.asarray(part.failed)):
                numbers = np.append(self.columns.descriptor[row], self.columns.fitness[row])
                self.fail(int(row), f"a descriptor or fitness that is not finite: {numbers}")

    def fail(self, row: int, text: str) -> None:
        self.columns.failed[row] = True
        self.reasons[row] = text


def why_failed(
    task: Task | None, genotypes: np.ndarray, key: UInt32[np.ndarray, " k"]
) -> list[str]:
    """Why a task could not evaluate genotypes; asked once.

    Args:
        task: that evaluated them.
        genotypes: `(n, p)`.
        key: the data of the key that the task was given.

    Returns:
        A text for each, such as an error with its traceback.
    """
    if not isinstance(task, Chunked):
        return [worker.MARKED] * len(genotypes)
    request = [(np.asarray(genotype).tobytes(), key.tobytes()) for genotype in genotypes]
    texts = [task.reasons.get(cause, worker.MARKED) for cause in request]
    for cause in request:
        task.reasons.pop(cause, None)
    return texts


class Processes(Chunked):
    """A task evaluated by `workers` processes of this machine;
    works for every task that cloudpickle takes.

    They are started anew, never forked, when first needed. Each uses one core and no accelerator.
    They end on `close()`, at the end of a `with` block, or with this process. A worker that dies is
    replaced and its chunk evaluated again.

    Args:
        task: what is evaluated.
        workers: how many processes.
        chunk: individuals evaluated together.
        timeout: seconds within which a chunk must be evaluated; starting a worker and importing the
            task's modules do not count. An individual that needs about as long may fail here and
            not there: leave a wide margin.
        failures: the share of a batch that may fail, as `Chunked` says.
        initializer: called once in every worker that starts, before it has a task: to set up
            logging, to import what registers environments, to make a world that the process keeps.
        log: a file to which the workers' output is appended, `os.devnull` for none; by default it
            goes where the search's own goes, in a notebook into the cell.

    Raises:
        EvaluationError: by `evaluate`; it names the individuals: where the task raises, where a
            chunk takes longer than `timeout` seconds, and where two workers died on one chunk; with
            `failures`, where more fail than may.
    """

    def __init__(
        self,
        task: Task,
        workers: int = 2,
        *,
        chunk: int = 4,
        timeout: float | None = None,
        failures: float = 0.0,
        initializer: Callable[[], Any] | None = None,
        log: str | os.PathLike | None = None,
    ) -> None:
        self.task, self.chunk, self.timeout, self.failures = task, chunk, timeout, failures
        open = functools.partial(_threads, workers)
        self.executor = ProcessThreads(open, "its processes", timeout, initializer, log)


class Dask(Chunked):
    """A task evaluated on the Dask cluster of the scheduler at `address`.

    Each thread of a Dask worker evaluates in a process of its own. Workers may join and leave at
    any time.

    Args:
        task: what is evaluated.
        address: the scheduler's, such as `tcp://10.0.0.1:8786`.
        chunk: as in `Processes`.
        timeout: as in `Processes`.
        failures: as in `Processes`.
        initializer: as in `Processes`.
        log: as in `Processes`; a file on each worker's machine.

    Raises:
        EvaluationError: by `evaluate`, as in `Processes`, and where the cluster is lost.
        OSError: where no scheduler answers, or has no worker for ten minutes.
        ImportError: without the extra `dask`.
    """

    def __init__(
        self,
        task: Task,
        address: str,
        *,
        chunk: int = 4,
        timeout: float | None = None,
        failures: float = 0.0,
        initializer: Callable[[], Any] | None = None,
        log: str | os.PathLike | None = None,
    ) -> None:
        self.task, self.chunk, self.timeout, self.failures = task, chunk, timeout, failures
        name = (
            f"the Dask cluster at {address}, which may be gone (when its scheduler answers again, "
            "go on with brns.resume, or brns resume with --workers and its address)"
        )
        open = functools.partial(_cluster, address)
        self.executor = ProcessThreads(open, name, timeout, initializer, log)


@part_to_json.register
def _(part: Sharded) -> Any:
    return part_to_json(part.task)


@part_to_json.register
def _(part: Chunked) -> Any:
    if part.chunk is None:
        return part_to_json(part.task)
    return {"name": "Chunked", "task": part_to_json(part.task), "chunk": part.chunk}


def innermost(task: Task) -> Task:
    """The world itself: the task within those that evaluate it in chunks or on several devices."""
    while isinstance(task, Chunked | Sharded):
        task = task.task
    return task


def has_workers(task: Task) -> bool:
    """Whether others evaluate it, who take the batches of several threads side by side."""
    return isinstance(task, Chunked) and task.executor is not None


def _here(call: Callable[[], Any]) -> Future:
    """What the call gives, or its error, at once."""
    future = Future()
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)
    return future


class Start(NamedTuple):
    """How a process starts."""

    timeout: float | None
    initializer: bytes | None
    log: str | None


class ProcessThreads(Executor):
    """Threads with a process each, here or on a cluster; opened when first needed."""

    def __init__(
        self,
        open: Callable[[contextlib.ExitStack], Executor],
        name: str,
        timeout: float | None,
        initializer: Callable[[], Any] | None,
        log: str | os.PathLike | None,
    ) -> None:
        self.open, self.name, self.timeout = open, name, timeout
        self.initializer = None if initializer is None else cloudpickle.dumps(initializer)
        self.log = None if log is None else os.path.abspath(log)
        self.lock, self.stack = threading.Lock(), contextlib.ExitStack()
        self.opened: Executor | None = None
        self.placed: dict[str, Any] = {}  # large tasks that a cluster keeps
        self.processes: list[Any] = []  # of the threads here

    def begin(self) -> Executor:
        """The threads or the cluster, opened if they are not."""
        with self.lock:
            self.opened = self.opened or self.open(self.stack)
            return self.opened

    def submit(  # ty: ignore[incompatible-method-override]
        self, _: Callable, request: str, packed: Packed, *chunk: Any
    ) -> Future:
        opened = self.begin()
        with self.lock:
            scatter = getattr(opened, "scatter", None)
            content = packed.content
            if scatter is not None and len(content) > LARGE:
                if packed.digest not in self.placed:
                    self.placed[packed.digest] = scatter(content)
                content = self.placed[packed.digest]
            start = Start(self.timeout, self.initializer, self.log)
            return opened.submit(
                _evaluate_in_process, self.processes, start, request, packed.digest, content, *chunk
            )

    def shutdown(self, *_: Any, **__: Any) -> None:
        with self.lock:
            self.opened = None
            self.placed.clear()
            self.stack.close()
            while self.processes:
                self.processes.pop().shutdown(kill_workers=True)


def _threads(workers: int, stack: contextlib.ExitStack) -> Executor:
    threads = ThreadPoolExecutor(workers)
    stack.callback(threads.shutdown, wait=False, cancel_futures=True)
    return threads


def _cluster(address: str, stack: contextlib.ExitStack) -> Executor:
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "evaluation on a Dask cluster needs the extra dask: pip install 'brns[dask]'"
        ) from None
    client = stack.enter_context(distributed.Client(address, timeout=4, set_as_default=False))
    if not client.scheduler_info()["workers"]:
        print(f"waiting for workers (0 so far), at most {PATIENCE:g} seconds", file=sys.stderr)
        client.wait_for_workers(1, timeout=PATIENCE)
    executor = client.get_executor(pure=False)
    executor.scatter = functools.partial(client.scatter, broadcast=True)
    stack.callback(executor.shutdown, wait=False)
    return executor


def _evaluate_in_process(
    processes: list[Any], start: Start, request: str, digest: str, content: bytes, *chunk: Any
) -> Any:
    """Evaluate a chunk in the process of this thread, which may be a Dask worker's."""
    died, started = None, False
    for _ in range(DEATHS):
        try:
            process = _thread_process(processes, start)
            if digest not in _THREAD.tasks:
                patience = start.timeout and start.timeout + START
                _THREAD.tasks = process.submit(worker.unpack, digest, content).result(patience)
            started = True
            return process.submit(worker.evaluate_held, request, digest, *chunk).result(
                start.timeout
            )
        except (TimeoutError, BrokenExecutor, WorkerError) as error:
            if hasattr(_THREAD, "process"):
                _THREAD.process.shutdown(kill_workers=True)
                del _THREAD.process
            died = error
        if isinstance(died, WorkerError):
            raise died
        if isinstance(died, TimeoutError) and not started:
            raise WorkerError(
                f"a worker took more than {START:g} + {start.timeout} seconds to start and import "
                "the task's modules"
            )
        if isinstance(died, TimeoutError):
            raise EvaluationError(
                f"{request} took more than timeout={start.timeout} seconds, and was killed"
            )
    if not started:
        raise WorkerError(f"a worker ended {DEATHS} times before it had the task. {died}")
    raise EvaluationError(f"{request} ended its process {DEATHS} times. {died}")


def _thread_process(processes: list[Any], start: Start) -> Any:
    """This thread's process. It has one chunk at a time,
    so that it is known on which it died or hung.
    """
    if not hasattr(_THREAD, "process"):
        import loky

        multiprocessing.current_process().daemon = (
            False  # as daemons, Dask's workers could have no processes
        )
        set_here = {f"JAX_{name.upper()}": getattr(jax.config, f"jax_{name}") for name in CACHE}
        set_here = {name: str(value) for name, value in set_here.items() if value is not None}
        environment = {"JAX_PLATFORMS": "cpu", **one_thread(), **set_here}
        try:
            _THREAD.process = loky.ProcessPoolExecutor(
                1, env=environment, initializer=worker.begin, initargs=(os.getpid(), start.log)
            )
            first = _THREAD.process.submit(worker.initialize, start.initializer)
        except (OSError, ImportError) as error:
            raise WorkerError(
                f"no process can be started here ({error}). Processes share semaphores, for which "
                "/dev/shm must be there, writable and not full: mount a tmpfs there (in a "
                "container --shm-size=1g or --ipc=host), or go on without workers, to the same "
                "bits"
            ) from error
        _THREAD.tasks = []
        processes.append(_THREAD.process)
        first.result(start.timeout and start.timeout + START)
    return _THREAD.process
