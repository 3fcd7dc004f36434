"""`brns runs`: what files below a directory say, without JAX and NumPy; nothing is written."""

import datetime
import json
import operator
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

from brns.cli.screen import console
from brns.formatting import escape_control, format_number
from brns.runs.store import NAME, Store
from brns.settings.differences import format_changed_settings
from brns.settings.parts import SettingsError, check_name

COVERAGE = ("coverage_evaluated", "coverage_survivors")
COLORS = {"running": "green", "interrupted": "yellow", "failed": "red", "damaged": "red"}


class RunLine(NamedTuple):
    """A run. What is not known is None."""

    path: Path
    state: str
    """damaged, running (its lock is held), finished, saturated, stopped, interrupted or failed"""
    note: str = ""
    """of a damaged or failed run the reason"""
    changed: str = ""
    """the settings that are not those of its experiment"""
    generations: int | None = None
    """finished after the founders"""
    planned: int | None = None
    task: str = ""
    estimator: str = ""
    seed: int | None = None
    solutions: int | None = None
    first_solved: int | None = None
    """generation of the first solution"""
    coverage_evaluated: float | None = None
    """share of the cells, 6 x 6 in a plane, that all evaluated individuals visited"""
    coverage_survivors: float | None = None
    """share of the same cells that the survivors lay in"""
    began: datetime.datetime | None = None
    ended: datetime.datetime | None = None
    """None while it is running"""
    seconds: float | None = None
    """of work, without the pauses between a stop and a resume"""
    machine: str = ""


def find_runs_recursively(directory: Path) -> list[Path]:
    """The run in a directory, or all below it, sorted by path; a `SettingsError` without any.

    What is hidden in it, or within a run, is left out; links are followed, but not back.
    """
    runs = []
    for folder, below, files in os.walk(directory, followlinks=True):
        if NAME in files:
            runs.append(Path(folder))
            below.clear()
        here = Path(folder).resolve()
        shown = [name for name in below if not name.startswith(".")]
        below[:] = [name for name in shown if not here.is_relative_to((here / name).resolve())]
    if not runs:
        raise SettingsError(
            f"{directory} is not a run and holds none: there is no run.json in it or below"
        )
    return sorted(runs)


def find_batches_and_lone_runs(directory: Path) -> list[Path]:
    """The directory where it is a run or a batch of seeds; else those below, batches in one."""
    runs = find_runs_recursively(directory)
    if runs == [directory]:
        return runs
    places = (path.parent if re.fullmatch("seed[0-9]+", path.name) else path for path in runs)
    return list(dict.fromkeys(places))


def summarize_runs(directory: Path) -> list[RunLine]:
    """Every run in a directory or anywhere below it, in the order of their paths."""
    lines = []
    for path in find_runs_recursively(directory):
        try:
            lines.append(_check_and_read_run(path))
        except (KeyError, TypeError, json.JSONDecodeError):
            lines.append(RunLine(path, "damaged", "run.json is damaged, or of something else"))
        except Exception as error:  # a damaged run does not end the listing of the others
            lines.append(RunLine(path, "damaged", f"{error or type(error).__name__}"))
    return lines


def _check_and_read_run(path: Path) -> RunLine:
    store = Store(path)
    running = store.is_running()  # first: a run that ends meanwhile is running, not interrupted
    facts = json.loads(store.read_run_json_bytes())
    numbers = store.list_generations("generations")
    last = len(numbers) - 1
    if numbers and numbers[-1] != last:
        raise ValueError(f"a generation before {numbers[-1]:06d} is missing")
    newest = store.get_file_path("generations", last)
    if numbers and not running and not zipfile.is_zipfile(newest):
        raise ValueError(f"{newest.name} is damaged")
    rows = store.read_rows()[: len(numbers)]
    row = rows[-1] if rows else {}
    coverage = {name: float(row[name]) for name in COVERAGE if row.get(name)}
    sessions = facts["sessions"]
    # A fork that did not go on yet has no session; the last of a process that was killed goes on.
    state = sessions[-1]["status"] if sessions else "stopped"
    state = "running" if running else "interrupted" if state == "running" else state
    spans = [store.parse_session_times(session["began"], session["ended"]) for session in sessions]
    machine = sessions[-1]["provenance"]["machine"] if sessions else facts["machine"]
    return RunLine(
        path=path,
        state=state,
        note=sessions[-1]["reason"] if sessions else "",
        changed=format_changed_settings(facts["changed"]),
        generations=last if numbers else None,
        planned=facts["generations"],
        task=facts["task"],
        estimator=facts["estimator"],
        seed=facts["seed"],
        solutions=int(row["solutions"]) if row else None,
        first_solved=next((int(row["generation"]) for row in rows if int(row["solutions"])), None),
        began=spans[0][0] if spans else None,
        ended=spans[-1][1] if spans and not running else None,
        seconds=sum((end - begin).total_seconds() for begin, end in spans),
        machine=f"{machine['processor']}, {machine['cores']} cores",
        **coverage,
    )


def select_runs(
    directory: Path, filters: Sequence[str] = (), sort: str | None = None, reverse: bool = False
) -> list[RunLine]:
    """Runs that pass all filters, such as `state=failed`, by a column; those without it last."""
    rows = summarize_runs(directory)
    for text in filters:
        name, equals, value = (piece.strip() for piece in text.partition("="))
        if not equals:
            raise SettingsError(f"--filter takes COLUMN=VALUE, such as state=failed; got {text!r}")
        check_name("--filter's column", name, RunLine._fields)
        rows = [row for row in rows if f"{getattr(row, name)}" == value]
    if sort is None:
        return rows[::-1] if reverse else rows
    check_name("--sort", sort, RunLine._fields)
    with_value = [row for row in rows if getattr(row, sort) is not None]
    without = [row for row in rows if getattr(row, sort) is None]
    return sorted(with_value, key=operator.attrgetter(sort), reverse=reverse) + without


def print_json(rows: Sequence[RunLine]) -> None:
    """Print the runs for other programs."""
    print(json.dumps([row._asdict() for row in rows], indent=1, default=str))


def print_runs(directory: Path, rows: Sequence[RunLine]) -> None:
    """What a run is, and below it how far it came, in columns of one width."""
    line = "  {:<15} {:>9} {:>6} {:>5} {:>7} {:>8}  {}"
    heads = ("state", "done", "solved", "first", "covered", "took", "began")
    console.print(Text(f"{directory}\n{line.format(*heads)}", "bold"))
    for row in rows:
        about = [row.task, row.estimator, "" if row.seed is None else f"seed {row.seed}"]
        words = ", ".join(filter(None, [*about, row.changed, row.note]))
        name = Text(f"{row.path.relative_to(directory)}", "bold")
        name.append(f"  {escape_control(words)}", "not bold dim")
        console.print(name, soft_wrap=not console.is_terminal)
        covered = row.coverage_evaluated
        took = None if row.seconds is None else datetime.timedelta(0, round(row.seconds))
        cells = (
            row.state,
            f"{format_number(row.generations)}/{format_number(row.planned)}",
            format_number(row.solutions),
            format_number(row.first_solved),
            "–" if covered is None else f"{covered:.0%}",
            "–" if took is None else f"{took}",
            f"{row.began.astimezone():%Y-%m-%d %H:%M}" if row.began else "",
        )
        text = Text(line.format(*cells).rstrip())
        text.stylize(COLORS.get(row.state, ""), 2, 17)
        console.print(text)
    if any(row.coverage_evaluated is not None for row in rows):
        text = (
            "covered: the share of cells, 6 x 6 in a plane, that all evaluated individuals visited"
        )
        console.print(text, style="dim")
