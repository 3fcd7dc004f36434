"""The searches of a command line: the library's by name, a user's own as `module:object`."""

import contextlib
import dataclasses
import inspect
import pkgutil
import re
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx

from brns.cli.modules import find_module
from brns.core import Task
from brns.experiments import changed, named
from brns.runs import compilation_cache
from brns.runs.paths import holds_runs
from brns.runs.record import Record, records
from brns.runs.storage import RecordError
from brns.search import NoveltySearch
from brns.settings import RECOMMENDED, SettingsError, build, changes, chosen, describe, told
from brns.tasks.workers import Chunked, Dask, Processes, innermost


def default_place(
    experiment: str, estimator: str | None, changes: Sequence[str], seed: int, seeds: int
) -> Path:
    """Such as `runs/maze-counts-grids=256-seed0`, whatever the order of the changes."""
    names = [name.replace(":", "-") for name in (experiment, estimator) if name]
    for change in sorted(changes):
        setting, _, value = change.partition("=")
        names.append(f"{_plain(setting.strip().rpartition('.')[2])}={_plain(value)}")
    names.append(f"seeds{seed}-{seed + seeds - 1}" if seeds > 1 else f"seed{seed}")
    return Path("runs") / "-".join(names)


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", text, flags=re.ASCII).strip("_")


def search_of(experiment: str, estimator: str | None, changes: Sequence[str]) -> NoveltySearch:
    """The search to run."""
    own = ":" in experiment
    search = (
        own_search(experiment, estimator) if own else named(experiment, estimator or RECOMMENDED)
    )
    return changed(search, changes)


def own_search(text: str, estimator: str | None = None) -> NoveltySearch:
    """The search that `module:object` names, or one of the task that it names, with the estimator of this name."""
    found = own_object(text)
    if isinstance(found, Task):
        novelty = chosen("--estimator", estimator or RECOMMENDED, "estimator", "preset")
        return NoveltySearch(found, novelty.load()())
    if not isinstance(found, NoveltySearch):
        raise SettingsError(
            f"{text} must be or return a task or a brns.NoveltySearch; got {type(found).__name__}"
        )
    if estimator is not None:
        raise SettingsError(f"{text} has an estimator of its own; leave --estimator out")
    return found


def own_object(text: str) -> Any:
    """What `module:object` names; of a function or a class without arguments, what calling it gives.

    The module is imported from the current directory or wherever Python finds it. This runs its code.
    """
    find_module(text)
    try:
        found = pkgutil.resolve_name(text)
    except AttributeError as error:
        raise SettingsError(f"{text}: {error}") from error
    if not callable(found):
        return found
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise SettingsError(
            f"{text} must be callable without arguments; calling it: {error}"
        ) from None
    return found()


@contextlib.contextmanager
def in_parallel(
    search: NoveltySearch,
    workers: str | None,
    timeout: float | None,
    failures: float | None,
    log: Path | None,
) -> Generator[NoveltySearch, None, None]:
    """The search with its task evaluated by workers until the block ends, if any are asked for.

    With `failures` alone it is evaluated here, and goes on without individuals that fail.
    """
    for option, value in {"--timeout": timeout, "--worker-log": log}.items():
        if workers is None and value is not None:
            raise SettingsError(f"{option} goes with --workers")
    if workers is None and failures is None:
        yield search
        return
    # A task in chunks keeps its chunk size, so that the bits stay the same.
    chunked = isinstance(search.task, Chunked)
    world = innermost(search.task)
    if workers is None:
        chunk = search.task.chunk if chunked else None
        alone = Chunked(world, chunk=chunk, failures=failures or 0.0)
        yield eqx.tree_at(lambda s: s.task, search, alone)
        return
    settings: dict[str, Any] = {
        "chunk": search.task.chunk if chunked else Chunked.chunk,
        "timeout": timeout,
        "failures": failures or 0.0,
        "log": log,
    }
    if workers.isdecimal() and int(workers):
        made = Processes(world, int(workers), **settings)
    elif ":" in workers:
        made = Dask(world, workers, **settings)
    else:
        raise SettingsError(
            f"--workers takes a number of processes, or the address of a scheduler; got {workers}"
        )
    with made as task:
        yield eqx.tree_at(lambda s: s.task, search, task)


@contextlib.contextmanager
def resumable(out: Path, own: Sequence[str] = ()) -> Generator[None, None, None]:
    """Within the block a `KeyboardInterrupt`, or an error of the task, names the command that goes on.

    `out` is the run's directory, `own` are the user's searches that it needs, as `module:object`.
    """
    words = ["brns", "resume", str(out)]
    for text in own:
        words += ["--search", text]
    try:
        yield
    except RecordError:
        raise
    except Exception as error:
        if holds_runs(out):
            error.add_note(
                f"Finished generations are saved. Once this is mended, go on with: {shlex.join(words)}"
            )
        raise
    except KeyboardInterrupt:
        if not holds_runs(out):
            raise KeyboardInterrupt(
                "Stopped before anything was saved; run the command again."
            ) from None
        told = f"Stopped; all finished generations are saved. Go on with: {shlex.join(words)}"
        raise KeyboardInterrupt(told) from None


def records_of(directories: Sequence[Path], searches: Sequence[str] | None) -> list[Record]:
    """The runs in these directories; those with a user's own parts with the search given that made them."""
    compilation_cache.keep()
    given = [own_search(text) for text in searches or ()]
    return [_known(record, given) for directory in directories for record in records(directory)]


def _known(record: Record, given: Sequence[NoveltySearch]) -> Record:
    """The record with the search that made it, if that is among those given."""
    for search in given:
        try:
            return Record(record.path, _as_it_was(search, record))
        except Exception:  # another experiment, or settings that the search's parts do not have
            continue
    if given and record.known_search is None:
        differ = told(changes(record.experiment, describe(given[0])))
        raise SettingsError(
            f"{record.path} was made by another search than --search gives: {differ}"
        )
    return record


def _as_it_was(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with all that a command line can change as the record has it: settings, operators, chunks."""
    described = record.experiment["task"]
    task = build(record.world, innermost(search.task))
    if described["name"] == "Chunked":
        executor = search.task.executor if isinstance(search.task, Chunked) else None
        task = Chunked(task, chunk=described["chunk"], executor=executor)
    return build(record.experiment, dataclasses.replace(search, task=task))
