"""What of a user's code was edited since a run was begun, or is other code in a worker.

Values that evaluations change, such as counters and caches, are no edits.
"""

import collections
import contextlib
import difflib
import sys
import weakref
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import jax

from brns.settings.code import (
    extract_digest_lines,
    is_constant_of_module,
    normalize_source,
)
from brns.settings.description import descriptions_equal, part_to_json
from brns.settings.sources import UserCode

SHOWN = 30
"""lines of a difference"""
_CHANGED: set[str] = set()
"""names of what evaluations of this process changed: counters, caches, logs"""
CHANGED_SETTINGS: dict[type, set[str]] = collections.defaultdict(set)
"""the same of the settings of tasks of a class"""
_USED: dict[str, str] = {}
"""the code that this process used last: name to text"""
_OBJECTS: dict[int, tuple[weakref.ref, Any]] = {}
"""the user's objects that it used, with their settings and all code then"""
_EDITS: list[int] = []
"""one for each time that any of both was changed"""


def list_remembered_evaluation_changes(code: UserCode) -> list[str]:
    """The names of some code that evaluations of this process changed."""

    def is_named_in_code(name: str) -> bool:
        return name in code.names or ("." in name and is_named_in_code(name.rpartition(".")[0]))

    return sorted(filter(is_named_in_code, _CHANGED))


def diff_code_by_name(
    before: Mapping[str, str], now: UserCode, changing: Collection[str] = ()
) -> dict[str, str]:
    """What was edited, but for comments and values that evaluations change: a text by name."""
    changed, texts = {}, now.texts
    for name in dict.fromkeys((*before, *texts)):
        was, text = before.get(name, ""), texts.get(name, "")
        if name in changing or name in _CHANGED or normalize_source(was) == normalize_source(text):
            continue
        compiled = extract_digest_lines(text)  # of a file that was edited, but not imported again
        if (
            compiled
            and compiled == extract_digest_lines(was)
            and was.startswith(now.join_value_texts(name))
        ):
            continue
        lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
        visible = list(lines)[2:]
        more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
        changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def remember_evaluation_changes(before: Mapping[str, str], now: UserCode) -> None:
    """From now on what evaluations changed since the texts were `before` is no edit in this
    process: counters, caches, logs.

    What a file says of functions and objects that were there may have been edited meanwhile.
    """
    for name in diff_code_by_name(before, now):
        there = name in before and name in now.texts
        if not there or name in now.values or before[name].startswith(f"{name} = "):
            _CHANGED.add(name)


def discard_compiled_if_edited(now: UserCode) -> None:
    """Where code, or an object's settings, differ from what this process used last, let JAX compile
    anew, and environments and the task that workers have be made anew: all of them hold globals,
    functions and settings of then.
    """
    before = {name: _USED[name] for name in now.texts if name in _USED}
    edited = before.keys() & diff_code_by_name(before, now).keys()
    if _remember_objects(now) or edited:
        jax.clear_caches()
        _EDITS.append(1)
    _USED.update(now.texts)


def _remember_objects(now: UserCode) -> bool:
    """Remember the user's objects, with their settings and all code, in which a method may be
    another one; whether any has others than before.
    """
    changed = False
    for thing in now.objects:
        settings = part_to_json(thing)
        settings = settings if isinstance(settings, dict) else {"": settings}
        here = settings, now.texts
        reference, before = _OBJECTS.get(id(thing), (None, here))
        if reference is not None and reference() is thing:
            ignored = CHANGED_SETTINGS[type(thing)], _CHANGED
            changed |= any(map(_differ, before, here, ignored))
        with contextlib.suppress(TypeError):  # one with __slots__
            _OBJECTS[id(thing)] = weakref.ref(thing), here
    return changed


def _differ(before: Mapping[str, Any], now: Mapping[str, Any], ignored: Collection[str]) -> bool:
    names = {*before, *now}.difference(ignored)
    return any(not descriptions_equal(before.get(name), now.get(name)) for name in names)


def count_edits() -> int:
    """How often code or settings were changed while this process used them."""
    return len(_EDITS)


class SentCode(NamedTuple):
    """The code of a task, for a worker that imports it to compare with its own."""

    python: tuple[int, ...]
    texts: dict[str, str]
    files: dict[str, str]
    changing: list[str]


def describe_code_for_workers(task: Any) -> SentCode:
    code, python = UserCode(task), sys.version_info[:2]
    return SentCode(
        python, code.texts, code.digest_module_files(), list_remembered_evaluation_changes(code)
    )


def find_mismatched_code(sent: SentCode, here: UserCode) -> list[str]:
    """The names of what is other code here than where a task was sent from: functions that were
    compiled of another text, and values in files that differ. Other values may be state.
    """
    if sent.python != sys.version_info[:2]:
        return []
    files, found = here.digest_module_files(), []
    for name in diff_code_by_name(sent.texts, here, sent.changing):
        there, text = sent.texts.get(name, ""), here.texts.get(name, "")
        modules = {each for each in (*sent.files, *files) if name.startswith(each)}
        edited = any(sent.files.get(each) != files.get(each) for each in modules)
        if there and text and (edited or extract_digest_lines(there) != extract_digest_lines(text)):
            found.append(name)
    return found


def find_constants_set_since_import(sent: SentCode, here: UserCode) -> list[str]:
    """The names of constants that the search's process has set since it imported their modules, to
    other values than they have here.
    """
    found = []
    for name in diff_code_by_name(sent.texts, here, sent.changing):
        for prefix, path in here.paths.items():
            if name.startswith(prefix) and name in sent.texts and name in here.texts:
                with contextlib.suppress(OSError, SyntaxError, ValueError):
                    text = path.read_text("utf-8")
                    if is_constant_of_module(text, name.removeprefix(prefix)):
                        found.append(name)
    return found
