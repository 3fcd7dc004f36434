"""What a person at a terminal sees: the console, how far work is, and tables of runs and settings."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brns.metrics.numbers import number
from brns.runs.bar import counting

if TYPE_CHECKING:
    from brns.runs.listing import Listed
    from brns.settings import Setting

Thing = TypeVar("Thing")
console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.


def track(things: Iterable[Thing], title: str, total: int) -> Iterator[Thing]:
    """Show how many of so many things are done, until all are, and hand them on."""
    with counting(console, transient=True) as progress:
        bar = progress.add_task(title, total=total)
        for thing in things:
            yield thing
            progress.advance(bar)


def print_runs(directory: Path, found: "Sequence[Listed]") -> None:
    """A table of the runs below a directory, and what is wrong with the damaged ones."""
    # At a screen lines are folded to fit it; through a pipe a run is one line.
    wide = console if console.is_terminal else Console(highlight=False, markup=False, width=1000)
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    for name in ("state", "done", "task", "novelty", "seed", "solved", "first", "cover"):
        table.add_column(name, justify="left" if name in ("state", "task", "novelty") else "right", no_wrap=True)
    for one in found:
        width = max(wide.width - 62, 8)
        lines = textwrap.wrap(f"{one.path.relative_to(directory)}", width)
        lines += textwrap.wrap(one.changed, width, initial_indent="  ", subsequent_indent="  ")
        color = {"running": "green", "interrupted": "yellow"}.get(one.state, "")
        row: list[str | Text] = ["\n".join(lines), Text(one.state, style=color)]
        if one.state != "damaged":
            row += [f"{number(one.generation)}/{one.planned}", one.task, one.estimator, f"{one.seed}"]
            row += [number(one.solutions), number(one.first_solved)]
            row += ["-" if one.coverage is None else f"{one.coverage:.0%}"]
        table.add_row(*row, style="red" if one.state == "damaged" else None)
    wide.print(table)
    for one in found:
        if one.state == "damaged":
            console.print(f"damaged: {one.reason}", soft_wrap=True)


def _listed(value: Any) -> Any:
    """Tuples as the lists that `--set` takes: a shell has parentheses for itself."""
    return [*map(_listed, value)] if isinstance(value, tuple) else value


def print_settings(prefix: str, part: Any, listed: "Sequence[Setting]") -> None:
    """How each setting of a part is written on a command line, with its default and meaning."""
    table = Table(box=None, pad_edge=True, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for setting in listed:
        value = str(_listed(getattr(part, setting.name)))
        for word in ("None", "True", "False"):
            value = value.replace(word, word.lower())
        table.add_row(f"  --set {prefix}{setting.name}={value.replace(' ', '')}", setting.meaning)
    console.print(table)
