"""The code of a search that is a user's own, as text:
a run that goes on with other code is told so.

Half of a record would be one simulator, half another. The settings that are recorded do not
tell: a method that was edited has its old name.
"""

import ast
import dataclasses
import difflib
import dis
import enum
import functools
import hashlib
import inspect
import os
import pathlib
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from brns.search import NoveltySearch
from brns.settings import part_to_json
from brns.tasks.workers import innermost

LIBRARY = tuple(
    sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
INSTALLED = ("site-packages", "dist-packages")
PLAIN = bool | int | float | complex | str | bytes | tuple | frozenset | None
CHANGES = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "sort"}
CHANGES |= {"pop", "popleft", "popitem", "remove", "discard", "clear", "reverse", "fill"}
"""methods that change what they belong to"""
STORES = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE"}
"""Python's instructions that do so"""
BEGINNINGS = ("__init__", "__post_init__", "__new__")
"""methods in which an object is given its attributes"""
LONG = 1000
"""letters of a constant, beyond which a digest is kept"""
SHOWN = 30
"""lines of a difference"""
Wrapped = (
    classmethod | staticmethod | functools.cached_property | property | functools.partialmethod
)


Function = types.FunctionType | types.MethodType | functools.partial


class Source:
    """The functions and constants of a search that are a user's, each under its name,
    such as `Throw.evaluate`.

    Args:
        search: the experiment.
    """

    def __init__(self, search: NoveltySearch):
        self.texts: dict[str, str] = {}
        """name to source; of a function without any a digest of what Python compiled"""
        self.files: dict[str, str] = {}
        """name to the file that it was read from"""
        self._seen: dict[int, Any] = {}
        self._classes: set[type] = set()
        self._values: dict[str, Any] = {}
        """what functions read, by name"""
        self._assigned: set[str] = set()
        """globals, and attributes after a dot, that functions give another value"""
        self._changed: set[str] = set()
        """arrays, lists, dicts and sets that functions change in place"""
        parts = [innermost(search.task), search.estimator, search.mutate, search.select]
        for part in (*parts, search.founders):
            self._visit(part)
        self._visit_environment(innermost(search.task))
        self._add_unchanged()

    def _visit(self, thing: Any) -> None:
        """Add what is a user's own of a thing: its class, its functions,
        and those of all that it holds.
        """
        plain = isinstance(thing, PLAIN) and not isinstance(thing, tuple)
        if plain or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Mapping):
            self._visit_all(thing.values())
        elif isinstance(thing, tuple | list | set | frozenset):
            self._visit_all(thing)
        elif isinstance(thing, functools.partial):
            self._visit_all((thing.func, *thing.args, *thing.keywords.values()))
        elif isinstance(thing, types.MethodType):
            self._visit_all((thing.__func__, thing.__self__))
        elif isinstance(thing, type):
            self._visit_class(thing)
        elif isinstance(thing, types.FunctionType) or hasattr(thing, "__wrapped__"):
            self._visit_function(thing)
            self._visit_all(getattr(thing, "__dict__", {}).values())
            self._visit(getattr(thing, "__wrapped__", None))
        elif _is_own(type(thing)) or dataclasses.is_dataclass(thing):
            self._visit_class(type(thing))
            self._visit_all(getattr(thing, "__dict__", {}).values())
        elif callable(thing):  # of another package, such as numpy.vectorize
            held = getattr(thing, "__dict__", {}).values()
            self._visit_all(each for each in list(held) if isinstance(each, Function))

    def _visit_all(self, things: Iterable[Any]) -> None:
        for thing in list(things):
            self._visit(thing)

    def _visit_environment(self, task: Any) -> None:
        """Add what a program registered with Gymnasium under the id that a task has."""
        spec: Any = getattr(task, "spec", None)
        made: Any = getattr(spec, "entry_point", None)
        if isinstance(made, str) and (module := sys.modules.get(made.partition(":")[0])):
            made = getattr(module, made.partition(":")[2], None)
        if made is not None and _is_own(made):
            self._visit_attribute(f"{spec.id}.entry_point", made)
            for name in ("kwargs", "max_episode_steps"):
                self._values[f"{spec.id}.{name}"] = getattr(spec, name)

    def _visit_class(self, own: type) -> None:
        if _is_own(type(own)):
            self._visit_class(type(own))
        for each in own.__mro__:
            if each in self._classes or not _is_own(each):
                continue
            self._classes.add(each)
            settings = vars(each).get("__dataclass_fields__", ())
            for name, value in vars(each).items():
                written = not name.startswith("__") or name == "__call__" or _is_written(value)
                if written and name not in settings:
                    self._visit_attribute(f"{each.__qualname__}.{name}", value)

    def _visit_attribute(self, name: str, value: Any) -> None:
        """Add what stands in a class, or what a function reads, under a name."""
        if isinstance(value, Wrapped):
            parts = [getattr(value, part, None) for part in ("func", "fget", "__func__")]
            self._visit_all(part for part in parts if part is not None)
            return
        if _is_constant(value) or _is_alias(name, value):
            self._values[name] = value
        elif isinstance(value, functools.partial):
            self._visit_attribute(f"{name}.func", value.func)
            arguments = {f"{row}": each for row, each in enumerate(value.args)} | value.keywords
            for argument, each in arguments.items():
                self._visit_attribute(f"{name}.{argument}", each)
        elif isinstance(value, list | dict | set):
            self._values[name] = value
        elif _is_settings(value) and id(value) not in self._seen:
            self._seen[id(value)] = value
            self._visit_class(type(value))
            for attribute, each in list(vars(value).items()):
                if not attribute.startswith("_"):
                    self._visit_attribute(f"{name}.{attribute}", each)
        self._visit(value)

    def _add_unchanged(self) -> None:
        """Add the values that no function changes; the others are counters, caches and logs."""
        for name, value in self._values.items():
            owner, _, last = name.rpartition(".")
            changed = (f".{last}" if owner else name) in self._assigned
            fixed = _is_constant(value) or _is_alias(name, value)
            if isinstance(value, np.ndarray) or not fixed:
                changed = changed or last in self._changed
            if not changed:
                self.texts[name] = _assignment(name, value) + self.texts.get(name, "")

    def _visit_function(self, function: Any) -> None:
        if not isinstance(function, types.FunctionType) or not _is_own(function):
            return
        name, code = function.__qualname__, function.__code__
        text = _text(function)
        self.texts[name] = self.texts[name] + text if name in self.texts else text
        self.files[name] = code.co_filename
        self._changed.update(_changed_names(function, text))
        self._assigned.update(_assigned_names(function))
        for argument, value in _defaults(function).items():
            self._visit_attribute(f"{name}.{argument}", value)
        names, assigned = _names(code)
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if free not in assigned and (present := _content(cell)):
                self._visit_attribute(f"{name}.{free}", present[0])
        for used in names - assigned:
            if used in function.__globals__:
                self._visit_used(used, function.__globals__[used], names)

    def _visit_used(self, name: str, value: Any, names: set[str]) -> None:
        """Add a global of a function; of a module what the function may mean of it."""
        if isinstance(value, types.ModuleType):
            if _is_own(value):
                for used in names & vars(value).keys():
                    self._visit_used(f"{name}.{used}", vars(value)[used], names)
        else:
            self._visit_attribute(name, value)


def difference(before: Mapping[str, str], now: Source) -> dict[str, str]:
    """What was edited; comments and blank lines count for nothing.

    Args:
        before: name to source.
        now: the code of today.

    Returns:
        Name to a short difference of its lines.
    """
    changed = {}
    for name in dict.fromkeys((*before, *now.texts)):
        was, text = before.get(name, ""), now.texts.get(name, "")
        if _meaning(was) != _meaning(text):
            lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
            visible = list(lines)[2:]
            more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
            changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def _is_own(thing: Any) -> bool:
    """Whether a class, function or module is neither brns' nor of an installed package."""
    by_name = isinstance(thing, types.ModuleType)
    name = getattr(thing, "__name__" if by_name else "__module__", None)
    if not isinstance(name, str) or name.partition(".")[0] in ("brns", "builtins"):
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    if isinstance(thing, types.FunctionType):
        file = thing.__code__.co_filename
    if file is None:  # typed into a notebook
        return name.partition(".")[0] not in sys.stdlib_module_names or name == "__main__"
    return not (file.startswith(LIBRARY) or any(f"/{part}/" in file for part in INSTALLED))


def _assignment(name: str, value: Any) -> str:
    """A constant as a line; of a long one a digest."""
    text = repr(part_to_json(value))
    if len(text) > LONG:
        text = f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return f"{name} = {text}\n"


def _is_written(value: Any) -> bool:
    """Whether somebody wrote this function, not a decorator such as `dataclass`."""
    return isinstance(value, types.FunctionType) and value.__code__.co_filename != "<string>"


def _changed_names(function: types.FunctionType, text: str) -> Iterator[str]:
    """The names of what a function may change in place; of one without text all that it uses."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # a lambda's text says what was compiled
        for code in _codes(function.__code__):
            steps = dis.get_instructions(code)
            if any(step.opname in STORES or step.argval in CHANGES for step in steps):
                yield from (*code.co_names, *code.co_freevars)
        return
    for node in nodes:
        changed = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in CHANGES else None
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        elif isinstance(node, ast.AugAssign):
            changed = node.target
        if isinstance(changed, ast.Name):
            yield changed.id
        elif isinstance(changed, ast.Attribute):
            yield changed.attr


def _assigned_names(function: types.FunctionType) -> Iterator[str]:
    """The globals, and with a dot the attributes, that a function gives another value."""
    for code in _codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                yield step.argval
            elif step.opname == "STORE_ATTR" and function.__name__ not in BEGINNINGS:
                yield f".{step.argval}"


def _is_constant(value: Any) -> bool:
    """Whether it is a value that nobody can change in place."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return isinstance(value, eqx.Module) or value.__dataclass_params__.frozen
    arrays = np.ndarray | np.generic | jax.Array
    return isinstance(value, PLAIN | arrays | enum.Enum | pathlib.PurePath | range)


def _is_settings(value: Any) -> bool:
    """Whether it is an object of a user's own class, such as a dataclass of constants.

    Objects whose classes are partly another package's change by code that is not looked at.
    """
    classes = [each for each in type(value).__mro__ if each is not object]
    own = all(map(_is_own, classes)) or isinstance(value, types.SimpleNamespace)
    return own and hasattr(value, "__dict__") and not isinstance(value, type)


def _is_alias(name: str, value: Any) -> bool:
    """Whether a name is another one's of a function or class of a package: `measure = np.hypot`."""
    if not callable(value) or _is_own(value) or isinstance(value, functools.partial):
        return False
    known = getattr(value, "__name__", None)
    return isinstance(known, str) and known != name.rpartition(".")[2]


def _text(function: types.FunctionType) -> str:
    code = function.__code__
    if code.co_name != "<lambda>":  # whose line may say other things too
        try:
            return textwrap.dedent(inspect.getsource(code))
        except (OSError, TypeError, IndentationError, SyntaxError):
            pass
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{function.__qualname__}, compiled by Python {version}: {_digest(code)}\n"


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    """The defaults of a function's arguments, which its text may give by names."""
    values = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    positional = zip(names[len(names) - len(values) :], values, strict=True)
    return dict(positional) | (function.__kwdefaults__ or {})


def _digest(code: types.CodeType) -> str:
    constants = [
        _digest(part) if isinstance(part, types.CodeType) else repr(part) for part in code.co_consts
    ]
    content = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names that a function uses, and those that it assigns beyond its own: counters."""
    names, assigned = set(), set()
    for each in _codes(code):
        names.update(each.co_names)
        for step in dis.get_instructions(each):
            if step.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL"):
                assigned.add(step.argval)
    return names, assigned


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not assigned yet
        return ()


def _meaning(text: str) -> str:
    """The text without comments and the way that it is set."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return text
