"""The settings of the library's parts as its source tells them,
since importing JAX takes seconds.
"""

import ast
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from brns.settings.configuration import is_plain, read_field_docstrings
from brns.settings.parts import PARTS, Part

PACKAGE = Path(__file__).parents[1]


class Setting(NamedTuple):
    """A field of a part that can be set as text."""

    default: Any
    meaning: str
    """the string under the field"""


@functools.cache
def _texts() -> list[str]:
    """The package's source, file by file."""
    return [file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py"))]


def _classes_in_file_of(name: str) -> dict[str, ast.ClassDef]:
    """The classes of the file in which a class stands, by name; none of a function, which has no
    settings."""
    text = next((text for text in _texts() if f"\nclass {name}(" in text), "")
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def settings_of(part: Part) -> dict[str, Setting]:
    """The settings of a part by name, with their defaults and meanings.

    Args:
        part: A row of `brns.settings.parts.PARTS`.

    Returns:
        What `brns.settings.configuration.settings` and the part's defaults say, without an import.
    """
    names = class_settings(part.attribute)
    return names | {
        name: names[name]._replace(default=value) for name, value in part.settings.items()
    }


@functools.cache
def class_settings(name: str) -> dict[str, Setting]:
    """The settings of an exported class.

    Args:
        name: Such as `ArchiveKNN` or `NoveltySearch`.

    Returns:
        Its fields that can be set as text, those of bases in the same file first.
    """
    names = {}
    for node in _bases_then_class(_classes_in_file_of(name), name):
        meanings = read_field_docstrings(node)
        for field in node.body:
            match field:
                case ast.AnnAssign(ast.Name(setting), annotation, ast.expr() as value):
                    if _can_be_set(annotation):
                        names[setting] = Setting(_value(value), meanings.get(setting, ""))
    return names


def _bases_then_class(classes: dict[str, ast.ClassDef], name: str) -> Iterator[ast.ClassDef]:
    """The class's bases in its file, then the class."""
    for base in classes[name].bases if name in classes else ():
        if isinstance(base, ast.Name) and base.id in classes:
            yield from _bases_then_class(classes, base.id)
    if name in classes:
        yield classes[name]


def _can_be_set(annotation: ast.expr) -> bool:
    try:
        return is_plain(eval(ast.unparse(annotation), {"Literal": Literal}))  # of our own source
    except NameError:  # an array, a function or another part
        return False


def _value(default: ast.expr) -> Any:
    return eval(ast.unparse(default), {"math": math})  # of our own source


def parts_with(setting: str) -> list[Part]:
    """The parts that have a setting of this name, in the table's order."""
    return [part for part in PARTS if setting in settings_of(part)]
