"""Evaluation spread over processes or a cluster: tasks that wrap a task and split the batch.

A batch is cut into chunks of `chunk` genotypes, and every chunk is evaluated by the wrapped task with the batch's own
key. A task's answer for a genotype depends on that genotype and the key alone (`brns.Task`, `brns.check_task`), so that
cutting changes no answer: a task without chance gives the same, a task that draws one world a generation from the key
gives all individuals the same world, and one that wants chance of its own for each individual folds the genotype into
the key (noise drawn by row number would repeat from chunk to chunk, and `check_task` refuses it).

`Chunked` does this in one process and says what the answer is. `Processes` and `Dask` give its bits with any number of
workers: what is evaluated together is settled by `chunk`, never by who is free. Only rounding can tell one `chunk` from
another, since compiled code and matrix products round by the shape of their batch; for that a record keeps `chunk`, and
nothing else of this page: a run goes on with other workers, or none, to the same bits.
"""

import abc
import atexit
import contextlib
import multiprocessing
import pickle
import threading
import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation, Task
from brns.runs.settings import SettingsError, describe
from brns.search import NoveltySearch
from brns.workers.pool import Pool, Trouble, evaluate

if TYPE_CHECKING:
    import distributed

T = TypeVar("T")


class EvaluationError(ValueError):
    """A task failed in a worker: the message names the task and the individuals, as rows of the batch from 0."""


class _Split(eqx.Module):
    """A task that wraps another and evaluates a batch `chunk` individuals at a time."""

    task: Task
    """the world"""
    chunk: int = eqx.field(default=4, kw_only=True)
    """individuals evaluated together; of a traceable task the last chunk is filled up, so that one shape is compiled"""

    traceable = False

    def __check_init__(self):
        _at_least_one(chunk=self.chunk)

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
    def _evaluations(self, batch: "_Batch", key: Key[Array, ""]) -> list[Evaluation]:
        """Every piece's evaluation, in order."""


class _Elsewhere(_Split):
    """The batch's pieces are evaluated by others, who end on `close()` or at the end of a `with` block."""

    timeout: float | None = eqx.field(default=None, kw_only=True)
    """seconds that a chunk may take, loading and compiling the task included; none waits for ever"""
    deaths: int = eqx.field(default=3, kw_only=True)
    """processes that may die on a chunk before the run gives up"""

    def __check_init__(self):
        _at_least_one(deaths=self.deaths)
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(
                f"timeout must be a positive number of seconds, or None to wait for ever; got {self.timeout}"
            )

    @abc.abstractmethod
    def close(self) -> None: ...

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def innermost(task: Task) -> Task:
    """The world itself: the task within `Chunked`, `Processes` and `Dask`, or the task where it is in none of them."""
    while isinstance(task, _Split):
        task = task.task
    return task


def _at_least_one(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be 1 or more; got {value}")


class Chunked(_Split):
    """A task evaluated `chunk` individuals at a time, in this process: the bits of `Processes` and `Dask`.

    A record made by those names this one, so that a run resumed without workers goes on to the same bits.
    """

    def _evaluations(self, batch: "_Batch", key: Key[Array, ""]) -> list[Evaluation]:
        return [evaluate(self.task, piece, key) for piece in batch.pieces]


class Processes(_Elsewhere):
    """A task evaluated in worker processes of this machine; works for every task that can be pickled.

    The workers are spawned, never forked, when they are first needed: a script must start under
    `if __name__ == "__main__":`, and a task must be importable, not typed into a session. In each of them XLA and BLAS
    use one core and no accelerator. They ignore Ctrl-C (which is for the search), and end with this object, on
    `close()`, at the end of a `with` block, or with this process, however it ends. A JAX task on one machine is mostly
    faster unwrapped, and one that uses all cores by itself, as `AntMaze` does, as fast.

    A worker that dies (memory, a crash in a simulator) is replaced and its chunk evaluated again. Errors:
    `EvaluationError`, which names the individuals, where the task raises, where a chunk takes longer than `timeout`
    (its worker is killed), and where `deaths` workers died on one chunk.
    """

    workers: int = 2
    """processes; their number changes no bit"""
    pool: Pool = eqx.field(default_factory=Pool, static=True, init=False, repr=False)

    def __check_init__(self):
        _at_least_one(workers=self.workers)

    def _evaluations(self, batch: "_Batch", key: Key[Array, ""]) -> list[Evaluation]:
        task, pickled_key = self.pool.pickled(self.task), pickle.dumps(key)
        try:
            return self.pool.evaluate(task, batch.pieces, pickled_key, self.workers, self.timeout, self.deaths)
        except Trouble as trouble:
            raise batch.error(trouble, trouble.piece) from None

    def close(self) -> None:
        """End the workers; the next evaluation starts new ones."""
        self.pool.close()


class Dask(_Elsewhere):
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
    cluster: "_Cluster" = eqx.field(default_factory=lambda: _Cluster(), static=True, init=False, repr=False)

    def _evaluations(self, batch: "_Batch", key: Key[Array, ""]) -> list[Evaluation]:
        return self.cluster.evaluate(self, batch, key)

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here; the next evaluation begins anew."""
        self.cluster.close()


@contextlib.contextmanager
def spread(
    search: NoveltySearch, workers: int | None = None, dask: str | None = None, timeout: float | None = None
) -> Generator[NoveltySearch, None, None]:
    """The experiment with its task evaluated by processes, or on the Dask cluster at an address, until the block ends.

    With neither it is left as it is. Of a `Chunked` task the chunks stay the same, and so do the bits.
    """
    if workers is not None and dask is not None:
        raise SettingsError("workers evaluate on this machine and dask on a cluster; give one of them")
    if workers is None and dask is None:
        if timeout is not None:
            raise SettingsError("a timeout is for evaluation by workers; give it with workers or dask")
        yield search
        return
    chunked = search.task if isinstance(search.task, Chunked) else Chunked(search.task)
    if workers is not None:
        task = Processes(chunked.task, workers, chunk=chunked.chunk, timeout=timeout)
    else:
        task = Dask(chunked.task, dask, chunk=chunked.chunk, timeout=timeout)
    with task:
        yield eqx.tree_at(lambda s: s.task, search, task)


@describe.register
def _(part: _Elsewhere) -> Any:
    return describe(Chunked(part.task, chunk=part.chunk))


class _Batch(NamedTuple):
    """A batch in pieces of `chunk` rows."""

    task: str
    pieces: list[np.ndarray]
    n: int
    chunk: int

    def join(self, evaluations: list[Evaluation]) -> Evaluation:
        columns = zip(*evaluations, strict=True)
        return Evaluation(*(jnp.asarray(np.concatenate(column)[: self.n]) for column in columns))

    def error(self, trouble: Trouble, piece: int | None) -> EvaluationError:
        if trouble.piece is None or piece is None:
            return EvaluationError(trouble.what)
        first, last = piece * self.chunk, min((piece + 1) * self.chunk, self.n) - 1
        rows = f"individual {first}" if first == last else f"individuals {first} to {last}"
        error = EvaluationError(f"{self.task}.evaluate of {rows} of {self.n} (rows from 0) {trouble.what}")
        if trouble.trace:
            error.add_note(f"In the worker:\n{trouble.trace}")
        return error


def _cut(task: Task, genotypes: Any, chunk: int) -> _Batch:
    genotypes = np.asarray(genotypes)
    pieces = [genotypes[i : i + chunk] for i in range(0, len(genotypes), chunk)]
    if task.traceable:
        pieces[-1] = np.pad(pieces[-1], ((0, chunk - len(pieces[-1])), (0, 0)), mode="edge")
    return _Batch(type(task).__name__, pieces, len(genotypes), chunk)


class _Cluster:
    """A `Dask`'s connection, opened when first needed, shared by its copies, closed with the last or with the process.

    A pickle of it is a new one.
    """

    def __init__(self) -> None:
        self.client: distributed.Client | None = None
        self.sent: tuple[Task, distributed.Future] | None = None
        self.opened = contextlib.ExitStack()
        weakref.finalize(self, self.opened.close).atexit = False

    def __reduce__(self) -> tuple:
        return _Cluster, ()

    def close(self) -> None:
        self.client = self.sent = None
        self.opened.close()

    def evaluate(self, how: Dask, batch: _Batch, key: Key[Array, ""]) -> list[Evaluation]:
        """Every piece's evaluation, in order."""
        client = self._connect(how.address)
        task, done = self._send(client, how.task), {}
        from distributed import as_completed

        futures = [
            client.submit(_evaluate_there, task, piece, pickle.dumps(key), how.timeout, how.deaths, pure=False)
            for piece in batch.pieces
        ]
        number = {future.key: i for i, future in enumerate(futures)}
        try:
            for future, answer in as_completed(futures, loop=client.loop, with_results=True, raise_errors=False):
                i = number[future.key]
                if future.status == "error":
                    answer = Trouble(i, f"was given up by the cluster: {answer[1]!r}")
                if isinstance(answer, Trouble):
                    raise batch.error(answer, i)
                if not isinstance(answer, Evaluation):
                    raise EvaluationError(f"the Dask cluster was lost ({answer!r}); go on with another by resuming")
                done[i] = answer
        finally:
            for future in futures:  # those that nobody waits for any more are not begun
                future.release()
        return [done[i] for i in range(len(batch.pieces))]

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
            client = self.opened.enter_context(distributed.Client(cluster, set_as_default=False))
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
    task: bytes, piece: np.ndarray, key: bytes, timeout: float | None, deaths: int
) -> Evaluation | Trouble:
    """Evaluate one piece in the process of this thread of a Dask worker."""
    multiprocessing.current_process().daemon = False  # as daemons, Dask's workers could have no processes
    try:
        return _THREAD.pool.evaluate(task, [piece], key, 1, timeout, deaths)[0]
    except Trouble as trouble:
        return trouble
