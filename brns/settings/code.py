"""The code of a user's functions: what it names, assigns and imports, and the lines of a module."""

import ast
import builtins
import collections
import contextlib
import copy
import dis
import functools
import hashlib
import importlib.util
import inspect
import itertools
import linecache
import os
import re
import sys
import sysconfig
import types
from collections.abc import Collection, Generator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from brns.settings.description import get_attribute_safely
from brns.settings.parsing import get_source_text, parse_source

FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib")
LIBRARY = tuple(sysconfig.get_paths()[name] + os.sep for name in FOLDERS)
INSTALLED = ("site-packages", "dist-packages")
HARMLESS = {"brns", "display", *vars(builtins)} - {"setattr", "delattr", "exec"}
"""functions, and a module of them, that change none of their arguments"""
IMPORTERS = ("_frozen_importlib", "_frozen_importlib_external")


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
def _is_user_module(name: str | None, file: str | None) -> bool:
    if name is None or name.partition(".")[0] in ("brns", "builtins", "nanobind"):
        return False
    if file is None:  # typed into a notebook
        return name.partition(".")[0] not in sys.stdlib_module_names
    return not is_library_file(file)


def is_library_file(file: str) -> bool:
    """Whether a file is Python's own, or of an installed package."""
    return file.startswith(LIBRARY) or any(f"/{part}/" in file for part in INSTALLED)


def get_module_prefix(module: Mapping[str, Any]) -> str:
    """`own.` of a file own.py, `world.own.` of one in a package; empty of a notebook's."""
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
    return get_module_prefix(module) + thing.__qualname__


def format_source_with_digest(function: types.FunctionType) -> str:
    """A function's source, if it is still that, with a digest of what Python compiled."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    code = function.__code__
    compiled = f"{function.__qualname__}, compiled by Python {version}: {digest_code(code)}\n"
    if code.co_name == "<lambda>":  # the line of which may say other things too
        return compiled
    loader = type(function.__globals__.get("__loader__")).__module__
    if loader not in ("builtins", *IMPORTERS) and (text := get_source_text(code)):
        return text  # of which another program makes another one, such as pytest of what asserts
    linecache.checkcache(code.co_filename)
    file = "".join(linecache.getlines(code.co_filename, function.__globals__))
    try:
        codes = _compile_codes(file, code.co_filename)
    except (SyntaxError, ValueError):  # a cell with other than Python in it
        codes = [code]
    for each in codes:
        if each.co_qualname == code.co_qualname and digest_code(each) == digest_code(code):
            text = get_source_text(each)
            return f"{text}# {compiled}" if text else compiled
    return compiled


@functools.lru_cache(maxsize=64)
def _compile_codes(text: str, file: str) -> list[types.CodeType]:
    """The code of a file, and of each of its statements alone, as IPython compiles a cell."""
    tree = parse_source(text)
    blocks = [tree, *(ast.Module([each], []) for each in tree.body)]
    codes = [compile(block, file, "exec", dont_inherit=True) for block in blocks]
    return [each for code in codes for each in _list_codes(code)]


def extract_digest_lines(text: str) -> list[str]:
    """What Python compiled of functions whose text `format_source_with_digest` gave."""
    return re.findall(r"^(?:# )?(.*, compiled by Python .*: \w{16})$", text, re.MULTILINE)


def digest_code(code: types.CodeType) -> str:
    constants = list(map(_describe_constant, code.co_consts))
    content = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def _describe_constant(constant: Any) -> Any:
    """A constant of code, the same in every process, where sets of strings have other orders."""
    if isinstance(constant, types.CodeType):
        return digest_code(constant)
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def _iterate_constants(constants: Collection[Any]) -> Generator[Any, None, None]:
    """Constants, and those within: of tuples, and of the code of functions."""
    for each in constants:
        yield each
        if isinstance(each, types.CodeType):
            yield from _iterate_constants(each.co_consts)
        elif isinstance(each, tuple | frozenset):
            yield from _iterate_constants(each)


def _list_codes(code: types.CodeType) -> list[types.CodeType]:
    """The code of a function, and of the functions within it."""
    return [each for each in _iterate_constants([code]) if isinstance(each, types.CodeType)]


@functools.lru_cache(maxsize=1024)
def find_globals_and_names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The globals that a function and those within it use, and all names, of attributes too."""
    steps = [step for step in dis.get_instructions(code) if "GLOBAL" in step.opname]
    names, attributes = {step.argval for step in steps}, set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = find_globals_and_names(constant)
            names |= inner[0] if constant.co_flags & inspect.CO_OPTIMIZED else inner[1]
            attributes |= inner[1]
    return names, attributes


def find_assigned_attributes(code: types.CodeType) -> set[str]:
    """The attributes that a function, and the functions within it, assign."""
    steps = itertools.chain.from_iterable(map(dis.get_instructions, _list_codes(code)))
    return {step.argval for step in steps if step.opname == "STORE_ATTR"}


def find_imports(code: types.CodeType, package: str) -> Generator[str, None, None]:
    """The modules that a function of a package may import; of `from a import b` both a and a.b."""
    steps = itertools.chain.from_iterable(map(dis.get_instructions, _list_codes(code)))
    steps = [step for step in steps if step.opname != "EXTENDED_ARG"]
    for level, names, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":  # before it come its level and its names
            with contextlib.suppress(ImportError):  # beyond the top-level package
                name = importlib.util.resolve_name("." * level.argval + step.argval, package)
                yield from (name, *(f"{name}.{each}" for each in names.argval or ()))


def find_user_file(name: str) -> str | None:
    """The file of a user's module; nothing is imported."""
    top, *inner = name.split(".")
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(top)
        for part in inner:
            places = list(spec.submodule_search_locations or ()) if spec else []
            spec = PathFinder.find_spec(f"{spec.name}.{part}", places) if spec and places else None
        if spec and spec.has_location and _is_user_module(name, spec.origin):
            return spec.origin
    return None


def find_globals_by_value() -> dict[int, list[tuple[dict[str, Any], str]]]:
    """Where the user's modules have each value, by its id: a module's names, and the value's."""
    bindings = collections.defaultdict(list)
    for module in list(sys.modules.values()):
        names = module.__dict__ if isinstance(module, types.ModuleType) else {}
        if _is_user_module(names.get("__name__"), names.get("__file__")):
            for name, value in list(names.items()):
                bindings[id(value)].append((names, name))
    return bindings


def find_strings(code: types.CodeType) -> set[str]:
    """The words that a function, and the functions within it, say."""
    return {each for each in _iterate_constants([code]) if isinstance(each, str)}


def read_module_writes(module: Mapping[str, Any], name: str) -> str:
    """The lines of a module that write a global; of a notebook from the last that assigns it on."""
    if "In" not in module:
        text = "".join(linecache.getlines(module.get("__file__") or ""))
        return extract_name_writes(text, name)
    lines: list[str] = []
    for cell in module["In"][::-1]:
        if text := extract_name_writes(cell, name):
            lines.insert(0, text)
            if name in find_variables(parse_source(text), ast.Store):
                break
    return "".join(dict.fromkeys(lines))


@functools.lru_cache(maxsize=256)
def extract_name_writes(text: str, name: str) -> str:
    """The lines of a module, a cell or a class that assign a name, but not within functions."""
    with contextlib.suppress(SyntaxError):
        tree = parse_source(text)
        block = tree.body[0] if [*map(type, tree.body)] == [ast.ClassDef] else tree
        return "".join(f"{ast.unparse(each)}\n" for each in _find_name_writes(block, name))
    return ""


def _find_name_writes(block: ast.AST, name: str) -> Generator[ast.stmt, None, None]:
    """The statements outside functions that assign a name or a part of it, or call its methods."""
    for node in ast.iter_child_nodes(block):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.stmt):
            line = copy.copy(node)
            for part in {"body", "orelse", "handlers", "finalbody"} & vars(line).keys():
                setattr(line, part, [ast.Pass()] if part == "body" else [])
            only_declared = isinstance(node, ast.AnnAssign) and node.value is None
            changed = {*find_variables(line, ast.Store), *_find_mutated_names(line)}
            if name in changed and not only_declared:
                yield line
        yield from _find_name_writes(node, name)


def _find_mutated_names(node: ast.AST) -> Generator[str, None, None]:
    """The names a in statements such as `a.b[0] = 1`, `x = a.fit(y)` and `fit(a)`."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.Assign | ast.AugAssign):
        parts += node.targets if isinstance(node, ast.Assign) else [node.target]
    if isinstance(node, ast.Assign | ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        parts.append(call.func)
        if _find_root(call.func) not in HARMLESS:
            arguments = (*call.args, *(keyword.value for keyword in call.keywords))
            yield from (each.id for each in arguments if isinstance(each, ast.Name))
    for part in parts:
        if not isinstance(part, ast.Name) and (root := _find_root(part)):
            yield root


def _find_root(node: ast.AST) -> str:
    """The name a of an expression such as `a.b[0].c()`; empty where it begins with none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_constant_of_module(text: str, name: str) -> bool:
    """Whether a module assigns plain data to a name or `name.key`, which no function changes."""
    name, _, key = name.partition(".")
    nodes = list(ast.walk(parse_source(text)))
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in itertools.chain.from_iterable(map(ast.walk, functions)):
        touched = {*_find_mutated_names(node)}
        if isinstance(node, ast.Global):
            touched |= {*node.names}
        if isinstance(node, ast.Call) and key:
            touched |= {each.id for each in node.args if isinstance(each, ast.Name)}
        if name in touched:
            return False
    lines = parse_source(extract_name_writes(text, name)).body
    with contextlib.suppress(ValueError, IndexError, AttributeError, KeyError):
        line: Any = lines[0]
        value = ast.literal_eval(line.value)
        value = value[key] if key else value
        return len(lines) == 1 and isinstance(value, bool | int | float | complex | str | tuple)
    return False


def sets_attribute(text: str, name: str) -> bool:
    """Whether a module sets an attribute of this name of anything, such as `module.name`."""
    nodes = ast.walk(parse_source(text))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    return any(node.attr == name and isinstance(node.ctx, ast.Store) for node in attributes)


def find_variables(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, context)}


@functools.lru_cache(maxsize=64)
def normalize_source(text: str) -> str:
    """The text without comments, docstrings, annotations of arguments, and how it is set."""
    try:
        tree = parse_source(text)
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
