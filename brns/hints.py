"""What was meant: an unknown setting, or what is no part of a search, names the one that is like it."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from brns.display import shown
from brns.parts import Kind, parts


def hinting(part: type) -> None:
    """Let a class of settings refuse an unknown one with the setting that was meant, and all that it has."""
    init: Callable[..., None] = part.__init__
    known = list(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **settings: Any) -> None:
        for name in settings:
            if name not in known:
                raise TypeError(
                    f"{part.__name__} has no setting {name!r}{near(name, known)} It has: {', '.join(known)}"
                )
        init(self, *values, **settings)

    part.__init__ = checked  # ty: ignore[invalid-assignment]


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean epochs?` where one is like it, and else the end of the sentence."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else "."


def refuse_wrong(name: str, part: Any, kind: Kind, contract: type) -> None:
    """A `ValueError` where a part of a search is a class, a name, or not what its contract asks for."""
    if isinstance(part, type):
        raise ValueError(f"{name} must be made, not a class: write {part.__name__}(...); got the class {part.__name__}")
    if isinstance(part, str):
        classes = {text: ours.attribute for text, ours in parts(kind).items()}
        classes |= {attribute: attribute for attribute in classes.values()}
        (found, *_) = difflib.get_close_matches(part, classes, n=1) or [next(iter(classes))]
        raise ValueError(f"{name} is no text; did you mean brns.{classes[found]}()? Got {part!r}")
    if not isinstance(part, contract):
        asked = [member for member in vars(contract) if member == "__call__" or not member.startswith("_")]
        raise ValueError(
            f"{name} must have {', '.join(asked)}, as brns.core.{contract.__name__} says; got {shown(part)}"
        )
