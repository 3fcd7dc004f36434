"""Modules with a text that a test writes, and a task with a function of one."""

import importlib.util
import linecache
import sys

from small_tasks import HostIdentity


def loaded(folder, name, text, monkeypatch):
    """A module with this text, imported anew."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    linecache.checkcache()
    exec(compile(text, file, "exec"), vars(module))
    return module


def typed(text, **names):
    """The function `use` of a text without a file."""
    names = {"__name__": "typed"} | names
    exec(text, names)
    return names["use"]


class Own(HostIdentity):
    """A task with a function of anybody's, which it calls."""

    function: object = None

    def __init__(self, function):
        self.function = function

    def evaluate(self, genotypes, key):
        return super().evaluate(self.function(genotypes), key)
