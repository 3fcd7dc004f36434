"""Evaluation by worker processes of this machine."""

import pickle

import equinox as eqx
from jaxtyping import Array, Key

from brns.core import Evaluation
from brns.workers.chunks import Batch, ByWorkers, ChunkFailed, at_least_one
from brns.workers.pool import Pool


class Processes(ByWorkers):
    """A task evaluated in worker processes of this machine; works for every task that can be pickled.

    The workers are spawned, never forked, when they are first needed: a script must start under
    `if __name__ == "__main__":`. Classes and functions of a notebook or a session go to them by cloudpickle, which the
    extras `gymnasium`, `ant` and `dask` bring. In each worker XLA and BLAS use one core and no accelerator. They ignore
    Ctrl-C (which is for the search), and end with this object, on `close()`, at the end of a `with` block, or with this
    process, however it ends. A JAX task on one machine is mostly faster unwrapped, and one that uses all cores by
    itself, as `AntMaze` does, as fast.

    A worker that dies (memory, a crash in a simulator) is replaced and its chunk evaluated again. Errors:
    `EvaluationError`, which names the individuals, where the task raises, where a chunk takes longer than `timeout`
    (its worker is killed), and where `deaths` workers died on one chunk.
    """

    workers: int = 2
    """processes; their number changes no bit"""
    pool: Pool = eqx.field(default_factory=Pool, static=True, init=False, repr=False)

    def __check_init__(self):
        at_least_one(workers=self.workers)

    def _evaluations(self, batch: Batch, key: Key[Array, ""]) -> list[Evaluation]:
        task, pickled_key = self.pool.pickled(self.task), pickle.dumps(key)
        try:
            return self.pool.evaluate(task, batch.chunks, pickled_key, self.workers, self.timeout, self.deaths)
        except ChunkFailed as failure:
            raise batch.error(failure, failure.chunk) from None

    def close(self) -> None:
        """End the workers; the next evaluation starts new ones."""
        self.pool.close()
