"""The house: imports run one way, from the nouns up to the command line, and never in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import brns

HOME = Path(brns.__file__).parent
OPERATORS = {"mutation", "selection", "founders"}
METHOD = {"core", "parts", "settings", "search", "experiments", "estimators", "tasks", *OPERATORS}

# What the files of a room may import, beside those of their own: rooms, or single files of them.
ALLOWED = {
    "core": {"display"},
    "parts": set(),
    "display": set(),
    "hints": {"parts", "display"},
    "compiled": set(),
    "onecore": set(),
    "scene": {"core"},
    **{operator: {"core"} for operator in OPERATORS},
    "estimators": {"core", "onecore"},
    "tasks": {"core", "onecore", "display", "scene"},
    "search": {"core", "parts", "display", "hints", "estimators", *OPERATORS},
    "testing": {"core", "search"},
    "settings": {"founders", "hints", "parts"},
    "experiments": {*METHOD, "hints"},
    "runs": {*METHOD, "onecore", "display", "hints", "metrics", "workers.chunks"} - {"tasks", "estimators"},
    "workers": {"core", "onecore", "search", "settings"},
    "metrics": {"core"},
    "interoperation": {"core", "settings", "search", "display", "hints", "runs"},
    "pictures": {*METHOD, "hints", "scene", "metrics", "runs", "workers.chunks"} - {"tasks"},
    "reproduce": {*METHOD, "onecore", "metrics", "runs", "workers", "pictures"} - {"tasks"},
    "comparison": {*METHOD, "onecore", "display", "metrics", "runs", "pictures", "reproduce", "workers.chunks"},
    "cli": {*METHOD, "metrics", "runs", "workers", "pictures", "reproduce", "comparison", "testing"},
    "__main__": {"cli"},
    "__init__": {"parts", "hints", "compiled"},
}

# Worlds do not know each other.
WORLDS = {"tasks.maze", "tasks.ant"}


def name(path: Path) -> str:
    """Of a file within `brns`, such as `runs.loop`; a room's `__init__` has the room's name."""
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


FILES = {name(path): path for path in HOME.rglob("*.py")}


def imported(path: Path) -> set[str]:
    """The files of ours that a file imports when it runs, at its top or within a function."""
    found = set()

    class Visitor(ast.NodeVisitor):
        def visit_If(self, node):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                self.generic_visit(node)

        def visit_Import(self, node):
            found.update(alias.name for alias in node.names)

        def visit_ImportFrom(self, node):
            assert node.level == 0, f"{path} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner.removeprefix("brns.") in FILES else node.module)

    Visitor().visit(ast.parse(path.read_text()))
    ours = {each.removeprefix("brns.") for each in found if each.startswith("brns.")}
    return {each for each in ours if each in FILES} - {name(path)}


IMPORTS = {file: imported(path) for file, path in FILES.items()}


def room(file: str) -> str:
    return file.partition(".")[0]


def within(file: str, rooms: set[str]) -> bool:
    return any(file == each or file.startswith(f"{each}.") for each in rooms)


def test_the_reader_of_imports_sees_them():
    assert {"core", "mutation", "selection", "founders"} <= IMPORTS["search"]
    assert "tasks.ant.camera" in IMPORTS["tasks.ant.rules"]  # within a function
    assert "runs.record" not in IMPORTS["metrics.recorded"]  # for type checkers alone


def test_imports_run_one_way():
    wrong = {
        (file, other)
        for file, others in IMPORTS.items()
        for other in others
        if room(other) != room(file) and not within(other, ALLOWED[room(file)])
    }
    assert not wrong, f"arrows upwards: {sorted(wrong)}"


def test_worlds_do_not_know_each_other():
    for world in WORLDS:
        others = {each for file in FILES if within(file, {world}) for each in IMPORTS[file]}
        assert not {each for each in others if within(each, WORLDS - {world})}


def test_pictures_only_read():
    """They draw what is on disk and never run, resume or lock anything."""
    assert not [file for file in FILES if room(file) == "pictures" and "runs.loop" in IMPORTS[file]]


def test_there_are_no_circles():
    rooms = {room(file): set() for file in FILES}
    for file, others in IMPORTS.items():
        rooms[room(file)] |= {room(other) for other in others} - {room(file)}
    for graph in (IMPORTS, rooms):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            raise AssertionError(f"these import each other: {' <- '.join(error.args[1])}") from None
