"""A part and its settings as JSON, and rebuilt from it."""

import argparse
import collections
import contextlib
import dataclasses
import enum
import functools
import hashlib
import importlib
import inspect
import io
import itertools
import json
import operator
import pathlib
import random
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from brns.settings.configuration import validate_setting
from brns.settings.parts import NAMED, SettingsError


@functools.singledispatch
def part_to_json(part: Any) -> Any:
    """A search, a part of one, or a setting as JSON: of a part a dictionary of its settings whose
    `name` is the class; one that is called `name` stands as `name_`. A large array becomes a
    digest, a function its name.

    The settings of a class that is not a dataclass are its public attributes that are values:
    numbers, strings, arrays, paths, members of an Enum and other values of Python's own library,
    functions, dataclasses, other objects that compare by value, and collections of these. An
    argument of `__init__` that is kept under `_name` is one too.
    """
    name = type(part).__name__
    if isinstance(part, enum.Enum):
        return {"name": name, "member": part.name, "value": part_to_json(part.value)}
    if isinstance(part, str | collections.UserString):  # names of files may be any bytes
        return str(part).encode("utf-8", "backslashreplace").decode()
    if part is None or isinstance(part, bool | int | float):
        return part
    if isinstance(part, bytes | bytearray):
        if len(part) <= SMALL:
            return {"name": name, "hex": part.hex()}
        return {"name": name, "sha256": hashlib.sha256(part).hexdigest()}
    if isinstance(part, pathlib.PurePath):
        return {"name": "Path", "path": part_to_json(str(part))}
    if isinstance(part, Set | Mapping):
        items = map(part_to_json, part.items() if isinstance(part, Mapping) else part)
        return {"name": name, "items": sorted(items, key=json.dumps)}
    if isinstance(part, Sequence) and not isinstance(part, range):
        return [part_to_json(item) for item in part]
    if is_array(part):
        return _array_to_json(part)
    wrapped = get_attribute_safely(part, "__wrapped__")  # as in jax.jit(functools.partial(...))
    if callable(wrapped) and not isinstance(part, type | functools.partial):
        return part_to_json(wrapped)
    source = get_attribute_safely(part, "__self__", part)  # of a bound method
    if _is_random_or_iterator(source):
        return {"name": type(source).__name__, UNRECORDABLE: DRAWN}
    if isinstance(part, functools.partial):
        inner = {"function": part.func, "args": part.args, **part.keywords}
    elif function := _get_name_of_callable_or_module(part):
        return {"name": function}
    else:
        inner = _collect_settings(part)
    if not inner and (is_stdlib_or_numpy_value(part) or _is_immutable_value_with_own_repr(part)):
        return {"name": name, "value": repr(part)}
    untold = not inner and _compares_by_value(part) and not dataclasses.is_dataclass(part)
    # Not of one that has only simulators, such as a task of attrs.
    if untold and all(attribute[0] == "_" for attribute in attributes_of(part)):
        return {"name": name, UNRECORDABLE: UNTOLD}
    return {"name": name, **{key_of_setting(key): part_to_json(inner[key]) for key in inner}}


def key_of_setting(name: str) -> str:
    """Under which key a description has a setting."""
    return "name_" if name == "name" else name


GETTERS = operator.itemgetter | operator.attrgetter | operator.methodcaller
UNRECORDABLE = "cannot be recorded"
"""the key of the reason why a description does not tell a value from another one"""
DRAWN = (
    "of which a run that is resumed would draw from its beginning again: give a list; for random "
    "numbers make in evaluate numpy.random.default_rng(jax.random.key_data(key)); or begin its "
    "name with _ where evaluate draws nothing"
)
UNTOLD = (
    "of which a record cannot keep the value: give it as numbers, strings, arrays or a dataclass, "
    "or begin its name with _"
)
SMALL = 64
"""numbers of an array, or bytes, that are described one by one; of more there is a digest"""


def _array_to_json(array: Any) -> Any:
    """An array's type, shape and values; of few float32 and of a single number the values alone."""
    import numpy as np

    dtype = str(array.dtype)
    if dtype.startswith("key<"):  # JAX's random keys
        import jax

        array = jax.random.key_data(array)
    array = np.asanyarray(array)  # a masked one stays masked
    content = {"name": "array", "dtype": dtype, "shape": list(array.shape)}
    if array.size > SMALL and not array.dtype.hasobject:
        return content | {"sha256": hashlib.sha256(array.tobytes()).hexdigest()}
    if array.dtype.kind in "mM":  # dates
        array = array.astype(str)
    values = part_to_json(array.tolist())
    usual = dtype == "float32" and array.size
    return values if usual or not array.ndim else content | {"values": values}


def _get_name_of_callable_or_module(part: Any) -> str | None:
    """The name of a class, a module, or a function of any kind; other objects have none."""
    name = get_attribute_safely(part, "__qualname__") or get_attribute_safely(part, "__name__")
    by_name = isinstance(name, str) and (callable(part) or isinstance(part, types.ModuleType))
    return name if by_name else None


def _collect_settings(part: Any) -> dict[str, Any]:
    """The settings of an object: a dataclass' fields, else public values, or private ones alone."""
    attributes = attributes_of(part)
    values = {name: value for name, value in attributes.items() if _counts_as_setting_value(value)}
    if dataclasses.is_dataclass(part):
        fields = [field.name for field in list_public_dataclass_fields(part)]
        arguments = _find_constructor_arguments(type(part))
        settings = {name: getattr(part, name) for name in fields}
        return settings | {name: values[name] for name in arguments if name in values}
    public = {name: value for name, value in values.items() if name[0] != "_"}
    if get_attribute_safely(part, "unwrapped") is not None:  # of Gymnasium
        public["spec"] = get_attribute_safely(part, "spec")
    told_by_private = not public and len(values) == len(attributes)
    return values if told_by_private and _compares_by_value(part) else public


def get_attribute_safely(thing: Any, name: str, default: Any = None) -> Any:
    """An attribute, without a user's `__getattr__`, which may raise or make anything."""
    dynamic = hasattr(type(thing), "__getattr__")
    if dynamic and inspect.getattr_static(thing, name, default) is default:
        return default
    try:
        return getattr(thing, name, default)
    except Exception:  # of a property
        return default


def attributes_of(thing: Any) -> dict[str, Any]:
    """What an object holds, by name; an argument `mass` that it keeps as `_mass` is `mass`."""
    state: Any = object.__getstate__(thing)
    own, slots = state if isinstance(state, tuple) else (state, None)
    attributes = {
        name: value
        for name, value in {**(own or {}), **(slots or {})}.items()
        if not isinstance(getattr(type(thing), name, None), functools.cached_property)
    }
    owners = ("", *(each.__name__.lstrip("_") + "__" for each in type(thing).__mro__))
    for argument in _find_constructor_arguments(type(thing)):
        for private in (f"_{owner}{argument}" for owner in owners):
            value = attributes.get(private)
            if argument in attributes or value is None:
                continue
            safe = is_array(value) or not _counts_as_setting_value(value)
            if safe or not _find_unrecordable(part_to_json(value)):
                attributes[argument] = attributes.pop(private)
    return attributes


def _find_constructor_arguments(kind: type) -> list[str]:
    """The arguments of a class and its bases, but not those that are a dataclass' fields."""
    names: list[str] = []
    for each in kind.__mro__:
        function = inspect.unwrap(vars(each).get("__init__", object.__init__))
        if isinstance(function, types.FunctionType) and function.__code__.co_filename != "<string>":
            names += [*inspect.signature(function).parameters][1:]
    return names


def is_stdlib_or_numpy_value(thing: Any) -> bool:
    """Whether it is of Python's or NumPy's own, and equal to others by value: a date, a range."""
    if isinstance(thing, GETTERS):
        return True
    library = type(thing).__module__.partition(".")[0] in {"numpy", *sys.stdlib_module_names}
    return library and _compares_by_value(thing)


def _is_immutable_value_with_own_repr(thing: Any) -> bool:
    """Whether it compares by value, never changes and has a text, such as JAX's `PyTreeDef`."""
    kind = type(thing)
    by_value = _compares_by_value(thing) and not dataclasses.is_dataclass(thing)
    return by_value and kind.__hash__ is not None and kind.__repr__ is not object.__repr__


def _compares_by_value(thing: Any) -> bool:
    return type(thing).__eq__ is not object.__eq__


def _counts_as_setting_value(thing: Any) -> bool:
    """Whether it is a value, no object such as a simulator, nor a tracer that JAX left in one."""
    if any(each.__name__ == "Tracer" for each in type(thing).__mro__):
        return False
    if isinstance(thing, argparse.Namespace):  # of a program: how many generations, too
        return False
    if isinstance(thing, Mapping):
        thing = [*thing.items()]
    if isinstance(thing, Sequence | Set) and not isinstance(thing, str | bytes | bytearray | range):
        return all(map(_counts_as_setting_value, thing))
    if thing is None or thing is ... or isinstance(thing, enum.Enum | functools.partial):
        return True
    if dataclasses.is_dataclass(thing) or _get_name_of_callable_or_module(thing) or is_array(thing):
        return True
    by_value = _compares_by_value(thing) or is_stdlib_or_numpy_value(thing)
    return by_value or _is_random_or_iterator(thing)


def _is_random_or_iterator(thing: Any) -> bool:
    """Whether random numbers are drawn from it, or whatever else comes next; not from a file."""
    import numpy as np

    if isinstance(thing, Iterator) and not isinstance(thing, io.IOBase):
        return True
    numpys = np.random.Generator | np.random.RandomState | np.random.BitGenerator
    return isinstance(thing, random.Random | numpys | np.random.SeedSequence)


def list_public_dataclass_fields(part: Any) -> list[dataclasses.Field]:
    """The public fields that a dataclass is made with; of other objects none."""
    if isinstance(part, type) or not dataclasses.is_dataclass(part):
        return []
    fields = dataclasses.fields(part)
    return [field for field in fields if field.init and not field.name.startswith("_")]


def is_array(thing: Any) -> bool:
    """Whether NumPy has it as an array; Gymnasium's spaces too have a shape and a dtype."""
    parts = ("__array__", "dtype", "shape")
    has_all = all(get_attribute_safely(thing, part) is not None for part in parts)
    return has_all and not isinstance(thing, type)


def check_recordable(part: Any, name: str) -> None:
    """A `SettingsError`, which calls the part so, where it holds a value that `part_to_json` cannot
    tell from another one.

    That is an object that compares by value, and has neither a text of its own nor a public
    attribute that is a value itself; and what is drawn from, a generator of random numbers or any
    other iterator. Other objects that compare by identity, such as simulators, are no settings.
    """
    if faults := _find_unrecordable(part_to_json(part), name):
        raise SettingsError("\n".join(faults))


def _find_unrecordable(description: Any, name: str = "") -> list[str]:
    """The values in a description that a record cannot keep, each with the reason."""
    if isinstance(description, list):
        description = {f"{row}": value for row, value in enumerate(description)}
    if not isinstance(description, Mapping):
        return []
    if UNRECORDABLE in description:
        return [f"{name} is a {description['name']}, {description[UNRECORDABLE]}"]
    inner = [_find_unrecordable(value, f"{name}.{key}") for key, value in description.items()]
    return list(itertools.chain.from_iterable(inner))


def part_from_json(description: Mapping[str, Any], original: Any = None) -> Any:
    """The part that `part_to_json` described: one of this package, or one like `original`, a
    user's, whose class and whose parts' classes may be used; else a `SettingsError`.

    What cannot be described, such as a simulator, stays as `original` has it.
    """
    name = str(description.get("name"))
    if original is not None and descriptions_equal(part_to_json(original), description):
        return original
    is_user_part = type(original).__name__ == name
    if name in REBUILT or isinstance(original, enum.Enum):
        try:
            return _rebuild_value(name, description, original)
        except (KeyError, TypeError, SyntaxError):  # a digest, or an array of what is no number
            raise SettingsError(
                f"{name} cannot be made again from a record: give the search that has it"
            ) from None
    if not is_user_part and name not in NAMED:
        raise SettingsError(
            f"{name!r} is not in brns, or may hold functions of yours: add --search module:object, "
            "with which the run was begun; in Python set record.search or give search=..."
        )
    part = type(original) if is_user_part else getattr(importlib.import_module("brns"), name)
    hints = {}
    with contextlib.suppress(NameError):  # of a class within a function, whose names are gone
        hints = typing.get_type_hints(part)
    values, present_values = {}, attributes_of(original) if is_user_part else {}
    settings = {key: value for key, value in description.items() if key != "name"}
    if (key := key_of_setting("name")) in settings:
        settings["name"] = settings.pop(key)
    for key, value in settings.items():
        present = present_values.get(key)
        if is_user_part and descriptions_equal(part_to_json(present), value):
            continue
        values[key] = _decode_setting(f"{name}.{key}", hints.get(key, Any), value, present)
    try:
        return dataclasses.replace(original, **values) if is_user_part else part(**values)
    except TypeError as error:  # of no dataclass, or one whose __init__ takes other arguments
        raise SettingsError(
            f"{', '.join(values)} of {name} cannot be set: {error}; give the search that has it"
        ) from error


def _decode_setting(what: str, hint: Any, value: Any, original: Any) -> Any:
    import numpy as np

    if isinstance(value, Mapping):
        return part_from_json(value, original)
    if isinstance(value, list) and is_array(original):
        return np.array(value, np.float32)
    if isinstance(value, list) and (hint is Any or any(isinstance(one, Mapping) for one in value)):
        same_length = isinstance(original, tuple | list) and len(original) == len(value)
        originals = original if same_length else [None] * len(value)
        pairs = zip(value, originals, strict=True)
        items = [_decode_setting(what, Any, item, each) for item, each in pairs]
        return items if isinstance(original, list) else tuple(items)
    return validate_setting(what, hint, value, from_json=True)


REBUILT = ("Path", "array", "bytes", "set", "frozenset", "dict")
"""values that are rebuilt, beside members of an Enum that is the user's"""


def _rebuild_value(name: str, description: Mapping[str, Any], original: Any) -> Any:
    import numpy as np

    if isinstance(original, enum.Flag):
        return type(original)(description["value"])  # several members may be united
    if isinstance(original, enum.Enum):
        return type(original)[description["member"]]
    if name == "Path":
        return pathlib.Path(description["path"])
    if name == "bytes":
        return bytes.fromhex(description["hex"])
    if name == "array":
        values = _decode_setting(name, Any, description["values"], None)
        return np.array(values, description["dtype"]).reshape(description["shape"])
    if name in ("set", "frozenset"):
        items = _decode_setting(name, Any, description["items"], None)
        return set(items) if name == "set" else frozenset(items)
    present = original if isinstance(original, Mapping) else {}
    values = {}
    for key, value in description["items"]:
        key = _decode_setting(name, Any, key, None)
        values[key] = _decode_setting(name, Any, value, present.get(key))
    return values


def descriptions_equal(before: Any, after: Any) -> bool:
    """Whether two descriptions are the same; NaN is the same as NaN."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        same_names = before.keys() == after.keys()
        return same_names and all(descriptions_equal(before[key], after[key]) for key in before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(descriptions_equal, before, after))
    if isinstance(before, bool) is not isinstance(after, bool):
        return False
    return bool(before == after or (before != before and after != after))
