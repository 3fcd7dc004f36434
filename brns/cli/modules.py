"""Where a user's own code is found."""

import importlib.util
import os
import sys

from brns.settings.parts import SettingsError


def enable_import_and_check_module(text: str) -> None:
    """A `SettingsError` where Python finds no module for `module:object`; nothing is imported."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    module = text.partition(":")[0]
    if not all(name.isidentifier() for name in module.split(".")) or module.endswith(".py"):
        raise SettingsError(
            f"{text} must be module:object, with a module as import names it, such as own:MyTask "
            "of a file own.py"
        )
    top = module.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        raise SettingsError(f"there is no module {top!r} for {text}, in {here} or Python's path")
