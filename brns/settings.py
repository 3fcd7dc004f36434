"""The table of our parts, and their settings: described as JSON, rebuilt from it, changed by name.

JAX is imported when a part is made, so that looking up a name is quick.
"""

import ast
import contextlib
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


class Look(NamedTuple):
    """How the lines of a method are drawn."""

    color: str
    dashes: tuple[float, ...]
    """lengths of strokes and gaps, as multiples of the line's width; none is a whole line"""
    marker: str
    """as matplotlib calls it"""


class Part(NamedTuple):
    """A part of the library."""

    kind: Kind
    """a preset is an estimator of another line with settings that are not its defaults"""
    name: str
    """on the command line"""
    attribute: str
    """its class in `brns` and in a record"""
    meaning: str
    settings: Mapping[str, Any] = types.MappingProxyType({})
    """of a preset"""
    look: Look | None = None
    """of a method, the same in every figure, report and page"""

    def load(self) -> Any:
        """The class, or for a preset a function that makes it with the preset's settings."""
        part = getattr(importlib.import_module("brns"), self.attribute)
        return functools.partial(part, **self.settings) if self.settings else part


# BR-NS in the paper, section 5, and in the published code where the paper gives no value.
PAPER: dict[str, Any] = {"embedding": None, "width": None, "inputs": "raw", "initialisation": "he"}
# An archive without eviction: 400 generations of 100 + 100 evaluate 40,100 individuals.
EVERYTHING: dict[str, Any] = {"additions": 200, "capacity": 40_100}
# Looks were sought at random, so that any two stand far apart to every eye and in grey, as
# tests/pictures/test_looks.py measures.
PARTS = (
    Part("world", "maze", "DeceptiveMaze", "a robot in the paper's deceptive maze, section 5.1"),
    Part("world", "ant", "AntMaze", "a four-legged robot in the paper's ant maze, section 5.2"),
    Part("world", "rooms", "RoomsMaze", "a robot in a maze of rooms, made from a seed"),
    Part("world", "arm", "PlanarArm", "a planar arm of 7 joints that reaches places"),
    Part("world", "car", "MountainCar", "a car too weak for its mountain"),
    Part("world", "projection", "LinearProjection", "the linear projection of 100 genes"),
    Part(
        "estimator",
        "counts",
        "VisitCounts",
        "visit counts: rarity of visits, in random grids of every scale",
        look=Look("#b01758", (), "o"),
    ),
    Part(
        "estimator",
        "exact",
        "ExactRecognition",
        "exact recognition: solved exactly, forgets nothing",
        look=Look("#0c2451", (6, 1.5), "s"),
    ),
    Part(
        "estimator",
        "recognition",
        "BehaviorRecognition",
        "BR-NS: a network that learns past behavior",
        look=Look("#22c192", (4, 1.2, 1, 1.2), "^"),
    ),
    Part(
        "preset",
        "paper",
        "BehaviorRecognition",
        "BR-NS with the paper's settings",
        PAPER,
        look=Look("#856d08", (1, 1), "v"),
    ),
    Part(
        "estimator",
        "archive",
        "ArchiveKNN",
        "distance to neighbours in archive and population",
        look=Look("#489af0", (3, 1.2), "D"),
    ),
    Part(
        "preset",
        "everything",
        "ArchiveKNN",
        "an archive of all that was evaluated",
        EVERYTHING,
        look=Look("#a76fa8", (6, 1.2, 1, 1.2, 1, 1.2), "P"),
    ),
    Part(
        "estimator",
        "population",
        "PopulationKNN",
        "distance to neighbours in the population",
        look=Look("#7b331d", (2, 2), "X"),
    ),
    Part("mutation", "mixed", "MixedMutation", "each offspring by one of several operators"),
    Part(
        "mutation", "polynomial", "PolynomialMutation", "bounded polynomial mutation, the paper's"
    ),
    Part("mutation", "gaussian", "GaussianMutation", "Gaussian steps on some genes"),
    Part("mutation", "iso-line", "IsoLineDD", "steps all around and towards another parent"),
    Part(
        "mutation",
        "crossover",
        "Crossover",
        "each gene from one of two parents, then a little mutation",
    ),
    Part(
        "mutation",
        "redraw",
        "Redraw",
        "drawn anew, whatever the parents: random search",
        look=Look("#401e88", (1, 2.5), "*"),
    ),
    Part("selection", "elitist", "Elitist", "the most novel, section 5.1"),
    Part("selection", "nsga2", "NSGA2", "NSGA-II on novelty and fitness, section 5.2"),
    Part("selection", "latest", "Latest", "the latest born, whatever their novelty"),
    Part("founders", "uniform", "UniformFounders", "drawn uniformly from the genotype space"),
    Part(
        "founders", "layers", "LayerFounders", "initial weights of a network, as in published code"
    ),
)
RECOMMENDED = "counts"
"""the default estimator of a run, which the suite of worlds supports"""
CLASSES = {part.attribute: part for part in PARTS if part.kind != "preset"}

NAMED = ("NoveltySearch", "GivenFounders", "Chunked", *CLASSES)
"""the names in `brns` that a record may have; reading one imports no other module"""


class SettingsError(ValueError):
    """A setting with a wrong name or value. The message lists everything that is wrong."""


def parts(*kinds: Kind) -> dict[str, Part]:
    """The parts of these kinds by their names on the command line, in the table's order."""
    return {part.name: part for part in PARTS if part.kind in kinds}


def chosen(what: str, name: str, *kinds: Kind) -> Part:
    """The part of this name; a `SettingsError` where there is none."""
    if name not in (known := parts(*kinds)):
        raise SettingsError(
            f"{what} must be one of {', '.join(known)}; got {name!r}{near(name, known)}"
        )
    return known[name]


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean epochs?` if a known name is similar, otherwise a full stop."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else "."


def settings(part: Any) -> dict[str, tuple[Any, str]]:
    """The fields of a class that can be set as text: name to type and meaning, the string under the field."""
    hints, meanings = typing.get_type_hints(part), _meanings(part)
    names = [
        field.name for field in dataclasses.fields(part) if field.init and _plain(hints[field.name])
    ]
    return {name: (hints[name], meanings.get(name, "")) for name in names}


def configure(part: Any, changes: Mapping[str, Any]) -> Any:
    """The part with some settings changed. One `SettingsError` reports all errors.

    Types are strict: true is not a number and 5 is not text. An integer is accepted as a float, a list as a tuple.
    """
    name = type(part).__name__
    known = settings(type(part)) if dataclasses.is_dataclass(part) else {}
    problems, values = [], {}
    for key, value in changes.items():
        if key not in known:
            has = (
                ", ".join(known)
                or "none that can be set; fields of a dataclass or an equinox.Module can"
            )
            problems.append(f"{name} has no setting {key!r}{near(key, known)} It has: {has}")
            continue
        hint, meaning = known[key]
        try:
            values[key] = _checked(f"{name}.{key} ({meaning})", hint, value)
        except SettingsError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return dataclasses.replace(part, **values)


def _checked(what: str, hint: Any, value: Any) -> Any:
    """The value of a JSON document, of the type of the hint; otherwise a `SettingsError`."""
    import pydantic

    config = pydantic.ConfigDict(arbitrary_types_allowed=True, strict=True)
    try:
        return pydantic.TypeAdapter(hint, config=config).validate_json(
            json.dumps(value, default=str, skipkeys=True)
        )
    except pydantic.ValidationError as error:
        reasons = dict.fromkeys(fault["msg"] for fault in error.errors())
        raise SettingsError(f"{what}: {'; or '.join(reasons)}; got {value!r}") from None


def _plain(hint: Any) -> bool:
    """Whether the type can be set as text: a number, a string, a choice, or a tuple of these."""
    if typing.get_origin(hint) is Literal or hint in (bool, int, float, str, type(None)):
        return True
    return bool(typing.get_args(hint)) and all(
        _plain(a) for a in typing.get_args(hint) if a is not Ellipsis
    )


def _meanings(part: type) -> dict[str, str]:
    """The string under each field of a class, inherited fields included; none of what has no source in a file."""
    found = {}
    classes: list[type] = [one for one in reversed(part.__mro__) if dataclasses.is_dataclass(one)]
    for one in classes:
        with contextlib.suppress(OSError, TypeError):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            for field, text in itertools.pairwise(getattr(definition, "body", ())):
                match field, text:
                    case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                        found[name] = " ".join(meaning.split())
    return found


@functools.singledispatch
def describe(part: Any) -> Any:
    """A part and all its settings as JSON values. A large array becomes a digest, a function its name.

    The settings of a class that is not a dataclass are its public attributes that are numbers, strings, arrays, or
    tuples and lists of these.
    """
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple | list):
        return [describe(item) for item in part]
    if _is_array(part):
        import numpy as np

        small, array = part.size <= 64, np.asarray(part)
        sha256 = hashlib.sha256(array.tobytes()).hexdigest()
        return (
            array.tolist()
            if small
            else {"name": "array", "shape": list(array.shape), "sha256": sha256}
        )
    if isinstance(part, type | types.FunctionType):
        return {"name": part.__qualname__}
    if isinstance(part, Mapping):
        inner = {"items": list(part.items())}
    elif isinstance(part, functools.partial):
        inner = {"function": part.func, "args": part.args, **part.keywords}
    elif dataclasses.is_dataclass(part):
        inner = {field.name: getattr(part, field.name) for field in _fields(part)}
    else:
        inner = {
            name: value for name, value in getattr(part, "__dict__", {}).items() if _is_value(value)
        }
    described = {
        str(name): describe(value) for name, value in inner.items() if not str(name).startswith("_")
    }
    return {"name": type(part).__name__, **described}


def _fields(part: Any) -> list[dataclasses.Field]:
    """The public fields that a dataclass is made with; of other objects none."""
    if isinstance(part, type) or not dataclasses.is_dataclass(part):
        return []
    fields = dataclasses.fields(part)
    return [field for field in fields if field.init and not field.name.startswith("_")]


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "dtype") and hasattr(thing, "shape") and not isinstance(thing, type)


def _is_value(thing: Any) -> bool:
    """Whether it is a value, not an object such as a simulator."""
    if isinstance(thing, tuple | list):
        return all(map(_is_value, thing))
    return thing is None or isinstance(thing, bool | int | float | str) or _is_array(thing)


def build(description: Mapping[str, Any], own: Any = None) -> Any:
    """The part that `describe` described: one of this package, or one like `own`, a user's; else a `SettingsError`.

    What cannot be described, such as a simulator, stays as `own` has it.
    """
    name = str(description.get("name"))
    known = type(own).__name__ == name
    if not known and name not in NAMED:
        raise SettingsError(
            f"{name!r} is not a part of brns that its settings can rebuild: give the search that has it, with --search "
            "module:object, in Python as record.search = search or search=..."
        )
    part = type(own) if known else getattr(importlib.import_module("brns"), name)
    values = {}
    for key, value in description.items():
        mine = getattr(own, key, None) if known else None
        if key == "name" or (known and describe(mine) == value):
            continue
        if isinstance(value, Mapping):
            values[key] = build(value, mine)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            values[key] = tuple(map(build, value))
        else:
            values[key] = _checked(
                f"{name}.{key}", typing.get_type_hints(part).get(key, Any), value
            )
    if known:
        return dataclasses.replace(own, **values) if values else own
    return part(**values)


def leaves(description: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a description by dotted name, such as `estimator.epochs`."""
    if not isinstance(description, Mapping):
        return {prefix.lstrip("."): description}
    found = {}
    for name, part in description.items():
        found |= leaves(part, f"{prefix}.{name}")
    return found


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings in which two descriptions differ: dotted name to (before, after), None where one is missing."""
    old, new = leaves(before), leaves(after)
    both = {name: (old.get(name), new.get(name)) for name in {**old, **new}}
    return {name: (was, now) for name, (was, now) in both.items() if was != now}


def told(changed: Mapping[str, Sequence[Any]]) -> str:
    """The first five of some changes in words."""
    first = list(changed.items())[:5]
    return "; ".join(f"{name} was {old!r} and is {new!r}" for name, (old, new) in first)


def unusual(part: Any, usual: Any = None) -> dict[str, Any]:
    """The settings of a part and of its parts that differ from those of `usual`, else from the defaults."""
    found, described = {}, describe(part)
    for field in _fields(part):
        value = getattr(part, field.name)
        default = field.default if usual is None else getattr(usual, field.name)
        if field.name not in described or described[field.name] == describe(default):
            continue
        same = type(value) is type(default)
        inner = unusual(value, default if same else None)
        if not same or not inner:
            found[field.name] = (
                type(value).__name__ if dataclasses.is_dataclass(value) else describe(value)
            )
        found |= {f"{field.name}.{name}": setting for name, setting in inner.items()}
    return found


def assigned(changed: Mapping[str, Any]) -> str:
    """Changed settings in a line, such as `estimator.grids=256, mutate=gaussian`."""
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def shown(value: Any) -> str:
    """A part in a line, as its class and the settings that differ from the defaults; an array as its shape."""
    if _is_array(value) and value.shape:
        return f"{value.dtype}{list(value.shape)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({assigned(unusual(value))})"
    return f"{getattr(value, '__qualname__', None) or repr(value):.60}"
