"""What a part of a search must be when it is made."""

import contextlib
import inspect
import operator
import re
import typing
from collections.abc import Callable, Generator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from brns.core import Box, Task
from brns.core.evaluation import name_function_or_class
from brns.settings.code import is_user_code
from brns.settings.configuration import is_settable_type, validate_setting
from brns.settings.differences import short_repr

JAX_ERRORS = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
NOT_JAX = (*JAX_ERRORS, TypeError)
"""what JAX raises where code cannot be compiled"""
JAX_DEFAULTS = {
    "jax_threefry_partitionable": True,
    "jax_default_prng_impl": "threefry2x32",
    "jax_random_seed_offset": 0,
    "jax_enable_x64": False,
    "jax_default_matmul_precision": None,
}
"""of what changes random numbers or rounding"""
PRNG_SETTINGS = ("jax_enable_x64", "jax_threefry_partitionable", "jax_random_seed_offset")
"""of JAX, by which the same key or seed gives other numbers"""


def read_prng_settings() -> tuple[str, ...]:
    return tuple(f"{mode}={getattr(jax.config, mode)}" for mode in PRNG_SETTINGS)


def check_part(name: str, part: Any, contract: type, compiled: bool = True) -> None:
    """Refuse a part that is a class, lacks what its protocol has, or could not be `compiled`."""
    if isinstance(part, type):
        kind = part.__name__
        raise ValueError(f"{name} must be made: write {kind}(...); got the class {kind}")
    if not isinstance(part, contract):
        public = [member for member in vars(contract) if not member.startswith("_")]
        members = public or ["__call__"]
        missing = [member for member in members if not hasattr(part, member)]
        source = f"{contract.__module__.removesuffix('.contracts')}.{contract.__name__}"
        raise ValueError(
            f"{name} must have {', '.join(members)}, as {source} says; got "
            f"{short_repr(part)} without {', '.join(missing)}"
        )
    if compiled and getattr(part, "traceable", True) and not is_hashable(part):
        raise ValueError(
            f"{name} must have a hash, by which JAX knows what it compiled: write "
            "a frozen dataclass or an equinox.Module, with tuples in place of lists and sets; "
            f"got {short_repr(part)}"
        )


def is_hashable(part: Any) -> bool:
    """Whether what is no array in a part has a hash."""
    arrays, rest = eqx.partition(part, eqx.is_array)
    try:
        hash((jax.tree.structure(arrays), tuple(jax.tree.leaves(rest))))
    except TypeError:
        return False
    return True


def check_spaces(task: Task) -> None:
    """Refuse a task of which a space is no box."""
    for name in ("genotype_space", "behavior_space"):
        space = getattr(task, name)
        if not isinstance(space, Box):
            raise ValueError(f"{type(task).__name__}.{name} must be a brns.Box; got {space!r:.80}")


@contextlib.contextmanager
def explain_compile_errors(name: str, part: Any) -> Generator[None, None, None]:
    """An error of JAX becomes one that says which part of a search is no JAX code."""
    try:
        yield
    except NOT_JAX as error:
        cause = str(error).partition("\n")[0]
        raise ValueError(
            f"{name} must be JAX code that compiles, with jax.numpy in place of numpy; "
            f"{name_function_or_class(part)} gave {type(error).__name__}: {cause}"
        ) from error


def check_draws_by_key_alone(name: str, part: Any, call: Callable[..., Any], *arrays: Any) -> None:
    """Refuse a user's part of which JAX makes another program each time that it is called, as with
    numpy.random.
    """
    if not is_user_code(part if inspect.isroutine(part) else type(part)):
        return
    programs = []
    with contextlib.suppress(Exception):
        for _ in range(2):
            traced = jax.make_jaxpr(lambda *those: call(*those))(*arrays)  # a new one: not cached
            constants = [np.asarray(each).tobytes() for each in traced.consts]
            programs.append((re.sub(r"0x\w+", "", str(traced)), constants))
    same = len(programs) == 2 and programs[0] == programs[1]
    if programs and not same:  # the second may have failed at what the first left
        raise ValueError(
            f"{name} must draw by jax.random and its key alone, and learn in its state alone; "
            f"{name_function_or_class(part)} gives other numbers each time that it is compiled, as "
            "with numpy.random, or with what a call keeps for the next one in an attribute or a "
            "cache: a run would have the same ones in every generation, and another run of its "
            "seed others"
        )


def require_integer(name: str, value: Any, least: int = 1) -> int:
    """A whole number as an integer; a `ValueError` where it is none from `least` on."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number from {least} on; got {value!r}")
    return number


def check_setting_types(part: Any) -> None:
    """Refuse settings that are not of their type or within its bounds; NumPy's become Python's."""
    for name, hint in typing.get_type_hints(type(part), include_extras=True).items():
        if name.startswith("_") or not is_settable_type(hint, functions=True):
            continue
        if isinstance(value := getattr(part, name), Tracer):
            continue
        what = f"{type(part).__name__}.{name}"
        plain = validate_setting(what, hint, value)
        if not callable(value):
            object.__setattr__(part, name, plain)


def check_settings_obey_rules(part: Any, **rules: tuple[Any, str]) -> None:
    """Refuse a part one of whose settings breaks a rule: whether each holds, and how it reads."""
    for name, (holds, rule) in rules.items():
        if not holds:
            setting = f"{type(part).__name__}.{name}"
            raise ValueError(f"{setting} must be {rule}; got {getattr(part, name)!r}")
