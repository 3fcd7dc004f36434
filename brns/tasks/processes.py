"""An executor whose threads, here or on a Dask cluster, have a process each."""

import contextlib
import functools
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax

from brns.tasks import worker
from brns.tasks.cpu import make_one_thread_variables
from brns.tasks.worker import EvaluationError, WorkerError

# Of compiled code, as JAX was told in the process of the search.
CACHE = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
)
DEATHS = 2  # of workers on one chunk, before its individuals are taken for the cause
# seconds beyond `timeout` for a process to start: importing JAX from a slow disk takes long
START = 120.0
PATIENCE = 600.0  # seconds within which a cluster must have a worker
LARGE = 1_000_000  # bytes of a task, from which on a cluster keeps it, and chunks come without it
_THREAD = threading.local()  # has the process of a thread that evaluates


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
        self.open, self.name = open, name
        pickled = None if initializer is None else worker.pickle_by_value(initializer)
        self.start = Start(timeout, pickled, None if log is None else os.path.abspath(log))
        self.lock, self.stack = threading.Lock(), contextlib.ExitStack()
        self.opened: Executor | None = None
        self.placed: dict[str, Any] = {}  # large tasks that a cluster keeps
        self.processes: list[Any] = []  # of the threads here

    def get_or_open_executor(self) -> Executor:
        """The threads or the cluster, opened if they are not."""
        with self.lock:
            self.opened = self.opened or self.open(self.stack)
            return self.opened

    def submit(  # ty: ignore[incompatible-method-override]
        self, _: Callable, request: str, packed: tuple[str, bytes], *chunk: Any
    ) -> Future:
        digest, content = packed
        opened = self.get_or_open_executor()
        with self.lock:
            scatter = getattr(opened, "scatter", None)
            if scatter is not None and len(content) > LARGE:
                if digest not in self.placed:
                    self.placed[digest] = scatter(content)
                content = self.placed[digest]
            arguments = self.processes, self.start, request, digest, content, *chunk
            return opened.submit(_evaluate_in_process, *arguments)

    def shutdown(self, *_: Any, **__: Any) -> None:
        with self.lock:
            self.opened = None
            self.placed.clear()
            self.stack.close()
            while self.processes:
                self.processes.pop().shutdown(kill_workers=True)


def open_thread_pool(workers: int, stack: contextlib.ExitStack) -> Executor:
    threads = ThreadPoolExecutor(workers)
    stack.callback(threads.shutdown, wait=False, cancel_futures=True)
    return threads


def open_cluster(address: str, stack: contextlib.ExitStack) -> Executor:
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
    executor.scatter = functools.partial(_send_once, client)
    stack.callback(executor.shutdown, wait=False)
    return executor


def _send_once(client: Any, content: bytes) -> Any:
    """A future of the content, which a cluster makes again where it was lost with its workers."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that it is large
        return client.submit(bytes, content, pure=False)


def _evaluate_in_process(
    processes: list[Any], start: Start, request: str, digest: str, content: bytes, *chunk: Any
) -> Any:
    """Evaluate a chunk in the process of this thread, which may be a Dask worker's."""
    died, started = None, False
    patience = start.timeout and start.timeout + START
    for _ in range(DEATHS):
        used = hasattr(_THREAD, "process")  # maybe by a search before an edit of its code
        try:
            process = _get_or_start_process_of_thread(processes, start)
            if digest not in _THREAD.tasks:
                taken = process.submit(worker.cache_task_and_list_digests, digest, content)
                _THREAD.tasks = taken.result(patience)
            started = True
            future = process.submit(worker.evaluate_and_time_packed, request, (digest, b""), *chunk)
            return future.result(start.timeout)
        except (TimeoutError, BrokenExecutor, WorkerError) as error:
            _end_process_of_thread()
            died = error
        if isinstance(died, WorkerError) and not used:
            raise died
        if isinstance(died, TimeoutError):
            if started:
                seconds = f"timeout={start.timeout} seconds"
                raise EvaluationError(f"{request} took more than {seconds}, and was killed")
            raise WorkerError(
                f"a worker took more than {patience:g} seconds to start and take the task"
            )
    if not started:
        raise WorkerError(f"a worker ended {DEATHS} times before it had the task. {died}")
    raise EvaluationError(f"{request} ended its process {DEATHS} times. {died}")


def _get_or_start_process_of_thread(processes: list[Any], start: Start) -> Any:
    """This thread's process, which has one chunk at a time: one knows on which it died or hung."""
    if getattr(_THREAD, "initializer", None) != start.initializer:  # of a search before
        _end_process_of_thread()
    if not hasattr(_THREAD, "process"):
        import loky

        # As daemons, Dask's workers could have no processes.
        multiprocessing.current_process().daemon = False
        environment = {"JAX_PLATFORMS": "cpu", **make_one_thread_variables()}
        # loky would replace a process that grows by 300 MB, and the new one would have no task.
        environment["LOKY_MAX_MEMORY_LEAK_SIZE"] = "1e18"
        for name in CACHE:
            if (value := getattr(jax.config, name)) is not None:
                environment[name.upper()] = str(value)
        try:
            _THREAD.process = loky.ProcessPoolExecutor(
                1,
                env=environment,
                initializer=worker.set_up_process,
                initargs=(os.getpid(), start.log),
            )
            first = _THREAD.process.submit(worker.start_jax_and_initialize, start.initializer)
        except (OSError, ImportError) as error:
            raise WorkerError(
                f"no process can be started here ({error}). Processes need a /dev/shm that is "
                "writable and not full (in a container --shm-size=1g or --ipc=host); without "
                "workers the bits are the same"
            ) from error
        _THREAD.tasks, _THREAD.initializer = [], start.initializer
        processes.append(_THREAD.process)
        first.result(start.timeout and start.timeout + START)
    return _THREAD.process


def _end_process_of_thread() -> None:
    if hasattr(_THREAD, "process"):
        _THREAD.process.shutdown(kill_workers=True)
        del _THREAD.process
