"""Tasks evaluated by workers: processes of this machine, or a Dask cluster."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brns.checks.parts import require_integer
from brns.core import Task
from brns.tasks.chunked import Chunked
from brns.tasks.processes import ProcessThreads, open_cluster, open_thread_pool
from brns.tasks.worker import EvaluationError as EvaluationError


class Processes(Chunked):
    """A task, pickled by cloudpickle and evaluated by `workers` processes of this machine.

    They are started anew, never forked, when first needed. Each uses one core and no accelerator.
    They end on `close()`, at the end of a `with` block, or with this process. A worker that dies is
    replaced and its chunk evaluated again.

    Args:
        task: what is evaluated.
        workers: how many processes.
        chunk: individuals evaluated together.
        timeout: seconds within which a chunk must be evaluated; starting a worker and importing the
            task's modules do not count. Leave a wide margin.
        failures: the share of a batch that may fail, as `Chunked` says.
        initializer: called once in every worker that starts, before it has a task: to set up
            logging, to import what registers environments.
        log: a file to which the workers' output is appended, `os.devnull` for none; by default it
            goes where the search's own goes, in a notebook into the cell.

    Raises:
        EvaluationError: by `evaluate`, for individuals for whom the task raises, takes longer than
            `timeout`, or ends two workers; with `failures`, where more fail than may.
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
        if log is not None and (os.path.isdir(log) or not os.path.isdir(Path(log).parent)):
            raise ValueError(f"log must be a file in a folder that is there; got {log!r}")
        open = functools.partial(open_thread_pool, require_integer("workers", workers))
        self.executor = ProcessThreads(open, "its processes", timeout, initializer, log)


class Dask(Chunked):
    """A task evaluated on the Dask cluster of the scheduler at `address`.

    Each thread of a Dask worker evaluates in a process of its own. Workers may join and leave at
    any time. `task`, `chunk`, `timeout`, `failures`, `initializer` and `log`, a file on each
    worker's machine, are those of `Processes`.

    Args:
        address: the scheduler's, such as `tcp://10.0.0.1:8786`.

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
        self.executor = ProcessThreads(open, name, timeout, initializer, log)
