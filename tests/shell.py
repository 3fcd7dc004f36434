"""The command line: in this process, which is quick, and in one of its own."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from brns.__main__ import main
from brns.cli.screen import console

TESTS = Path(__file__).parent
SHORT = ["--set", "task.steps=50", "--set", "population_size=20", "--set", "offspring_size=20"]
"""a maze that takes little"""
RUN = "runs/maze-counts-seed0"
"""where such a run stands for tests that only read it"""


class Ended(NamedTuple):
    """What a command left behind."""

    returncode: int | str | None
    stdout: str
    stderr: str


def call(*arguments, folder, status=0):
    """What `brns` says in a folder, in this process, and ends with this status."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.setattr(sys, "argv", ["brns", *map(str, arguments)])
        patch.setenv("COLUMNS", "200")
        patch.setattr(console, "width", 200)
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main()
    assert end.value.code == status, err.getvalue()
    return Ended(status, out.getvalue(), err.getvalue())


def begin(*arguments, folder, prefix=(), **environment):
    """The same begun in a process of its own: a `Popen`."""
    environment = {"COLUMNS": "200", **environment}
    return python("-m", "brns", *arguments, folder=folder, prefix=prefix, **environment)


def python(*arguments, folder=None, prefix=(), **environment):
    """Python begun with these arguments, which finds brns and the tests' modules: a `Popen`."""
    command = [*prefix, sys.executable, *map(str, arguments)]
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    environment = {**os.environ, "PYTHONPATH": paths, **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True
    )


def finished(process):
    """Such a process when it has ended."""
    out, err = process.communicate(timeout=600)
    return Ended(process.returncode, out, err)
