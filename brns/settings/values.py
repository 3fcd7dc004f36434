"""Which objects of a user's program are values, and the line that tells one."""

import abc
import argparse
import dataclasses
import enum
import functools
import hashlib
import json
import logging
import pathlib
import types
from typing import Any, Generic, Protocol

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from brns.settings import description
from brns.settings.code import is_user_code

PLAIN = bool | int | float | complex | str | bytes | None
DATA = PLAIN | np.ndarray | np.generic | jax.Array | enum.Enum | pathlib.PurePath | range
STATELESS = (object, abc.ABC, Generic, Protocol)
"""classes that give an object no attributes"""
LONG = 1000
"""letters of a value, beyond which a digest is kept"""
Wrapped = classmethod | staticmethod | functools.cached_property | property
NAMESPACES = types.ModuleType | argparse.Namespace
KNOWN = type | types.FunctionType | NAMESPACES | logging.Logger | Wrapped


def is_value_or_collection(value: Any) -> bool:
    """Whether it is a value, or a collection of values."""
    try:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, tuple | frozenset | list | set):
            return all(map(is_value_or_collection, value))
    except RecursionError:  # it holds itself
        return False
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return isinstance(value, eqx.Module) or value.__dataclass_params__.frozen
    if description.get_attribute_safely(value, "__name__") is not None or is_user_object(value):
        return False
    if isinstance(value, Tracer):  # left by JAX, which compiled a method that assigns attributes
        return False
    return isinstance(value, DATA) or description.is_stdlib_or_numpy_value(value)


def name_dictionary_entry(row: int, key: Any) -> str:
    """A name for what a dictionary has under a key, without any address."""
    if isinstance(key, PLAIN | tuple):
        return f"{key}"
    return str(description.get_attribute_safely(key, "__qualname__", row))


def make_reproducible_sort_key(thing: Any) -> str:
    """By which things of a set have the same order in every process."""
    try:
        return json.dumps(description.part_to_json(thing), sort_keys=True)
    except RecursionError:  # it holds itself
        return type(thing).__name__


def is_user_object(value: Any) -> bool:
    """Whether it is an object of a user's own class, such as a dataclass of constants."""
    classes = [each for each in type(value).__mro__ if each not in STATELESS]
    users = all(map(is_user_code, classes)) or isinstance(value, types.SimpleNamespace)
    return users and not isinstance(value, type)


def is_self_describing(value: Any) -> bool:
    """Whether its values, or its code, tell more than the lines that assign it."""
    return is_value_or_collection(value) or is_user_object(value) or isinstance(value, KNOWN)


def is_alias(name: str, value: Any) -> bool:
    """Whether a name is another one's of a function or class: `measure = np.hypot`."""
    if not callable(value) or isinstance(value, functools.partial):
        return False
    original = description.get_attribute_safely(value, "__name__")
    return isinstance(original, str) and original != name.rpartition(".")[2]


def format_value(name: str, value: Any) -> str:
    """A value as a line; of a long one a digest."""
    value = value.item() if isinstance(value, np.generic) else value
    text = repr(description.part_to_json(value))
    if isinstance(value, np.ndarray | jax.Array):
        text = f"{value.dtype} {text}"
    if len(text) > LONG:
        text = f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return f"{name} = {text}\n"
