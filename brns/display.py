"""How parts, states and records say what they are: in a line, and in a notebook in a small table."""

import dataclasses
import html
from collections.abc import Mapping
from typing import Any

import numpy as np


def line(part: Any) -> str:
    """A part's class and the settings in which it is not the default: `ArchiveKNN(k=10)`."""
    return f"{type(part).__name__}({', '.join(f'{name}={value}' for name, value in changed(part).items())})"


def changed(part: Any) -> dict[str, str]:
    """The settings of a part that are not their defaults, each in a few words."""
    if not dataclasses.is_dataclass(part):
        return {}
    fields = [field for field in dataclasses.fields(part) if field.init]
    values = {field.name: (getattr(part, field.name), field.default) for field in fields}
    return {name: shown(value) for name, (value, default) in values.items() if not _same(value, default)}


def table(title: str, rows: Mapping[str, Any]) -> str:
    """A small table as HTML: a name and what it is a row."""
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table><caption style="text-align:left">{html.escape(title)}</caption>{cells}</table>'


def part_table(part: Any) -> str:
    """All settings of a part as a small table."""
    settings = {field.name: shown(getattr(part, field.name)) for field in dataclasses.fields(part)}
    return table(type(part).__name__, settings)


def shown(value: Any) -> str:
    """A setting in a few words: a part by its class, an array by its shape."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}" if value.shape else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return line(value)
    text = getattr(value, "__qualname__", None) or repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def ranges(numbers: list[int]) -> str:
    """Numbers as a person lists them: `0, 10 ... 400 (41 of them)`."""
    if len(numbers) < 4:
        return ", ".join(map(str, numbers)) or "none"
    return f"{numbers[0]}, {numbers[1]} ... {numbers[-1]} ({len(numbers)} of them)"


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(np.all(value == default))
    except Exception:  # what cannot be compared is another
        return False
