"""The table of our parts, and their settings: described as JSON, rebuilt from it, changed by name.

JAX is imported when a part is made, so that looking up a name is quick.
"""

import ast
import contextlib
import dataclasses
import difflib
import enum
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import pathlib
import re
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping, Sequence, Set
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
        "UniformResampling",
        "drawn anew, whatever the parents: random search",
        look=Look("#401e88", (1, 2.5), "*"),
    ),
    Part("selection", "elitist", "Elitist", "the most novel, section 5.1"),
    Part("selection", "nsga2", "NSGA2", "NSGA-II on novelty and fitness, section 5.2"),
    Part(
        "selection",
        "local",
        "LocalCompetition",
        "NSGA-II on novelty and on how many neighbours are less fit",
    ),
    Part("selection", "generational", "Generational", "the latest born, whatever their novelty"),
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


def lookup(what: str, name: str, *kinds: Kind) -> Part:
    """The part of a name.

    Args:
        what: the setting, for errors.
        name: on the command line.
        *kinds: of part that may be meant.

    Raises:
        SettingsError: where there is none of these kinds.
    """
    if name not in (candidates := parts(*kinds)):
        raise SettingsError(
            f"{what} must be one of {', '.join(candidates)}; got "
            f"{name!r}{did_you_mean(name, candidates)}"
        )
    return candidates[name]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean epochs?` if a known name is similar, otherwise a full stop."""
    matches = difflib.get_close_matches(name, list(candidates), n=1)
    return f"; did you mean {matches[0]}?" if matches else "."


def settings(part: Any) -> dict[str, tuple[Any, str]]:
    """The fields of a class that can be set as text.

    Args:
        part: the class.

    Returns:
        Name to type and meaning, the string under the field.
    """
    hints, meanings = typing.get_type_hints(part), _read_meanings(part)
    names = [
        field.name
        for field in dataclasses.fields(part)
        if field.init and is_plain(hints[field.name])
    ]
    return {name: (hints[name], meanings.get(name, "")) for name in names}


def configure(part: Any, changes: Mapping[str, Any]) -> Any:
    """The part with some settings changed.

    Types are strict: true is not a number and 5 is not text. An integer is accepted as a float, a
    list as a tuple.

    Args:
        part: as it is.
        changes: name to value.

    Raises:
        SettingsError: which reports all changes that are wrong.
    """
    name = type(part).__name__
    fields = settings(type(part)) if dataclasses.is_dataclass(part) else {}
    problems, values = [], {}
    for key, value in changes.items():
        if key not in fields:
            has = (
                ", ".join(fields)
                or "none that can be set; fields of a dataclass or an equinox.Module can"
            )
            problems.append(
                f"{name} has no setting {key!r}{did_you_mean(key, fields)} It has: {has}"
            )
            continue
        hint, meaning = fields[key]
        try:
            values[key] = _validate(f"{name}.{key} ({meaning})", hint, value)
        except SettingsError as error:
            problems.append(str(error))
    try:
        part = dataclasses.replace(part, **values)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return part


def _validate(what: str, hint: Any, value: Any) -> Any:
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


def is_plain(hint: Any) -> bool:
    """Whether the type can be set as text: a number, a string, a choice, or a tuple of these."""
    if typing.get_origin(hint) is Literal or hint in (bool, int, float, str, type(None)):
        return True
    return bool(typing.get_args(hint)) and all(
        is_plain(a) for a in typing.get_args(hint) if a is not Ellipsis
    )


def _read_meanings(part: type) -> dict[str, str]:
    """The string under each field of a class, inherited fields included;
    none of what has no source in a file.
    """
    meanings = {}
    classes: list[type] = [
        base for base in reversed(part.__mro__) if dataclasses.is_dataclass(base)
    ]
    for base in classes:
        with contextlib.suppress(OSError, TypeError):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            for field, text in itertools.pairwise(getattr(definition, "body", ())):
                match field, text:
                    case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(meaning))):
                        meanings[name] = " ".join(meaning.split())
    return meanings


@functools.singledispatch
def part_to_json(part: Any) -> Any:
    """A part and all its settings as JSON values. A large array becomes a digest,
    a function its name.

    The settings of a class that is not a dataclass are its public attributes that are values:
    numbers, strings, arrays, paths, members of an Enum and other values of Python's own library,
    functions, dataclasses, and collections of these.

    Args:
        part: a search, a part of one, or a setting.

    Returns:
        A dictionary whose `name` is the class; of a number, a string or None the value itself,
            of a sequence a list.
    """
    name = type(part).__name__
    if isinstance(part, enum.Enum):
        return {"name": name, "member": part.name, "value": part_to_json(part.value)}
    if isinstance(part, str):
        return part.encode("utf-8", "backslashreplace").decode()  # names of files may be any bytes
    if part is None or isinstance(part, bool | int | float):
        return part
    if isinstance(part, bytes | bytearray):
        long = len(part) > SMALL
        return (
            {"name": name, "sha256": _digest(part)} if long else {"name": name, "hex": part.hex()}
        )
    if isinstance(part, range | slice):
        return {"name": name, "start": part.start, "stop": part.stop, "step": part.step}
    if isinstance(part, pathlib.PurePath):
        return {"name": "Path", "path": part_to_json(str(part))}
    if isinstance(part, re.Pattern):
        return {"name": name, "pattern": part_to_json(part.pattern), "flags": part.flags}
    if isinstance(part, complex) or type(part).__module__ in REPRESENTED:
        return {"name": name, "value": repr(part)}
    if isinstance(part, Set):
        return {"name": name, "items": sorted(map(part_to_json, part), key=json.dumps)}
    if isinstance(part, Mapping):
        pairs = [[part_to_json(key), part_to_json(value)] for key, value in part.items()]
        return {"name": name, "items": sorted(pairs, key=json.dumps)}
    if isinstance(part, Sequence):
        return [part_to_json(item) for item in part]
    if _is_array(part):
        return _described_array(part)
    if isinstance(part, functools.partial):
        inner = {"function": part.func, "args": part.args, **part.keywords}
    elif function := _call_to_json(part):
        return {"name": function}
    else:
        inner = _settings_of(part)
    described = {
        str(name): part_to_json(value)
        for name, value in inner.items()
        if not str(name).startswith("_")
    }
    return {"name": name, **described}


SMALL = 64
"""numbers of an array, or bytes, that are described one by one; of more there is a digest"""
REPRESENTED = (
    "decimal",
    "fractions",
    "datetime",
    "zoneinfo",
    "uuid",
    "ipaddress",
    "numpy.dtypes",
)
"""modules whose values are what they are called"""


def _described_array(array: Any) -> Any:
    import numpy as np

    if str(array.dtype).startswith("key<"):  # JAX's random keys
        import jax

        array = jax.random.key_data(array)
    if isinstance(array, np.ma.MaskedArray):
        parts = {"data": array.filled(), "mask": np.ma.getmaskarray(array)}
        return {"name": "MaskedArray", **{name: part_to_json(part) for name, part in parts.items()}}
    array = np.asarray(array)
    if array.size <= SMALL or array.dtype.hasobject:
        return part_to_json(array.tolist())
    shape, dtype = list(array.shape), str(array.dtype)
    return {"name": "array", "shape": shape, "dtype": dtype, "sha256": _digest(array.tobytes())}


def _digest(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()


def _call_to_json(part: Any) -> str | None:
    """The name of a class, a module, or a function of any kind; other objects have none."""
    name = getattr(part, "__qualname__", None) or getattr(part, "__name__", None)
    by_name = isinstance(name, str) and (callable(part) or isinstance(part, types.ModuleType))
    return name if by_name else None


def _settings_of(part: Any) -> dict[str, Any]:
    """The settings of an object by name, as they are: of a dataclass its fields,
    else its values.
    """
    if dataclasses.is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in _fields(part)}
    names = [*getattr(part, "__dict__", {})]
    for each in type(part).__mro__:
        slots = getattr(each, "__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    public = [name for name in names if not name.startswith("_") and hasattr(part, name)]
    values = {name: getattr(part, name) for name in public}
    return {name: value for name, value in values.items() if _is_value(value)}


def refuse_unrecorded(part: Any, name: str) -> None:
    """A `SettingsError` where a dataclass holds a value that
    `part_to_json` cannot tell from another one.

    That is an object that compares by value, and has no public attribute that is a value itself.
    Objects that compare by identity, such as simulators, are no settings.

    Args:
        part: a search or a part of one.
        name: how the message calls it.
    """
    if isinstance(part, functools.partial):
        inner = {"args": part.args, **part.keywords}
    elif isinstance(part, Mapping):
        inner = {str(key): value for key, value in part.items()}
        refuse_unrecorded(list(part), name)
    elif isinstance(part, tuple | list | Set):
        inner = {f"{row}": value for row, value in enumerate(part)}
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        inner = _settings_of(part)
    else:
        by_value = type(part).__eq__ is not object.__eq__
        if by_value and part_to_json(part) == {"name": type(part).__name__}:
            raise SettingsError(
                f"{name} is a {type(part).__name__}, of which a record cannot keep the value: "
                "give it as numbers, strings, arrays or a dataclass of these; or let its name "
                "begin with an underscore, as what is no setting does"
            )
        return
    for key, value in inner.items():
        refuse_unrecorded(value, f"{name}.{key}")


def _fields(part: Any) -> list[dataclasses.Field]:
    """The public fields that a dataclass is made with; of other objects none."""
    if isinstance(part, type) or not dataclasses.is_dataclass(part):
        return []
    fields = dataclasses.fields(part)
    return [field for field in fields if field.init and not field.name.startswith("_")]


def _is_array(thing: Any) -> bool:
    """Whether NumPy has it as an array; Gymnasium's spaces too have a shape and a dtype."""
    parts = ("__array__", "dtype", "shape")
    return all(hasattr(thing, part) for part in parts) and not isinstance(thing, type)


def _is_value(thing: Any) -> bool:
    """Whether it is a value, not an object such as a simulator."""
    if isinstance(thing, Mapping):
        return all(_is_value(key) and _is_value(value) for key, value in thing.items())
    if isinstance(thing, str | bytes | bytearray | range):
        return True
    if isinstance(thing, Sequence | Set):
        return all(map(_is_value, thing))
    plain = thing is None or isinstance(thing, bool | int | float | complex | slice | enum.Enum)
    stored = isinstance(thing, pathlib.PurePath | re.Pattern | functools.partial)
    library = type(thing).__module__ in REPRESENTED
    part = dataclasses.is_dataclass(thing) or bool(_call_to_json(thing))
    return plain or stored or library or part or _is_array(thing)


def part_from_json(description: Mapping[str, Any], original: Any = None) -> Any:
    """The part that `part_to_json` described: one of this package, or one like `original`, a
    user's; else a `SettingsError`.

    What cannot be described, such as a simulator, stays as `original` has it.

    Args:
        description: what `part_to_json` gave, perhaps through JSON.
        original: a part whose class and whose parts' classes may be used too.

    Returns:
        A part or a setting whose description is the same.
    """
    name = str(description.get("name"))
    if original is not None and equal(part_to_json(original), description):
        return original
    is_user_part = type(original).__name__ == name
    if name in VALUES or isinstance(original, enum.Enum):
        return _built_value(name, description, original)
    if not is_user_part and name not in NAMED:
        raise SettingsError(
            f"{name!r} is not in brns, so that its settings alone cannot rebuild it. This run "
            "uses your own code: add --search module:object; in Python set record.search or give "
            "search=..."
        )
    part = type(original) if is_user_part else getattr(importlib.import_module("brns"), name)
    hints = {}
    with contextlib.suppress(NameError):  # of a class within a function, whose names are gone
        hints = typing.get_type_hints(part)
    values = {}
    for key, value in description.items():
        present = getattr(original, key, None) if is_user_part else None
        if key == "name" or (is_user_part and equal(part_to_json(present), value)):
            continue
        values[key] = _built_setting(f"{name}.{key}", hints.get(key, Any), value, present)
    if not is_user_part:
        return part(**values)
    if not dataclasses.is_dataclass(original):
        raise SettingsError(
            f"{name} is no dataclass, and {', '.join(values)} of it cannot be set: give the "
            "search as it was"
        )
    return dataclasses.replace(original, **values)


def _built_setting(what: str, hint: Any, value: Any, own: Any) -> Any:
    if isinstance(value, Mapping):
        return part_from_json(value, own)
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        same_length = isinstance(own, tuple | list) and len(own) == len(value)
        present = own if same_length else [None] * len(value)
        pairs = zip(value, present, strict=True)
        return tuple(_built_setting(what, Any, item, each) for item, each in pairs)
    return _validate(what, hint, value)


VALUES = ("Path", "bytes", "bytearray", "complex", "range", "slice", "set", "frozenset", "dict")
"""values that are rebuilt, beside members of an Enum that is the user's"""


def _built_value(name: str, description: Mapping[str, Any], own: Any) -> Any:
    if isinstance(own, enum.Flag):
        return type(own)(description["value"])  # several members may be united
    if isinstance(own, enum.Enum):
        members = type(own).__members__
        if (member := description.get("member")) not in members:
            raise SettingsError(
                f"{type(own).__name__} has no {member}; it has {', '.join(members)}"
            )
        return members[member]
    items = description.get("items", ())
    match name:
        case "Path":
            kind = type(own) if isinstance(own, pathlib.PurePath) else pathlib.Path
            return kind(description["path"])
        case "bytes" | "bytearray" if "hex" in description:
            return {"bytes": bytes, "bytearray": bytearray}[name].fromhex(description["hex"])
        case "complex":
            return complex(description["value"])
        case "range" | "slice":
            bounds = (description["start"], description["stop"], description["step"])
            return range(*bounds) if name == "range" else slice(*bounds)
        case "set" | "frozenset":
            built = [_built_setting(name, Any, item, None) for item in items]
            return set(built) if name == "set" else frozenset(built)
        case "dict":
            present = own if isinstance(own, Mapping) else {}
            return {
                key: _built_setting(name, Any, value, present.get(key))
                for key, value in ((_built_setting(name, Any, k, None), v) for k, v in items)
            }
    raise SettingsError(
        f"a {name} of {SMALL} bytes or more is kept as a digest: give the search that has it"
    )


def equal(before: Any, after: Any) -> bool:
    """Whether two descriptions are the same; NaN is the same as NaN."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(equal(before[k], after[k]) for k in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(equal, before, after))
    return bool(before == after or (before != before and after != after))


def flatten(description: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a description by dotted name.

    Args:
        description: nested JSON of a part.
        prefix: of the names.

    Returns:
        Such as `estimator.epochs` to 5.
    """
    if not isinstance(description, Mapping):
        return {prefix.lstrip("."): description}
    flat = {}
    for name, part in description.items():
        flat |= flatten(part, f"{prefix}.{name}")
    return flat


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings in which two descriptions differ.

    Args:
        before: nested JSON of a part.
        after: likewise.

    Returns:
        Dotted name to (before, after), None where one is missing.
    """
    old, new = flatten(before), flatten(after)
    both = {name: (old.get(name), new.get(name)) for name in {**old, **new}}
    return {name: (was, now) for name, (was, now) in both.items() if not equal(was, now)}


def format_diff(changed: Mapping[str, Sequence[Any]]) -> str:
    """The first five of some changes in words; of a part that is another, the settings it has."""
    classes = [name for name in changed if name.endswith(".name")]
    replaced = tuple(name.removesuffix("name") for name in classes)
    texts = []
    for name, (old, new) in changed.items():
        if name in classes or not name.startswith(replaced):
            texts.append(f"{name} was {old!r} and is {new!r}")
        elif new is not None:
            texts.append(f"{name} is {new!r}")
    return "; ".join(texts[:5])


def non_defaults(part: Any, usual: Any = None) -> dict[str, Any]:
    """The settings of a part and of its parts that differ from the usual ones.

    Args:
        part: a dataclass.
        usual: another of its class; by default one with the default settings.

    Returns:
        Dotted name to value.
    """
    overrides, described = {}, part_to_json(part)
    for field in _fields(part):
        value = getattr(part, field.name)
        default = field.default if usual is None else getattr(usual, field.name)
        if field.name not in described or equal(described[field.name], part_to_json(default)):
            continue
        same = type(value) is type(default)
        inner = non_defaults(value, default if same else None)
        if not same or not inner:
            overrides[field.name] = (
                type(value).__name__ if dataclasses.is_dataclass(value) else part_to_json(value)
            )
        overrides |= {f"{field.name}.{name}": setting for name, setting in inner.items()}
    return overrides


def format_overrides(changed: Mapping[str, Any]) -> str:
    """Changed settings in a line, such as `estimator.grids=256, mutate=gaussian`."""
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def short_repr(value: Any) -> str:
    """A part in a line, as its class and the settings that differ from the defaults;
    an array as its shape.
    """
    if _is_array(value) and value.shape:
        return f"{value.dtype}{list(value.shape)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({format_overrides(non_defaults(value))})"
    return f"{getattr(value, '__qualname__', None) or repr(value):.60}"
