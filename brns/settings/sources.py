"""The code of a search that is a user's own, as text: a run that goes on with other code is told.

Half of a record would be one simulator, half another. Settings do not tell: a method that was
edited has its old name.
"""

import argparse
import ast
import contextlib
import dataclasses
import difflib
import enum
import functools
import hashlib
import inspect
import pathlib
import re
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from brns.settings.code import (
    extract_assignments,
    find_assigned,
    find_imports,
    find_names,
    find_own_file,
    find_own_modules,
    find_variables,
    is_own,
    normalize_source,
    read_code,
    read_module_assignments,
    read_source,
)
from brns.settings.description import (
    attributes_of,
    get_attribute,
    is_library_value,
    part_to_json,
)

PLAIN = bool | int | float | complex | str | bytes | None
DATA = PLAIN | np.ndarray | np.generic | jax.Array | enum.Enum | pathlib.PurePath | range
MODULE_NAMES = {"__name__", "__file__", "__spec__", "__package__", "__loader__"}
"""globals that tell how a program was begun, and from where"""
INITIALIZERS = {"__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__"}
"""methods that give an object or a class its first values"""
LONG = 1000
"""letters of a value, beyond which a digest is kept"""
SHOWN = 30
"""lines of a difference"""
Wrapped = classmethod | staticmethod | functools.cached_property | property
Function = types.FunctionType | types.MethodType | functools.partial
KNOWN = type | types.FunctionType | types.ModuleType | argparse.Namespace | Wrapped


_BEGAN: dict[str, tuple[str, str]] = {}
"""what evaluations of this process changed, by name: how it began, and how it was afterwards"""


class Source:
    """The functions of a task and other parts that are a user's, and the values that they read,
    each under its name, such as `Throw.evaluate`.
    """

    def __init__(self, task: Any, *parts: Any):
        self.values: dict[str, str] = {}
        """name to a line that tells the value"""
        self.functions: dict[str, list[types.FunctionType]] = {}
        self.made: dict[str, str] = {}
        """name of an object, such as a simulator of a package, to the lines that assign it; of a
        class with bases, or of a package, to a line that names them"""
        self.files: dict[str, str] = {}
        """name of a module that a function imports to its text"""
        self._seen: dict[int, Any] = {}
        self._globals: set[tuple[str, int]] = set()
        """names and modules whose values are added"""
        self._folders: dict[str, str] = {}
        """of modules, and their parents, to what stands for them"""
        for part in (task, *parts):
            self._collect(part)
        self._collect_registration(task)
        self._leave_out_places()

    @property
    def texts(self) -> dict[str, str]:
        """Name to source as it was before evaluations changed it, such as a cache that they fill;
        of a function without any a digest of what Python compiled.
        """
        texts = {}
        for name, text in self.texts_now.items():
            began, afterwards = _BEGAN.get(name, (text, ""))
            texts[name] = began if text == afterwards else text
        for name, (began, afterwards) in _BEGAN.items():  # what they removed
            near = f"{name}.", f"{name.rpartition('.')[0]}."
            if not afterwards and any(each.startswith(near) for each in self.texts_now):
                texts.setdefault(name, began)
        return {name: text for name, text in texts.items() if text}

    @functools.cached_property
    def texts_now(self) -> dict[str, str]:
        """As it is."""
        texts = {
            name: self.values.get(name, "") + self.made.get(name, "") + self.files.get(name, "")
            for name in (*self.values, *self.made, *self.files)
        }
        for name, functions in self.functions.items():
            texts[name] = texts.get(name, "") + "".join(map(read_source, functions))
        return texts

    def _leave_out_places(self) -> None:
        """Of paths leave out where a project lies, such as `Path(__file__).parent`, and the chance
        part of a temporary folder's name.
        """
        for folder in sorted(self._folders, key=len, reverse=True):
            pattern = re.compile(rf"{re.escape(folder)}(?![^/'])")
            for name, text in self.values.items():
                self.values[name] = pattern.sub(self._folders[folder], text)
        for name, text in self.values.items():
            self.values[name] = re.sub(r"/tmp[a-z0-9_]{8}(?=[/'])", "/tmp", text)

    def _collect(self, thing: Any, name: str = "") -> None:
        """Add the user's functions that a thing is or holds, and its value if it has a name."""
        plain = _is_plain_value(thing)
        if name and plain and _is_small_dictionary(thing):  # some of it may be state
            self.values[name] = f"{name} = {type(thing).__name__}\n"
            for key, value in thing.items():
                self._collect(value, f"{name}.{key}")
        elif name and (plain or _is_alias(name, thing)):
            self.values[name] = self.values.get(name, "") + _format_value(name, thing)
        if plain:
            name = ""
        if name and isinstance(thing, type) and dataclasses.is_dataclass(thing) and is_own(thing):
            for field in dataclasses.fields(thing):  # of an object the settings tell its values
                for default in (field.default, field.default_factory):
                    self._collect(default, f"{thing.__qualname__}.{field.name}")
        if not isinstance(thing, type) and is_own(type(thing)):  # a member of an IntEnum's too
            self._collect(type(thing))
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Mapping):
            self._collect_all({f"{key}": value for key, value in thing.items()}, name)
            self._collect(get_attribute(thing, "default_factory"))
        elif isinstance(thing, np.ndarray):
            self._collect(thing.tolist() if thing.dtype.hasobject else None)
        elif isinstance(thing, tuple | list | set | frozenset):
            self._collect_all({f"{row}": value for row, value in enumerate(thing)}, name)
        elif isinstance(thing, functools.partial | functools.partialmethod):
            arguments = {f"{row}": value for row, value in enumerate(thing.args)}
            self._collect_all({"func": thing.func, **arguments, **thing.keywords}, name)
        elif isinstance(thing, types.MethodType):
            self._collect(thing.__func__)
            self._collect(thing.__self__, name or type(thing.__self__).__qualname__)
        elif isinstance(thing, Wrapped):
            for part in ("func", "fget", "fset", "fdel", "__func__"):
                self._collect(get_attribute(thing, part))
        elif isinstance(thing, type):
            self._collect_class(thing)
        elif isinstance(thing, types.FunctionType) or get_attribute(thing, "__wrapped__"):
            own = isinstance(thing, types.FunctionType) and is_own(thing)
            if own:
                self._collect_function(thing)
            if (wrapped := get_attribute(thing, "__wrapped__")) is not None:
                self._collect(wrapped, name)
            inner = get_attribute(thing, "__dict__") or {}
            self._collect_all(inner, thing.__qualname__ if own else "")
        elif is_own(type(thing)) or dataclasses.is_dataclass(thing) or _is_settings(thing):
            self._collect_attributes(thing, name)
        elif (inner := get_attribute(thing, "unwrapped")) is not None:  # of Gymnasium
            spec = get_attribute(thing, "spec")
            arguments = {part: get_attribute(spec, part) for part in ("id", "kwargs")}
            self._collect_all(arguments, name and f"{name}.spec")
            self._collect(inner, name)
        elif callable(thing):  # of another package, such as numpy.vectorize
            inner = (get_attribute(thing, "__dict__") or {}).items()
            self._collect_all({key: value for key, value in inner if isinstance(value, Function)})
            if (owner := get_attribute(thing, "__self__")) is not None:  # of a list's method, say
                self._collect(owner, name)

    def _collect_all(self, things: Mapping[str, Any], name: str = "") -> None:
        """Add things, those that have a name under it."""
        for inner, thing in list(things.items()):
            self._collect(thing, f"{name}.{inner}" if name and not inner.startswith("_") else "")

    def _collect_attributes(self, thing: Any, name: str) -> None:
        """Add what an object holds, with those values that no setting of the search tells.

        Objects whose classes are partly another package's change by code that is not looked at: of
        these the values are those that initializers of the user's assign.
        """
        inner = attributes_of(thing)
        if not _is_settings(thing):
            kinds = [each for each in type(thing).__mro__ if is_own(each)]
            written = [vars(each).get(name) for each in kinds for name in INITIALIZERS]
            functions = [each for each in written if isinstance(each, types.FunctionType)]
            assigned = set().union(*(find_assigned(each.__code__) for each in functions))
            for key, value in inner.items():
                has_value = name and key in assigned and _is_plain_value(value)
                self._collect_all({key: value}, name if has_value else "")
        elif name:
            self._collect_all(inner, name)
        else:
            recorded = part_to_json(thing)
            values = {key: value for key, value in inner.items() if key not in recorded}
            self._collect_all(values, type(thing).__qualname__)
            self._collect_all({key: inner[key] for key in inner if key in recorded})

    def _collect_registration(self, task: Any) -> None:
        """Add what a program registered with Gymnasium under the id that a task has."""
        spec: Any = get_attribute(task, "spec")
        entry: Any = get_attribute(spec, "entry_point")
        if isinstance(entry, str) and (module := sys.modules.get(entry.partition(":")[0])):
            entry = getattr(module, entry.partition(":")[2], None)
        if entry is not None and is_own(entry):
            names = ("kwargs", "max_episode_steps")
            arguments = {name: getattr(spec, name) for name in names}
            self._collect_all({"entry_point": entry, **arguments}, spec.id)

    def _collect_class(self, kind: type) -> None:
        if is_own(type(kind)):
            self._collect(type(kind))
        for each in kind.__mro__:
            if not is_own(each) or (each is not kind and id(each) in self._seen):
                continue
            self._seen[id(each)] = each
            if each.__bases__ != (object,):
                bases = ", ".join(base.__qualname__ for base in each.__bases__)
                self.made[each.__qualname__] = f"class {each.__qualname__}({bases}): ...\n"
            settings = vars(each).get("__dataclass_fields__", ())
            module = getattr(sys.modules.get(each.__module__), "__dict__", {})
            fields = dict.fromkeys(inspect.get_annotations(each), ...)  # pydantic's, say
            for name, value in (fields | vars(each)).items():
                written = not name.startswith("__") or name == "__call__" or _is_handwritten(value)
                if written and name not in settings:
                    path = f"{each.__qualname__}.{name}"
                    self._collect(value, path)
                    if not _is_known(value):
                        lines = extract_assignments(read_code(each), name)
                        self._collect_lines(path, lines, module)

    def _collect_function(self, function: types.FunctionType) -> None:
        """Add a function with the values that it reads: defaults, free variables and globals."""
        name, code = function.__qualname__, function.__code__
        self.functions.setdefault(name, []).append(function)
        values = function.__defaults__ or ()
        arguments = code.co_varnames[: code.co_argcount]
        defaults = zip(arguments[len(arguments) - len(values) :], values, strict=True)
        for argument, value in (dict(defaults) | (function.__kwdefaults__ or {})).items():
            self._collect(value, f"{name}.{argument}")
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if cell != types.CellType():  # an empty one
                # That of super() makes no object, of which the defaults would count.
                self._collect(cell.cell_contents, "" if free == "__class__" else f"{name}.{free}")
        names, attributes = find_names(code)
        self._collect_globals(function.__globals__, names, attributes)
        self._collect_imports(code, function.__globals__.get("__package__") or "")

    def _collect_imports(self, code: types.CodeType, package: str) -> None:
        """Add the files of what a function imports, and of what these import.

        They may not be imported yet, and importing could do anything: so it is all of the text.
        """
        for name in find_imports(code, package):
            file = None if name in self.files else find_own_file(name)
            if file and file.endswith(".py"):
                with contextlib.suppress(OSError, SyntaxError, ValueError):
                    text = pathlib.Path(file).read_text("utf-8")
                    self.files[name] = text
                    inner = name if file.endswith("__init__.py") else name.rpartition(".")[0]
                    self._collect_imports(compile(text, file, "exec", dont_inherit=True), inner)

    def _collect_globals(
        self, module: Mapping[str, Any], names: set[str], attributes: set[str], prefix: str = ""
    ) -> None:
        """Add what has one of these names in a module, with the lines that make an object; of a
        module in it what is among the attributes.
        """
        if file := module.get("__file__"):
            folder = pathlib.Path(file).parent
            self._folders |= {f"{folder}": ".", f"{folder.parent}": ".."}
        for name in sorted(names & module.keys() - MODULE_NAMES):
            value, path = module[name], prefix + name
            if (path, id(module)) not in self._globals or not _is_plain_value(value):
                self._globals.add((path, id(module)))
                self._collect_used(path, value, attributes)
            settings = _is_settings(value)  # whose values tell what the lines read
            if path not in self.made and (settings or not _is_known(value)):
                for other in [module, *find_own_modules(name, value)]:
                    lines = read_module_assignments(other, name)
                    self._collect_lines(path, lines, other, prefix, plain=settings)

    def _collect_lines(
        self,
        path: str,
        lines: str,
        module: Mapping[str, Any],
        prefix: str = "",
        plain: bool = False,
    ) -> None:
        """Add the lines that assign what is no value, class or function, and what they read, or of
        this only values.
        """
        if lines:
            self.made[path] = lines
            tree = ast.parse(lines)
            attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            names = find_variables(tree, ast.Load)
            if plain:
                names = {name for name in names & module.keys() if _is_plain_value(module[name])}
            self._collect_globals(module, names, attributes, prefix)

    def _collect_used(self, name: str, value: Any, names: set[str]) -> None:
        """Add a global of a function, but of a module and of arguments what the function names."""
        if isinstance(value, argparse.Namespace) or (
            isinstance(value, types.ModuleType) and is_own(value)
        ):
            self._collect_globals(vars(value), names, names, f"{name}.")
        elif isinstance(value, types.ModuleType):
            self.made[name] = f"{name} = {value.__name__}\n"
        else:
            self._collect(value, name)


def find_edits(
    before: Mapping[str, str], now: Source, changing: Collection[str] = ()
) -> dict[str, str]:
    """What was edited, but for comments and values that evaluations change: a text by name."""
    changed, texts = {}, now.texts
    for name in dict.fromkeys((*before, *texts)):
        was, text = before.get(name, ""), texts.get(name, "")
        if name not in changing and normalize_source(was) != normalize_source(text):
            lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
            visible = list(lines)[2:]
            more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
            changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def remember_changes(before: Mapping[str, str], now: Source) -> list[str]:
    """The values that evaluations changed since the texts were `before`: counters, caches, logs.
    From now on a `Source` has what they changed as it began.

    Functions that were there are not looked at: their files may have been edited meanwhile.
    """
    for name, text in now.texts_now.items():
        if text != before.get(name, "") and (name not in now.functions or name not in before):
            _BEGAN[name] = before.get(name, ""), text
    for name in before.keys() - now.texts_now.keys():
        _BEGAN[name] = before[name], ""
    return [name for name, value in now.values.items() if value not in before.get(name, "")]


def _is_handwritten(value: Any) -> bool:
    """Whether somebody wrote this function, not a decorator such as `dataclass`."""
    value = getattr(value, "__func__", value)  # `__new__` is a static method
    return isinstance(value, types.FunctionType) and value.__code__.co_filename != "<string>"


def _is_plain_value(value: Any) -> bool:
    """Whether it is a value, or a collection of values."""
    try:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, tuple | frozenset | list | set):
            return all(map(_is_plain_value, value))
    except RecursionError:  # it holds itself
        return False
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return isinstance(value, eqx.Module) or value.__dataclass_params__.frozen
    if get_attribute(value, "__name__") is not None or _is_settings(value):
        return False
    if isinstance(value, Tracer):  # left by JAX, which compiled a method that assigns attributes
        return False
    return isinstance(value, DATA) or is_library_value(value)


def _is_small_dictionary(value: Any) -> bool:
    """Whether it is one of few values, each with a name."""
    few = isinstance(value, dict) and len(value) <= SHOWN
    return few and all(isinstance(key, str) for key in value)


def _is_settings(value: Any) -> bool:
    """Whether it is an object of a user's own class, such as a dataclass of constants."""
    classes = [each for each in type(value).__mro__ if each is not object]
    users = all(map(is_own, classes)) or isinstance(value, types.SimpleNamespace)
    return users and not isinstance(value, type)


def _is_known(value: Any) -> bool:
    """Whether its values, or its code, tell more than the lines that assign it."""
    return _is_plain_value(value) or _is_settings(value) or isinstance(value, KNOWN)


def _is_alias(name: str, value: Any) -> bool:
    """Whether a name is another one's of a function or class: `measure = np.hypot`."""
    if not callable(value) or isinstance(value, functools.partial):
        return False
    original = get_attribute(value, "__name__")
    return isinstance(original, str) and original != name.rpartition(".")[2]


def _format_value(name: str, value: Any) -> str:
    """A value as a line; of a long one a digest."""
    text = repr(part_to_json(value))
    if isinstance(value, np.ndarray | jax.Array):
        text = f"{value.dtype} {text}"
    if len(text) > LONG:
        text = f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return f"{name} = {text}\n"
