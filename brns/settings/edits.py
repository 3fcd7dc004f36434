"""What of a user's code was edited since a run was begun, or is other code in a worker.

Values that evaluations change, such as counters and caches, are no edits.
"""

import contextlib
import difflib
import textwrap
import weakref
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, NamedTuple

from brns.settings.code import (
    extract_digest_lines,
    is_constant_of_module,
    normalize_source,
    sets_attribute,
)
from brns.settings.data_files import DATA_FILE
from brns.settings.sources import UserCode

SHOWN = 30
"""lines of a difference"""
CHANGED_CODE: set[str] = set()
"""names of what evaluations of this process changed: counters, caches, logs"""
CHANGED_SETTINGS: MutableMapping[type, set[str]] = weakref.WeakKeyDictionary()
"""the same of the settings of objects of a class"""


def list_evaluation_side_effects(code: UserCode) -> list[str]:
    """The names of some code that evaluations of this process changed."""

    def is_named_in_code(name: str) -> bool:
        return name in code.names or ("." in name and is_named_in_code(name.rpartition(".")[0]))

    return sorted(filter(is_named_in_code, CHANGED_CODE))


def diff_code_by_name(
    before: Mapping[str, str], now: UserCode, changing: Collection[str] = ()
) -> dict[str, str]:
    """What was edited, but for comments and values that evaluations change: a text by name."""
    changed, texts = {}, now.texts
    for name in dict.fromkeys((*before, *texts)):
        was, text = before.get(name, ""), texts.get(name, "")
        missing = name.startswith(DATA_FILE) and not (was and text)  # from this working directory
        expected = name in changing or name in CHANGED_CODE or was == text or missing
        if expected or normalize_source(was) == normalize_source(text):
            continue
        compiled = extract_digest_lines(text)  # of a file that was edited, but not imported again
        same = compiled and compiled == extract_digest_lines(was)
        if same and was.startswith(now.join_value_texts(name)):
            continue
        lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
        visible = list(lines)[2:]
        more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
        changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def format_edits(edited: Mapping[str, str], now: UserCode) -> str:
    """What was edited, and where, a paragraph each."""
    paragraphs = []
    for name, lines in edited.items():
        functions = now.functions.get(name, ())
        where = "".join(f" ({function.__code__.co_filename})" for function in functions)
        paragraphs.append(f"{name}{where}\n{textwrap.indent(lines, '  ')}")
    return "\n".join(paragraphs)


class SentCode(NamedTuple):
    """The code of a task, for a worker that imports it to compare with its own."""

    texts: dict[str, str]
    files: dict[str, str]
    """the modules' whole text"""
    changing: list[str]


def describe_code_for_workers(task: Any) -> SentCode:
    code = UserCode(task)
    changing = list_evaluation_side_effects(code)
    return SentCode(code.texts, code.read_module_files(), changing)


def find_mismatched_code(sent: SentCode, here: UserCode) -> list[str]:
    """The names of functions, and of values in files, that are others than the sender's."""
    files, mismatched = here.read_module_files(), []
    for name in diff_code_by_name(sent.texts, here, sent.changing):
        there, text = sent.texts.get(name, ""), here.texts.get(name, "")
        modules = {each for each in (*sent.files, *files) if name.startswith(each)}
        both = [(sent.files.get(each, ""), files.get(each, "")) for each in modules]
        edited = any(normalize_source(was) != normalize_source(now) for was, now in both)
        compiled = [extract_digest_lines(each) for each in (there, text)]
        differs = all(compiled) and compiled[0] != compiled[1]  # pytest's code has no digest
        if there and text and (edited or differs):
            mismatched.append(name)
    return mismatched


def find_constants_set_since_import(sent: SentCode, here: UserCode) -> list[str]:
    """The names of constants that the sender has set since it imported their modules."""
    texts, changed = here.read_module_files(), []
    for name in diff_code_by_name(sent.texts, here, sent.changing):
        if name in sent.texts and name in here.values:
            for prefix in filter(name.startswith, texts):
                inner = name.removeprefix(prefix)
                with contextlib.suppress(SyntaxError):
                    state = any(sets_attribute(text, inner) for text in texts.values())
                    if not state and is_constant_of_module(texts[prefix], inner):
                        changed.append(name)
    return changed
