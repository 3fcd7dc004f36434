"""The code of a search that is a user's own, as text: a run that goes on with other code is told.

Half of a record would be one simulator, half another. Settings do not tell: a method that was
edited has its old name.
"""

import argparse
import ast
import contextlib
import dataclasses
import difflib
import dis
import enum
import functools
import hashlib
import importlib.util
import inspect
import itertools
import linecache
import os
import pathlib
import sys
import sysconfig
import textwrap
import types
from collections.abc import Collection, Generator, Mapping
from importlib.machinery import PathFinder
from typing import Any

import equinox as eqx
import jax
import numpy as np

from brns.search import NoveltySearch
from brns.settings.description import attributes_of, is_library_value, part_to_json
from brns.tasks.chunked import innermost

LIBRARY = tuple(
    sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
INSTALLED = ("site-packages", "dist-packages")
PLAIN = bool | int | float | complex | str | bytes | None
DATA = PLAIN | np.ndarray | np.generic | jax.Array | enum.Enum | pathlib.PurePath | range
MODULE_NAMES = {"__name__", "__file__", "__spec__", "__package__", "__loader__"}
"""globals that tell how a program was begun, and from where"""
LONG = 1000
"""letters of a value, beyond which a digest is kept"""
SHOWN = 30
"""lines of a difference"""
Wrapped = classmethod | staticmethod | functools.cached_property | property
Function = types.FunctionType | types.MethodType | functools.partial
KNOWN = type | types.FunctionType | types.ModuleType | argparse.Namespace | Wrapped


class Source:
    """The functions of a search that are a user's, and the values that they read, each under its
    name, such as `Throw.evaluate`.

    Args:
        search: the experiment.
    """

    def __init__(self, search: NoveltySearch):
        self.values: dict[str, str] = {}
        """name to a line that tells the value"""
        self.functions: dict[str, list[types.FunctionType]] = {}
        self.made: dict[str, str] = {}
        """name of an object, such as a simulator of a package, to the lines that assign it; of a
        class with bases, or of a package, to a line that names them"""
        self.files: dict[str, str] = {}
        """name of a module that a function imports to its text"""
        self._seen: dict[int, Any] = {}
        self._assigned: set[str] = set()
        task = innermost(search.task)
        for part in (task, search.estimator, search.mutate, search.select, search.founders):
            self._collect(part)
        self._collect_registration(task)
        # What a function assigns, such as a model that is loaded when it is first needed, is state.
        for name in [*self.values, *self.made]:
            first, *others = name.split(".")
            if first in self._assigned or ".".join([first, *others[:1]]) in self._assigned:
                self.values.pop(name, None)
                self.made.pop(name, None)

    @functools.cached_property
    def texts(self) -> dict[str, str]:
        """Name to source; of a function without any a digest of what Python compiled."""
        texts = {
            name: self.values.get(name, "") + self.made.get(name, "") + self.files.get(name, "")
            for name in (*self.values, *self.made, *self.files)
        }
        for name, functions in self.functions.items():
            texts[name] = texts.get(name, "") + "".join(map(_read_source, functions))
        return texts

    def _collect(self, thing: Any, name: str = "") -> None:
        """Add the user's functions that a thing is or holds, and its value if it has a name."""
        plain = _is_plain_value(thing)
        if name and (plain or _is_alias(name, thing)):
            line = _format_value(name, thing)
            if line not in self.values.get(name, ""):
                self.values[name] = self.values.get(name, "") + line
        if plain:
            name = ""
        if name and isinstance(thing, type) and dataclasses.is_dataclass(thing) and _is_own(thing):
            for field in dataclasses.fields(thing):  # of an object the settings tell its values
                for default in (field.default, field.default_factory):
                    self._collect(default, f"{thing.__qualname__}.{field.name}")
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if not isinstance(thing, type) and _is_own(type(thing)):
            self._collect(type(thing))
        if isinstance(thing, Mapping):
            self._collect_all({f"{key}": value for key, value in thing.items()}, name)
            self._collect(getattr(thing, "default_factory", None))
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
                self._collect(getattr(thing, part, None))
        elif isinstance(thing, type):
            self._collect_class(thing)
        elif isinstance(thing, types.FunctionType) or hasattr(thing, "__wrapped__"):
            own = isinstance(thing, types.FunctionType) and _is_own(thing)
            if own:
                self._collect_function(thing)
            if hasattr(thing, "__wrapped__"):
                self._collect(thing.__wrapped__, name)
            self._collect_all(getattr(thing, "__dict__", {}), thing.__qualname__ if own else "")
        elif _is_own(type(thing)) or dataclasses.is_dataclass(thing) or _is_settings(thing):
            self._collect_attributes(thing, name)
        elif callable(thing):  # of another package, such as numpy.vectorize
            inner = getattr(thing, "__dict__", {}).items()
            self._collect_all({key: value for key, value in inner if isinstance(value, Function)})
            if hasattr(thing, "__self__"):  # a method of a list, say
                self._collect(thing.__self__, name)

    def _collect_all(self, things: Mapping[str, Any], name: str = "") -> None:
        """Add things, those that have a name under it."""
        for inner, thing in list(things.items()):
            self._collect(thing, f"{name}.{inner}" if name and not inner.startswith("_") else "")

    def _collect_attributes(self, thing: Any, name: str) -> None:
        """Add what an object holds, with those values that no setting of the search tells.

        Objects whose classes are partly another package's change by code that is not looked at.
        """
        inner = attributes_of(thing)
        if not _is_settings(thing):
            self._collect_all(inner)
        elif name:
            self._collect_all(inner, name)
        else:
            recorded = part_to_json(thing)
            values = {key: value for key, value in inner.items() if key not in recorded}
            self._collect_all(values, type(thing).__qualname__)
            self._collect_all({key: inner[key] for key in inner if key in recorded})

    def _collect_registration(self, task: Any) -> None:
        """Add what a program registered with Gymnasium under the id that a task has."""
        spec: Any = getattr(task, "spec", None)
        entry: Any = getattr(spec, "entry_point", None)
        if isinstance(entry, str) and (module := sys.modules.get(entry.partition(":")[0])):
            entry = getattr(module, entry.partition(":")[2], None)
        if entry is not None and _is_own(entry):
            names = ("kwargs", "max_episode_steps")
            arguments = {name: getattr(spec, name) for name in names}
            self._collect_all({"entry_point": entry, **arguments}, spec.id)

    def _collect_class(self, kind: type) -> None:
        if _is_own(type(kind)):
            self._collect(type(kind))
        for each in kind.__mro__:
            if not _is_own(each) or (each is not kind and id(each) in self._seen):
                continue
            self._seen[id(each)] = each
            if each.__bases__ != (object,):
                bases = ", ".join(base.__qualname__ for base in each.__bases__)
                self.made[each.__qualname__] = f"class {each.__qualname__}({bases}): ...\n"
            settings = vars(each).get("__dataclass_fields__", ())
            module = getattr(sys.modules.get(each.__module__), "__dict__", {})
            fields = dict.fromkeys(inspect.get_annotations(each), ...)  # pydantic's, say
            for name, value in (fields | vars(each)).items():
                written = not name.startswith("__") or name == "__call__" or _is_written(value)
                if written and name not in settings:
                    path = f"{each.__qualname__}.{name}"
                    self._collect(value, path)
                    if not _is_known(value):
                        self._collect_lines(path, _extract_assignments(_read(each), name), module)

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
        names, attributes = _names_in(code)
        module = function.__globals__.get("__name__", "").rpartition(".")[2]
        for assigned in _assigned_globals(code):
            self._assigned |= {assigned, f"{module}.{assigned}"}
        self._collect_globals(function.__globals__, names, attributes)
        self._collect_imports(code, function.__globals__.get("__package__") or "")

    def _collect_imports(self, code: types.CodeType, package: str) -> None:
        """Add the files of what a function imports, and of what these import.

        They may not be imported yet, and importing could do anything: so it is all of the text.
        """
        for name in _imports_in(code, package):
            file = None if name in self.files else _find_own_file(name)
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
        for name in sorted(names & module.keys() - MODULE_NAMES):
            value, path = module[name], prefix + name
            self._collect_used(path, value, attributes)
            if path not in self.made and not _is_known(value):
                for other in [module, *_own_modules_with(name, value)]:
                    self._collect_lines(path, _read_module(other, name), other, prefix)

    def _collect_lines(
        self, path: str, lines: str, module: Mapping[str, Any], prefix: str = ""
    ) -> None:
        """Add the lines that assign what is no value, class or function, and what they read."""
        if lines:
            self.made[path] = lines
            tree = ast.parse(lines)
            attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            self._collect_globals(module, _names_of(tree, ast.Load), attributes, prefix)

    def _collect_used(self, name: str, value: Any, names: set[str]) -> None:
        """Add a global of a function, but of a module and of arguments what the function names."""
        if isinstance(value, argparse.Namespace) or (
            isinstance(value, types.ModuleType) and _is_own(value)
        ):
            self._collect_globals(vars(value), names, names, f"{name}.")
        elif isinstance(value, types.ModuleType):
            self.made[name] = f"{name} = {value.__name__}\n"
        else:
            self._collect(value, name)


def difference(
    before: Mapping[str, str], now: Source, changing: Collection[str] = ()
) -> dict[str, str]:
    """What was edited, but for comments and values that evaluations change: a text by name."""
    changed = {}
    for name in dict.fromkeys((*before, *now.texts)):
        was, text = before.get(name, ""), now.texts.get(name, "")
        if name not in changing and _parse(was) != _parse(text):
            lines = difflib.unified_diff(was.splitlines(), text.splitlines(), n=1, lineterm="")
            visible = list(lines)[2:]
            more = [f"... {len(visible) - SHOWN} more lines"] if len(visible) > SHOWN else []
            changed[name] = "\n".join(visible[:SHOWN] + more)
    return changed


def changed_values(before: Mapping[str, str], search: NoveltySearch) -> list[str]:
    """The values of a user's code that are others than when the run began: counters, caches, logs.
    Functions are not looked at: their files may have been edited meanwhile.
    """
    values = Source(search).values
    return [name for name in values if values[name] not in before.get(name, "")]


def _is_own(thing: Any) -> bool:
    """Whether a class, function or module is neither brns' nor of an installed package."""
    if isinstance(thing, types.FunctionType):  # one made by `exec` may have no module
        name = thing.__globals__.get("__name__", "__main__")
        file = thing.__code__.co_filename
    else:
        is_module = isinstance(thing, types.ModuleType)
        name = getattr(thing, "__name__" if is_module else "__module__", None)
        file = getattr(sys.modules.get(str(name)), "__file__", None)
    return isinstance(name, str) and _is_own_file(name, file)


def _is_own_file(name: str, file: str | None) -> bool:
    """The same of a module's name and file."""
    if name.partition(".")[0] in ("brns", "builtins"):
        return False
    if file is None:  # typed into a notebook
        return name.partition(".")[0] not in sys.stdlib_module_names or name == "__main__"
    return not (file.startswith(LIBRARY) or any(f"/{part}/" in file for part in INSTALLED))


def _is_written(value: Any) -> bool:
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
    if hasattr(value, "__name__") or _is_settings(value):
        return False
    return isinstance(value, DATA) or is_library_value(value)


def _is_settings(value: Any) -> bool:
    """Whether it is an object of a user's own class, such as a dataclass of constants."""
    classes = [each for each in type(value).__mro__ if each is not object]
    users = all(map(_is_own, classes)) or isinstance(value, types.SimpleNamespace)
    return users and not isinstance(value, type)


def _is_known(value: Any) -> bool:
    """Whether its values, or its code, tell more than the lines that assign it."""
    return _is_plain_value(value) or _is_settings(value) or isinstance(value, KNOWN)


def _is_alias(name: str, value: Any) -> bool:
    """Whether a name is another one's of a function or class: `measure = np.hypot`."""
    if not callable(value) or isinstance(value, functools.partial):
        return False
    original = getattr(value, "__name__", None)
    return isinstance(original, str) and original != name.rpartition(".")[2]


def _format_value(name: str, value: Any) -> str:
    """A value as a line; of a long one a digest."""
    text = repr(part_to_json(value))
    if isinstance(value, np.ndarray | jax.Array):
        text = f"{value.dtype} {text}"
    if len(text) > LONG:
        text = f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return f"{name} = {text}\n"


def _read(thing: Any) -> str:
    """The source of a function's code or of a class; empty where there is none."""
    with contextlib.suppress(OSError, TypeError, IndentationError, SyntaxError):
        return textwrap.dedent(inspect.getsource(thing))
    return ""


def _read_source(function: types.FunctionType) -> str:
    code = function.__code__
    # The line of a lambda may say other things too.
    if code.co_name != "<lambda>" and (text := _read(code)):
        return text
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{function.__qualname__}, compiled by Python {version}: {_digest(code)}\n"


def _digest(code: types.CodeType) -> str:
    constants = list(map(_describe_constant, code.co_consts))
    content = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def _describe_constant(constant: Any) -> Any:
    """A constant of code, the same in every process, where sets of strings have other orders."""
    if isinstance(constant, types.CodeType):
        return _digest(constant)
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def _codes_in(code: types.CodeType) -> Generator[types.CodeType, None, None]:
    """The code of a function, and of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _names_in(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The globals that a function and the functions within it use, and all names, of attributes
    too.
    """
    steps = [step for step in dis.get_instructions(code) if "GLOBAL" in step.opname]
    names, attributes = {step.argval for step in steps}, set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names_in(constant)
            names |= inner[0] if constant.co_flags & inspect.CO_OPTIMIZED else inner[1]
            attributes |= inner[1]
    return names, attributes


def _assigned_globals(code: types.CodeType) -> set[str]:
    """The globals that a function, and the functions within it, assign."""
    steps = itertools.chain.from_iterable(map(dis.get_instructions, _codes_in(code)))
    return {step.argval for step in steps if step.opname == "STORE_GLOBAL"}


def _imports_in(code: types.CodeType, package: str) -> Generator[str, None, None]:
    """The names of modules that a function of a package, and the functions within it, import; of
    `from a import b` both `a` and `a.b`, since b may be one.
    """
    steps = itertools.chain.from_iterable(map(dis.get_instructions, _codes_in(code)))
    steps = [step for step in steps if step.opname != "EXTENDED_ARG"]
    for level, names, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":  # before it come its level and its names
            with contextlib.suppress(ImportError):  # beyond the top-level package
                name = importlib.util.resolve_name("." * level.argval + step.argval, package)
                yield from (name, *(f"{name}.{each}" for each in names.argval or ()))


def _find_own_file(name: str) -> str | None:
    """The file of a user's module; nothing is imported."""
    top, *inner = name.split(".")
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(top)
        for part in inner:
            places = list(spec.submodule_search_locations or ()) if spec else []
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec and places else None
        if spec and spec.has_location and spec.origin and _is_own_file(name, spec.origin):
            return spec.origin
    return None


def _own_modules_with(name: str, value: Any) -> list[dict[str, Any]]:
    """The user's modules that have a value under a name, for one that is imported by another."""
    modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
    same = [names for names in modules if name in names and names[name] is value]
    return [names for names in same if _is_own(sys.modules.get(names.get("__name__", "")))]


def _read_module(module: Mapping[str, Any], name: str) -> str:
    """The lines of a module, or of the last cell of a notebook with any, that assign a global."""
    if "get_ipython" not in module:
        return _extract_assignments("".join(linecache.getlines(module.get("__file__") or "")), name)
    return next(filter(None, (_extract_assignments(cell, name) for cell in module["In"][::-1])), "")


def _extract_assignments(text: str, name: str) -> str:
    """The lines of a module, a cell or a class that assign a name, but not within functions."""
    with contextlib.suppress(SyntaxError):
        tree = ast.parse(text)
        block = tree.body[0] if [*map(type, tree.body)] == [ast.ClassDef] else tree
        return "".join(f"{ast.unparse(each)}\n" for each in _statements_of(block, name))
    return ""


def _statements_of(block: ast.AST, name: str) -> Generator[ast.AST, None, None]:
    """The statements that assign a name, also within an `if`, but in no function or class."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        assigns = isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if assigns and name in _names_of(node, ast.Store):
            yield node
        yield from _statements_of(node, name)


def _names_of(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, context)}


def _parse(text: str) -> str:
    """The text without comments, docstrings, annotations of arguments, and how it is set."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)
