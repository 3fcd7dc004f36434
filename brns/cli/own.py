"""What is a user's own on the command line: searches, as `module:object`, and founders, as a file or a run."""

import dataclasses
import importlib
import inspect
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import numpy as np

from brns.cli.parallel import chunked_as
from brns.experiments import OPERATORS
from brns.operators.founders import GivenFounders
from brns.runs import compilation_cache
from brns.runs.record import Record, records
from brns.search import NoveltySearch
from brns.settings import MODULES, SettingsError, build, changes, configure, describe, settings, told
from brns.workers import Chunked, innermost


def own_search(text: str) -> NoveltySearch:
    """The search that `module:object` names: a `NoveltySearch`, or a function without arguments that returns one."""
    found = own_object(text)
    if not isinstance(found, NoveltySearch):
        raise SettingsError(
            f"{text} must be a brns.NoveltySearch or a function that returns one; got {type(found).__name__}"
        )
    return found


def own_object(text: str) -> Any:
    """What `module:object` names, or what it returns where it is a function or a class without arguments.

    The module is imported as Python does it, from the current directory on. This runs its code.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise SettingsError(f"a search of your own is module:object, such as my_task:search; got {text!r}")
    there = _imported(module)
    if name not in vars(there):
        raise SettingsError(f"module {module} ({getattr(there, '__file__', 'built into Python')}) has no {name!r}")
    found = vars(there)[name]
    if not callable(found):
        return found
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise SettingsError(f"{text} must be a function without arguments, or a search; calling it: {error}") from None
    return found()


def own_founders(path: Path) -> GivenFounders:
    """The founders that a file of NumPy holds, or the last population of the run in a directory."""
    if path.is_dir():
        runs = records(path)
        if len(runs) > 1:
            raise SettingsError(f"{path} holds {len(runs)} runs; name the folder of the one whose population to take")
        return GivenFounders(runs[0].population().genotype)
    try:
        return GivenFounders(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SettingsError(
            f"--founders takes a file of numpy.save, genotypes (n, p), or a run: {path}: {error}"
        ) from None


def records_of(directories: Sequence[Path], searches: Sequence[str] | None) -> list[Record]:
    """The runs in these directories; each knows that one of the searches given which made it."""
    compilation_cache.keep()
    found = [record for directory in directories for record in records(directory)]
    given = [own_search(text) for text in searches or ()]
    if not given:
        return found
    known = [_knowing(record, given) for record in found]
    for record, one in zip(found, known, strict=True):
        if one is None and (record.known_search is None or not any(known)):
            differ = told(changes(record.experiment, describe(given[0])))
            raise SettingsError(f"{record.path} was made by another search than --search gives: {differ}")
    return [one or record for record, one in zip(found, known, strict=True)]


def _knowing(record: Record, given: Sequence[NoveltySearch]) -> Record | None:
    """The record with that of the searches which made it; None where none did, as where its parts are the library's."""
    for search in given:
        try:
            whole = _as_it_was(search, record)
        except Exception:  # settings that the search's parts do not take: it is another's
            continue
        if describe(whole) == record.experiment:
            return Record(record.path, whole)
    return None


def _as_it_was(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with what else a command line changes of one: plain settings, operators, founders, chunks."""
    experiment, world = record.experiment, _set(innermost(search.task), record.world)
    task = eqx.tree_at(lambda t: t.task, search.task, world) if isinstance(search.task, Chunked) else world
    parts = {"estimator": _set(search.estimator, experiment["estimator"])}
    for name in OPERATORS:
        part, there = getattr(search, name), experiment[name]
        other = there["name"] in MODULES and there["name"] != type(part).__name__
        parts[name] = build(there) if other or there["name"] == "GivenFounders" else _set(part, there)
    found = dataclasses.replace(search, task=chunked_as(task, experiment["task"]), **parts)
    return _set(found, experiment)


def _set(part: Any, description: dict) -> Any:
    """The part with those of its plain settings changed that a description of its class has otherwise."""
    if not dataclasses.is_dataclass(part) or type(part).__name__ != description["name"]:
        return part
    plain = [setting.name for setting in settings(type(part)) if setting.name in description]
    changed = {name: description[name] for name in plain if describe(getattr(part, name)) != description[name]}
    return configure(part, changed) if changed else part


def _imported(module: str) -> ModuleType:
    if module.startswith(".") or os.sep in module or module.endswith(".py"):
        raise SettingsError(
            f"a module is named as Python imports it from its own folder, such as my_task:search; got {module!r}"
        )
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.split(".")[0]):
            raise  # what the module itself lacks
        raise SettingsError(
            f"there is no module {module!r} to import; looked in {here} and where Python looks"
        ) from None
