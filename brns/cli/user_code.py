"""The searches of a command line: the library's by name, a user's own as `module:object`."""

import contextlib
import dataclasses
import inspect
import itertools
import pkgutil
import re
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from brns.cli.modules import enable_import_and_check_module
from brns.cli.screen import print_message
from brns.core import Task
from brns.experiments import make_search
from brns.experiments.overrides import apply_overrides
from brns.runs import compilation_cache
from brns.runs.files import RecordError
from brns.runs.provenance import read_sources
from brns.runs.record import Record, records
from brns.runs.store import list_run_or_child_runs
from brns.search import NoveltySearch
from brns.settings.description import part_from_json, part_to_json
from brns.settings.differences import follow_moved_paths, format_diff
from brns.settings.parts import RECOMMENDED, SettingsError, find_part
from brns.tasks.chunked import Chunked, has_chunks, rewrap_task, unwrap_task
from brns.tasks.workers import Dask, Processes


def make_default_out(
    experiment: str, estimator: str | None, changes: Sequence[str], seed: int, seeds: int
) -> Path:
    """Such as `runs/maze-counts-grids=256-seed0`, whatever the order of the changes."""
    names = [name.replace(":", "-") for name in (experiment, estimator) if name]
    for change in sorted(changes):
        setting, _, value = change.partition("=")
        name = _make_safe_file_name(setting.strip().rpartition(".")[2])
        names.append(f"{name}={_make_safe_file_name(value)}")
    names.append(f"seeds{seed}-{seed + seeds - 1}" if seeds > 1 else f"seed{seed}")
    return Path("runs") / "-".join(names)


def _make_safe_file_name(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", text, flags=re.ASCII).strip("_")


def make_search_from(
    experiment: str, estimator: str | None, changes: Sequence[str]
) -> NoveltySearch:
    """The search to run."""
    if ":" in experiment:
        search = load_or_make_user_search(experiment, estimator)
    else:
        search = make_search(experiment, estimator or RECOMMENDED)
    return apply_overrides(search, changes)


def load_or_make_user_search(text: str, estimator: str | None = None) -> NoveltySearch:
    """The search that `module:object` names, or one of the task that it names."""
    target = load_object_and_call(text)
    if isinstance(target, Task):
        novelty = find_part("--estimator", estimator or RECOMMENDED, "estimator", "preset")
        return NoveltySearch(target, novelty.load()())
    if not isinstance(target, NoveltySearch):
        kind = type(target).__name__
        raise SettingsError(f"{text} must be or return a task or a brns.NoveltySearch; got {kind}")
    if estimator is not None:
        raise SettingsError(f"{text} has an estimator of its own; leave --estimator out")
    return target


def load_object_and_call(text: str) -> Any:
    """What `module:object` names, of which the code is run; of a function or class its result."""
    enable_import_and_check_module(text)
    try:
        target = pkgutil.resolve_name(text)
    except AttributeError as error:
        raise SettingsError(f"{text}: {error}") from error
    if not callable(target):
        return target
    try:
        inspect.signature(target).bind()
    except TypeError as error:
        raise SettingsError(f"{text} must be callable without arguments: {error}") from None
    return target()


@contextlib.contextmanager
def open_workers(
    search: NoveltySearch,
    workers: str | None,
    timeout: float | None,
    failures: float | None,
    log: Path | None,
) -> Generator[NoveltySearch, None, None]:
    """The search, evaluated until the block ends by the workers asked for, or else here."""
    for option, value in {"--timeout": timeout, "--worker-log": log}.items():
        if workers is None and value is not None:
            raise SettingsError(f"{option} goes with --workers")
    if workers is None and failures is None:
        yield search
        return
    task, settings = unwrap_task(search.task), _get_chunk_settings(search.task)
    settings["chunk"] = settings["chunk"] or (Chunked.chunk if workers else None)
    options = {"failures": failures, "timeout": timeout}
    settings |= {name: value for name, value in options.items() if value is not None}
    executor = settings.pop("executor")
    if workers is None:
        parallel = contextlib.nullcontext(Chunked(task, executor=executor, **settings))
    elif workers.isdecimal() and int(workers):
        parallel = Processes(task, int(workers), log=log, **settings)
    elif ":" in workers:
        parallel = Dask(task, workers, log=log, **settings)
    else:
        takes = "a number of processes, or the address of a scheduler"
        raise SettingsError(f"--workers takes {takes}; got {workers}")
    with parallel as wrapper:
        yield dataclasses.replace(search, task=wrapper)


def _get_chunk_settings(task: Task) -> dict[str, Any]:
    """How a task is evaluated: the settings of its `Chunked`, or those that change nothing."""
    if not isinstance(task, Chunked):
        return {"chunk": None, "executor": None, "failures": 0.0, "timeout": None}
    names = ("chunk", "executor", "failures", "timeout")
    return {name: getattr(task, name) for name in names}


@contextlib.contextmanager
def add_resume_command_to_errors(out: Path, searches: Sequence[str] = ()) -> Generator[None]:
    """Within the block an interrupt, or an error of the task, names the command that goes on."""
    words = ["brns", "resume", str(out)]
    for text in searches:
        words += ["--search", text]
    command = shlex.join(words)
    try:
        yield
    except RecordError:
        raise
    except Exception as error:
        if list_run_or_child_runs(out):
            note = "Finished generations are saved. Once this is mended, go on with"
            error.add_note(f"{note}: {command}")
        raise
    except KeyboardInterrupt:
        message = "Stopped before anything was saved; run the command again."
        if list_run_or_child_runs(out):
            message = f"Stopped; all finished generations are saved. Go on with: {command}"
        raise KeyboardInterrupt(message) from None


def load_records(directories: Sequence[Path], searches: Sequence[str] | None) -> list[Record]:
    """The runs in these directories, with those of the searches given that made them."""
    compilation_cache.enable_compilation_cache()
    given = [load_or_make_user_search(text) for text in searches or ()]
    opened = itertools.chain.from_iterable(map(records, directories))
    return [_reopen_with_search(record, given) for record in opened]


def load_first_record(directory: Path, searches: Sequence[str] | None) -> Record:
    """The run in a directory; of several the first, and a word that it is."""
    record, *others = load_records([directory], searches)
    if others:
        number = 1 + len(others)
        print_message(f"{directory} holds {number} runs; this is the first, seed {record.seed}.")
    return record


def _reopen_with_search(record: Record, searches: Sequence[NoveltySearch]) -> Record:
    """The record with the search that made it, if that is among those given."""
    for search in searches:
        try:
            return Record(record.path, _apply_recorded_settings(search, record))
        except Exception:  # another experiment, or settings that the search's parts do not have
            continue
    if searches and record.search_or_none is None:
        differ = format_diff(record.find_different_settings(searches[0]))
        raise SettingsError(f"{record.path} was made by another search than --search: {differ}")
    return record


def _apply_recorded_settings(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with all that a command line can change as the record has it."""
    described, wrapper = record.experiment["task"], search.task
    task = unwrap_task(wrapper)
    if described["name"] == "Chunked":
        how = _get_chunk_settings(wrapper) | {"chunk": described["chunk"]}
        wrapper = task = Chunked(task, **how)
    elif has_chunks(wrapper):
        wrapper = task  # it was no run in chunks
    search = dataclasses.replace(search, task=task)
    folders = read_sources(search).folders
    settings = follow_moved_paths(record.experiment, part_to_json(search), folders)
    search = part_from_json(settings, search)
    if wrapper is task:
        return search
    return dataclasses.replace(search, task=rewrap_task(wrapper, search.task))
