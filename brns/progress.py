"""How work goes on: a bar at a terminal or in a notebook, and a log."""

import datetime
import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Thing = TypeVar("Thing")
SECONDS = 0.2  # between two looks of a notebook at the bar
LOGGED_EVERY = 30.0  # seconds
LOG = logging.getLogger("brns")
CONSOLE = Console(stderr=True, highlight=False, markup=False)
"""one for all bars, so that a bar within another has a line of its own"""


class Bar:
    """Shows how many of `total` are done while the `with` block goes on,
    at a terminal or in a notebook.

    In a notebook it is the cell's output, and needs no widgets, which rich's own would. Elsewhere
    nothing is shown. Everywhere the logger `brns` gets a line every half minute. `summary` is the
    words until the first is done.
    """

    def __init__(
        self, title: str, total: int | None = None, summary: str = "", visible: bool = True
    ):
        seen = CONSOLE.is_terminal or CONSOLE.is_jupyter
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[summary]}", markup=False),
            console=CONSOLE,
            # What is printed to a file goes on to go there; a service may have no output.
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
            disable=not (visible and seen),
            speed_estimate_period=math.inf,  # a generation may take minutes
        )
        self.progress.add_task(title, total=total, rate="", summary=summary)
        (self.task,) = self.progress.tasks
        self.cell: Any = None
        self.looked = 0.0
        self.logged = time.monotonic()

    def __enter__(self) -> "Bar":
        if self.progress.console.is_jupyter and not self.progress.disable:
            from IPython.display import display  # ty: ignore[import-not-found]

            self.cell = display(self.progress, display_id=True)
        else:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        begun = self.task.total is not None
        self.progress.update(self.task.id, visible=begun)
        self.progress.stop()
        if self.cell is not None:
            self.cell.update(self.progress)

    def update(self, **fields: Any) -> None:
        """Show what is known by now, such as `advance=1`."""
        self.progress.update(self.task.id, **fields)
        if self.cell is not None and time.monotonic() > self.looked + SECONDS:
            self.cell.update(self.progress)
            self.looked = time.monotonic()

    def show(self, saved: Sequence[Any], total: int) -> None:
        """Show a generation of all seeds, of `total`: mean coverage, what is new, and all solutions
        so far.
        """
        rows = [each.row for each in saved]
        number = rows[0].generation
        if not self.task.completed:  # speed is counted from the first on that came after compiling
            self.progress.reset(self.task.id, total=total, completed=number)
        covered = [row.coverage_evaluated for row in rows if row.coverage_evaluated is not None]
        coverage = f"coverage {sum(covered) / len(covered):.0%} (evaluated), " if covered else ""
        new = f"{sum(row.new for row in rows) / len(rows):.0%} new"
        summary = f"{coverage}{new}, solutions {sum(row.solutions for row in rows)}"
        rate = "" if self.task.speed is None else f"{self.task.speed:.1f}/s"
        self.update(completed=number, summary=summary, rate=rate)
        if number:
            self.log(f"generation {number} of {total}: {summary}")

    def log(self, text: str) -> None:
        """Log `text`, the speed and the time left, where the last line is half a minute old."""
        if (now := time.monotonic()) < self.logged + LOGGED_EVERY:
            return
        self.logged = now
        if self.task.speed:
            left = datetime.timedelta(seconds=self.task.time_remaining or 0)
            text += f", {self.task.speed:.3g}/s, {left} left"
        LOG.info("%s", text)


def show_progress_of(
    things: Iterable[Thing], title: str, total: int, visible: bool = True
) -> Iterator[Thing]:
    """Hand on things, and show and log how many of them are done, as a run does."""
    with Bar(title, total, visible=visible) as bar:
        for done, thing in enumerate(things, start=1):
            yield thing
            bar.update(advance=1)
            bar.log(f"{title}: {done} of {total}")
