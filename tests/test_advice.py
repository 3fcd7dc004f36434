"""What messages tell a user to give exists: options of the command line, arguments,
and names in brns."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

import brns
from brns.cli.commands import app

SOURCES = sorted(Path(brns.__file__).parent.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def texts(tree):
    """Every text of a file but for docstrings; what stands in braces in it is left out."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.value


def options(command):
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for sub in getattr(command, "commands", {}).values():
        yield from options(sub)


def resolved(name):
    """The object of a dotted name that begins with brns."""
    parts, found = name.split("."), importlib.import_module("brns")
    for number, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[:number]))
    return found


OTHERS = "--help --upgrade --always --dirty --abbrev --exclude --xla --shm-size --ipc"
OPTIONS = {*options(get_command(app)), *OTHERS.split()}
"""of brns, and those of pip, git, XLA and docker that stand in it"""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCES[0].parent)))
def test_options_and_names_that_a_text_mentions_exist(path):
    for text in texts(TREES[path]):
        missing = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - OPTIONS
        assert not missing, (text, missing)
        for name, arguments in re.findall(r"\b(brns(?:\.[A-Za-z_]\w*)+)(?:\(([^()]*))?", text):
            parameters = re.findall(r"\b([a-z_]+)=", arguments)
            thing = resolved(name)
            if parameters:
                assert set(parameters) <= set(inspect.signature(thing).parameters), text


def test_arguments_that_an_error_mentions_exist():
    """Somewhere in brns: as a parameter or a field."""
    # Of a pool of the standard library, of docker, and of Gymnasium.
    names = {"mp_context", "ipc", "shared_memory"}
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise):
                for text in texts(node):
                    missing = set(re.findall(r"\b([a-z_]{3,})=(?!=)", text)) - names
                    assert not missing, (text, missing)
