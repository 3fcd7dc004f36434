"""What the other scripts share: their options, and the pages that they write."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from brns.metrics.significance import Values, compare_paired, correct_differences_by_holm
from brns.runs.files import write_bytes

MARKS = {"higher": "**", "lower": "*"}


def make_parser(text: str | None, out: str, **defaults: float | str) -> argparse.ArgumentParser:
    """The options of a script: `--out`, and others by name, each of its default's type."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in {**defaults, "out": Path(out)}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser


def write_page(path: Path, *blocks: str) -> None:
    """Write blocks of Markdown, with an empty line between two."""
    write_bytes(path, ("\n\n".join(blocks) + "\n").encode())


def format_spread(values: np.ndarray, times: float = 1.0) -> str:
    """So many times the mean of numbers and, of several, their standard deviation."""
    deviation = f" ± {times * values.std(ddof=1):.1f}" if len(values) > 1 else ""
    return f"{times * values.mean():.1f}{deviation}"


def mark_differences(
    values: Mapping[tuple[str, str], Values], reference: str
) -> dict[tuple[str, str], str]:
    """Each place's mark by corrected tests against the reference: bold is more, italic less."""
    others = [place for place in values if place[1] != reference]
    tests = [compare_paired(values[place], values[place[0], reference]) for place in others]
    marks = [MARKS.get(test.verdict, "") for test in correct_differences_by_holm(tests)]
    return dict(zip(others, marks, strict=True))
