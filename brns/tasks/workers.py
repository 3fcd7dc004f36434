"""Tasks that evaluate a batch in chunks: in this process, in others, on a Dask cluster, or by an executor of yours.

`chunk` says what is evaluated together, so that the bits are the same for any number of workers. Large matrix products
also round by BLAS's threads. Workers have one each: where there are none, start Python with OMP_NUM_THREADS=1.
"""

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_EXCEPTION,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

import cloudpickle
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Evaluation, Task, conform
from brns.settings import describe
from brns.tasks.cpu import one_thread
from brns.tasks.policy import Genotypes
from brns.tasks.sharded import Sharded, Wrapper

# Of compiled code, as JAX was told in the process of the search.
CACHE = (
    "compilation_cache_dir",
    "compilation_cache_max_size",
    "persistent_cache_min_compile_time_secs",
)
DEATHS = 2  # of workers on one chunk, before its individuals are taken for the cause
QUICK = 0.002  # seconds, about what a chunk's way to a process and back takes
START = 120.0  # seconds beyond `timeout` for a process to start: importing JAX from a slow disk takes long
PATIENCE = 600.0  # seconds within which a cluster must have a worker
_tell_once = functools.cache(lambda text: print(text, file=sys.stderr))
_THREAD = threading.local()  # has the process of a thread that evaluates
_unpickled = functools.lru_cache(maxsize=4)(
    pickle.loads
)  # so that a worker keeps a task, and what belongs to it


class EvaluationError(ValueError):
    """A task failed in a worker: the message names the task and the individuals, as rows of the batch from 0."""


class Chunked(Wrapper):
    """A task evaluated `chunk` individuals at a time, in this process or by an executor of yours.

    A record names this one, without an executor, whoever evaluated. So a run is resumed without workers.
    """

    chunk: int = eqx.field(default=4, kw_only=True)
    """individuals evaluated together; of a JAX task the last chunk is filled up, so that one shape is compiled"""
    executor: Executor | None = eqx.field(default=None, kw_only=True, static=True)
    """any of the kind of `concurrent.futures`; it stays yours to shut down"""

    traceable = False

    @functools.cached_property
    def pickled(self) -> bytes:
        """The task for its workers, with what a script or a notebook defines. No pickle from a disk is ever read."""
        return cloudpickle.dumps(self.task)

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        genotypes = np.asarray(genotypes)
        n = len(genotypes)
        if self.task.traceable:
            genotypes = np.pad(genotypes, ((0, -n % self.chunk), (0, 0)), mode="edge")
        chunks = np.split(genotypes, range(self.chunk, n, self.chunk))
        if self.executor is None:
            evaluations = [evaluate_chunk(self.task, chunk, key) for chunk in chunks]
        else:
            evaluations = self._elsewhere(self.executor, chunks, n, key)
        columns = zip(*evaluations, strict=True)
        return Evaluation(*(jnp.asarray(np.concatenate(column)[:n]) for column in columns))

    def close(self) -> None:
        """End the workers, or leave the cluster; the next evaluation begins anew."""
        if isinstance(self.executor, Apart):
            self.executor.shutdown()

    def __enter__(self) -> "Chunked":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _elsewhere(
        self, executor: Executor, chunks: list[np.ndarray], n: int, key: Key[Array, ""]
    ) -> Sequence[Evaluation]:
        name = f"{type(self.task).__name__}.evaluate"
        futures = []
        for i, chunk in enumerate(chunks):
            rows = f"individuals {i * self.chunk} to {min((i + 1) * self.chunk, n) - 1} of {n} (rows from 0)"
            futures.append(
                executor.submit(evaluate_pickled, f"{name} of {rows}", self.pickled, chunk, key)
            )
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            results = [
                future.result() for future in futures if future.done()
            ]  # all, or one of them raises
        except EvaluationError:
            raise
        except Exception as error:
            raise EvaluationError(f"{name} was given up by its executor: {error!r}") from error
        except BaseException:  # Ctrl-C
            self.close()
            raise
        finally:
            for future in futures:
                future.cancel()
        evaluations, seconds = zip(*results, strict=True)
        if sum(seconds) < QUICK * len(chunks):
            _tell_once(
                f"{name} is quicker than a chunk's way to a worker and back: take larger chunks, or no workers"
            )
        return evaluations


class Processes(Chunked):
    """A task evaluated by `workers` processes of this machine; works for every task that cloudpickle takes.

    They are started anew, never forked, when first needed. Each uses one core and no accelerator. They end on
    `close()`, at the end of a `with` block, or with this process. A worker that dies is replaced and its chunk
    evaluated again. Errors: `EvaluationError`, which names the individuals, where the task raises, where a chunk takes
    longer than `timeout` seconds, and where two workers died on one chunk.
    """

    def __init__(
        self, task: Task, workers: int = 2, *, chunk: int = 4, timeout: float | None = None
    ) -> None:
        self.task, self.chunk = task, chunk
        self.executor = Apart(functools.partial(_threads, workers), timeout)


class Dask(Chunked):
    """A task evaluated on the Dask cluster of the scheduler at `address`.

    Each thread of a Dask worker evaluates in a process of its own. Workers may join and leave at any time. Errors:
    those of `Processes`; `EvaluationError` also where the cluster is lost; `OSError` where no scheduler answers, or has
    no worker for ten minutes; `ImportError` without the extra `dask`.
    """

    def __init__(
        self, task: Task, address: str, *, chunk: int = 4, timeout: float | None = None
    ) -> None:
        self.task, self.chunk = task, chunk
        self.executor = Apart(functools.partial(_cluster, address), timeout)


@describe.register
def _(part: Sharded) -> Any:
    return describe(part.task)


@describe.register
def _(part: Chunked) -> Any:
    return {"name": "Chunked", "task": describe(part.task), "chunk": part.chunk}


def innermost(task: Task) -> Task:
    """The world itself: the task within those that evaluate it in chunks or on several devices."""
    while isinstance(task, Chunked | Sharded):
        task = task.task
    return task


def has_workers(task: Task) -> bool:
    """Whether others evaluate it, who take the batches of several threads side by side."""
    return isinstance(task, Chunked) and task.executor is not None


@eqx.filter_jit
def _compiled(task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
    return task.evaluate(genotypes, key)


def evaluate_chunk(task: Task, genotypes: Any, key: Key[Array, ""]) -> Evaluation:
    """What a task says about one chunk, checked while it is still known which chunk it was."""
    genotypes = jnp.asarray(genotypes)
    evaluation = (
        _compiled(task, genotypes, key) if task.traceable else task.evaluate(genotypes, key)
    )
    evaluation = conform(evaluation, len(genotypes), task)
    return Evaluation(*(np.asarray(column) for column in evaluation))  # ty: ignore[invalid-argument-type]


def evaluate_pickled(
    asked: str, task: bytes, genotypes: np.ndarray, key: Key[Array, ""]
) -> tuple[Evaluation, float]:
    """`evaluate_chunk` by an executor, and its seconds. Errors become texts: a task's own might not be picklable."""
    began = time.perf_counter()
    try:
        return evaluate_chunk(_unpickled(task), genotypes, key), time.perf_counter() - began
    except BaseException as error:
        failed = EvaluationError(
            f"{asked} raised {traceback.format_exception_only(error)[-1].strip()}"
        )
        failed.add_note(f"In the worker:\n{traceback.format_exc()}")
    raise failed


class Apart(Executor):
    """Threads with a process each, here or on a cluster; opened when first needed."""

    def __init__(
        self, open: Callable[[contextlib.ExitStack], Executor], timeout: float | None
    ) -> None:
        self.open, self.timeout = open, timeout
        self.lock, self.stack = threading.Lock(), contextlib.ExitStack()
        self.opened: Executor | None = None
        self.processes: list[Any] = []  # of the threads here

    def submit(self, function: Callable, /, *chunk: Any) -> Future:  # ty: ignore[incompatible-method-override]
        with self.lock:
            self.opened = self.opened or self.open(self.stack)
            return self.opened.submit(_in_process, self.processes, self.timeout, function, *chunk)

    def shutdown(self, *_: Any, **__: Any) -> None:
        with self.lock:
            self.opened = None
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
    stack.callback(executor.shutdown, wait=False)
    return executor


def _in_process(
    processes: list[Any], timeout: float | None, function: Callable, asked: str, *chunk: Any
) -> Any:
    """Evaluate a chunk in the process of this thread, which may be a Dask worker's."""
    died = None
    for _ in range(DEATHS):
        try:
            return _process(processes, timeout).submit(function, asked, *chunk).result(timeout)
        except (TimeoutError, BrokenExecutor) as error:
            _THREAD.process.shutdown(kill_workers=True)
            del _THREAD.process
            died = error
        if isinstance(died, TimeoutError):
            raise EvaluationError(
                f"{asked} took more than timeout={timeout} seconds, and was killed"
            )
    raise EvaluationError(f"{asked} ended its process {DEATHS} times. {died}")


def _process(processes: list[Any], timeout: float | None) -> Any:
    """This thread's process. It has one chunk at a time, so that it is known on which it died or hung."""
    if not hasattr(_THREAD, "process"):
        import loky

        multiprocessing.current_process().daemon = (
            False  # as daemons, Dask's workers could have no processes
        )
        told = {f"JAX_{name.upper()}": getattr(jax.config, f"jax_{name}") for name in CACHE}
        told = {name: str(value) for name, value in told.items() if value is not None}
        environment = {"JAX_PLATFORMS": "cpu", **one_thread(), **told}
        try:
            _THREAD.process = loky.ProcessPoolExecutor(
                1, env=environment, initializer=_end_with, initargs=(os.getpid(),)
            )
        except OSError as error:
            raise EvaluationError(
                f"a worker cannot be started ({error}): its queues need shared memory, a "
                "folder /dev/shm with room that can be written (docker run --shm-size 256m); or go on without workers"
            ) from error
        processes.append(_THREAD.process)
        _THREAD.process.submit(os.getpid).result(timeout and timeout + START)
    return _THREAD.process


def _end_with(search: int) -> None:
    """End this process with the search's, even in a chunk, and even if that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search

    def watch() -> None:
        while os.getppid() == search:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
