"""What was meant: an unknown setting of a part names the one that is like it, as on the command line."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


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
