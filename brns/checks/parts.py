"""What a part of a search must be when it is made."""

import contextlib
import typing
from collections.abc import Callable, Generator
from numbers import Integral, Real
from typing import Any

import jax
import numpy as np

from brns.core import Box, Task
from brns.core.evaluation import name_of
from brns.settings.differences import short_repr

KINDS: dict[Any, tuple[Any, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool | np.bool_, "True or False"),
    str: (str, "text"),
    type(None): (type(None), "None"),
}
"""what a value of each type of setting is, and how an error calls it"""
JAX_ERRORS = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
NOT_JAX = (*JAX_ERRORS, TypeError)
"""what JAX raises where code cannot be compiled"""


def check_part(name: str, part: Any, contract: type) -> None:
    """Refuse a part of a search that is a class, or not what its contract asks for.

    Args:
        name: the argument of the search.
        part: what was given.
        contract: the protocol that it must fulfil.

    Raises:
        ValueError: with what the contract asks for and the part has not.
    """
    if isinstance(part, type):
        name_of = part.__name__
        raise ValueError(f"{name} must be made: write {name_of}(...); got the class {name_of}")
    if not isinstance(part, contract):
        public = [member for member in vars(contract) if not member.startswith("_")]
        members = public or ["__call__"]
        missing = [member for member in members if not hasattr(part, member)]
        source = f"{contract.__module__.removesuffix('.contracts')}.{contract.__name__}"
        raise ValueError(
            f"{name} must have {', '.join(members)}, as {source} says; got "
            f"{short_repr(part)} without {', '.join(missing)}"
        )


def check_spaces(task: Task) -> None:
    """Refuse a task of which a space is no box.

    Args:
        task: with the attributes that `Task` says.

    Raises:
        ValueError: with what it is.
    """
    for name in ("genotype_space", "behavior_space"):
        space = getattr(task, name)
        if not isinstance(space, Box):
            raise ValueError(f"{type(task).__name__}.{name} must be a brns.Box; got {space!r:.80}")


@contextlib.contextmanager
def compiling(name: str, part: Any) -> Generator[None, None, None]:
    """An error of JAX as one that says which part of a search is no JAX code.

    Args:
        name: the argument of the search.
        part: what is called meanwhile.

    Yields:
        Nothing.

    Raises:
        ValueError: where it cannot be compiled.
    """
    try:
        yield
    except NOT_JAX as error:
        cause = str(error).partition("\n")[0]
        raise ValueError(
            f"{name} must be JAX code that compiles, with jax.numpy in place of numpy; "
            f"{name_of(part)} gave {type(error).__name__}: {cause}"
        ) from error


def check_types(part: Any) -> None:
    """Refuse a part of which a setting is of another type than it says: a number, text, a choice,
    a tuple of these, or a function.

    Args:
        part: of a search.

    Raises:
        ValueError: with the first such setting, and what it must be.
    """
    for name, hint in typing.get_type_hints(type(part)).items():
        if name.startswith("_") or not _is_known(hint):
            continue
        if not _fits(value := getattr(part, name), hint):
            raise ValueError(
                f"{type(part).__name__}.{name} must be {_in_words(hint)}; got {value!r:.80}"
            )


def _is_known(hint: Any) -> bool:
    choices = [each for each in typing.get_args(hint) if each is not Ellipsis]
    simple = hint in KINDS or typing.get_origin(hint) in (typing.Literal, Callable)
    return simple or (bool(choices) and all(map(_is_known, choices)))


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(value, np.ndarray | jax.Array) and value.shape == ():
        value = np.zeros((), value.dtype)[()]
    choices = typing.get_args(hint)
    if hint in KINDS:
        return isinstance(value, KINDS[hint][0]) and (hint is bool or not isinstance(value, bool))
    if typing.get_origin(hint) is typing.Literal:
        return isinstance(value, str) and value in choices
    if typing.get_origin(hint) is Callable:
        return callable(value)
    if typing.get_origin(hint) is not tuple:  # a union
        return any(_fits(value, choice) for choice in choices)
    if not isinstance(value, tuple | list | np.ndarray | jax.Array):
        return False
    hints = choices[:1] * len(value) if Ellipsis in choices else choices
    return len(value) == len(hints) and all(map(_fits, value, hints))


def _in_words(hint: Any) -> str:
    choices = typing.get_args(hint)
    if hint in KINDS:
        return KINDS[hint][1]
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(choices)
    if typing.get_origin(hint) is Callable:
        return "a function"
    if typing.get_origin(hint) is not tuple:
        return " or ".join(map(_in_words, choices))
    number = "several" if Ellipsis in choices else len(choices)
    return f"a tuple of {number}, each {_in_words(choices[0])}"


def check_settings(part: Any, **rules: tuple[Any, str]) -> None:
    """Refuse a part whose setting breaks its rule.

    Args:
        part: the part of a search.
        rules: of each setting, whether it holds and how it reads.

    Raises:
        ValueError: with the first rule that does not hold, and the setting.
    """
    for name, (holds, rule) in rules.items():
        if not holds:
            setting = f"{type(part).__name__}.{name}"
            raise ValueError(f"{setting} must be {rule}; got {getattr(part, name)!r}")
