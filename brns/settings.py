"""Settings: the fields of the parts themselves, described as JSON, rebuilt from it, and changed by name."""

import ast
import dataclasses
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import textwrap
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import pydantic

from brns.hints import near
from brns.operators.founders import GivenFounders
from brns.parts import CLASSES

# What a record may name, and the only modules that reading one can import.
MODULES = {
    "NoveltySearch": "brns.search",
    "Chunked": "brns.workers.chunks",
    "GivenFounders": "brns.operators.founders",
    "LooseBox": "brns.tasks.loose",
    **{name: part.module for name, part in CLASSES.items()},
}

# Characters of one setting in a record: a maze of 512 x 512 cells. A maze's tables take a kilobyte a cell.
LONGEST = 300_000


class Setting(NamedTuple):
    """One field of a part, as a person reads it."""

    name: str
    type: Any
    default: Any
    meaning: str


class SettingsError(ValueError):
    """A setting with a wrong name or value; the message holds all that is wrong at once."""


def settings(part: Any) -> list[Setting]:
    """The settings of a part: those of its fields that a person can write on a command line, with their meaning."""
    hints, meanings = typing.get_type_hints(part), _meanings(part)
    return [
        Setting(f.name, hints[f.name], f.default, meanings.get(f.name, ""))
        for f in dataclasses.fields(part)
        if f.init and _plain(hints[f.name])
    ]


def configure(part: eqx.Module, changes: Mapping[str, Any]) -> Any:
    """The part with some settings changed; all errors are reported at once in one `SettingsError`.

    Types are strict: true is no number and 5 no text. Whole numbers may stand for others, and lists for tuples.
    """
    name = type(part).__name__
    if not dataclasses.is_dataclass(part):
        raise SettingsError(f"{name} has no settings: it is no dataclass (an equinox.Module is one); got {changes}")
    known = {s.name: s for s in settings(type(part))}
    problems = []
    for key in changes:
        if key not in known:
            problems.append(f"{name} has no setting {key!r}{near(key, known)} It has: {', '.join(known) or 'none'}")
    chosen = {key: known[key] for key in changes if key in known}
    values = {}
    if chosen:
        fields: Any = {key: (s.type, ...) for key, s in chosen.items()}
        model = pydantic.create_model(name, __config__=pydantic.ConfigDict(strict=True), **fields)
        try:
            values = model(**{key: _tuples(changes[key]) for key in chosen}).model_dump()
        except pydantic.ValidationError as error:
            for fault in error.errors():
                key = str(fault["loc"][0])
                problems.append(f"{name}.{key} ({chosen[key].meaning}): {fault['msg']}; got {changes[key]!r}")
    if problems:
        raise SettingsError("\n".join(dict.fromkeys(problems)))
    current = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.init}
    return type(part)(**{**current, **values})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def value(text: str) -> Any:
    """A setting's value as TOML reads it; bare words are strings, none is None, and True, False and .5 Python's."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("(") and text.endswith(")"):  # a tuple as Python prints it
        text = f"[{text[1:-1]}]"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text


@functools.singledispatch
def describe(part: Any) -> Any:
    """A part and every setting in it as JSON values. Large arrays become a digest, functions their name.

    Of a class that is no dataclass the settings are its public attributes that are numbers, texts, arrays, or made of
    them: what it is made with, as `self.gain = gain`.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple | list):
        return [describe(item) for item in part]
    if isinstance(part, Mapping):
        return {"name": type(part).__name__, "items": {str(key): describe(item) for key, item in part.items()}}
    if isinstance(part, functools.partial):
        given = {"args": describe(part.args), "keywords": {key: describe(item) for key, item in part.keywords.items()}}
        return {"name": "partial", "function": describe(part.func), **given}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        named = [f.name for f in dataclasses.fields(part) if f.init and not f.name.startswith("_")]
        fields = {name: describe(getattr(part, name)) for name in named}
        return {"name": type(part).__name__, **fields}
    if isinstance(part, type | types.FunctionType):
        return {"name": part.__qualname__}
    if eqx.is_array_like(part):
        array = np.asarray(part)
        if array.size <= 64:
            return array.tolist()
        return {"name": "array", "shape": list(array.shape), "sha256": hashlib.sha256(array.tobytes()).hexdigest()}
    own = {name: value for name, value in getattr(part, "__dict__", {}).items() if not name.startswith("_")}
    return {"name": type(part).__name__, **{name: describe(value) for name, value in own.items() if _value(value)}}


def _value(thing: Any) -> bool:
    """Whether it is a value and no living thing, such as a simulator."""
    if isinstance(thing, tuple | list):
        return all(map(_value, thing))
    return thing is None or isinstance(thing, str) or (eqx.is_array_like(thing) and not isinstance(thing, type))


@describe.register
def _(part: GivenFounders) -> Any:
    return {"name": "GivenFounders", "sha256": part.sha256}  # they are generation 0 of the record


def build(description: Mapping[str, Any]) -> Any:
    """The part that `describe` described. Only parts of this package are built; others are a `SettingsError`."""
    name = description.get("name")
    if not isinstance(name, str) or name not in MODULES:
        raise SettingsError(
            f"{name!r} is not a part of brns, so that it cannot be rebuilt from its description; "
            "give the NoveltySearch that made the run: brns.resume(path, search=...) or brns.records(path, search=...)"
        )
    part = getattr(importlib.import_module(MODULES[name]), name)
    hints, values = typing.get_type_hints(part), {}
    for field in dataclasses.fields(part):
        if not field.init or field.name not in description:
            continue
        value = description[field.name]
        if isinstance(value, Mapping):
            values[field.name] = build(value)
        elif len(json.dumps(value)) > LONGEST:
            raise SettingsError(
                f"{name}.{field.name} is longer than {LONGEST} characters, too large to rebuild from a record; give "
                "the NoveltySearch that made the run: brns.resume(path, search=...) or brns.records(path, search=...)"
            )
        else:
            try:
                values[field.name] = pydantic.TypeAdapter(hints[field.name], config=_LOOSE).validate_python(value)
            except pydantic.ValidationError as error:
                raise SettingsError(f"{name}.{field.name}: {error.errors()[0]['msg']}; got {value!r}") from None
    unknown = set(description) - {f.name for f in dataclasses.fields(part)} - {"name"}
    if unknown:
        raise SettingsError(f"{name} has no setting {', '.join(sorted(unknown))}: is the record from a newer version?")
    return part(**values)


def renewed(description: Mapping[str, Any]) -> dict[str, Any]:
    """A description as this version would make it: settings that came later have their defaults."""
    try:
        return describe(build(description))
    except Exception:  # a part of it is the user's own, or has values that no part takes
        pass
    name, later = description.get("name"), {}
    if isinstance(name, str) and name in MODULES:
        fields = dataclasses.fields(getattr(importlib.import_module(MODULES[name]), name))
        later = {f.name: describe(f.default) for f in fields if f.init and f.default is not dataclasses.MISSING}
    return later | {k: renewed(v) if isinstance(v, Mapping) else v for k, v in description.items()}


def leaves(description: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a description by their dotted names, such as `estimator.epochs`."""
    if isinstance(description, Mapping):
        return {k: v for name, part in description.items() for k, v in leaves(part, f"{prefix}.{name}").items()}
    return {prefix.lstrip("."): description}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings in which two descriptions differ, each with its value before and after; None where there is none."""
    old, new = leaves(before), leaves(after)
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """In which settings two descriptions differ: `mutate.rate was 0.5 and is 0.25`."""
    return told(changes(before, after))


def told(changed: Mapping[str, Sequence[Any]]) -> str:
    """The first of some changes in words, each from its value before to the one after."""
    return "; ".join(f"{name} was {old!r} and is {new!r}" for name, (old, new) in list(changed.items())[:5])


_LOOSE = pydantic.ConfigDict(arbitrary_types_allowed=True)


def _plain(hint: Any) -> bool:
    """Whether a value of this type can be written as text: numbers, strings, choices and tuples of them."""
    if typing.get_origin(hint) is typing.Literal or hint in (bool, int, float, str, type(None)):
        return True
    return bool(typing.get_args(hint)) and all(_plain(a) for a in typing.get_args(hint) if a is not Ellipsis)


def _meanings(part: type) -> dict[str, str]:
    """The string literal under each field of a class, its own or inherited: what the field means."""
    parents = [_meanings(parent) for parent in part.__bases__ if dataclasses.is_dataclass(parent)]
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    own = {
        field.target.id: " ".join(text.value.value.split())
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    return {name: meaning for meanings in (*parents, own) for name, meaning in meanings.items()}
