"""What type checkers see of a user's script."""

import subprocess
import sys
from pathlib import Path

import pytest

from brns.core import Evaluation, Generation, Population

ROOT = Path(__file__).parent.parent
TASK = """
import jax
import numpy as np

import brns


def evaluate(genotypes: np.ndarray, key: jax.Array) -> brns.Evaluation:
    return brns.Evaluation(genotypes[:, :2], solved=genotypes[:, 0] > 0)
"""
FIGURE = """
from typing import assert_type

from matplotlib.figure import Figure

import brns


def draw(record: brns.Record) -> None:
    assert_type(brns.pictures.overview(record), Figure)
"""


@pytest.mark.parametrize("script", [TASK, FIGURE], ids=["a task in NumPy", "a figure"])
def test_a_script_has_types(script, tmp_path):
    file = tmp_path / "script.py"
    file.write_text(script)
    ty = Path(sys.executable).parent / "ty"
    options = ["--output-format", "concise", "--extra-search-path", ROOT, "--python", sys.prefix]
    checked = subprocess.run([ty, "check", *options, file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("table", [Evaluation, Population, Generation])
def test_a_table_has_no_field_without_a_type(table):
    """mypy takes what a named tuple assigns, such as `__repr__ = show`, for one more field."""
    assert table.__repr__.__qualname__ == f"{table.__name__}.__repr__"
