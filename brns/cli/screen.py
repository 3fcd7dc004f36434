"""The console of the command line, and how it shows a part's settings."""

from typing import Any

from rich.console import Console
from rich.table import Table

from brns.settings import settings

console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.


def print_settings(prefix: str, part: Any) -> None:
    """Print the settings of a part as `--set` takes them, with their values and meanings."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for setting in settings(type(part)):
        value = _written(getattr(part, setting.name))
        table.add_row(f"  --set {prefix}{setting.name}={value}", setting.meaning)
    console.print(table)


def _written(value: Any) -> str:
    """A value without the parentheses and capitals of Python; a shell would read the parentheses itself."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_written, value))}]"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
