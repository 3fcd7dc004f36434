"""Evaluation on a Dask cluster."""

import atexit
import contextlib
import multiprocessing
import pickle
import threading
import time
import weakref
from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Key

from brns.core import Evaluation, Task
from brns.workers.chunks import Batch, ByWorkers, ChunkFailed, EvaluationError
from brns.workers.pool import Pool

if TYPE_CHECKING:
    import distributed


ANSWERS = 4.0
"""seconds within which a scheduler answers, or is taken not to be there"""


class Dask(ByWorkers):
    """A task evaluated on a Dask cluster: at `address`, or on one that is started here with a worker for each core.

    Needs the extra `dask`. A Dask worker hands its chunks to processes, one for each of its threads, as `Processes`
    would: a chunk that ends its process or hangs harms no other, and `timeout` and `deaths` mean the same. The workers
    must have brns and be able to import the task's module. Workers may join and leave at any time; the scheduler gives
    the chunks of a lost one to another.

    Errors: those of `Processes`; `EvaluationError` also where no scheduler answers, where the cluster is lost, and
    where one chunk's Dask workers were lost more often than the scheduler's `distributed.scheduler.allowed-failures`
    (3); `ImportError` without the extra.
    """

    address: str | None = None
    """the scheduler's, such as `tcp://10.0.0.1:8786`; none starts a cluster on this machine"""
    cluster: "_Connection" = eqx.field(default_factory=lambda: _Connection(), static=True, init=False, repr=False)

    def _evaluations(self, batch: Batch, key: Key[Array, ""]) -> list[Evaluation]:
        return self.cluster.evaluate(self, batch, key)

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here; the next evaluation begins anew."""
        self.cluster.close()


class _Connection:
    """A `Dask`'s connection, opened when first needed, shared by its copies, closed with the last or with the process.

    A pickle of it is a new one.
    """

    def __init__(self) -> None:
        self.client: distributed.Client | None = None
        self.sent: tuple[Task, distributed.Future] | None = None
        self.lock = threading.Lock()
        self.running: dict[int, list[distributed.Future]] = {}
        """the chunks of all who wait, by their thread: the scheduler's queue is one for all of them"""
        self.opened = contextlib.ExitStack()
        weakref.finalize(self, self.opened.close).atexit = False

    def __reduce__(self) -> tuple:
        return _Connection, ()

    def close(self) -> None:
        """Leave; who waits in another thread gets an `EvaluationError`."""
        with self.lock:
            client, self.client, self.sent = self.client, None, None
        if client is not None:
            client.cancel([future for futures in list(self.running.values()) for future in futures])
        patience = time.monotonic() + 5
        while self.running and time.monotonic() < patience:  # they need the connection to learn of it
            time.sleep(0.01)
        self.opened.close()

    def evaluate(self, dask: Dask, batch: Batch, key: Key[Array, ""]) -> list[Evaluation]:
        """Every chunk's evaluation, in order."""
        with self.lock:
            client = self._connect(dask.address)
            task, done = self._send(client, dask.task), {}
            from distributed import as_completed

            futures = self.running[threading.get_ident()] = [
                client.submit(_evaluate_there, task, chunk, pickle.dumps(key), dask.timeout, dask.deaths, pure=False)
                for chunk in batch.chunks
            ]
        number = {future.key: i for i, future in enumerate(futures)}
        try:
            for future, answer in as_completed(futures, loop=client.loop, with_results=True, raise_errors=False):
                i = number[future.key]
                if future.status == "error":
                    answer = ChunkFailed(i, f"was given up by the cluster: {answer[1]!r}")
                if isinstance(answer, ChunkFailed):
                    raise batch.error(answer, i)
                if not isinstance(answer, Evaluation):
                    raise EvaluationError(f"the Dask cluster was lost ({answer!r}); go on with another by resuming")
                done[i] = answer
        finally:
            del self.running[threading.get_ident()]
            for future in futures:  # those that nobody waits for any more are not begun
                future.release()
        return [done[i] for i in range(len(batch.chunks))]

    def _connect(self, address: str | None) -> "distributed.Client":
        try:
            import distributed
        except ImportError:
            raise ImportError("evaluation on a Dask cluster needs the extra dask: pip install 'brns[dask]'") from None
        if self.client is not None:
            return self.client
        atexit.register(self.opened.close)  # now, so that it comes before what Dask does at exit
        cluster = address or self.opened.enter_context(
            distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        )
        try:
            client = self.opened.enter_context(distributed.Client(cluster, timeout=ANSWERS, set_as_default=False))
        except (OSError, ValueError) as error:
            raise EvaluationError(
                f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`, and give the "
                "address that it prints"
            ) from None
        self.client = client
        return client

    def _send(self, client: "distributed.Client", task: Task) -> "distributed.Future":
        """The pickled task on the cluster, once: a computation, so that the scheduler makes it again if it is lost."""
        import cloudpickle  # comes with distributed, and carries classes of scripts and notebooks as well

        if self.sent is None or self.sent[0] is not task:
            self.sent = task, client.submit(bytes, cloudpickle.dumps(task), pure=False)
            self.opened.callback(self.sent[1].release)
        return self.sent[1]


class _Thread(threading.local):
    """The process that belongs to a thread of a Dask worker."""

    def __init__(self) -> None:
        self.pool = Pool()


_THREAD = _Thread()


def _evaluate_there(
    task: bytes, chunk: np.ndarray, key: bytes, timeout: float | None, deaths: int
) -> Evaluation | ChunkFailed:
    """Evaluate one chunk in the process of this thread of a Dask worker."""
    multiprocessing.current_process().daemon = False  # as daemons, Dask's workers could have no processes
    try:
        return _THREAD.pool.evaluate(task, [chunk], key, 1, timeout, deaths)[0]
    except ChunkFailed as failure:
        return failure
