"""The settings of the library's parts as its source tells them,
since importing JAX takes seconds.
"""

import ast
import functools
import itertools
import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

from brns.settings.configuration import is_settable_type, read_field_docstrings
from brns.settings.parts import Part

PACKAGE = Path(__file__).parents[1]
ROOMS = ("tasks", "estimators", "operators")


class Setting(NamedTuple):
    """A field of a part that can be set as text."""

    default: Any
    meaning: str
    """the string under the field"""


@functools.cache
def _parse_class_definitions() -> dict[str, ast.ClassDef]:
    """The classes of searches and their parts, by name."""
    rooms = (PACKAGE.joinpath(room).rglob("*.py") for room in ROOMS)
    files = [PACKAGE / "search.py", *itertools.chain.from_iterable(rooms)]
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    nodes = itertools.chain.from_iterable(tree.body for tree in trees)
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def read_part_settings_from_source(part: Part) -> dict[str, Setting]:
    """The settings of a part by name, with their defaults and meanings, as
    `brns.settings.configuration.find_setting_types_and_meanings` has them, without an import.
    """
    settings = dict(read_class_settings(part.attribute))
    for name, value in part.settings.items():
        settings[name] = settings[name]._replace(default=value)
    return settings


@functools.cache
def read_class_settings(name: str) -> dict[str, Setting]:
    """The settings of a class such as `ArchiveKNN`, those of its bases first."""
    settings: dict[str, Setting] = {}
    node = _parse_class_definitions().get(name)
    if node is None:  # of another package
        return settings
    for base in node.bases:
        settings |= read_class_settings(ast.unparse(base))
    meanings = read_field_docstrings(node)
    for field in node.body:
        match field:
            case ast.AnnAssign(ast.Name(setting), annotation, ast.expr() as value):
                if setting[0] != "_" and _can_be_set(annotation):
                    # of our own source
                    default = eval(ast.unparse(value), {"math": math})
                    settings[setting] = Setting(default, meanings.get(setting, ""))
    return settings


def _can_be_set(annotation: ast.expr) -> bool:
    try:  # of our own source
        return is_settable_type(eval(ast.unparse(annotation), {"Literal": Literal}))
    except NameError:  # an array, a function or another part
        return False
