"""`brns runs`: a line for each run below a directory, from `run.json`, `progress.csv` and the names of files.

It needs neither JAX nor NumPy, and writes nothing.
"""

import csv
import fcntl
import json
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brns.cli.screen import console
from brns.metrics.numbers import legible, number
from brns.settings import SettingsError, assigned

COLUMNS = ("state", "done", "task", "estimator", "seed", "solved", "first", "cover")
COLORS = {"running": "green", "interrupted": "yellow", "damaged": "red"}


class Listed(NamedTuple):
    """A run's line."""

    path: Path
    note: str
    """the changed settings, or of a damaged run the reason"""
    state: str
    """damaged; running: its lock is held; finished: it has all generations that were asked for; else interrupted"""
    cells: tuple[str, ...] = ()
    """the columns after the state; done: generations of those asked for; solved: solutions so far; first: generation
    of the first; cover: share of the behavior space's cells, 6 x 6 of a plane, that anything evaluated lies in"""


def listing(directory: str | os.PathLike) -> list[Listed]:
    """Every run in a directory or anywhere below it, in the order of their paths."""
    found = []
    for folder, below, files in os.walk(
        directory, followlinks=True
    ):  # a run may have been moved and linked to
        below[:] = [name for name in below if "run.json" not in files and not name.startswith(".")]
        if "run.json" in files:
            found.append(_listed(Path(folder)))
    if not found:
        raise SettingsError(
            f"{directory} is not a run and holds none: there is no run.json in it or below"
        )
    return sorted(found, key=lambda one: one.path)


def _listed(path: Path) -> Listed:
    try:
        return _read(path)
    except Exception as error:  # a damaged run does not end the listing of the others
        return Listed(path, f"{error or type(error).__name__}", "damaged")


def _read(path: Path) -> Listed:
    running = _is_running(path)  # first: a run that ends meanwhile is running, not interrupted
    facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    files = sorted(path.glob("generations/[0-9][0-9][0-9][0-9][0-9][0-9].npz"))
    last = len(files) - 1
    if files and int(files[-1].stem) != last:
        raise ValueError(f"a generation before {files[-1].stem} is missing")
    if files and not running and not zipfile.is_zipfile(files[-1]):
        raise ValueError(f"{files[-1].name} is damaged")
    progress = path / "progress.csv"
    text = progress.read_text(encoding="utf-8") if progress.exists() else ""
    rows = list(csv.DictReader(text.splitlines()))[: len(files)]
    coverage = rows[-1]["coverage"] if rows else ""
    ended = "finished" if last >= facts["generations"] else "interrupted"
    cells = (
        f"{number(last if files else None)}/{facts['generations']}",
        facts["world"],
        facts["estimator"],
        f"{facts['seed']}",
        rows[-1]["solutions"] if rows else number(None),
        next((row["generation"] for row in rows if int(row["solutions"])), number(None)),
        f"{float(coverage):.0%}" if coverage else number(None),
    )
    return Listed(path, assigned(facts["changed"]), "running" if running else ended, cells)


def _is_running(path: Path) -> bool:
    try:
        with open(path / "lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # never locked
        pass
    return False


def print_runs(directory: Path) -> None:
    """Print a table of the runs below a directory."""
    found = listing(directory)
    # Long names are folded at a terminal; through a pipe a run is one line.
    folded = max(24, console.width - 58) if console.is_terminal else None
    table = Table(
        title=f"{directory}",
        title_justify="left",
        box=None,
        header_style="bold",
        padding=(0, 1, 0, 0),
    )
    table.add_column("run", overflow="fold", max_width=folded)
    for name in COLUMNS:
        words = name in ("state", "task", "estimator")
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    if not console.is_terminal:
        table.add_column("changed")
    for one in found:
        name = f"{one.path.relative_to(directory)}"
        note = legible(one.note)
        state, cells = (
            Text(one.state, COLORS.get(one.state, "")),
            map(legible, one.cells or [""] * 7),
        )
        if console.is_terminal:
            table.add_row(f"{name}\n  {note}" if note else name, state, *cells)
        else:
            table.add_row(name, state, *cells, note)
    Console(highlight=False, markup=False, width=1000).print(table)
