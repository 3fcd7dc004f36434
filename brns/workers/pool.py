"""A pool of worker processes: they are given the chunks of a batch, replaced when they die, killed when they hang."""

import collections
import pickle
import sys
import time
import weakref
from multiprocessing import connection

import numpy as np

from brns.core import Evaluation, Task
from brns.workers.chunks import ChunkFailed
from brns.workers.worker import Worker


class Pool:
    """Worker processes, started when first needed; they end with the pool, on `close()`, or with this process.

    A copy or a pickle of a pool is a new one.
    """

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.last: tuple[Task, bytes] | None = None
        weakref.finalize(self, _end, self.workers).atexit = False

    def __reduce__(self) -> tuple:
        return Pool, ()

    def close(self) -> None:
        _end(self.workers)

    def pickled(self, task: Task) -> bytes:
        """The task as bytes: the same object for the same task, so that a worker receives it once."""
        if self.last is None or self.last[0] is not task:
            self.last = task, portable(task)
        return self.last[1]

    def evaluate(
        self,
        task: bytes,
        chunks: list[np.ndarray],
        key: bytes,
        workers: int,
        timeout: float | None,
        deaths: int,
    ) -> list[Evaluation]:
        """Every chunk's evaluation, in order, by a pickled task with a pickled key; or `ChunkFailed`.

        A worker has one chunk at a time, so that it is known on which it died or hung. After an error no worker is
        left, so that none can bring a stale answer to the next batch.
        """
        waiting, done = collections.deque(range(len(chunks))), {}
        died: collections.Counter[int | None] = collections.Counter()
        try:
            _end(self.workers, [worker for worker in self.workers if not worker.process.is_alive()])
            while len(done) < len(chunks):
                while len(self.workers) < min(workers, len(chunks) - len(done)):
                    self.workers.append(Worker(timeout))
                for worker in self.workers:
                    if worker.started and worker.chunk is None and waiting:
                        i = waiting.popleft()
                        worker.give(task, i, chunks[i], key, timeout)
                for worker in self._ready():
                    i = worker.chunk
                    try:
                        answer = worker.hear()
                    except (EOFError, OSError):
                        worker.in_time()
                        code = _end(self.workers, [worker])
                        died[i] += 1
                        if died[i] >= deaths:
                            raise _given_up(i, deaths, code) from None
                        waiting.extendleft([] if i is None else [i])
                    else:
                        done |= {} if i is None else {i: answer}
                for worker in self.workers:
                    worker.in_time()
        except BaseException:
            self.close()
            raise
        return [done[i] for i in range(len(chunks))]

    def _ready(self) -> list[Worker]:
        """The workers that have something to say or are dead; waits a second at most, and until a deadline at most.

        A dead worker's pipe stays open while a process that it forked lives. So whether it lives is looked at too.
        """
        soonest = min(worker.deadline for worker in self.workers)
        wait = min(1.0, max(0.0, soonest - time.monotonic()) + 0.001)
        speaking = connection.wait([worker.pipe for worker in self.workers], wait)
        return [worker for worker in self.workers if worker.pipe in speaking or not worker.process.is_alive()]


def portable(task: Task) -> bytes:
    """A task as bytes for a worker, which imports what can be imported.

    Of what cannot, since it was typed into a notebook or is a lambda, the code goes along: for this cloudpickle is
    needed. It goes to our own workers through their pipes; nothing from a disk is ever unpickled.
    """
    reason = ""
    try:
        plain = pickle.dumps(task)
        # A worker imports the script that is run, but nobody can import a notebook.
        if b"__main__" not in plain or getattr(sys.modules["__main__"], "__file__", None):
            return plain
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        reason = f" ({error})"
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            f"{type(task).__name__} cannot be imported by a worker{reason}; put it into a module, or: "
            "pip install cloudpickle"
        ) from None
    return cloudpickle.dumps(task)


def _given_up(chunk: int | None, deaths: int, code: int | None) -> ChunkFailed:
    if chunk is None:
        return ChunkFailed(
            None,
            f"{deaths} worker processes ended while they started (exit code {code}). A script that evaluates in "
            'processes must start under `if __name__ == "__main__":`',
        )
    return ChunkFailed(
        chunk,
        f"ended its process {deaths} times (exit code {code}; -9 often means that memory ran out). Evaluate these "
        "individuals alone, without workers, to see why",
    )


def _end(workers: list[Worker], some: list[Worker] | None = None) -> int | None:
    """End these workers, by default all, and strike them off the list; the exit code of the last."""
    code = None
    for worker in list(workers if some is None else some):
        workers.remove(worker)
        code = worker.end()
    return code
