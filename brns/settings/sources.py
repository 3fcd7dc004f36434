"""The code of a search that is a user's own, as text: a run that goes on with other code is told.

Half of a record would be one simulator, half another. Settings do not tell: a method that was
edited has its old name.
"""

import argparse
import ast
import collections
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import logging
import pathlib
import re
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

from brns.settings.code import (
    find_assignments,
    find_names,
    find_variables,
    find_words,
    format_digest,
    format_module_name_with_dot,
    format_source_with_digest,
    get_qualified_name,
    is_user_code,
)
from brns.settings.description import attributes_of, get_attribute_safely, part_to_json
from brns.settings.values import NUMBERS, PLAIN, format_value, is_value_or_collection

DATA_FILE = "file "
"""before the name of a data file"""
NO_DATA = {"", ".ipynb", ".png", ".jpg", ".pdf", ".svg", ".gif", ".mp4", ".log"}
"""endings of files that are notebooks, or that code writes"""
MODULE_NAMES = {"__name__", "__file__", "__spec__", "__package__", "__loader__"}
"""globals that tell how a program was begun, and from where"""
Namespace = argparse.Namespace | types.SimpleNamespace
Partial = functools.partial | functools.partialmethod
Wrapped = classmethod | staticmethod | functools.cached_property | property
DEFINED = type | types.FunctionType | types.BuiltinFunctionType | logging.Logger | Namespace
"""what is told without the statements that assign it"""
Callback = types.FunctionType | types.MethodType | functools.partial


class UserCode:
    """The functions of a user's that parts lead to, and the values that these read."""

    def __init__(self, *parts: Any):
        self.texts: dict[str, str] = {}
        """full name to the source of a function, or to a line that tells a value"""
        self.files: dict[str, str] = {}
        """name of a function to its file"""
        self.constants: set[str] = set()
        """names of numbers, texts and truth values"""
        self.folders: dict[str, str] = {}
        """of modules, and their parents, to what stands for them"""
        self.objects: list[Any] = []
        """of the user's classes"""
        self._state: set[str] = set()
        """globals that functions assign"""
        self._seen: dict[Any, Any] = {}
        self._waiting: collections.deque[tuple[Any, str]] = collections.deque()
        """what is still to be looked at, and its name"""
        self._words: set[str] = set()
        """that functions use: attributes, and texts"""
        self._namespaces: dict[str, Namespace] = {}
        """by name, of which count what functions name"""
        for part in parts:
            self._add_registered_environment(get_attribute_safely(part, "spec"))
            self._add(part)
        before = None
        while self._waiting:
            self._look_at(*self._waiting.popleft())
            sizes = len(self._namespaces), len(self._words)
            if not self._waiting and sizes != before:  # there may be more in namespaces
                before = sizes
                for name, space in list(self._namespaces.items()):
                    self._add_names(vars(space), self._words, self._words, f"{name}.")
        for name in self._state & self.texts.keys():
            del self.texts[name]
        self._strip_project_paths()

    def _strip_project_paths(self) -> None:
        """Leave out where a project lies."""
        for folder in sorted(self.folders, key=len, reverse=True):
            pattern = re.compile(rf"{re.escape(folder)}(?![^/'])")
            for name, text in self.texts.items():
                self.texts[name] = pattern.sub(self.folders[folder], text)

    def _add(self, thing: Any, name: str = "") -> None:
        """Add the functions that a thing is or holds, and its value if it has a name. Its turn
        comes after what was added before, so that deep graphs of objects need no deep stack.
        """
        if name or type(thing) not in NUMBERS:
            self._waiting.append((thing, name))

    def _look_at(self, thing: Any, name: str) -> None:
        if name and is_value_or_collection(thing):
            self.texts[name] = format_value(name, thing)
            if isinstance(thing, PLAIN):
                self.constants.add(name)
            name = ""
        elif name and (line := _format_alias(name, thing)) not in self.texts.get(name, ""):
            self.texts[name] = line + self.texts.get(name, "")
        if isinstance(thing, str | pathlib.PurePath):
            self._add_data_file(thing)
            self._add_registered_environment(_find_registered_environment(f"{thing}"))
        if not isinstance(thing, type) and is_user_code(type(thing)):
            self._add(type(thing))
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):
            self._add_function(thing, name)
        elif isinstance(thing, type):
            self._add_class(thing)
        elif isinstance(thing, Namespace):
            self._namespaces |= {name: thing} if name else {}
        elif isinstance(thing, Mapping):
            for key, value in list(thing.items()):
                self._add(value, f"{name}.{key}" if name and isinstance(key, PLAIN) else "")
        elif isinstance(thing, tuple | list):
            self._add_all({f"{row}": value for row, value in enumerate(thing)}, name)
        elif isinstance(thing, set | frozenset):
            for value in list(thing):
                self._add(value)
        elif isinstance(thing, Partial):
            arguments = {f"{row}": value for row, value in enumerate(thing.args)}
            self._add_all({"func": thing.func, **arguments, **thing.keywords}, name)
        elif isinstance(thing, Wrapped):
            for part in ("func", "fget", "fset", "fdel", "__func__"):
                if (inner := get_attribute_safely(thing, part)) is not None:
                    self._add(inner, name)
        elif (function := get_attribute_safely(thing, "__func__")) is not None:  # Equinox's too
            kind = type(thing.__self__)
            if not name and is_user_code(kind):  # no setting of the search tells its values
                name = f"{get_qualified_name(kind)}.<method>"
            self._add_all({"__func__": function, "self": thing.__self__}, name)
        elif is_user_code(type(thing)) or dataclasses.is_dataclass(thing):
            self._add_object(thing, name)
        elif not isinstance(thing, types.ModuleType):
            self._add_callbacks(thing, name)

    def _add_all(self, things: Mapping[str, Any], name: str = "") -> None:
        """Add things, those that have a name under it."""
        for inner, thing in list(things.items()):
            self._add(thing, f"{name}.{inner}" if name and not inner.startswith("_") else "")

    def _add_object(self, thing: Any, name: str) -> None:
        """Add what an object holds, with the public values that no setting of the search tells."""
        if not is_user_code(type(thing)):  # a part of brns, which may hold functions
            self._add_all(attributes_of(thing))
            return
        if not name or "<" in name:  # else the lines of its name tell its values
            self.objects.append(thing)
        recorded = {}
        with contextlib.suppress(RecursionError):  # it holds itself
            recorded = {} if name else part_to_json(thing)
        prefix = name or get_qualified_name(type(thing))
        if name:
            line = f"{name} = {type(thing).__qualname__}\n"
            self.texts[name] = line + self.texts.get(name, "")
        for key, value in attributes_of(thing).items():
            hidden = key.startswith("_") or (isinstance(recorded, dict) and key in recorded)
            self._add(value, "" if hidden else f"{prefix}.{key}")
            told = isinstance(value, types.ModuleType) or is_user_code(type(value))
            if not (told or key.startswith("_")) and id(value) in self._globals:
                self._add_assignments(value, *self._globals[id(value)], f"{prefix}.{key}")

    @functools.cached_property
    def _globals(self) -> dict[int, tuple[Mapping[str, Any], str]]:
        """id of an object to the first of the user's modules that has it, and its name there."""
        variables = {}
        for module in _list_user_namespaces():
            for name, value in list(module.items()):
                variables.setdefault(id(value), (module, name))
        return variables

    def _add_callbacks(self, thing: Any, name: str) -> None:
        """Add the functions, the objects of a user's and Gymnasium's environments that another
        package's object holds.
        """
        inner = dict(get_attribute_safely(thing, "__dict__") or {})
        for part in ("__wrapped__", "__self__"):  # of JAX, of C
            inner[part] = get_attribute_safely(thing, part)
        for value in inner.values():
            of_user = isinstance(value, Callback) or is_user_code(type(value))
            if of_user or get_attribute_safely(value, "unwrapped") is not None:
                self._add(value, name if isinstance(value, functools.partial) else "")

    def _add_class(self, kind: type) -> None:
        for each in kind.__mro__:
            if not is_user_code(each) or (each is not kind and id(each) in self._seen):
                continue
            self._seen[id(each)] = each
            name = get_qualified_name(each)
            if each.__bases__ != (object,):
                bases = ", ".join(base.__qualname__ for base in each.__bases__)
                self.texts[name] = f"class {each.__qualname__}({bases}): ...\n"
            fields = vars(each).get("__dataclass_fields__", ())
            for inner, value in list(vars(each).items()):
                special = inner[0] == inner[-1] == "_" and inner != "__call__"
                if inner in fields or (special and not _is_written_by_hand(value)):
                    continue
                self._add(value, f"{name}.{inner}")
                if not isinstance(value, Wrapped):
                    space = vars(sys.modules.get(each.__module__, types))
                    self._add_assignments(value, space, inner, f"{name}.{inner}", each.__name__)

    def _add_function(self, function: types.FunctionType, alias: str) -> None:
        """Add a function with the values that it reads: defaults, free variables and globals."""
        name, code, module = get_qualified_name(function), function.__code__, function.__globals__
        own = is_user_code(function)
        wrapped = vars(function).get("__wrapped__")
        if wrapped is not None and not is_user_code(wrapped):  # a partial, as below jax.vmap
            self._add(wrapped, alias)
        self._add_all(vars(function), name if own else "")  # of decorated ones `__wrapped__`
        if not own:
            return
        self.texts[name] = self.texts.get(name, "") + format_source_with_digest(function)
        self.files[name] = code.co_filename
        values = function.__defaults__ or ()
        arguments = code.co_varnames[: code.co_argcount]
        defaults = zip(arguments[len(arguments) - len(values) :], values, strict=True)
        for argument, value in (dict(defaults) | (function.__kwdefaults__ or {})).items():
            self._add(value, f"{name}.{argument}")
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # of an empty one
                self._add(cell.cell_contents, f"{name}.{free}")
        names, prefix = find_names(code), format_module_name_with_dot(module)
        self._state |= {prefix + each for each in names.assigned}
        self._words |= names.words
        self._add_words(names.words, module)
        self._add_names(module, names.globals, names.words, prefix)
        for each in names.globals & module.keys():
            self._add_field_defaults(module[each])

    def _add_field_defaults(self, kind: Any) -> None:
        """Add what the fields of a user's dataclass or pydantic model are by default."""
        if not isinstance(kind, type) or not is_user_code(kind):
            return
        for attribute in ("__dataclass_fields__", "__pydantic_fields__"):
            for name, field in (get_attribute_safely(kind, attribute) or {}).items():
                prefix = f"{get_qualified_name(kind)}.{name}"
                self._add(field.default_factory, prefix)
                self._add(field.default, prefix)

    def _add_names(
        self, space: Mapping[str, Any], names: Collection[str], words: Collection[str], prefix: str
    ) -> None:
        """Add what has these names in a module or namespace; of a module or a dictionary among them
        what the words name.
        """
        if file := space.get("__file__"):
            parents = map(str, pathlib.Path(file).parents)
            self.folders |= dict(zip(parents, (".", "..", "../.."), strict=False))
        for name in sorted({*names} & space.keys() - MODULE_NAMES):
            value, path = space[name], prefix + name
            inner = value if isinstance(value, dict) else getattr(value, "__dict__", {})
            if isinstance(value, types.ModuleType) and not is_user_code(value):
                if value.__name__ != name:
                    self.texts[path] = f"{name} = {value.__name__}\n"
            elif isinstance(value, types.ModuleType):
                if (id(value), id(words)) not in self._seen:
                    self._seen[id(value), id(words)] = words
                    self._add_names(inner, words, words, format_module_name_with_dot(inner))
            elif isinstance(value, dict) and not inner.keys().isdisjoint(words):
                chosen = {key: inner[key] for key in sorted(inner.keys() & words)}
                self.texts[path] = f"{path} has {', '.join(chosen)}\n"
                self._add_all(chosen, path)
            else:
                self._add(value, path)
                self._add_assignments(value, space, name, path)

    def _add_assignments(
        self, value: Any, space: Mapping[str, Any], name: str, path: str, owner: str = ""
    ) -> None:
        """Of an object add the statements that assign it, in the class `owner` or in modules, and
        what these read.
        """
        if isinstance(value, DEFINED) or is_value_or_collection(value):
            return
        if (path, id(value)) in self._seen:
            return
        self._seen[path, id(value)] = value
        others = [each for each in _list_user_namespaces() if each.get(name) is value]
        for module in (space, *others):
            for line in find_assignments(module, name, owner):
                text = f"{ast.unparse(line)}\n"
                if text not in self.texts.get(path, ""):  # else of a cell that was run again
                    self.texts[path] = self.texts.get(path, "") + text
                words = find_words(line)
                self._add_words(words, module)
                names = find_variables(line, ast.Load) - {name}
                self._add_names(module, names, words, format_module_name_with_dot(module))

    def _add_words(self, words: Collection[str], module: Mapping[str, Any]) -> None:
        """Add the data files, and what is registered with Gymnasium, that words of code name."""
        for word in words:
            self._add_data_file(word, pathlib.Path(module.get("__file__") or "").parent)
            self._add_registered_environment(_find_registered_environment(word))

    def _add_registered_environment(self, spec: Any) -> None:
        """Add what is registered with Gymnasium."""
        entry: Any = get_attribute_safely(spec, "entry_point")
        if entry is None:
            return
        name = f"registered {spec.id}"
        which = entry if isinstance(entry, str) else get_attribute_safely(entry, "__qualname__")
        self.texts[name] = f"{name}: {which}\n"
        wrappers = [vars(each) for each in spec.additional_wrappers]
        settings = {"kwargs": spec.kwargs, "max_episode_steps": spec.max_episode_steps}
        self._add_all(settings | {"additional_wrappers": wrappers}, name)
        if isinstance(entry, str):
            module, _, inner = entry.partition(":")
            with contextlib.suppress(Exception):  # whoever makes the environment is told of it
                importlib.import_module(module)  # its code is known before and after it is made
            entry = getattr(sys.modules.get(module), inner, None)
        self._add(entry, f"{name}.entry_point")

    def _add_data_file(self, name: str | pathlib.PurePath, folder: Any = "") -> None:
        """Add the data file that there is under a name, here or in a folder, by what it holds."""
        for file in (pathlib.Path(name), pathlib.Path(folder, name)):
            with contextlib.suppress(OSError, ValueError):  # it may not be read, or is no name
                if file.suffix not in NO_DATA and file.is_file() and not _is_imported(file):
                    status = file.stat()
                    digest = _digest_content(file.absolute(), status.st_mtime_ns, status.st_size)
                    self.texts[DATA_FILE + file.name] = f"{file.name}, sha256 {digest}\n"


def _list_user_namespaces() -> list[dict[str, Any]]:
    """The names of each of the user's modules, with their values."""
    return [vars(each) for each in list(sys.modules.values()) if is_user_code(each)]


def _is_imported(file: pathlib.Path) -> bool:
    """Whether it is a module of this process, whose functions are known one by one."""
    paths = (get_attribute_safely(each, "__file__") for each in list(sys.modules.values()))
    return file.suffix == ".py" and f"{file.absolute()}" in paths


@functools.lru_cache(maxsize=256)
def _digest_content(file: pathlib.Path, *_: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def _format_alias(name: str, thing: Any) -> str:
    """A line that tells which function or class has another one's name; else nothing."""
    called, alias = get_attribute_safely(thing, "__name__"), name.rpartition(".")[2]
    if not isinstance(called, str) or not callable(thing) or called == alias:
        return ""
    if not is_user_code(thing):
        return f"{alias} = {get_attribute_safely(thing, '__module__')}.{called}\n"
    digest = format_digest(thing) if isinstance(thing, types.FunctionType) else ""
    return f"{alias} = {get_qualified_name(thing)}\n{digest}"  # its module may be `__main__` too


def _is_written_by_hand(value: Any) -> bool:
    """Whether somebody wrote this function, not a decorator such as `dataclass`."""
    value = getattr(value, "__func__", value)  # `__new__` is a static method
    value = get_attribute_safely(value, "__wrapped__") or value  # as `__repr__` is
    if not isinstance(value, types.FunctionType) or value.__name__ == "__annotate__":
        return False  # the latter is Python's own, from 3.14 on
    return not value.__code__.co_filename.startswith(("<string>", "<attrs generated"))


def _find_registered_environment(name: str) -> Any:
    registry = getattr(sys.modules.get("gymnasium"), "registry", {})
    return registry.get(name.rpartition(":")[2])
