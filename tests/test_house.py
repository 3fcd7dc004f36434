"""The house: imports run one way, from the nouns up to the command line."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import brns

HOME = Path(brns.__file__).parent

# Who stands in a layer may import from the layers before it, and from its own room.
LAYERS = (
    {"core", "formatting", "jit", "progress", "settings"},
    {"checks"},
    {"operators", "estimators", "tasks"},
    {"search"},
    {"metrics"},
    {"experiments"},
    {"runs"},
    {"interoperation", "pictures"},
    {"comparison"},
    {"cli"},
    {"__init__", "__main__"},
)
APART = [("tasks.maze", "tasks.ant"), ("tasks.ant", "tasks.maze")]
APART += [("metrics", "search"), ("pictures", "runs.loop")]
"""tasks do not know each other, measures are functions on arrays, pictures run nothing"""


def name(path: Path) -> str:
    """Of a file within `brns`, such as `runs.loop`; a room's `__init__` has the room's name."""
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


FILES = {name(path): path for path in HOME.rglob("*.py")}


@cache
def imported(file: str) -> set[str]:
    """The files of ours that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(FILES[file].read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    ours = {str(each).removeprefix("brns.") for each in found}
    ours = {each for each in ours if each in FILES}
    return {each for each in ours if not any(other.startswith(f"{each}.") for other in ours)} - {
        file
    }


def find_arrows() -> set[tuple[str, str]]:
    return {(file, other) for file in FILES for other in imported(file)}


LAYER = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}


def room(file: str) -> str:
    return file.partition(".")[0]


def within(file: str, place: str) -> bool:
    return file == place or file.startswith(f"{place}.")


def test_the_reader_of_imports_sees_them():
    assert {"core.novelty", "operators.mutation", "operators.selection"} <= imported("search")
    assert not {room(file) for file in FILES} ^ set(LAYER)


def test_imports_run_one_way():
    across = {(a, b) for a, b in find_arrows() if room(a) != room(b)}
    wrong = {(a, b) for a, b in across if LAYER[room(a)] <= LAYER[room(b)]}
    assert not wrong, f"arrows upwards: {sorted(wrong)}"


@pytest.mark.parametrize("pair", APART)
def test_rooms_that_do_not_know_each_other(pair):
    assert not {(a, b) for a, b in find_arrows() if within(a, pair[0]) and within(b, pair[1])}


def test_there_are_no_circles():
    graph = {file: imported(file) for file in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"these import each other: {' <- '.join(error.args[1])}") from None
