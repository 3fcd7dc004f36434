"""Every parameter of a public name is described: under `Args:`, in its text, or below its field."""

import ast
import inspect
import itertools
import re
import textwrap
from pathlib import Path

import pytest

import brns
from brns import pictures
from brns.pictures import movie

STUB = Path(brns.__file__).with_suffix(".pyi").read_text()
PARTS = {
    name: getattr(brns, name) for name in re.findall(r"^from \S+ import \w+ as (\w+)$", STUB, re.M)
}
FUNCTIONS = [getattr(pictures, name) for name in pictures.__all__ if name.islower()]
PARTS |= {
    part.__name__: part for part in (*FUNCTIONS, movie.write_movie, movie.write_individual_movie)
}


def lacking(part: object) -> list[str]:
    """The parameters of which nothing is said."""
    if not callable(part) or getattr(part, "_is_protocol", False):
        return []
    if isinstance(part, type) and issubclass(part, Exception):
        return []
    text = inspect.getdoc(part) or ""
    said = set(re.findall(r"`(\w+)`", text)) | set(
        re.findall(r"^ *\*{0,2}(\w+)(?: \(.*\))?: ", text, re.M)
    )
    if isinstance(part, type):
        text = inspect.getdoc(part.__init__) or ""
        said |= set(re.findall(r"`(\w+)`", text)) | set(re.findall(r"^ *(\w+): ", text, re.M))
        said |= fields(part)
    parameters = inspect.signature(part).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.name not in said and each.kind not in kinds]


def fields(part: type) -> set[str]:
    """The fields with a string below them, of the class and those that it is made from."""
    found = set()
    for each in part.__mro__[:-1]:
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        except (OSError, TypeError):
            continue
        for field, text in itertools.pairwise(getattr(tree, "body", ())):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                found.add(ast.unparse(field.target))
    return found


@pytest.mark.parametrize("name", sorted(PARTS))
def test_every_parameter_is_described(name):
    part = PARTS[name]
    assert not lacking(part), f"nothing is said of {', '.join(lacking(part))}"
    if inspect.isfunction(part) and inspect.signature(part).return_annotation is not None:
        assert "Returns:" in inspect.getdoc(part) or "Yields:" in inspect.getdoc(part)
