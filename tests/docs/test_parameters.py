"""Every parameter of a public name is described: under `Args:`, in its text, or below its field."""

import inspect
import re
from pathlib import Path

import pytest

import brns
from brns import pictures
from brns.pictures import movie
from brns.settings.configuration import _read_class_field_docstrings

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
    text, said = inspect.getdoc(part) or "", set()
    if isinstance(part, type):
        text += f"\n{inspect.getdoc(part.__init__)}"
        said = {name for base in part.__mro__ for name in _read_class_field_docstrings(base)}
    said |= {*re.findall(r"`(\w+)`", text)}
    said |= {*re.findall(r"^ *\*{0,2}(\w+)(?: \(.*\))?: ", text, re.M)}
    parameters = inspect.signature(part).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.name not in said and each.kind not in kinds]


@pytest.mark.parametrize("name", sorted(PARTS))
def test_every_parameter_is_described(name):
    part = PARTS[name]
    assert not lacking(part), f"nothing is said of {', '.join(lacking(part))}"
    if inspect.isfunction(part) and inspect.signature(part).return_annotation is not None:
        assert "Returns:" in inspect.getdoc(part) or "Yields:" in inspect.getdoc(part)
