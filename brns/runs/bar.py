"""How far a run is, how fast it goes and what it found: a bar at a terminal, and the same in a notebook."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brns.runs.progress import Row

Thing = TypeVar("Thing")
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""`track(things, title, total)` hands on what `things` gives, and so shows how many of `total` are done"""
SECONDS = 0.2  # between two looks of a notebook at the bar


def screen() -> Console:
    """Where a run in Python shows itself: the terminal of standard error, or the notebook."""
    return Console(stderr=True, highlight=False, markup=False)


class Bar:
    """Shows the generations of a run as they are saved, while the `with` block goes on."""

    def __init__(self, generations: int, completed: int, console: Console):
        self.progress = Progress(
            TextColumn("generation"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[found]}", markup=False),
            console=console,
            redirect_stdout=sys.stdout.isatty(),  # what is printed to a file goes on to go there
        )
        self.task = self.progress.add_task("", total=generations, completed=completed, rate="", found="compiling")
        self.notebook = Notebook(self.progress) if console.is_jupyter else None

    def __enter__(self) -> "Bar":
        if self.notebook is None:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.notebook is None:
            self.progress.stop()
        else:
            self.notebook.look()

    def show(self, rows: Sequence[Row]) -> None:
        """Show a generation of all seeds."""
        speed = self.progress.tasks[self.task].speed
        rate = "" if speed is None else f"{speed:.1f}/s"
        self.progress.update(self.task, completed=rows[0].generation, found=_found(rows), rate=rate)
        if self.notebook is not None and time.monotonic() > self.notebook.looked + SECONDS:
            self.notebook.look()


def track(things: Iterable[Thing], title: str, total: int) -> Iterator[Thing]:
    """The `Track` of other work in Python: how many of so many things are done, where a run would show its bar."""
    console = screen()
    if not (console.is_terminal or console.is_jupyter):
        yield from things
        return
    columns = (TextColumn("{task.description}", markup=False), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console)
    bar = progress.add_task(title, total=total)
    with progress if not console.is_jupyter else contextlib.nullcontext():
        notebook = Notebook(progress) if console.is_jupyter else None
        for thing in things:
            yield thing
            progress.advance(bar)
            if notebook is not None:
                notebook.look()


def untracked(things: Iterable[Any], title: str, total: int) -> Iterable[Any]:
    """The `Track` that shows nothing."""
    return things


class Notebook:
    """A bar in the output of a notebook's cell. It needs no widgets, which rich's own would."""

    def __init__(self, progress: Progress):
        from IPython.display import display  # ty: ignore[import-not-found]

        self.progress, self.looked = progress, time.monotonic()
        self.handle: Any = display(progress, display_id=True)

    def look(self) -> None:
        """Show how far it is by now."""
        self.handle.update(self.progress)
        self.looked = time.monotonic()


def _found(rows: Sequence[Row]) -> str:
    """Coverage of everything evaluated, mean over seeds, and successes so far, of all seeds."""
    covered = [row.coverage for row in rows if row.coverage is not None]
    coverage = f"coverage {sum(covered) / len(covered):.0%}, " if covered else ""
    return f"{coverage}solvers {sum(row.solutions for row in rows)}"
