"""Numbers as text, for people and as CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def format_number(value: float | int | None) -> str:
    """Three digits, and whole from 100 on; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    integral = math.isinf(value) or value == round(value) or abs(value) >= 100
    return f"{value:.0f}" if integral else f"{value:.3g}"


def format_numbers_with_ellipsis(numbers: list[int]) -> str:
    """Numbers in short: `0, 10 ... 400 (41 of them)`."""
    if len(numbers) < 4:
        return ", ".join(map(str, numbers)) or "none"
    return f"{numbers[0]}, {numbers[1]} ... {numbers[-1]} ({len(numbers)} of them)"


def format_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV under the names of all columns; what a row lacks is empty."""
    text = io.StringIO()
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file under their columns' names; none without a file."""
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def escape_control(text: str) -> str:
    """The text with its control characters escaped, which a terminal would obey."""
    shown = []
    for c in text:
        plain = c.isprintable() or c == "\n"
        shown.append(c if plain else c.encode("unicode_escape").decode())
    return "".join(shown)
