"""How a run goes: `progress.csv` beside its record, a row a generation;
a bar at a terminal or in a notebook; a log.

The file is for spreadsheets, `tail -f` and plots. All that it says comes from the record, which
does not depend on it: it is written again when the run is resumed.
"""

import contextlib
import csv
import datetime
import logging
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Rich

from brns.core import Box, Generation
from brns.metrics.coverage import cells, grid
from brns.metrics.saturation import Seen, saturated
from brns.runs.metadata import Status
from brns.runs.storage import saving

Thing = TypeVar("Thing")
SECONDS = 0.2  # between two looks of a notebook at the bar
LOGGED_EVERY = 30.0  # seconds
LOG = logging.getLogger("brns")


class Row(NamedTuple):
    """One generation of a run in numbers."""

    generation: int
    evaluations: int
    """so far, the founders included"""
    solutions: int
    """so far"""
    novelty_mean: float
    """of the survivors, as this and the next four"""
    novelty_max: float
    fitness_mean: float
    fitness_max: float
    age_mean: float
    """generations since birth"""
    survivors_new: int
    """survivors that were born in this generation"""
    new: float
    """of the places visited so far, the share that was first visited in the last half of the run"""
    coverage_evaluated: float | None
    """share of the behavior space's cells, 6 x 6 of a plane,
    that anything evaluated so far lies in"""
    coverage_survivors: float | None
    """share of the same cells that the survivors of any generation so far lie in"""
    failed: int
    """individuals so far that the task could not evaluate"""


class Rows:
    """The rows of a run, worked out one generation after another.

    Args:
        space: the behavior space.
    """

    def __init__(self, space: Box):
        self.space, self.grid = space, grid(space)
        self.visited = {who: np.zeros(self.grid or 1, bool) for who in ("offspring", "survivors")}
        self.evaluations = self.solutions = self.failed = 0
        self.seen = Seen(space)

    def row(self, number: int, tables: Mapping[str, Any]) -> Row:
        """The row of the next generation.

        Args:
            number: of the generation.
            tables: `offspring` and `survivors`, with columns by name, and `failed`, a number.

        Returns:
            Counts and coverage are of all generations so far.
        """
        offspring, survivors = tables["offspring"], tables["survivors"]
        novelty, fitness, born = (survivors[name] for name in ("novelty", "fitness", "born"))
        self.evaluations += len(offspring["id"])
        self.solutions += int(offspring["solved"].sum())
        self.failed += int(tables["failed"])
        living = offspring["descriptor"][~offspring["failed"]]
        if self.grid:
            for who, visited in self.visited.items():
                rows = living if who == "offspring" else survivors["descriptor"]
                visited[tuple(cells(rows, self.space, self.grid).T)] = True
        evaluated, survived = (
            float(visited.mean()) if self.grid else None for visited in self.visited.values()
        )
        return Row(
            generation=number,
            evaluations=self.evaluations,
            solutions=self.solutions,
            novelty_mean=float(novelty.mean(dtype=np.float64)),
            novelty_max=float(novelty.max()),
            fitness_mean=float(fitness.mean(dtype=np.float64)),
            fitness_max=float(fitness.max()),
            age_mean=float((number - born).mean()),
            survivors_new=int((born == number).sum()),
            new=self.seen.fraction_new(living),
            coverage_evaluated=evaluated,
            coverage_survivors=survived,
            failed=self.failed,
        )


class Progress:
    """The file of a run that goes on: at first the rows of these generations, from 0 on.

    Args:
        folder: of the run.
        space: the behavior space.
        generations: the tables of all that were saved, as `Rows.row` takes them; at least
            generation 0.
    """

    def __init__(self, folder: Path, space: Box, generations: Iterable[Mapping[str, Any]]):
        self.file, self.rows = folder / "progress.csv", Rows(space)
        done = [self.rows.row(g, tables) for g, tables in enumerate(generations)]
        self.row = done[-1]
        self._write("w", [Row._fields, *done])

    def add(self, number: int, generation: Generation) -> Row:
        """Append the row of a generation that was saved.

        Args:
            number: of the generation.
            generation: who was born and who survived.
        """
        tables = {
            "offspring": generation.offspring._asdict(),
            "survivors": generation.survivors._asdict(),
            "failed": generation.offspring.failed.sum(),
        }
        self.row = self.rows.row(number, tables)
        self._write("a", [self.row])
        return self.row

    def _write(self, mode: str, lines: Iterable[Iterable[Any]]) -> None:
        with saving(self.file), open(self.file, mode, encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


class RunStopped(KeyboardInterrupt):
    """Ctrl-C in a run. A notebook shows its message alone,
    not the frames of all that was going on.
    """

    def _render_traceback_(self) -> list[str]:
        return [f"Stopped. {self}"]


class Bar:
    """Shows how many of `total` are done while the `with` block goes on,
    at a terminal or in a notebook.

    In a notebook it is the cell's output, and needs no widgets, which rich's own would. Elsewhere
    nothing is shown. Everywhere the logger `brns` gets a line every half minute.

    Args:
        title: what is counted, such as `generation`.
        total: how many there will be, if it is known.
        summary: the words until the first is done.
        visible: False shows nothing.
    """

    def __init__(
        self, title: str, total: int | None = None, summary: str = "", visible: bool = True
    ):
        console = Console(stderr=True, highlight=False, markup=False)
        seen = console.is_terminal or console.is_jupyter
        self.progress = Rich(
            TextColumn("{task.description}", markup=False),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("{task.fields[summary]}", markup=False),
            console=console,
            redirect_stdout=sys.stdout.isatty(),  # what is printed to a file goes on to go there
            disable=not (visible and seen),
        )
        self.task = self.progress.add_task(title, total=total, rate="", summary=summary)
        self.cell: Any = None
        self.looked = 0.0
        self.logged = time.monotonic()
        self.begun: tuple[int, float] | None = None
        self.place: Path | None = None

    def __enter__(self) -> "Bar":
        if self.progress.console.is_jupyter and not self.progress.disable:
            from IPython.display import display  # ty: ignore[import-not-found]

            self.cell = display(self.progress, display_id=True)
        else:
            self.progress.start()
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        (task,) = self.progress.tasks
        self.progress.update(
            self.task, visible=task.total is not None
        )  # not where nothing was begun
        self.progress.stop()
        if self.cell is not None:
            self.cell.update(self.progress)
        if self.place is not None and isinstance(error, KeyboardInterrupt):
            raise RunStopped(
                f"All finished generations are saved. Go on with: brns.resume({str(self.place)!r})"
            ) from None

    def update(self, **fields: Any) -> None:
        """Show what is known by now, such as `advance=1`."""
        self.progress.update(self.task, **fields)
        if self.cell is not None and time.monotonic() > self.looked + SECONDS:
            self.cell.update(self.progress)
            self.looked = time.monotonic()

    def show(self, saved: Sequence[Any]) -> None:
        """Show a generation of all seeds: the means of coverage and of what is new,
        and all solutions so far.

        Args:
            saved: of each seed.
        """
        rows, total = [row.row for row in saved], saved[0].record.planned
        path = saved[0].record.path
        self.place = path if len(saved) == 1 else path.parent
        number, now = rows[0].generation, time.monotonic()
        (task,) = self.progress.tasks
        if task.total is None:  # the first, from which speed is counted
            self.progress.reset(self.task, total=total, completed=number)
        covered = [row.coverage_evaluated for row in rows if row.coverage_evaluated is not None]
        coverage = f"coverage {sum(covered) / len(covered):.0%} (evaluated), " if covered else ""
        new = f"{sum(row.new for row in rows) / len(rows):.0%} new"
        summary = f"{coverage}{new}, solutions {sum(row.solutions for row in rows)}"
        rate = "" if task.speed is None else f"{task.speed:.1f}/s"
        self.update(completed=number, summary=summary, rate=rate)
        self.begun = self.begun or (number, now)
        if now >= self.logged + LOGGED_EVERY and number > self.begun[0]:
            self.logged = now
            speed = (number - self.begun[0]) / (now - self.begun[1])
            left = datetime.timedelta(seconds=round((total - number) / speed))
            LOG.info(
                "generation %d of %d: %s, %.3g/s, %s left", number, total, summary, speed, left
            )


def with_progress(
    steps: Generator[Any, Status | None, None],
    until: Callable[[Any], bool] | None,
    visible: bool,
    temporary: Path | None = None,
) -> Iterator[Any]:
    """Saved generations, shown as they come.

    Args:
        steps: of `run_steps` or `resume_steps`.
        until: asked about each generation; the run ends when it is true in every seed.
        visible: whether a bar is shown.
        temporary: the folder to name to the user, where it ends with Python.

    Returns:
        What `steps` yields.
    """
    with contextlib.closing(steps), Bar("generation", summary="compiling", visible=visible) as bar:
        try:
            for saved in steps:
                if visible and temporary:
                    text = f"Kept in {temporary} until Python ends; give out= to keep it."
                    bar.progress.console.print(text, soft_wrap=True)
                    temporary = None
                bar.show(saved)
                yield saved
                # Of all seeds at once: it is asked about each.
                if until is not None and all([until(each) for each in saved]):  # noqa: C419
                    with contextlib.suppress(StopIteration):
                        steps.send("saturated" if until is saturated else "stopped")
        except GeneratorExit:  # the loop was left
            raise
        except BaseException as error:  # of `until`, or Ctrl-C: the runs shall know why they ended
            steps.throw(error)
            raise


def track(things: Iterable[Thing], title: str, total: int, visible: bool = True) -> Iterator[Thing]:
    """Hand on things, and show how many are done, where a run would show its bar.

    Args:
        things: what is handed on.
        title: what is counted.
        total: how many there will be.
        visible: whether a bar is shown.
    """
    with Bar(title, total, visible=visible) as bar:
        for thing in things:
            yield thing
            bar.update(advance=1)
