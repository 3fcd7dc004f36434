"""What can be set of a part by name, and the part with it changed."""

import ast
import dataclasses
import functools
import itertools
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from brns.settings.parsing import get_source_text, parse_source
from brns.settings.parts import SettingsError, suggest_name


def find_setting_types_and_meanings(part: Any) -> dict[str, tuple[Any, str]]:
    """The fields of a class that can be set as text: name to type and meaning."""
    if not dataclasses.is_dataclass(part):
        return {}
    hints, meanings = typing.get_type_hints(part, include_extras=True), {}
    for base in reversed([base for base in part.__mro__ if dataclasses.is_dataclass(base)]):
        meanings |= _read_class_field_docstrings(base)
    return {
        field.name: (hints[field.name], meanings.get(field.name, ""))
        for field in dataclasses.fields(part)
        if field.init and is_settable_type(hints[field.name])
    }


def configure(part: Any, changes: Mapping[str, Any]) -> Any:
    """The part with some settings changed.

    Types are strict: true is not a number and 5 is not text. An integer is accepted as a float, a
    list as a tuple. A `SettingsError` reports all changes that are wrong.
    """
    name = type(part).__name__
    fields = find_setting_types_and_meanings(type(part))
    problems, values = [], {}
    for key, value in changes.items():
        if key not in fields:
            none = "none that can be set; fields of a dataclass or an equinox.Module can"
            has = f"{suggest_name(key, fields)} It has: {', '.join(fields) or none}"
            problems.append(f"{name} has no setting {key!r}{has}")
            continue
        hint, meaning = fields[key]
        try:
            values[key] = validate_setting(f"{name}.{key} ({meaning})", hint, value)
        except SettingsError as error:
            problems.append(str(error))
    if fields:
        try:
            part = dataclasses.replace(part, **values)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return part


def validate_setting(what: str, hint: Any, value: Any, from_json: bool = False) -> Any:
    """The value as its type has it, or a `SettingsError`; `from_json` takes text for paths, say."""
    import pydantic

    try:
        if from_json:
            return _make_validator(hint).validate_json(json.dumps(value))
        return _make_validator(hint).validate_python(_to_plain_value(value))
    except pydantic.ValidationError as error:
        reasons = dict.fromkeys(fault["msg"] for fault in error.errors())
        raise SettingsError(f"{what}: {'; or '.join(reasons)}; got {value!r:.80}") from None


@functools.cache
def _make_validator(hint: Any) -> Any:
    import pydantic

    config = pydantic.ConfigDict(arbitrary_types_allowed=True, strict=True)
    return pydantic.TypeAdapter(hint, config=config)


def _to_plain_value(value: Any) -> Any:
    if hasattr(value, "tolist"):  # of NumPy or JAX, which nobody who lists settings waits for
        value = value.tolist()
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)  # or OmegaConf's
    return tuple(map(_to_plain_value, value)) if is_list else value


def is_settable_type(hint: Any, functions: bool = False) -> bool:
    """Whether the type can be set as text, or where asked for is of `functions`."""
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if kind is Literal or hint in (bool, int, float, str, type(None), Ellipsis):
        return True
    if kind is Callable:
        return functions
    if kind is Annotated:  # with bounds
        return is_settable_type(inner[0], functions)
    return bool(inner) and all(is_settable_type(each, functions) for each in inner)


@functools.cache
def _read_class_field_docstrings(part: type) -> dict[str, str]:
    """The string under each field of a class itself; none without a source in a file."""
    meanings = {}
    for definition in parse_source(get_source_text(part)).body:
        for field, text in itertools.pairwise(getattr(definition, "body", ())):
            match field, text:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                    meanings[name] = " ".join(meaning.split())
    return meanings
