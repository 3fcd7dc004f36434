"""What of a user's code was edited: since a run was begun, since this process used it last, or in a
worker.

Values that evaluations change, such as counters and caches, are no edits.
"""

import contextlib
import difflib
import textwrap
import weakref
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any

import jax

from brns.settings.code import split_source_from_digests
from brns.settings.description import part_to_json
from brns.settings.differences import find_differences
from brns.settings.sources import DATA_FILE, UserCode

SHOWN = 30
"""lines of a difference"""
CHANGED_CODE: set[str] = set()
"""names of what evaluations of this process changed: counters, caches, logs"""
CHANGED_SETTINGS: MutableMapping[type, set[str]] = weakref.WeakKeyDictionary()
"""the same of the settings of objects of a class"""
_TEXTS: dict[str, str] = {}
"""the code that this process used last"""
_SETTINGS: MutableMapping[Any, Any] = weakref.WeakKeyDictionary()
"""of the user's objects that can change, as this process used them last"""
_EDITS: list[None] = []
"""one for each time that code or settings had changed"""


def is_same_code(was: str, now: str) -> bool:
    """Whether texts of `UserCode` mean the same: by the digests of one version of Python, else by
    the source.
    """
    if was == now:
        return True
    (source_was, digests_was), (source, digests) = map(split_source_from_digests, (was, now))
    if digests_was and digests and digests_was[0].split()[1] == digests[0].split()[1]:
        return digests_was == digests
    return source_was == source


def diff_code_by_name(
    before: Mapping[str, str], now: UserCode, changing: Collection[str] = ()
) -> dict[str, str]:
    """What was edited, but for comments and values that evaluations change: a text by name."""
    changed = {}
    for name in dict.fromkeys((*before, *now.texts)):
        was, text = before.get(name, ""), now.texts.get(name, "")
        missing = name.startswith(DATA_FILE) and not (was and text)  # from this working directory
        if name in changing or name in CHANGED_CODE or missing or is_same_code(was, text):
            continue
        sources = [split_source_from_digests(each)[0] for each in (was, text)]
        was, text = sources if sources[0] != sources[1] else (was, text)
        lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
        visible = list(lines)[2:]
        more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
        changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def format_edits(edited: Mapping[str, str], now: UserCode) -> str:
    """What was edited, and where, a paragraph each."""
    paragraphs = []
    for name, lines in edited.items():
        where = f" ({now.files[name]})" if name in now.files else ""
        paragraphs.append(f"{name}{where}\n{textwrap.indent(lines, '  ')}")
    return "\n".join(paragraphs)


def ignore_side_effects(before: Mapping[str, str], now: UserCode) -> None:
    """From now on what evaluations changed since the texts were `before`, and since objects were
    used last, is no edit in this process.
    """
    written = {name for name in now.texts.keys() - before.keys() if name.startswith(DATA_FILE)}
    CHANGED_CODE.update(diff_code_by_name(before, now), written)
    for thing in now.objects:
        if changed := _remember_settings_and_find_changed(thing):
            CHANGED_SETTINGS.setdefault(type(thing), set()).update(changed)
    _TEXTS.update(now.texts)


def list_evaluation_side_effects(code: UserCode) -> list[str]:
    """The names of some code that evaluations of this process changed."""
    return sorted(CHANGED_CODE & code.texts.keys())


def discard_compiled_if_edited(now: UserCode) -> None:
    """Let all be compiled and made anew where code, or a setting of the user's objects, differs
    from what this process used last: JAX's programs hold globals and settings of the time when they
    were compiled, a task its environments, and workers the task.

    Several lambdas, or functions within others, may have one name: these are told by what they are.
    """
    before = {name: _TEXTS.get(name, text) for name, text in now.texts.items() if "<" not in name}
    edited = before.keys() & diff_code_by_name(before, now).keys()
    for thing in now.objects:
        edited |= _remember_settings_and_find_changed(thing)
    if edited:
        jax.clear_caches()
        _EDITS.append(None)
    _TEXTS.update(now.texts)


def count_process_edits() -> int:
    """How often code or settings were changed while this process used them."""
    return len(_EDITS)


def _remember_settings_and_find_changed(thing: Any) -> set[str]:
    """The names of an object's settings that are others than when it was used before."""
    with contextlib.suppress(Exception):  # its own, or it has no weak references or no hash
        settings = part_to_json(thing)
        settings = settings if isinstance(settings, dict) else {"": settings}
        before = _SETTINGS.get(thing, settings)
        _SETTINGS[thing] = settings
        return {*find_differences(before, settings, CHANGED_SETTINGS.get(type(thing), ()))}
    return set()


def find_mismatched_code(
    sent: Mapping[str, str], changing: Collection[str], here: UserCode
) -> list[str]:
    """The names of functions, and of numbers and texts, that a worker has otherwise than the
    sender, but for what evaluations change there.
    """
    names = here.files.keys() | here.constants
    both = {name: text for name, text in sent.items() if name in names}
    texts = {name: text for name, text in both.items() if _can_compare(text, here.texts[name])}
    mismatched = diff_code_by_name(texts, here, changing)
    return [name for name in mismatched if name in texts]


def _can_compare(*texts: str) -> bool:
    """Whether there is a source of both, or a digest of both: pytest's code has none."""
    both = [split_source_from_digests(text) for text in texts]
    return all(source for source, _ in both) or all(digests for _, digests in both)
