"""Our own parts in one table, and settings: told in a line, described as JSON, rebuilt from it, changed by name.

Nothing here imports JAX before a part is made, so that names are looked up at once.
"""

import ast
import dataclasses
import difflib
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Kind = Literal["world", "estimator", "preset", "mutation", "selection", "founders"]


class Part(NamedTuple):
    """A part of the library."""

    kind: Kind
    """a preset is an estimator of another line with settings that are not its defaults"""
    name: str
    """on the command line"""
    attribute: str
    """its class, as `brns` and a record call it"""
    meaning: str
    title: str = ""
    """what figures and tables call an estimator"""
    settings: Mapping[str, Any] = types.MappingProxyType({})
    """of a preset"""

    def load(self) -> Any:
        """What makes it: its class, with a preset's settings."""
        part = getattr(importlib.import_module("brns"), self.attribute)
        return functools.partial(part, **self.settings) if self.settings else part


# BR-NS in the paper, section 5, and in its published code where the paper is silent.
PAPER: dict[str, Any] = {"embedding": None, "width": None, "inputs": "raw", "initialisation": "he"}
# An archive that nobody leaves: in 400 generations of 100 + 100 as many are evaluated.
EVERYTHING: dict[str, Any] = {"growth": 200, "capacity": 40_100}
PARTS = (
    Part("world", "maze", "DeceptiveMaze", "a robot in the paper's deceptive maze, section 5.1"),
    Part("world", "ant", "AntMaze", "a four-legged robot in the paper's ant maze, section 5.2"),
    Part("world", "rooms", "RoomsMaze", "a robot in a maze of rooms, made from a seed"),
    Part("world", "path", "MazePath", "the deceptive maze, with the whole path as behavior"),
    Part("world", "arm", "PlanarArm", "a planar arm of 7 joints that reaches places"),
    Part("world", "car", "MountainCar", "a car too weak for its mountain"),
    Part("world", "projection", "LinearProjection", "the linear projection of 100 genes"),
    Part("estimator", "exact", "ExactRecognition", "recognition, solved exactly: forgets nothing", "exact recognition"),
    Part("estimator", "recognition", "BehaviorRecognition", "BR-NS: a network that learns past behavior", "BR-NS"),
    Part("preset", "paper", "BehaviorRecognition", "BR-NS with the paper's settings", "BR-NS, paper's settings", PAPER),
    Part("estimator", "archive", "ArchiveKNN", "distance to neighbours in archive and population", "archive k-NN"),
    Part("preset", "everything", "ArchiveKNN", "all evaluated in an archive", "k-NN in everything", EVERYTHING),
    Part("estimator", "population", "PopulationKNN", "distance to neighbours in the population", "population k-NN"),
    Part("estimator", "counts", "GridCounts", "rarity of a cell of a grid, by its visits", "grid counts"),
    Part("mutation", "polynomial", "PolynomialMutation", "bounded polynomial mutation, the paper's"),
    Part("mutation", "gaussian", "GaussianMutation", "Gaussian steps on some genes"),
    Part("mutation", "iso-line", "IsoLineDD", "steps all around and towards another parent"),
    Part("mutation", "redraw", "Redraw", "drawn anew, whatever the parents: random search"),
    Part("selection", "elitist", "Elitist", "the most novel, section 5.1"),
    Part("selection", "nsga2", "NSGA2", "NSGA-II on novelty and fitness, section 5.2"),
    Part("selection", "latest", "Latest", "the latest born, whatever their novelty"),
    Part("founders", "uniform", "UniformFounders", "drawn uniformly from the genotype space"),
    Part("founders", "layers", "LayerFounders", "initial weights of a network, as in published code"),
)
CLASSES = {part.attribute: part for part in PARTS if part.kind != "preset"}

MODULES = {"Chunked": "brns.workers"} | dict.fromkeys(("NoveltySearch", "GivenFounders", "LooseBox", *CLASSES), "brns")
"""what a record may name, and the only modules that reading one can import"""


class SettingsError(ValueError):
    """A setting with a wrong name or value; the message holds all that is wrong at once."""


def parts(*kinds: Kind) -> dict[str, Part]:
    """The parts of these kinds by their name on the command line, in the table's order."""
    return {part.name: part for part in PARTS if part.kind in kinds}


def chosen(what: str, name: str, *kinds: Kind) -> Part:
    """The part of this name; a `SettingsError` where there is none."""
    if name not in (known := parts(*kinds)):
        raise SettingsError(f"{what} must be one of {', '.join(known)}; got {name!r}{near(name, known)}")
    return known[name]


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean epochs?` where one is like it, and else the end of the sentence."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else "."


class Setting(NamedTuple):
    """One field of a part, as a person reads it."""

    name: str
    type: Any
    meaning: str


def settings(part: Any) -> list[Setting]:
    """The fields of a part that a person can write on a command line, each with the string that stands under it."""
    hints, meanings = typing.get_type_hints(part), _meanings(part)
    names = [field.name for field in dataclasses.fields(part) if field.init and _plain(hints[field.name])]
    return [Setting(name, hints[name], meanings.get(name, "")) for name in names]


def configure(part: Any, changes: Mapping[str, Any]) -> Any:
    """The part with some settings changed; all errors are reported at once in one `SettingsError`.

    Types are strict: true is no number and 5 no text. Whole numbers may stand for others, and lists for tuples.
    """
    name = type(part).__name__
    known = {s.name: s for s in settings(type(part))} if dataclasses.is_dataclass(part) else {}
    problems, values = [], {}
    for key, value in changes.items():
        if key not in known:
            problems.append(f"{name} has no setting {key!r}{near(key, known)} It has: {', '.join(known) or 'none'}")
            continue
        try:
            values[key] = _checked(f"{name}.{key} ({known[key].meaning})", known[key].type, value)
        except SettingsError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return dataclasses.replace(part, **values)


def _checked(what: str, hint: Any, value: Any) -> Any:
    """A value as JSON has it in its own type; a `SettingsError` where it is of another."""
    import pydantic

    config = pydantic.ConfigDict(arbitrary_types_allowed=True, strict=True)
    try:
        return pydantic.TypeAdapter(hint, config=config).validate_json(json.dumps(value, default=str))
    except pydantic.ValidationError as error:
        reasons = dict.fromkeys(fault["msg"] for fault in error.errors())
        raise SettingsError(f"{what}: {'; or '.join(reasons)}; got {value!r}") from None


def _plain(hint: Any) -> bool:
    """Whether a value of this type can be written as text: numbers, strings, choices and tuples of them."""
    if typing.get_origin(hint) is Literal or hint in (bool, int, float, str, type(None)):
        return True
    return bool(typing.get_args(hint)) and all(_plain(a) for a in typing.get_args(hint) if a is not Ellipsis)


def _meanings(part: type) -> dict[str, str]:
    """The string literal under each field of a class, its own or inherited: what the field means."""
    found = {}
    for one in reversed(part.__mro__):
        if dataclasses.is_dataclass(one):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            for field, text in itertools.pairwise(getattr(definition, "body", ())):
                match field, text:
                    case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                        found[name] = " ".join(meaning.split())
    return found


@functools.singledispatch
def describe(part: Any) -> Any:
    """A part and every setting in it as JSON values. Large arrays become a digest, functions their name.

    Of a class that is no dataclass the settings are its public attributes that are numbers, texts, arrays, or made of
    them: what it is made with, as `self.gain = gain`. Names that begin with an underscore are no settings.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple | list):
        return [describe(item) for item in part]
    if _is_array(part):
        import numpy as np

        small, array = part.size <= 64, np.asarray(part)
        sha256 = hashlib.sha256(array.tobytes()).hexdigest()
        return array.tolist() if small else {"name": "array", "shape": list(array.shape), "sha256": sha256}
    if isinstance(part, type | types.FunctionType):
        return {"name": part.__qualname__}
    if isinstance(part, Mapping):
        inner = {"items": list(part.items())}
    elif isinstance(part, functools.partial):
        inner = {"function": part.func, "args": part.args, **part.keywords}
    elif dataclasses.is_dataclass(part):
        inner = {field.name: getattr(part, field.name) for field in _fields(part)}
    else:
        inner = {name: value for name, value in getattr(part, "__dict__", {}).items() if _is_value(value)}
    described = {str(name): describe(value) for name, value in inner.items() if not str(name).startswith("_")}
    return {"name": type(part).__name__, **described}


def _fields(part: Any) -> list[dataclasses.Field]:
    """What a part is made with; nothing for what is no dataclass."""
    fields = dataclasses.fields(part) if dataclasses.is_dataclass(part) and not isinstance(part, type) else ()
    return [field for field in fields if field.init and not field.name.startswith("_")]


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "dtype") and hasattr(thing, "shape") and not isinstance(thing, type)


def _is_value(thing: Any) -> bool:
    """Whether it is a value and no living thing, such as a simulator."""
    if isinstance(thing, tuple | list):
        return all(map(_is_value, thing))
    return thing is None or isinstance(thing, bool | int | float | str) or _is_array(thing)


def build(description: Mapping[str, Any]) -> Any:
    """The part that `describe` described. Only parts of this package are built; others are a `SettingsError`."""
    name = description.get("name")
    if not isinstance(name, str) or name not in MODULES:
        raise SettingsError(f"{name!r} is not a part of brns: give the NoveltySearch that made it, as search=...")
    part = getattr(importlib.import_module(MODULES[name]), name)
    hints = typing.get_type_hints(part)
    values = {key: value for key, value in description.items() if key != "name"}
    for key, value in values.items():
        if key not in hints:
            raise SettingsError(f"{name} has no setting {key}: is the record from a newer version?")
        inner = isinstance(value, Mapping)
        values[key] = build(value) if inner else _checked(f"{name}.{key}", hints[key], value)
    return part(**values)


def leaves(description: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a description by their dotted names, such as `estimator.epochs`."""
    if isinstance(description, Mapping):
        return {k: v for name, part in description.items() for k, v in leaves(part, f"{prefix}.{name}").items()}
    return {prefix.lstrip("."): description}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings in which two descriptions differ, each with its value before and after; None where there is none."""
    old, new = leaves(before), leaves(after)
    return {name: (old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def told(changed: Mapping[str, Sequence[Any]]) -> str:
    """The first of some changes in words, each from its value before to the one after."""
    return "; ".join(f"{name} was {old!r} and is {new!r}" for name, (old, new) in list(changed.items())[:5])


def unusual(part: Any) -> dict[str, Any]:
    """The settings of a part, and of the parts within, that are not their defaults, by their dotted names."""
    found = {}
    for field in _fields(part):
        value = getattr(part, field.name)
        if describe(value) == describe(field.default):
            continue
        inner = unusual(value)
        if type(value) is not type(field.default) or not inner:
            found[field.name] = type(value).__name__ if dataclasses.is_dataclass(value) else describe(value)
        found |= {f"{field.name}.{name}": setting for name, setting in inner.items()}
    return found


def shown(value: Any) -> str:
    """A part by its class and the settings that are not its defaults, `ArchiveKNN(k=10)`; an array by its shape."""
    if _is_array(value) and value.shape:
        return f"{value.dtype}{list(value.shape)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({', '.join(f'{name}={setting}' for name, setting in unusual(value).items())})"
    return f"{getattr(value, '__qualname__', None) or repr(value):.60}"
