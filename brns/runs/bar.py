"""How far a run is, how fast it goes and what it found: a bar at a terminal, and the same in a notebook."""

import contextlib
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brns.runs.progress import Row

Thing = TypeVar("Thing")
SECONDS = 0.2  # between two looks of a notebook at the bar


class Bar:
    """Shows how many of `total` are done while the `with` block goes on, at a terminal or in a notebook.

    In a notebook it is the cell's output, and needs no widgets, which rich's own would. Elsewhere nothing is shown.
    """

    def __init__(self, title: str, total: int | None = None, found: str = "", shown: bool = True):
        console = Console(stderr=True, highlight=False, markup=False)
        seen = console.is_terminal or console.is_jupyter
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[found]}", markup=False),
            console=console,
            redirect_stdout=sys.stdout.isatty(),  # what is printed to a file goes on to go there
            disable=not (shown and seen),
        )
        self.task = self.progress.add_task(title, total=total, rate="", found=found)
        self.cell: Any = None
        self.looked = 0.0

    def __enter__(self) -> "Bar":
        if self.progress.console.is_jupyter and not self.progress.disable:
            from IPython.display import display  # ty: ignore[import-not-found]

            self.cell = display(self.progress, display_id=True)
        else:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        (task,) = self.progress.tasks
        self.progress.update(self.task, visible=task.total is not None)  # not where nothing was begun
        self.progress.stop()
        if self.cell is not None:
            self.cell.update(self.progress)

    def update(self, **known: Any) -> None:
        """Show what is known by now, such as `advance=1`."""
        self.progress.update(self.task, **known)
        if self.cell is not None and time.monotonic() > self.looked + SECONDS:
            self.cell.update(self.progress)
            self.looked = time.monotonic()

    def show(self, rows: Sequence[Row], total: int) -> None:
        """Show a generation of all seeds: the means of coverage and of what is new, and all solutions so far."""
        (task,) = self.progress.tasks
        if task.total is None:  # the first, from which speed is counted
            self.progress.reset(self.task, total=total, completed=rows[0].generation)
        covered = [row.coverage for row in rows if row.coverage is not None]
        coverage = f"coverage {sum(covered) / len(covered):.0%}, " if covered else ""
        new = f"{sum(row.new for row in rows) / len(rows):.0%} new"
        found = f"{coverage}{new}, solutions {sum(row.solutions for row in rows)}"
        rate = "" if task.speed is None else f"{task.speed:.1f}/s"
        self.update(completed=rows[0].generation, found=found, rate=rate)


def follow(
    steps: Generator[Any, None, None], until: Callable[[Any], bool] | None, shown: bool, temporary: Path | None = None
) -> Iterator[Any]:
    """Saved generations, shown as they come, up to the first of which `until` is true in every seed."""
    with contextlib.closing(steps), Bar("generation", found="compiling", shown=shown) as bar:
        for saved in steps:
            if shown and temporary:
                text = f"Kept in {temporary} until Python ends; give out= to keep it."
                bar.progress.console.print(text, soft_wrap=True)
                temporary = None
            bar.show([one.row for one in saved], saved[0].record.planned)
            yield saved
            if until is not None and all([until(one) for one in saved]):  # noqa: C419  (it is asked about each)
                return


def track(things: Iterable[Thing], title: str, total: int, shown: bool = True) -> Iterator[Thing]:
    """Hand on so many things, and show how many are done, where a run would show its bar."""
    with Bar(title, total, shown=shown) as bar:
        for thing in things:
            yield thing
            bar.update(advance=1)
