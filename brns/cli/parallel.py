"""A search whose task is evaluated in parallel, as a command line asks for it."""

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

import equinox as eqx

from brns.core import Task
from brns.search import NoveltySearch
from brns.settings import SettingsError
from brns.workers import Apart, Chunked, Dask, Processes, innermost


@contextlib.contextmanager
def in_parallel(
    search: NoveltySearch, workers: int | None = None, dask: str | None = None, timeout: float | None = None
) -> Generator[NoveltySearch, None, None]:
    """The search with its task evaluated by processes, or on the Dask cluster at an address, until the block ends.

    With neither it is left as it is. Of a task in chunks the chunks stay the same, and so do the bits.
    """
    if workers is None and dask is None and timeout is None:
        yield search
        return
    if dask == "" or (workers is None) == (dask is None):
        raise SettingsError("give workers or the address of a Dask cluster, one of them; a timeout goes with either")
    own = search.task if isinstance(search.task, Chunked) else Chunked(search.task)
    told: dict[str, Any] = {"chunk": own.chunk, "timeout": timeout}
    if isinstance(own.executor, Apart):  # what an own search says of its workers holds for these
        told |= {"timeout": timeout or own.executor.timeout, "deaths": own.executor.deaths}
    world = innermost(own)
    with Dask(world, dask, **told) if workers is None else Processes(world, workers, **told) as task:
        yield eqx.tree_at(lambda s: s.task, search, task)


def chunked_as(task: Task, description: Mapping[str, Any]) -> Task:
    """The task in the chunks in which a record describes one, by its own workers if it has them; else as it is."""
    if description["name"] != "Chunked" or (isinstance(task, Chunked) and task.chunk == description["chunk"]):
        return task
    return Chunked(innermost(task), chunk=description["chunk"])
