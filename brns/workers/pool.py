"""Worker processes: spawned, given pieces of a batch, replaced when they die, killed when they hang."""

import collections
import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Generator
from multiprocessing import connection
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Evaluation, Task
from brns.search import conform


class Trouble(Exception):
    """Why a piece of a batch has no evaluation; `piece` is None where no worker came as far as to receive one."""

    def __init__(self, piece: int | None, what: str, trace: str = ""):
        super().__init__(piece, what, trace)
        self.piece, self.what, self.trace = piece, what, trace


def evaluate(task: Task, genotypes: np.ndarray, key: Key[Array, ""]) -> Evaluation:
    """What a task says about one piece, checked while it is still known which piece it was."""
    ask = _compiled if task.traceable else _plain
    evaluation = conform(ask(task, jnp.asarray(genotypes), key), len(genotypes), task)
    return Evaluation(*(np.asarray(column) for column in evaluation))  # ty: ignore[invalid-argument-type]


def _plain(task: Task, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
    return task.evaluate(genotypes, key)


_compiled = eqx.filter_jit(_plain)


class Pool:
    """Worker processes, started when first needed; they end with the pool, on `close()`, or with this process.

    A copy or a pickle of a pool is a new one.
    """

    def __init__(self) -> None:
        self.workers: list[_Worker] = []
        self.last: tuple[Task, bytes] | None = None
        weakref.finalize(self, _end, self.workers).atexit = False

    def __reduce__(self) -> tuple:
        return Pool, ()

    def close(self) -> None:
        _end(self.workers)

    def pickled(self, task: Task) -> bytes:
        """The task as bytes: the same object for the same task, so that a worker receives it once."""
        if self.last is None or self.last[0] is not task:
            self.last = task, pickle.dumps(task)
        return self.last[1]

    def evaluate(
        self,
        task: bytes,
        pieces: list[np.ndarray],
        key: bytes,
        workers: int,
        timeout: float | None,
        deaths: int,
    ) -> list[Evaluation]:
        """Every piece's evaluation, in order, by a pickled task with a pickled key; or `Trouble`.

        A worker has one piece at a time, so that it is known on which it died or hung. After an error no worker is
        left, so that none can bring a stale answer to the next batch.
        """
        waiting, done = collections.deque(range(len(pieces))), {}
        died: collections.Counter[int | None] = collections.Counter()
        try:
            _end(self.workers, [worker for worker in self.workers if not worker.process.is_alive()])
            while len(done) < len(pieces):
                while len(self.workers) < min(workers, len(pieces) - len(done)):
                    self.workers.append(_Worker())
                for worker in self.workers:
                    if worker.started and worker.piece is None and waiting:
                        i = waiting.popleft()
                        worker.give(task, i, pieces[i], key, timeout)
                for worker in self._ready():
                    i = worker.piece
                    try:
                        answer = worker.hear()
                    except (EOFError, OSError):
                        code = _end(self.workers, [worker])
                        died[i] += 1
                        if died[i] >= deaths:
                            raise _given_up(i, deaths, code) from None
                        waiting.extendleft([] if i is None else [i])
                    else:
                        done |= {} if i is None else {i: answer}
                for worker in self.workers:
                    if time.monotonic() > worker.deadline:
                        raise Trouble(worker.piece, f"took more than timeout={timeout} seconds, and was killed")
        except BaseException:
            self.close()
            raise
        return [done[i] for i in range(len(pieces))]

    def _ready(self) -> "list[_Worker]":
        """The workers that have something to say or are dead; waits for the first, or until a deadline has passed."""
        soonest = min(worker.deadline for worker in self.workers)
        wait = None if soonest == math.inf else max(0.0, soonest - time.monotonic()) + 0.001
        pipes = connection.wait([worker.pipe for worker in self.workers], wait)
        return [worker for worker in self.workers if worker.pipe in pipes]


class _Worker:
    """A worker process, the pipe to it, and what it is doing."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork of a process that runs JAX's threads can hang
        self.pipe, there = spawn.Pipe()
        self.process = spawn.Process(target=_serve, args=(there,), daemon=True)  # ends with us
        with _environment():
            self.process.start()
        there.close()
        self.started = False
        self.task: bytes | None = None
        self.piece: int | None = None
        self.deadline = math.inf

    def give(self, task: bytes, i: int, piece: np.ndarray, key: bytes, timeout: float | None) -> None:
        self.piece, self.deadline = i, time.monotonic() + (timeout or math.inf)
        with contextlib.suppress(OSError):  # it has died, which `hear` will find
            self.pipe.send((None if task is self.task else task, piece, key))
        self.task = task

    def hear(self) -> Evaluation | None:
        """Its answer; None if it is that it has started. `EOFError` or `OSError` if it has died."""
        answer = self.pipe.recv()
        if self.piece is not None and not isinstance(answer, Evaluation):
            raise Trouble(self.piece, *answer)
        self.started, self.piece, self.deadline = True, None, math.inf
        return answer

    def end(self) -> int | None:
        """Kill the process if it still runs; its exit code."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


def _serve(pipe: connection.Connection) -> None:
    """A worker's life: it says that it is there, then answers piece after piece."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which finishes its generation
    multiprocessing.current_process().daemon = False  # a task may have processes of its own
    threading.Thread(target=_follow_parent, daemon=True).start()
    task: Any = None
    with contextlib.suppress(EOFError, OSError):  # the search has gone
        pipe.send(None)
        while True:
            pickled, genotypes, key = pipe.recv()
            try:
                task = task if pickled is None else pickle.loads(pickled)
                answer = evaluate(task, genotypes, pickle.loads(key))
            except Exception as error:
                answer = f"raised {type(error).__name__}: {error}", traceback.format_exc()
            pipe.send(answer)


def _follow_parent() -> None:
    """End with the search, even in the middle of a piece, and even if the search was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _given_up(piece: int | None, deaths: int, code: int | None) -> Trouble:
    if piece is None:
        return Trouble(
            None,
            f"{deaths} worker processes ended while they started (exit code {code}). A script that evaluates in "
            'processes must start under `if __name__ == "__main__":`',
        )
    return Trouble(
        piece,
        f"ended its process {deaths} times (exit code {code}; -9 often means that memory ran out). Evaluate these "
        "individuals alone, without workers, to see why",
    )


_ENVIRONMENT = threading.Lock()


@contextlib.contextmanager
def _environment() -> Generator[None]:
    """Processes that start meanwhile use one core each, and leave the accelerator to the search."""
    with _ENVIRONMENT:
        before = dict(os.environ)
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
        ours = {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "XLA_FLAGS": flags}
        os.environ.update(ours)
        try:
            yield
        finally:
            for name in ours:
                del os.environ[name]
            os.environ.update(before)


def _end(workers: list[_Worker], some: list[_Worker] | None = None) -> int | None:
    """End these workers, by default all, and strike them off the list; the exit code of the last."""
    code = None
    for worker in list(workers if some is None else some):
        workers.remove(worker)
        code = worker.end()
    return code
