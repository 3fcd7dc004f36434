"""What a person at a terminal sees: the console, and tables of runs and settings."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from brns.cli.listing import Listed

console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.


def legible(text: str) -> str:
    """The text with control characters shown, not sent: a name in a file may hold what moves a terminal's cursor."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def print_runs(directory: Path, found: "Sequence[Listed]") -> None:
    """A table of the runs below a directory, and what is wrong with the damaged ones."""
    from rich.table import Table
    from rich.text import Text

    from brns.metrics.numbers import number

    # At a screen lines are folded to fit it; through a pipe a run is one line.
    wide = console if console.is_terminal else Console(highlight=False, markup=False, width=1000)
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    for name in ("state", "done", "task", "novelty", "seed", "solved", "first", "cover"):
        table.add_column(name, justify="left" if name in ("state", "task", "novelty") else "right", no_wrap=True)
    for one in found:
        width = max(wide.width - 62, 8)
        lines = textwrap.wrap(f"{one.path.relative_to(directory)}", width)
        lines += textwrap.wrap(legible(one.changed), width, initial_indent="  ", subsequent_indent="  ")
        color = {"running": "green", "interrupted": "yellow"}.get(one.state, "")
        row: list[str | Text] = ["\n".join(lines), Text(one.state, style=color)]
        if one.state != "damaged":
            row += [f"{number(one.generation)}/{one.planned}", legible(one.task), legible(one.estimator), f"{one.seed}"]
            row += [number(one.solutions), number(one.first_solved)]
            row += ["-" if one.coverage is None else f"{one.coverage:.0%}"]
        table.add_row(*row, style="red" if one.state == "damaged" else None)
    wide.print(table)
    for one in found:
        if one.state == "damaged":
            console.print(f"damaged: {legible(one.reason)}", soft_wrap=True)


def print_settings(prefix: str, part: Any) -> None:
    """How each setting of a part is written on a command line, with its default and meaning."""
    from rich.table import Table

    from brns.settings import settings

    table = Table(box=None, pad_edge=True, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for setting in settings(type(part)):
        table.add_row(f"  --set {prefix}{setting.name}={_written(getattr(part, setting.name))}", setting.meaning)
    console.print(table)


def _written(value: Any) -> str:
    """As `--set` takes it: tuples as lists, since a shell has parentheses for itself."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_written, value))}]"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
