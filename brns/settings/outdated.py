"""What was compiled, made or sent of code that was edited since is discarded.

JAX's programs hold the globals, functions and settings of the time when they were compiled. So do
environments that a task made, and the tasks that workers have.
"""

import argparse
import contextlib
import threading
import types
import weakref
from collections.abc import Callable, Generator, Mapping
from typing import Any

import jax
import numpy as np

from brns.settings.description import SMALL, attributes_of, get_attribute_safely, part_to_json
from brns.settings.differences import find_differences
from brns.settings.edits import CHANGED_CODE, CHANGED_SETTINGS, diff_code_by_name
from brns.settings.sources import UserCode
from brns.settings.values import PLAIN, is_value_or_collection

_TEXTS: dict[tuple[str, int], str] = {}
"""the code that this process used last, by `_make_code_key`; empty of what was not found"""
_OBJECTS: dict[int, tuple[Callable[[], Any], dict[str, Any]]] = {}
"""by id, a reference to an object of a user's class, and its settings as a run used it last"""
_UNNAMED: dict[tuple[Any, str], Any] = {}
"""what this process used last of what no name tells, by `_find_unnamed`"""
_EDITS: list[None] = []
"""one for each time that code or settings had changed"""
_EVALUATING = threading.local()
"""whether a search evaluates in this thread, which looked for edits when it began"""


def count_process_edits() -> int:
    """How often code or settings were changed while this process used them."""
    return len(_EDITS)


def discard_compiled_if_edited(now: UserCode) -> None:
    """Let all be compiled and made anew where code differs from what this process used last."""
    before, keys = {}, {name: _make_code_key(name, now) for name in now.texts}
    for name, key in keys.items():
        if key in _TEXTS or (not key[1] and (name.rpartition(".")[0], 0) in _TEXTS):
            before[name] = _TEXTS.get(key, "")
    for (name, owner), text in [*_TEXTS.items()]:
        looked_for = not {name, name.rpartition(".")[0]}.isdisjoint(now.names)
        if text and looked_for and not owner and name not in now.texts:  # it is gone
            before[name] = text
            _TEXTS[name, owner] = ""
    edited = before.keys() & diff_code_by_name(before, now).keys()
    unnamed = _find_unnamed(now)
    others = any(_UNNAMED.get(key, value) is not value for key, value in unnamed.items())
    _UNNAMED.update(unnamed)
    if _remember_settings_and_compare_with_last(now) or edited or others:
        jax.clear_caches()
        _EDITS.append(None)
    _TEXTS.update({keys[name]: text for name, text in now.texts.items()})
    for name in now.names:
        _TEXTS.setdefault((name, 0), "")


def _find_unnamed(now: UserCode) -> dict[tuple[Any, str], Any]:
    """Lambdas of modules, and what is registered with Gymnasium, by place: no name tells them."""
    unnamed = {}
    for module, name in now.globals.values():
        value = module.get(name)
        if _has_ambiguous_name(value):
            unnamed[id(module), name] = value
    for spec in now.specs.values():
        for name, value in {"": spec.entry_point, **spec.kwargs}.items():
            if not is_value_or_collection(value):
                unnamed[spec.id, name] = value
    return unnamed


def _has_ambiguous_name(value: Any) -> bool:
    """Whether it is a lambda, or a function within another one: others have the same name."""
    return "<" in str(get_attribute_safely(value, "__qualname__"))


@contextlib.contextmanager
def search_is_evaluating() -> Generator[None, None, None]:
    """Meanwhile nothing is evaluated by hand in this thread."""
    before = getattr(_EVALUATING, "now", False)
    _EVALUATING.now = True
    try:
        yield
    finally:
        _EVALUATING.now = before


def evaluate_by_hand(part: Any) -> contextlib.AbstractContextManager[None]:
    """Around an evaluation that no search asks for: edits hold, and side effects are none."""
    return EditWatch(quick=False).call_by_hand(part)


class EditWatch:
    """Notices, `quick` by a few comparisons, that a user's objects or globals have other values."""

    def __init__(self, quick: bool = True) -> None:
        self._quick = quick
        self._code: UserCode | None = None
        self._values: dict[Any, Any] = {}
        self._state: set[Any] = set()
        """of the values, those that evaluations change"""

    def __reduce__(self) -> Any:
        return EditWatch, ()  # in another process there are others

    def discard_compiled_if_edited(self, part: Any) -> None:
        """As the function of this name, for what was changed since the last look."""
        if self._code is None or self.find_changed():
            self._code = UserCode(part)
            discard_compiled_if_edited(self._code)
        self._values = _identify_values(self._code)

    def ignore_side_effects(self, part: Any) -> None:
        """What an evaluation has changed since the last look is no edit."""
        changed = self.find_changed()
        if self._code is not None and (changed or not self._quick):
            self._state |= changed
            after = UserCode(part)
            ignore_side_effects(self._code.texts, after)
            self._code = after
            self._values = _identify_values(after)

    def find_changed(self) -> set[Any]:
        """What is new since the last look, but for what evaluations change."""
        now = _identify_values(self._code) if self._code else {}
        keys = now.keys() | self._values.keys()
        return {key for key in keys if now.get(key) != self._values.get(key)} - self._state

    @contextlib.contextmanager
    def call_by_hand(self, part: Any) -> Generator[None, None, None]:
        """As `evaluate_by_hand`; where it is quick, but for edits of functions and files."""
        nothing_to_see = self._code is not None and not self._values
        if nothing_to_see or getattr(_EVALUATING, "now", False):
            yield
            return
        self.discard_compiled_if_edited(part)
        with search_is_evaluating():
            yield
        self.ignore_side_effects(part)


def _identify_values(code: UserCode) -> dict[Any, Any]:
    """What tells the globals and the objects' attributes of some code from others."""
    values = {}
    for module, name in code.globals.values():
        values[id(module), name] = _identify(module.get(name))
    for thing in code.objects:
        attributes = vars(thing) if hasattr(thing, "__dict__") else attributes_of(thing)
        for name, value in attributes.copy().items():  # other threads may go on with it
            values[id(thing), name] = _identify(value)
    for kind in code.classes.values():
        for name, value in dict(vars(kind)).items():
            if not name.startswith("__"):
                values[id(kind), name] = _identify(value)
    return values


def _identify(value: Any, depth: int = 3) -> Any:
    """Something that is equal where values are alike; what is large counts as that object."""
    if isinstance(value, float | complex):
        return repr(value)  # NaN is not equal to itself
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, np.ndarray) and value.size <= SMALL and not value.dtype.hasobject:
        return value.tobytes()
    if isinstance(value, types.SimpleNamespace | argparse.Namespace):
        value = vars(value).copy()
    if isinstance(value, dict | list | tuple) and len(value) <= SMALL and depth:
        items = value.items() if isinstance(value, dict) else value
        return [_identify(item, depth - 1) for item in list(items)]
    return id(value), value  # which is held, so that no other has its id


def _make_code_key(name: str, code: UserCode) -> tuple[str, int]:
    """A name; of what is within a function, such as a lambda, also which object it is or is of."""
    part = name
    while "<" in part:
        if (owner := code.classes.get(part, code.functions.get(part, [None])[-1])) is not None:
            return name, id(owner)
        part = part.rpartition(".")[0]
    return name, 0


def ignore_side_effects(before: Mapping[str, str], now: UserCode) -> None:
    """From now on what evaluations changed since the texts were `before`, and since objects were
    used last, is no edit in this process: counters, caches, logs.

    What a file says of functions and objects that were there may have been edited meanwhile.
    """
    for name in diff_code_by_name(before, now):
        there = name in before and name in now.texts
        if not there or name in now.values or before[name].startswith(f"{name} = "):
            CHANGED_CODE.add(name)
    for thing, settings in _pair_objects_with_settings(now):
        if changed := _find_changed_settings(thing, settings):
            CHANGED_SETTINGS.setdefault(type(thing), set()).update(changed)


def _remember_settings_and_compare_with_last(now: UserCode) -> bool:
    """Remember the user's objects with their settings; whether any has others than before."""
    changed = False
    for thing, settings in _pair_objects_with_settings(now):
        changed |= bool(_find_changed_settings(thing, settings))
        key = id(thing)
        try:
            refer = weakref.ref(thing, lambda _, key=key: _OBJECTS.pop(key, None))
        except TypeError:  # one with __slots__
            refer = lambda thing=thing: thing  # noqa: E731
        _OBJECTS[key] = refer, settings
    return changed


def _pair_objects_with_settings(now: UserCode) -> list[tuple[Any, dict[str, Any]]]:
    """The user's objects with their settings, and with which lambdas they have."""
    described = []
    for thing in now.objects:
        try:
            settings = part_to_json(thing)
        except Exception:
            continue
        settings = settings if isinstance(settings, dict) else {"": settings}
        values = attributes_of(thing).items()
        which = {f"{name} is": id(value) for name, value in values if _has_ambiguous_name(value)}
        described.append((thing, settings | which))
    return described


def _find_changed_settings(thing: Any, settings: dict[str, Any]) -> set[str]:
    """The names of settings that are others than when the object was used before."""
    refer, before = _OBJECTS.get(id(thing), (object, {}))
    if refer() is not thing:
        return set()
    counters = CHANGED_SETTINGS.get(type(thing), ())
    return {*find_differences(before, settings, counters)}
