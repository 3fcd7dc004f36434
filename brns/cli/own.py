"""The searches of a command line: the library's by name, a user's own as `module:object`."""

import dataclasses
import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brns.experiments import OPERATORS, changed, named
from brns.operators.founders import GivenFounders
from brns.runs import compilation_cache
from brns.runs.record import Record, records
from brns.search import NoveltySearch
from brns.settings import SettingsError, build, changes, configure, describe, settings, told
from brns.workers import Chunked, innermost


def search_of(experiment: str, estimator: str, changes: Sequence[str], founders: Path | None) -> NoveltySearch:
    """The search to run. Its founders may come from a file of NumPy, or be a run's last population."""
    search = own_search(experiment) if ":" in experiment else named(experiment, estimator)
    search = changed(search, changes)
    if founders is None:
        return search
    run = founders.is_dir()
    genotypes = Record(founders).population().genotype if run else np.load(founders, allow_pickle=False)
    return dataclasses.replace(search, founders=GivenFounders(genotypes))


def own_search(text: str) -> NoveltySearch:
    """The search that `module:object` names: a `NoveltySearch`, or a function without arguments that returns one."""
    found = own_object(text)
    if not isinstance(found, NoveltySearch):
        raise SettingsError(f"{text} must be or return a brns.NoveltySearch; got {type(found).__name__}")
    return found


def own_object(text: str) -> Any:
    """What `module:object` names; of a function or a class without arguments, what calling it gives.

    The module is imported from the current directory or wherever Python finds it. This runs its code.
    """
    module, _, name = text.partition(":")
    if not name or not module.replace(".", "").isidentifier():
        raise SettingsError(f"your own is named as Python imports it, such as my_task:search; got {text!r}")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        there = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise  # an import of the module itself
        raise SettingsError(f"there is no module {module!r} in {here} or where Python looks") from None
    if not hasattr(there, name):
        raise SettingsError(f"{there} has no {name!r}")
    found = getattr(there, name)
    if not callable(found):
        return found
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise SettingsError(f"{text} must be callable without arguments; calling it: {error}") from None
    return found()


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
        raise SettingsError(f"{record.path} was made by another search than --search gives: {differ}")
    return record


def _as_it_was(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with all that a command line can change set as the record has it: settings, operators, chunks."""
    experiment = record.experiment
    parts = {}
    for name in ("estimator", *OPERATORS):
        parts[name] = _part(getattr(search, name), experiment[name])
    task = _part(innermost(search.task), record.world)
    if experiment["task"]["name"] == "Chunked":
        executor = search.task.executor if isinstance(search.task, Chunked) else None
        task = Chunked(task, chunk=experiment["task"]["chunk"], executor=executor)
    return _with_settings(dataclasses.replace(search, task=task, **parts), experiment)


def _part(part: Any, description: dict[str, Any]) -> Any:
    """The part that is described: the one given, with its settings changed, or one of the library's."""
    if type(part).__name__ != description["name"] or isinstance(part, GivenFounders):
        return build(description)
    return _with_settings(part, description)


def _with_settings(part: Any, description: dict[str, Any]) -> Any:
    """The part with those plain settings changed that are described otherwise."""
    if not dataclasses.is_dataclass(part):
        return part
    plain = [setting.name for setting in settings(type(part)) if setting.name in description]
    was = {name: description[name] for name in plain}
    differing = {name: was[name] for name in plain if describe(getattr(part, name)) != was[name]}
    return configure(part, differing) if differing else part
