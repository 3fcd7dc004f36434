"""Tasks evaluated by workers: processes of this machine, or a Dask cluster."""

import functools
import os
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import equinox as eqx

from brns.checks.parts import require_integer
from brns.tasks.chunked import Chunked
from brns.tasks.processes import ProcessThreads, open_cluster, open_thread_pool
from brns.tasks.worker import EvaluationError as EvaluationError


class Processes(Chunked):
    """A task, pickled by cloudpickle and evaluated by `workers` processes of this machine.

    They are started anew, never forked, when first needed. Each uses one core and no accelerator.
    They end on `close()`, at the end of a `with` block, or with this process. A worker that dies is
    replaced and its chunk evaluated again. `timeout` is for each chunk, without the start of a
    worker and the import of the task's modules. Leave a wide margin.

    Raises:
        EvaluationError: by `evaluate`, for individuals for whom the task raises, takes longer than
            `timeout`, or ends two workers; with `failures`, where more fail than may.
    """

    workers: int = eqx.field(default=2, static=True)
    """how many processes"""
    initializer: Callable[[], Any] | None = eqx.field(default=None, kw_only=True, static=True)
    """called once in every worker that starts, before it has a task: to set up logging, to import
    what registers environments"""
    log: str | os.PathLike | None = eqx.field(default=None, kw_only=True, static=True)
    """a file to which the workers' output is appended, `os.devnull` for none; by default it goes
    where the search's own goes, in a notebook into the cell"""
    executor: Executor | None = eqx.field(init=False, static=True)
    """these processes"""

    def __post_init__(self):
        open = functools.partial(open_thread_pool, require_integer("workers", self.workers))
        log = self.log
        if log is not None and (os.path.isdir(log) or not os.path.isdir(Path(log).parent)):
            raise ValueError(f"log must be a file in a folder that is there; got {log!r}")
        self.executor = ProcessThreads(open, "its processes", self.timeout, self.initializer, log)


class Dask(Chunked):
    """A task evaluated on the Dask cluster of the scheduler at `address`.

    Each thread of a Dask worker evaluates in a process of its own. Workers may join and leave at
    any time. `timeout`, `initializer` and `log`, a file on each worker's machine, are those of
    `Processes`.

    Raises:
        EvaluationError: by `evaluate`, as in `Processes`, and where the cluster is lost.
        OSError: where no scheduler answers, or has no worker for ten minutes.
        ImportError: without the extra `dask`.
    """

    address: str = eqx.field(static=True)
    """the scheduler's, such as `tcp://10.0.0.1:8786`"""
    initializer: Callable[[], Any] | None = eqx.field(default=None, kw_only=True, static=True)
    log: str | os.PathLike | None = eqx.field(default=None, kw_only=True, static=True)
    executor: Executor | None = eqx.field(init=False, static=True)
    """the cluster"""

    def __post_init__(self):
        address = self.address
        if not isinstance(address, str):
            raise ValueError(
                "address must be that of a scheduler, such as 'tcp://10.0.0.1:8786' or "
                f"cluster.scheduler_address; got {address!r:.80}"
            )
        name = (
            f"the Dask cluster at {address} (if it is gone, start one and go on with brns.resume, "
            "or brns resume with --workers and its address; if a module is missing there, put its "
            "folder on the PYTHONPATH of the workers)"
        )
        open = functools.partial(open_cluster, address)
        self.executor = ProcessThreads(open, name, self.timeout, self.initializer, self.log)
