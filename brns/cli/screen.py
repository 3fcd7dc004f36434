"""What a person at a terminal sees: progress with an estimate, tables, and how a run ends."""

import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from brns.runs.listing import Listed
    from brns.runs.loop import Saved
    from brns.runs.settings import Setting
    from brns.runs.tensorboard import TensorBoard

Thing = TypeVar("Thing")
console = Console(highlight=False, markup=False)  # A bracket in a path or a text is a bracket.


def follow(
    steps: "Iterator[list[Saved]]",
    generations: int,
    out: Path,
    scalars: "TensorBoard | None",
    completed: int = 0,
    watch_every: int = 0,
) -> None:
    """Show the generations as they are saved; Ctrl-C ends after the one in progress."""
    stopped: list[int] = []

    def stop(number: int, frame: Any) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(number)
        console.print("Finishing this generation; press Ctrl-C again to stop at once.")

    before = signal.signal(signal.SIGINT, stop)
    columns = (
        TextColumn("generation"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[found]}", markup=False),
    )
    number = 0
    try:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("", total=generations, completed=completed, rate="", found="compiling")
            for saved in steps:
                number = saved[0].number
                if scalars:
                    for one in saved:
                        scalars.add(one.record, one.row)
                speed = progress.tasks[bar].speed
                progress.update(
                    bar, completed=number, found=_found(saved), rate=f"{speed:.1f}/s" if speed is not None else ""
                )
                if watch_every and number and number % watch_every == 0:
                    _watch(saved, number)
                if stopped:
                    break
    except KeyboardInterrupt:
        console.print(f"Stopped at once. What was finished is saved; go on with: brns resume {out}", soft_wrap=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, before)
    if number < generations:
        text = f"Stopped after generation {number}; all of it is saved. Go on with: brns resume {out}"
        console.print(text, soft_wrap=True)
        sys.exit(130)
    conclude(out)


def _watch(saved: "list[Saved]", number: int) -> None:
    from brns.metrics.watch import watch

    for one in saved:
        text, old_ground = watch(one.record)
        warning = Text(" The search begins to visit old ground.", style="bold") if old_ground else ""
        console.print(Text.assemble(f"Generation {number}, seed {one.record.seed}: {text}.", warning))


def _found(saved: "list[Saved]") -> str:
    """Coverage of everything evaluated, mean over seeds, and successes so far, of all seeds."""
    rows = [one.row for one in saved]
    covered = [row.coverage for row in rows if row.coverage is not None]
    coverage = f"coverage {sum(covered) / len(covered):.0%}, " if covered else ""
    return f"{coverage}solvers {sum(row.solutions for row in rows)}"


def conclude(directory: Path) -> None:
    """The summary table and the picture of a run or a batch."""
    from brns.metrics.summary import estimate, summary
    from brns.pictures import overview, save
    from brns.pictures.scene import scene
    from brns.runs.record import records

    found = records(directory)
    of_paths = scene(found[0].search.task).paths
    rows = [summary(record, of_paths=of_paths) for record in count(found, "Measuring", len(found))]
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold")
    table.add_column()
    several = len(found) > 1
    for title in ["mean", "deviation", "least", "most", "seeds"] if several else [f"seed {found[0].seed}"]:
        table.add_column(title, justify="right")
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if name in row]
        if several:
            mean, deviation, seeds = estimate(values)
            values = [mean, deviation if seeds > 1 else None, min(values), max(values), seeds]
        table.add_row(name.replace("_", " "), *map(_number, values))
    console.print(table)
    for record in count(found, "Drawing", len(found)):
        save(overview(record), record.path / "overview.png")
    where = directory / "*" if several else found[0].path
    console.print(f"{'Pictures' if several else 'Picture'}: {where / 'overview.png'}", soft_wrap=True)


def follow_part(steps: "Iterable[list[Saved]]", title: str, total: int, done: int) -> "Iterator[list[Saved]]":
    """Show how far one of several runs is, and hand its generations on."""
    with _bar() as progress:
        bar = progress.add_task(title, total=total, completed=done)
        for saved in steps:
            progress.update(bar, completed=saved[0].number)
            yield saved
        progress.update(bar, completed=total)


def count(things: Iterable[Thing], title: str, total: int) -> Iterator[Thing]:
    """Show how many of so many things are done, until all are, and hand them on."""
    with _bar(transient=True) as progress:
        bar = progress.add_task(title, total=total)
        for thing in things:
            yield thing
            progress.advance(bar)


def _bar(transient: bool = False) -> Progress:
    columns = (TextColumn("{task.description}", markup=False), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=transient)


def print_runs(directory: Path, found: "Sequence[Listed]") -> None:
    """A table of the runs below a directory, and what is wrong with the damaged ones."""
    # At a screen lines are folded to fit it; through a pipe a run is one line.
    wide = console if console.is_terminal else Console(highlight=False, markup=False, width=1000)
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    for name in ("state", "done", "task", "novelty", "seed", "solved", "first", "cover"):
        table.add_column(name, justify="left" if name in ("state", "task", "novelty") else "right", no_wrap=True)
    for one in found:
        lines = textwrap.wrap(f"{one.path.relative_to(directory)}", max(wide.width - 62, 8))
        color = {"running": "green", "interrupted": "yellow"}.get(one.state, "")
        row: list[str | Text] = ["\n".join(lines), Text(one.state, style=color)]
        if one.state != "damaged":
            row += [f"{_number(one.generation)}/{one.planned}", one.task, one.estimator, f"{one.seed}"]
            row += [_number(one.solutions), _number(one.first_solved)]
            row += ["-" if one.coverage is None else f"{one.coverage:.0%}"]
        table.add_row(*row, style="red" if one.state == "damaged" else None)
    wide.print(table)
    for one in found:
        if one.state == "damaged":
            console.print(f"damaged: {one.reason}", soft_wrap=True)


def print_settings(prefix: str, part: Any, listed: "Sequence[Setting]") -> None:
    """How each setting of a part is written on a command line, with its default and meaning."""
    table = Table(box=None, pad_edge=True, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for setting in listed:
        value = str(getattr(part, setting.name)).replace("None", "none")
        table.add_row(f"  --set {prefix}{setting.name}={value.replace(' ', '')}", setting.meaning)
    console.print(table)


def _number(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"
