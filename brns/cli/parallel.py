"""The task of a search evaluated by processes or a Dask cluster, as a command line asks for it."""

import contextlib
from collections.abc import Generator
from typing import Any

import equinox as eqx

from brns.search import NoveltySearch
from brns.settings import SettingsError
from brns.workers import Chunked, Dask, Processes, innermost


@contextlib.contextmanager
def in_parallel(
    search: NoveltySearch, workers: int | None, dask: str | None, timeout: float | None
) -> Generator[NoveltySearch, None, None]:
    """The search with its task evaluated by workers until the block ends; unchanged where none are asked for.

    A task in chunks keeps its chunk size, so that the bits stay the same.
    """
    if workers is None and dask is None and timeout is None:
        yield search
        return
    if (workers is None) == (dask is None):
        raise SettingsError("give --workers or --dask, one of them; a timeout goes with either")
    chunk = search.task.chunk if isinstance(search.task, Chunked) else Chunked.chunk
    settings: dict[str, Any] = {"chunk": chunk, "timeout": timeout}
    world = innermost(search.task)
    with Processes(world, workers, **settings) if workers else Dask(world, dask or "", **settings) as task:
        yield eqx.tree_at(lambda s: s.task, search, task)
