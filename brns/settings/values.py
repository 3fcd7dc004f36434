"""Which objects of a user's program are values, and the line that tells one."""

import argparse
import dataclasses
import enum
import hashlib
import pathlib
import types
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from brns.settings import description
from brns.settings.code import is_user_code

NUMBERS = {bool, int, float, complex, bytes, type(None)}
"""types of what leads to no code"""
PLAIN = bool | int | float | complex | str | bytes | None
DATA = PLAIN | np.ndarray | np.generic | jax.Array | enum.Enum | pathlib.PurePath | range
LONG = 1000
"""letters of a value, beyond which a digest is kept"""


def is_value_or_collection(value: Any) -> bool:
    """Whether it is a value, or a collection of values."""
    if type(value) in NUMBERS:
        return True
    try:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, tuple | frozenset | list | set):
            return all(map(is_value_or_collection, list(value)))
    except RecursionError:  # it holds itself
        return False
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return is_frozen_dataclass(value)
    if description.get_attribute_safely(value, "__name__") is not None:
        return False
    # Tracers are left by JAX, which compiled a method that assigns attributes.
    if isinstance(value, Tracer | argparse.Namespace | types.SimpleNamespace):
        return False
    own = is_user_code(type(value)) and not isinstance(value, enum.Enum)
    return isinstance(value, DATA) or (not own and description.is_stdlib_or_numpy_value(value))


def is_frozen_dataclass(thing: Any) -> bool:
    """Whether it is an object of a dataclass, of which no field changes."""
    if isinstance(thing, type) or not dataclasses.is_dataclass(thing):
        return False
    return isinstance(thing, eqx.Module) or thing.__dataclass_params__.frozen


def format_value(name: str, value: Any) -> str:
    """A value as a line; of a long one a digest."""
    value = value.item() if isinstance(value, np.generic) else value
    text = repr(description.part_to_json(value))
    if isinstance(value, np.ndarray | jax.Array):
        text = f"{value.dtype} {text}"
    if len(text) > LONG:
        text = f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return f"{name} = {text}\n"
