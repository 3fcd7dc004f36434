"""What a part of a search must be when it is made."""

import typing
from typing import Any

import jax

from brns.settings.differences import short_repr

NOT_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, TypeError)
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
        raise ValueError(
            f"{name} must have {', '.join(members)}, as brns.core.{contract.__name__} says; got "
            f"{short_repr(part)} without {', '.join(missing)}"
        )


def check_settings(part: Any, **rules: tuple[Any, str]) -> None:
    """Refuse a part whose setting breaks its rule, or is none of the choices that its type names.

    Args:
        part: the part of a search.
        rules: of each setting, whether it holds and how it reads.

    Raises:
        ValueError: with the first rule that does not hold, and the setting.
    """
    for name, hint in typing.get_type_hints(type(part)).items():
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
            rules[name] = getattr(part, name) in choices, " or ".join(choices)
    for name, (holds, rule) in rules.items():
        if not holds:
            setting = f"{type(part).__name__}.{name}"
            raise ValueError(f"{setting} must be {rule}; got {getattr(part, name)!r}")
