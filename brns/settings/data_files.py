"""The data files that code names, such as a robot's or a table's: each counts by what it holds, but
for those that the code itself writes.
"""

import ast
import contextlib
import functools
import hashlib
import itertools
import pathlib
import re
from collections.abc import Collection, Generator
from typing import Any

from brns.settings.code import find_variables
from brns.settings.parsing import parse_source

DATA_FILE = "file "
"""before the name of a data file"""
CODE = {"", ".py", ".ipynb"}
"""endings of files of which the code counts, not the text"""
CONFIGURATIONS = {".yaml", ".yml", ".json", ".toml", ".ini", ".cfg"}
"""the same, of which the values count that a program keeps; where it keeps none, the text"""
RUN_ARGUMENTS = {"generations", "out", "exist", "checkpoint_every", "progress"}
"""of `brns.run`, which a configuration may have beside what a task reads"""
OF_A_RUN = rf"""["']?\b({"|".join(sorted(RUN_ARGUMENTS))})["']?\s*[:=][^,}}\n]*""".encode()
"""these in the text of a configuration"""
WRITING = {"dump", "imsave", "imwrite", "mimsave", "save", "savefig", "savetxt", "savez"}
WRITING |= {"savez_compressed", "to_csv", "to_json", "to_pickle", "to_parquet", "to_excel"}
WRITING |= {"write_bytes", "write_html", "write_image", "write_text", "FileHandler"}
"""functions that write a file"""
MODES = {f"{mode}{kind}{more}" for mode in "wax" for kind in ("", "b", "t") for more in ("", "+")}
"""of `open`, to write"""


def find_data_files(
    name: str | pathlib.PurePath, folder: pathlib.Path, left_out: Collection[str]
) -> Generator[tuple[str, str], None, None]:
    """The files that there are under a name, here or in a folder, each with its digest."""
    for file in (pathlib.Path(name), folder / name):
        with contextlib.suppress(OSError, ValueError):  # it may not be read, or is no name
            if file.suffix not in left_out and file.is_file():
                status = file.stat()
                digest = _digest_content(file.absolute(), status.st_mtime_ns, status.st_size)
                yield f"{DATA_FILE}{file.name}", f"{file.name}, sha256 {digest}\n"


@functools.lru_cache(maxsize=256)
def _digest_content(file: pathlib.Path, *_: int) -> str:
    if file.suffix in CONFIGURATIONS:
        content = re.sub(OF_A_RUN, b"", file.read_bytes())
        return hashlib.sha256(content).hexdigest()[:16]
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def find_written_files(text: str) -> set[str]:
    """The texts in calls that write files, such as `open("a.csv", "a")`, or in variables there."""
    try:
        nodes = list(ast.walk(parse_source(text)))
    except SyntaxError:
        return set()
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_call_that_writes(node)]
    inner = list(itertools.chain.from_iterable(map(ast.walk, calls)))
    names = {node.id for node in inner if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.arguments):
            positional = reversed([*node.posonlyargs, *node.args])
            pairs: list[Any] = [*zip(positional, reversed(node.defaults), strict=False)]
            pairs += zip(node.kwonlyargs, node.kw_defaults, strict=True)
            inner += [default for each, default in pairs if default and each.arg in names]
        elif isinstance(node, ast.Assign) and find_variables(node, ast.Store) & names:
            inner += ast.walk(node.value)
    constants = [node.value for node in inner if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str)}


def _is_call_that_writes(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    modes = {each.value for each in given if isinstance(each, ast.Constant)}
    return name in WRITING or (name == "open" and not modes.isdisjoint(MODES))
