"""The source of a class or function, and its syntax tree: one thread at a time, since the parser of
Python 3.11 fails in several.
"""

import ast
import contextlib
import inspect
import textwrap
import threading
import tokenize
from typing import Any

_LOCK = threading.Lock()


def parse_source(text: str) -> ast.Module:
    """The syntax tree of a text."""
    with _LOCK:
        return ast.parse(text)


def get_source_text(thing: Any) -> str:
    """The source of a function's code or of a class; empty where there is none."""
    with contextlib.suppress(OSError, TypeError, SyntaxError, tokenize.TokenError), _LOCK:
        return textwrap.dedent(inspect.getsource(thing))  # which parses the file of a class
    return ""
