"""The code of a search that is a user's own, as text: a run that goes on with other code is told.

Half of a record would be one simulator, half another. Settings do not tell: a method that was
edited has its old name.
"""

import argparse
import ast
import contextlib
import dataclasses
import enum
import functools
import inspect
import itertools
import pathlib
import re
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

import jax
import numpy as np

from brns.settings.code import (
    extract_name_writes,
    find_assigned_attributes,
    find_globals_and_names,
    find_globals_by_value,
    find_imports,
    find_strings,
    find_user_file,
    find_variables,
    format_source_with_digest,
    get_module_prefix,
    get_qualified_name,
    is_user_code,
    read_module_writes,
)
from brns.settings.data_files import (
    CODE,
    CONFIGURATIONS,
    DATA_FILE,
    RUN_ARGUMENTS,
    find_data_files,
    find_written_files,
)
from brns.settings.description import attributes_of, get_attribute_safely, part_to_json
from brns.settings.parsing import get_source_text, parse_source
from brns.settings.values import (
    PLAIN,
    Wrapped,
    format_value,
    is_alias,
    is_self_describing,
    is_user_object,
    is_value_or_collection,
    make_reproducible_sort_key,
    name_dictionary_entry,
)

MODULE_NAMES = {"__name__", "__file__", "__spec__", "__package__", "__loader__"}
"""globals that tell how a program was begun, and from where"""
INITIALIZERS = {"__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__"}
"""methods that give an object or a class its first values"""
NAMED = 30
"""items of a dictionary that have names of their own"""
Function = types.FunctionType | types.MethodType | functools.partial


class UserCode:
    """The functions of a user's parts, and the values that they read, each under its full name."""

    def __init__(self, task: Any, *parts: Any):
        self.values: dict[str, str] = {}
        """name to a line that tells the value"""
        self.functions: dict[str, list[types.FunctionType]] = {}
        self.made: dict[str, str] = {}
        """name to the lines that assign an object, a class's bases, or a module's text"""
        self.specs: dict[str, Any] = {}
        """what is registered with Gymnasium, by id"""
        self.classes: dict[str, type] = {}
        self.objects: list[Any] = []
        """of these classes"""
        self._seen: dict[int, Any] = {}
        self._first_names: dict[int, str] = {}
        """of objects, under which each was met first"""
        self.names: set[str] = set()
        """of what was looked at, or for"""
        self.globals: dict[tuple[str, int], tuple[Mapping[str, Any], str]] = {}
        """modules, and names in them whose values are added: by path"""
        self._attributes: set[str] = set()
        """all names that functions use"""
        self._words: set[str] = set()
        """that functions say, as in `vars(arguments)["gain"]`"""
        self._arguments: set[str] = set()
        """of functions, with their other variables"""
        self._holders: dict[tuple[str, int], Mapping[str, Any]] = {}
        """modules and arguments of programs, by the prefix of the names that are added"""
        self.folders: dict[str, str] = {}
        """of modules, and their parents, to what stands for them"""
        self.paths: dict[str, pathlib.Path] = {}
        """name of a module to its file"""
        # Before what names it: this imports its module.
        self._collect_registered_environment(get_attribute_safely(task, "spec"))
        for part in (task, *parts):
            self._collect(part)
        before = None
        while before != (before := (len(self._holders), len(self._attributes), len(self._words))):
            for (prefix, _), held in list(self._holders.items()):
                words = () if "__name__" in held else self._words  # of a program's arguments
                self._collect_globals(held, {*self._attributes, *words, "__getattr__"}, prefix)
        named = self._attributes | self._words | self._arguments
        for name in [*self.values]:
            if name.rpartition(".")[2] in RUN_ARGUMENTS - named:
                del self.values[name]
        self._drop_written_files()
        self._strip_project_paths()

    @functools.cached_property
    def texts(self) -> dict[str, str]:
        """Name to source, of a function without any to a digest of what Python compiled."""
        names = (*self.values, *self.made, *self.functions)
        texts = {
            name: self.join_value_texts(name)
            + "".join(map(format_source_with_digest, self.functions.get(name, ())))
            for name in names
        }
        return {name: text for name, text in texts.items() if text}

    @functools.cached_property
    def _globals_by_value(self) -> dict[int, list[tuple[dict[str, Any], str]]]:
        return find_globals_by_value()

    def join_value_texts(self, name: str) -> str:
        """What there is of a name, but for functions."""
        return self.values.get(name, "") + self.made.get(name, "")

    def read_module_files(self) -> dict[str, str]:
        """Name of a module to the text of its file as it is now."""
        texts = {}
        for name, path in self.paths.items():
            with contextlib.suppress(OSError):
                texts[name] = path.read_text("utf-8", "replace")
        return texts

    def _drop_written_files(self) -> None:
        """Leave out the files that the code itself writes, such as pictures and logs."""
        if not any(name.startswith(DATA_FILE) for name in self.values):
            return
        functions = itertools.chain.from_iterable(self.functions.values())
        texts = [*self.made.values(), *(get_source_text(each.__code__) for each in functions)]
        for name in set().union(*map(find_written_files, texts)):
            self.values.pop(f"{DATA_FILE}{pathlib.PurePath(name).name}", None)

    def _strip_project_paths(self) -> None:
        """Leave out where a project lies, and the chance part of a temporary folder's name."""
        for folder in sorted(self.folders, key=len, reverse=True):
            pattern = re.compile(rf"{re.escape(folder)}(?![^/'])")
            for name, text in self.values.items():
                self.values[name] = pattern.sub(self.folders[folder], text)
        for name, text in self.values.items():
            self.values[name] = re.sub(r"/tmp[a-z0-9_]{8}(?=[/'])", "/tmp", text)

    def _collect(self, thing: Any, name: str = "") -> None:
        """Add the user's functions that a thing is or holds, and its value if it has a name."""
        plain = is_value_or_collection(thing)
        if name:
            self.names.add(name)
        if name and plain and isinstance(thing, dict):  # some of it may be state
            entries = thing.copy()  # other threads may go on with it
            words = [key for key in entries if isinstance(key, str)][:NAMED]
            rest = {key: value for key, value in entries.items() if key not in words}
            self._add_value(name, rest)
            for key in words:
                self._collect(entries[key], f"{name}.{key}")
        elif name and (plain or is_alias(name, thing)):
            self._add_value(name, thing)
        if plain:
            name = ""
        is_class = isinstance(thing, type) and dataclasses.is_dataclass(thing)
        if name and is_class and is_user_code(thing):
            for field in dataclasses.fields(thing):  # of an object the settings tell its values
                for default in (field.default, field.default_factory):
                    self._collect(default, f"{get_qualified_name(thing)}.{field.name}")
        if isinstance(thing, str):
            self._collect_registered_environment(_find_registered_environment(thing))
        if isinstance(thing, str | pathlib.PurePath):
            self._collect_data_file(thing)
        # Of a member of an IntEnum too.
        if not isinstance(thing, type) and is_user_code(type(thing)):
            self._collect(type(thing))
        if name:
            self._add_object_identity(name, thing)
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Mapping):
            entries = dict(thing)  # other threads may go on with it
            names = (name_dictionary_entry(row, key) for row, key in enumerate(entries))
            self._collect_all(dict(zip(names, entries.values(), strict=True)), name)
            for key in entries:
                self._collect(key)
            self._collect(get_attribute_safely(thing, "default_factory"))
        elif isinstance(thing, np.ndarray):
            self._collect(thing.tolist() if thing.dtype.hasobject else None)
        elif isinstance(thing, tuple | list | set | frozenset):
            ordered = isinstance(thing, tuple | list)
            things = thing if ordered else sorted(thing, key=make_reproducible_sort_key)
            self._collect_all({f"{row}": value for row, value in enumerate(things)}, name)
        elif isinstance(thing, types.ModuleType):
            if is_user_code(thing):
                self._holders[get_module_prefix(vars(thing)), id(thing)] = vars(thing)
        elif isinstance(thing, functools.partial | functools.partialmethod):
            arguments = {f"{row}": value for row, value in enumerate(thing.args)}
            self._collect_all({"func": thing.func, **arguments, **thing.keywords}, name)
        elif isinstance(thing, types.MethodType):
            self._collect(thing.__func__)
            self._collect(thing.__self__, name or get_qualified_name(type(thing.__self__)))
        elif isinstance(thing, Wrapped):
            for part in ("func", "fget", "fset", "fdel", "__func__"):
                self._collect(get_attribute_safely(thing, part))
        elif isinstance(thing, type):
            self._collect_class(thing)
        elif isinstance(thing, types.FunctionType) or get_attribute_safely(thing, "__wrapped__"):
            own = isinstance(thing, types.FunctionType) and is_user_code(thing)
            if own:
                self._collect_function(thing)
            if (wrapped := get_attribute_safely(thing, "__wrapped__")) is not None:
                self._collect(wrapped, name)
            inner = get_attribute_safely(thing, "__dict__") or {}
            self._collect_all(inner, get_qualified_name(thing) if own else "")
        elif is_user_code(type(thing)) or dataclasses.is_dataclass(thing) or is_user_object(thing):
            self._collect_attributes(thing, name)
        elif (inner := get_attribute_safely(thing, "unwrapped")) is not None:  # of Gymnasium
            spec = get_attribute_safely(thing, "spec")
            parts = ("id", "kwargs", "max_episode_steps")
            arguments = {part: get_attribute_safely(spec, part) for part in parts}
            wrappers = get_attribute_safely(spec, "additional_wrappers", ())
            arguments["wrappers"] = [vars(wrapper) for wrapper in wrappers]
            self._collect_all(arguments, name and f"{name}.spec")
            self._collect_callbacks(thing)
            self._collect(get_attribute_safely(thing, "env", inner), name)
        else:
            self._collect_library_object(thing, name)

    def _collect_all(self, things: Mapping[str, Any], name: str = "") -> None:
        """Add things, those that have a name under it."""
        for inner, thing in list(things.items()):
            self._collect(thing, f"{name}.{inner}" if name and not inner.startswith("_") else "")

    def _collect_library_object(self, thing: Any, name: str) -> None:
        """Add what is known of another package's object, such as numpy.vectorize or a simulator."""
        if callable(thing):
            self._collect_callbacks(thing)
            owner = get_attribute_safely(thing, "__self__")  # of a list's method, say
            if owner is not None:
                self._collect(owner, name)
        if is_self_describing(thing) or get_attribute_safely(thing, "__name__") is not None:
            return
        if not self._collect_object_assignments(thing) and name:  # no line tells of it
            for key, value in attributes_of(thing).items():
                several = isinstance(value, np.ndarray | jax.Array | tuple | list | dict)
                if several and is_value_or_collection(value):
                    self._collect_all({key: value}, name)

    def _collect_callbacks(self, thing: Any) -> None:
        """Add the functions that another package's object was given."""
        inner = (get_attribute_safely(thing, "__dict__") or {}).items()
        self._collect_all({key: value for key, value in inner if isinstance(value, Function)})

    def _add_value(self, name: str, value: Any) -> None:
        self.values[name] = self.values.get(name, "") + format_value(name, value)

    def _add_object_identity(self, name: str, thing: Any) -> None:
        """Add a line that tells which of the user's objects has a name."""
        if is_user_code(type(thing)):
            first = self._first_names.setdefault(id(thing), name)
            which = get_qualified_name(type(thing)) if first == name else first
            self.made[name] = self.made.get(name, "") + f"{name} = {which}\n"

    def _collect_attributes(self, thing: Any, name: str) -> None:
        """Add what an object holds, with those values that no setting of the search tells.

        Objects whose classes are partly another package's change by code that is not looked at: of
        these the values are those that initializers of the user's assign.
        """
        inner = attributes_of(thing)
        if is_user_code(type(thing)):
            self.objects.append(thing)
            for key, value in inner.items():
                # Of several lambdas within a function, this one.
                if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
                    part = f"{get_qualified_name(type(thing))}.{key}.<lambda>"
                    self.functions.setdefault(part, []).append(value)
        if not is_user_object(thing):
            if not dataclasses.is_dataclass(thing):  # of which the settings tell
                name = name or get_qualified_name(type(thing))
            kinds = [each for each in type(thing).__mro__ if is_user_code(each)]
            written = [vars(each).get(name) for each in kinds for name in INITIALIZERS]
            functions = [each for each in written if isinstance(each, types.FunctionType)]
            assigned = set().union(*(find_assigned_attributes(each.__code__) for each in functions))
            for key, value in inner.items():
                has_value = name and {key, f"_{key}"} & assigned and is_value_or_collection(value)
                self._collect_all({key: value}, name if has_value else "")
        elif name:
            self._collect_all(inner, name)
        else:
            recorded = part_to_json(thing)
            values = {key: value for key, value in inner.items() if key not in recorded}
            self._collect_all(values, get_qualified_name(type(thing)))
            self._collect_all({key: inner[key] for key in inner if key in recorded})

    def _collect_registered_environment(self, spec: Any) -> None:
        """Add what is registered with Gymnasium: a program may have changed what a package did."""
        if get_attribute_safely(spec, "entry_point") is None:
            return
        self.specs[spec.id] = spec
        names = ("entry_point", "kwargs", "max_episode_steps")
        self._collect_all({name: getattr(spec, name) for name in names}, f"registered {spec.id}")
        self._collect(self._find_entry_point_or_collect_file(spec))
        for wrapper in spec.additional_wrappers:
            self._collect(self._find_entry_point_or_collect_file(wrapper))
            self._collect(wrapper.kwargs, f"registered {spec.id}.{wrapper.name}")

    def _find_entry_point_or_collect_file(self, spec: Any) -> Any:
        """What Gymnasium calls to make something; of a module not imported yet add the file."""
        entry: Any = get_attribute_safely(spec, "entry_point")
        if not isinstance(entry, str):
            return entry
        name, _, inner = entry.partition(":")
        if (module := sys.modules.get(name)) is None:
            self._collect_imported_module_text(name)
        return getattr(module, inner, None)

    def _collect_class(self, kind: type) -> None:
        if is_user_code(type(kind)):
            self._collect(type(kind))
        for each in kind.__mro__:
            if not is_user_code(each) or (each is not kind and id(each) in self._seen):
                continue
            self._seen[id(each)] = each
            self.names.add(get_qualified_name(each))
            self.classes[get_qualified_name(each)] = each
            if each.__bases__ != (object,):
                bases = ", ".join(base.__qualname__ for base in each.__bases__)
                self.made[get_qualified_name(each)] = f"class {each.__qualname__}({bases}): ...\n"
            fields = vars(each).get("__dataclass_fields__", ())
            settings = {name for name in fields if not name.startswith("_")}
            module = getattr(sys.modules.get(each.__module__), "__dict__", {})
            annotated = dict.fromkeys(inspect.get_annotations(each), ...)  # pydantic's, say
            source = ""
            for name, value in (annotated | vars(each)).items():
                public = not name.startswith("__") or name == "__call__"
                written = public or _is_not_generated_by_decorator(value)
                lists_members = isinstance(each, enum.EnumMeta) and name[0] == name[-1] == "_"
                if written and name not in settings and not lists_members:
                    path = f"{get_qualified_name(each)}.{name}"
                    self._collect(value, path)
                    if not is_self_describing(value):
                        source = source or get_source_text(each)
                        lines = extract_name_writes(source, name)
                        self._collect_assignment_lines(path, lines, module)

    def _collect_function(self, function: types.FunctionType) -> None:
        """Add a function with the values that it reads: defaults, free variables and globals."""
        name, code = get_qualified_name(function), function.__code__
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
        module = function.__globals__
        names, attributes = find_globals_and_names(code)
        words = find_strings(code)
        self._arguments |= {*code.co_varnames, *code.co_freevars, *code.co_cellvars}
        self._attributes |= attributes
        self._words |= words
        self._collect_globals(module, names, get_module_prefix(module))
        for word in words:
            self._collect_registered_environment(_find_registered_environment(word))
            self._collect_data_file(word, module)
        for each in find_imports(code, module.get("__package__") or ""):
            self._collect_imported_module_text(each)

    def _collect_imported_module_text(self, name: str) -> None:
        """Add the whole text of a module, imported or not yet, and of those it imports."""
        file = None if name in self.made else find_user_file(name)
        if file and file.endswith(".py"):
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                text = pathlib.Path(file).read_text("utf-8")
                self.made[name] = text
                inner = name if file.endswith("__init__.py") else name.rpartition(".")[0]
                for each in find_imports(compile(text, file, "exec", dont_inherit=True), inner):
                    self._collect_imported_module_text(each)

    def _collect_data_file(
        self,
        name: str | pathlib.PurePath,
        module: Mapping[str, Any] | None = None,
        left_out: Collection[str] = CODE,
    ) -> None:
        """Add the data files that there are under a name, but with some endings."""
        folder = pathlib.Path((module or {}).get("__file__") or "").parent
        for key, line in find_data_files(name, folder, left_out):
            self.names.add(key)
            lines = {*self.values.get(key, "").splitlines(keepends=True), line}
            self.values[key] = "".join(sorted(lines))  # of several folders

    def _collect_globals(self, module: Mapping[str, Any], names: set[str], prefix: str) -> None:
        """Add what has one of these names in a module, with the lines that make an object."""
        if file := module.get("__file__"):
            self.paths[prefix] = pathlib.Path(file)
            parents = self.paths[prefix].parents
            self.folders |= dict(zip(map(str, parents), (".", "..", "../.."), strict=False))
        self.names |= {prefix + name for name in names}
        for name in sorted(names & module.keys() - MODULE_NAMES):
            value, path = module[name], prefix + name
            if (path, id(module)) in self.globals:
                continue
            self.globals[path, id(module)] = module, name
            self._collect_used_global(path, value)
            of_user = is_user_object(value)
            inner = attributes_of(value) if of_user else {}
            # Of one that hides nothing its values tell what the lines read, or all.
            plain = of_user and all(each[0] != "_" for each in inner)
            has_values_alone = plain and all(map(is_value_or_collection, inner.values()))
            if not has_values_alone and (of_user or not is_self_describing(value)):
                lines = read_module_writes(module, name)
                self._collect_assignment_lines(path, lines, module, plain)
                self._collect_object_assignments(value)

    def _collect_object_assignments(self, thing: Any) -> bool:
        """Add the lines of a user's modules that assign an object; gives whether any name it."""
        bindings = self._globals_by_value.get(id(thing), [])
        for module, name in sorted(bindings, key=lambda each: (each[0]["__name__"], each[1])):
            self._collect_globals(module, {name}, get_module_prefix(module))
        return bool(bindings)

    def _collect_assignment_lines(
        self, path: str, lines: str, module: Mapping[str, Any], plain: bool = False
    ) -> None:
        """Add the lines that assign an object, and what they read; of a `plain` one only values."""
        if lines:
            self.made[path] = self.made.get(path, "") + lines
            tree = parse_source(lines)
            nodes = ast.walk(tree)
            self._attributes |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    self._collect_data_file(node.value, module, CODE | CONFIGURATIONS)
            names = find_variables(tree, ast.Load)
            if plain:
                used = names & module.keys()
                names = {name for name in used if is_value_or_collection(module[name])}
            self._collect_globals(module, names, get_module_prefix(module))

    def _collect_used_global(self, name: str, value: Any) -> None:
        """Add a global of a function, but of a module and of arguments what functions name."""
        if isinstance(value, argparse.Namespace):
            self._holders[f"{name}.", id(value)] = vars(value)
        elif isinstance(value, types.ModuleType) and not is_user_code(value):
            self.made[name] = f"{name.rpartition('.')[2]} = {value.__name__}\n"
        else:
            self._collect(value, name)


def _is_not_generated_by_decorator(value: Any) -> bool:
    """Whether somebody wrote this function, not a decorator such as `dataclass`."""
    value = getattr(value, "__func__", value)  # `__new__` is a static method
    value = get_attribute_safely(value, "__wrapped__") or value  # as `__repr__` is
    return isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith(
        ("<string>", "<attrs generated")
    )


def _find_registered_environment(name: str) -> Any:
    registry = getattr(sys.modules.get("gymnasium"), "registry", {})
    return registry.get(name.rpartition(":")[2])
