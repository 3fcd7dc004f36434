"""A search whose task is evaluated in parallel, as a command line asks for it."""

import contextlib
from collections.abc import Generator

import equinox as eqx

from brns.search import NoveltySearch
from brns.settings import SettingsError
from brns.workers.chunks import ByWorkers, Chunked, InChunks, innermost
from brns.workers.dask import Dask
from brns.workers.processes import Processes


@contextlib.contextmanager
def in_parallel(
    search: NoveltySearch, workers: int | None = None, dask: str | None = None, timeout: float | None = None
) -> Generator[NoveltySearch, None, None]:
    """The search with its task evaluated by processes, or on the Dask cluster at an address, until the block ends.

    With neither it is left as it is. Of a task in chunks the chunks stay the same, and so do the bits.
    """
    if workers is not None and dask is not None:
        raise SettingsError("workers evaluate on this machine and dask on a cluster; give one of them")
    if workers is None and dask is None:
        if timeout is not None:
            raise SettingsError("a timeout is for evaluation by workers; give it with workers or dask")
        yield search
        return
    chunk = search.task.chunk if isinstance(search.task, InChunks) else Chunked(search.task).chunk
    world = innermost(search.task)
    if dask == "":
        raise SettingsError("dask must be the address of a cluster, such as tcp://10.0.0.1:8786; got an empty text")
    deaths = ByWorkers.deaths
    if isinstance(search.task, ByWorkers):  # what an own search says of its workers holds for these
        deaths, timeout = search.task.deaths, search.task.timeout if timeout is None else timeout
    if workers is not None:
        task = Processes(world, workers, chunk=chunk, timeout=timeout, deaths=deaths)
    else:
        task = Dask(world, dask, chunk=chunk, timeout=timeout, deaths=deaths)
    with task:
        yield eqx.tree_at(lambda s: s.task, search, task)
