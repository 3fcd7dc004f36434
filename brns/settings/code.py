"""The code of a user's functions: what Python compiled, what it names, and who assigns a global."""

import ast
import contextlib
import dis
import functools
import hashlib
import inspect
import linecache
import os
import re
import sys
import sysconfig
import types
from collections.abc import Collection, Generator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brns.settings.description import get_attribute_safely
from brns.settings.parsing import get_source_text, parse_source

FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib")
LIBRARY = tuple(sysconfig.get_paths()[name] + os.sep for name in FOLDERS)
INSTALLED = ("site-packages", "dist-packages")


def is_user_code(thing: Any) -> bool:
    """Whether a class, function or module is neither brns' nor of an installed package."""
    if isinstance(thing, types.FunctionType):  # one made by `exec` may have no module
        name = thing.__globals__.get("__name__", "__main__")
        file = thing.__code__.co_filename
    else:
        is_module = isinstance(thing, types.ModuleType)
        name = get_attribute_safely(thing, "__name__" if is_module else "__module__")
        file = getattr(sys.modules.get(str(name)), "__file__", None)
    return isinstance(name, str) and _is_user_module(name, file)


@functools.cache
def _is_user_module(name: str, file: str | None) -> bool:
    if name.partition(".")[0] in ("brns", "builtins", "nanobind"):
        return False
    if file is None:  # typed into a notebook
        return name.partition(".")[0] not in sys.stdlib_module_names
    return not is_library_file(file)


def is_library_file(file: str) -> bool:
    """Whether a file is Python's own, or of an installed package."""
    return file.startswith(LIBRARY) or any(f"/{part}/" in file for part in INSTALLED)


def format_module_name_with_dot(module: Mapping[str, Any]) -> str:
    """`own.` of a file own.py, `package.own.` of one in a package; empty of a notebook's."""
    if "In" in module or not (file := module.get("__file__")):
        return ""
    file, package = Path(file), (module.get("__package__") or "").rpartition(".")[2]
    if file.stem == "__init__":
        return f"{file.parent.name}."
    return f"{package}.{file.stem}." if package else f"{file.stem}."


def get_qualified_name(thing: Any) -> str:
    """The name of a class or function, after its module's."""
    if isinstance(thing, types.FunctionType):
        module = thing.__globals__
    else:
        module = getattr(sys.modules.get(thing.__module__), "__dict__", {})
    return format_module_name_with_dot(module) + thing.__qualname__


def format_source_with_digest(function: types.FunctionType) -> str:
    """A function's source, if there is one, and a digest of what Python compiled."""
    source = get_source_text(function.__code__)
    if source and not source.endswith("\n"):
        source += "\n"
    loader = type(function.__globals__.get("__loader__")).__module__
    if source and loader.startswith("_pytest") and function.__name__ != "<lambda>":
        return source  # pytest compiles something else
    return source + format_digest(function)


def format_digest(function: types.FunctionType) -> str:
    """A line with a digest of what Python compiled of a function."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"# Python {version} compiled {digest_code(function.__code__)}\n"


def split_source_from_digests(text: str) -> tuple[str, list[str]]:
    """The source of functions, and the digests of `format_digest`."""
    parts = re.split(r"^# (Python \S+ compiled \w{16})\n", text, flags=re.MULTILINE)
    return "".join(parts[::2]), parts[1::2]


@functools.lru_cache(maxsize=4096)
def digest_code(code: types.CodeType) -> str:
    """Of its instructions: comments, docstrings and where it stands do not count."""
    steps = [(step.opname, _describe_argument(step.argval)) for step in dis.get_instructions(code)]
    return hashlib.sha256(repr(steps).encode()).hexdigest()[:16]


def _describe_argument(value: Any) -> Any:
    """An instruction's, the same in every process, where sets of strings have other orders."""
    if isinstance(value, types.CodeType):
        return digest_code(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


class Names(NamedTuple):
    """What a function, and those within it, name."""

    globals: set[str]
    assigned: set[str]
    """globals, too"""
    words: set[str]
    """attributes, and texts, as in `vars(arguments)["gain"]`"""


@functools.lru_cache(maxsize=4096)
def find_names(code: types.CodeType) -> Names:
    """The names in a function's code."""
    steps = [step for step in dis.get_instructions(code) if "GLOBAL" in step.opname]
    names = {step.argval for step in steps}
    assigned = {step.argval for step in steps if step.opname == "STORE_GLOBAL"}
    words = {*code.co_names, *filter(lambda each: isinstance(each, str), _flatten(code.co_consts))}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = find_names(constant)
            # In the body of a class a name may be a global.
            names |= inner.globals if constant.co_flags & inspect.CO_OPTIMIZED else inner.words
            assigned |= inner.assigned
            words |= inner.words
    return Names(names, assigned, words)


def _flatten(constants: Collection[Any]) -> Generator[Any, None, None]:
    for each in constants:
        if isinstance(each, tuple | frozenset):
            yield from _flatten(each)
        else:
            yield each


def find_assignments(module: Mapping[str, Any], name: str, owner: str = "") -> list[ast.stmt]:
    """The statements of a module, or of a notebook from the last cell that assigns it on, by which
    a name is assigned, a part of it is, or a method of it is called; in a class `owner` alone.
    """
    cells = module["In"][::-1] if "In" in module else []
    lines = [] if cells else linecache.getlines(module.get("__file__") or "")
    statements: list[ast.stmt] = []
    for text in cells or ["".join(lines)]:
        with contextlib.suppress(SyntaxError):  # of a cell with other than Python in it
            tree = parse_source(text)
            if owner:
                classes = (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))
                tree = next((each for each in classes if each.name == owner), ast.Module([], []))
            steps = _iterate_statements(tree)
            statements[:0] = [each for each in steps if name in _find_roots(each)]
            if name in find_variables(tree, ast.Store):
                break
    return statements


def _iterate_statements(block: ast.AST) -> Generator[ast.stmt, None, None]:
    """The assignments and calls of a module, but for those within functions and classes."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _iterate_statements(node)


def _find_roots(statement: ast.stmt) -> set[str]:
    """The name a of such as `a = 1`, `a.b[0] = 1` and `a.fit(x)`."""
    value = getattr(statement, "value", None)
    parts = [*getattr(statement, "targets", []), getattr(statement, "target", None)]
    parts.append(value.func if isinstance(value, ast.Call) else None)
    roots = find_variables(statement, ast.Store)
    for part in parts:
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        if isinstance(part, ast.Name):
            roots.add(part.id)
    return roots


def find_variables(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names that are read or assigned in a tree, as the context says."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, context)}


def find_words(tree: ast.AST) -> set[str]:
    """The attributes and texts in a tree."""
    nodes = list(ast.walk(tree))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {text for text in texts if isinstance(text, str)}
