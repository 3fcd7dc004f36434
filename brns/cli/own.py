"""What is a user's own on the command line: searches, as `module:object`, and founders, as a file or a run."""

import dataclasses
import importlib
import inspect
import os
import sys
import sysconfig
import traceback
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np

from brns.experiments import OPERATORS
from brns.operators.founders import GivenFounders
from brns.runs.record import Record, records
from brns.search import NoveltySearch
from brns.settings import MODULES, SettingsError, build, configure, describe, renewed, settings
from brns.workers.chunks import InChunks, chunked_as, innermost

if TYPE_CHECKING:
    from types import ModuleType


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
    if callable(found):
        try:
            inspect.signature(found).bind()
        except TypeError as error:
            raise SettingsError(
                f"{text} must be a function without arguments, or a search; calling it: {error}"
            ) from None
        found = found()
    return found


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
    found = [record for directory in directories for record in records(directory)]
    given = [own_search(text) for text in searches or ()]
    if not given:
        return found
    told = [_knowing(record, given) for record in found]
    if not any(told):
        raise _other(found[0], given)
    for record, known in zip(found, told, strict=True):
        if known is None and record.known_search is None:
            raise _other(record, given)
    return [known or record for record, known in zip(found, told, strict=True)]


def _knowing(record: Record, given: Sequence[NoveltySearch]) -> Record | None:
    """The record with that of the searches which made it; None where none did, as where its parts are the library's."""
    for like in (_in_its_chunks, _with_its_settings):
        for search in given:
            whole = like(search, record)
            if describe(whole) in (record.experiment, renewed(record.experiment)):
                return Record(record.path, whole)
    return None


def _in_its_chunks(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with its task in the chunks of the run, which was started with workers, or in none."""
    return dataclasses.replace(search, task=chunked_as(search.task, record.experiment["task"]))


def _with_its_settings(search: NoveltySearch, record: Record) -> NoveltySearch:
    """The search with what else a command line changes of one: plain settings, operators, founders."""
    experiment = record.experiment
    try:
        found = dataclasses.replace(search, task=_set(innermost(search.task), record.world))
        for name in ("estimator", *OPERATORS):
            part, there = getattr(found, name), experiment[name]
            other = name in OPERATORS and there["name"] in MODULES and there["name"] != type(part).__name__
            part = build(there) if other or there["name"] == "GivenFounders" else _set(part, there)
            found = dataclasses.replace(found, **{name: part})
        found = _set(found, experiment)
        if isinstance(search.task, InChunks):  # its workers stay
            within = eqx.tree_at(lambda t: t.task, search.task, innermost(found.task))
            found = dataclasses.replace(found, task=within)
        return _in_its_chunks(found, record)
    except Exception:  # settings that the search's parts do not take: it is another's
        return search


def _set(part: Any, description: dict) -> Any:
    """The part with those of its plain settings changed that a description of its class has otherwise."""
    if not dataclasses.is_dataclass(part) or type(part).__name__ != description["name"]:
        return part
    plain = [setting.name for setting in settings(type(part)) if setting.name in description]
    changed = {name: description[name] for name in plain if describe(getattr(part, name)) != description[name]}
    return configure(part, changed) if changed else part


def _other(record: Record, given: Sequence[NoveltySearch]) -> SettingsError:
    return SettingsError(
        f"{record.path} was made by another search than --search gives: it was {_text(record.experiment)}; given were "
        + "; ".join(_text(describe(search)) for search in given)
    )


def in_own_code(error: BaseException) -> str:
    """The lines of the traceback from the first in a file of the user's own that the library called; or nothing."""
    ours = os.path.dirname(os.path.dirname(__file__))
    others = (ours, *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")), "<")
    frames = traceback.extract_tb(error.__traceback__)
    called = next((i for i, frame in enumerate(frames) if frame.filename.startswith(ours)), len(frames))
    theirs = [i for i in range(called, len(frames)) if not frames[i].filename.startswith(others)]
    return "".join(traceback.format_list(frames[theirs[0] :])).rstrip() if theirs else ""


def _imported(module: str) -> "ModuleType":
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
        if error.name != module.split(".")[0] and error.name != module:
            raise  # what the module itself lacks
        raise SettingsError(
            f"there is no module {module!r} to import; looked in {here} and where Python looks"
        ) from None


def _text(experiment: dict) -> str:
    return ", ".join(f"{name}={value}" for name, value in experiment.items() if name != "name")
