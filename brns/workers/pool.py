"""A pool of worker processes: they are given the chunks of a batch, replaced when they die, killed when they hang."""

import collections
import pickle
import sys
import threading
import time
import weakref
from multiprocessing import connection

import numpy as np

from brns.core import Evaluation, Task
from brns.workers.chunks import ChunkFailed
from brns.workers.worker import Worker


class _Batch:
    """The chunks of one call, on their way."""

    def __init__(self, task: bytes, chunks: list[np.ndarray], key: bytes, timeout: float | None, deaths: int) -> None:
        self.task, self.chunks, self.key, self.timeout, self.deaths = task, chunks, key, timeout, deaths
        self.waiting = collections.deque(range(len(chunks)))
        self.done: dict[int, Evaluation] = {}
        self.died: collections.Counter[int | None] = collections.Counter()
        self.error: ChunkFailed | None = None
        self.told = threading.Event()
        """that it is finished, or that its caller serves the workers from now on"""

    @property
    def missing(self) -> int:
        return len(self.chunks) - len(self.done)

    @property
    def finished(self) -> bool:
        return self.error is not None or not self.missing


class Pool:
    """Worker processes, started when first needed; they end with the pool, on `close()`, or with this process.

    Several threads may call at once: all their chunks are in one queue. One of the callers serves the workers until its
    own chunks are done, and then the next one does. A copy or a pickle of a pool is a new one.
    """

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.last: tuple[Task, bytes] | None = None
        self.lock = threading.Lock()
        self.batches: list[_Batch] = []
        """of all who wait"""
        self.served_by: _Batch | None = None
        """the batch whose caller serves the workers, which nobody else touches meanwhile"""
        self.owner: dict[Worker, _Batch] = {}
        """whose chunk a worker has"""
        self.hears, self.pokes = connection.Pipe(duplex=False)
        """by which others wake who serves the workers"""
        weakref.finalize(self, _end, self.workers).atexit = False

    def __reduce__(self) -> tuple:
        return Pool, ()

    def close(self) -> None:
        """End the workers; who waits for them in another thread gets a `ChunkFailed`."""
        with self.lock:
            for batch in self.batches:
                if not batch.finished:
                    batch.error = ChunkFailed(None, "was stopped, since its workers were ended")
                    batch.told.set()
            if self.served_by is None:
                self._end_all()
            else:
                self.pokes.send_bytes(b"!")

    def pickled(self, task: Task) -> bytes:
        """The task as bytes: the same object for the same task, so that a worker receives it once."""
        with self.lock:
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
        left, so that none can bring a stale answer; what others wait for is evaluated again by new ones.
        """
        mine = _Batch(task, chunks, key, timeout, deaths)
        with self.lock:
            self.batches.append(mine)
            if self.served_by is None:
                self.served_by = mine
            else:
                self.pokes.send_bytes(b"!")
        try:
            if self.served_by is not mine:
                mine.told.wait()
            while not mine.finished:
                self._serve(mine, workers)
        except BaseException as error:
            mine.error = ChunkFailed(None, f"was stopped by {error!r}")
            raise
        finally:
            self._leave(mine)
        if mine.error is not None:
            raise mine.error
        return [mine.done[i] for i in range(len(chunks))]

    def _leave(self, mine: _Batch) -> None:
        """Wait no longer; where the workers were served by this caller, another takes that over."""
        with self.lock:
            self.batches.remove(mine)
            if self.served_by is not mine:
                return
            if mine.error is not None:
                self._end_all()
            self.served_by = next((batch for batch in self.batches if not batch.finished), None)
            if self.served_by is not None:
                self.served_by.told.set()

    def _serve(self, mine: _Batch, workers: int) -> None:
        """Once: give chunks to idle workers, those of the oldest batch first, and hear who has something to say."""
        with self.lock:
            batches = [batch for batch in self.batches if not batch.finished]
        _end(self.workers, [worker for worker in self.workers if worker.idle and not worker.process.is_alive()])
        while len(self.workers) < min(workers, sum(batch.missing for batch in batches)):
            self.workers.append(Worker(mine.timeout))
        for worker in self.workers:
            giver = next((batch for batch in batches if batch.waiting), None)
            if giver is not None and worker.idle:
                self.owner[worker], i = giver, giver.waiting.popleft()
                worker.give(giver.task, i, giver.chunks[i], giver.key, giver.timeout)
        for worker in self._ready():
            self._hear(worker, self.owner.get(worker, mine))
        for worker in list(self.workers):
            batch = self.owner.get(worker, mine)
            try:
                worker.in_time()
            except ChunkFailed as late:
                batch.error = late
                self._end_all()
                break
        if any(batch.error for batch in batches):
            self._end_all()
        for batch in batches:
            if batch.finished and batch is not mine:
                batch.told.set()

    def _hear(self, worker: Worker, batch: _Batch) -> None:
        """What a worker says of a chunk of the batch; or, if it has died, the chunk waits for another."""
        if batch.error is not None:  # what failed first is told
            return
        i = worker.chunk
        try:
            answer = worker.hear()
            if i is not None:
                batch.done[i] = answer  # ty: ignore[invalid-assignment]
        except ChunkFailed as failure:
            batch.error = failure
        except (EOFError, OSError):
            try:
                worker.in_time()
            except ChunkFailed as late:
                batch.error = late
                return
            code = _end(self.workers, [worker])
            batch.died[i] += 1
            if batch.died[i] >= batch.deaths:
                batch.error = _given_up(i, batch.deaths, code)
            elif i is not None:
                batch.waiting.appendleft(i)
        self.owner.pop(worker, None)

    def _end_all(self) -> None:
        """End the workers; the chunks that they had wait again."""
        _end(self.workers)
        self.owner.clear()
        for batch in self.batches:
            batch.waiting = collections.deque(i for i in range(len(batch.chunks)) if i not in batch.done)

    def _ready(self) -> list[Worker]:
        """The workers that have something to say or are dead; waits a second at most, and until a deadline at most.

        A dead worker's pipe stays open while a process that it forked lives. So whether it lives is looked at too.
        """
        soonest = min((worker.deadline for worker in self.workers), default=0.0)
        wait = min(1.0, max(0.0, soonest - time.monotonic()) + 0.001)
        speaking = connection.wait([self.hears, *(worker.pipe for worker in self.workers)], wait)
        while self.hears.poll():
            self.hears.recv_bytes()
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
