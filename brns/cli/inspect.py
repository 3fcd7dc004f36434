"""The commands that look at runs and settings: `brns runs`, `list`, `show`, `figure`, `report` and `movie`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from brns.cli.options import Directories, Directory, Search
from brns.settings import CLASSES, PARTS, Kind, SettingsError, chosen, settings

USES: dict[Kind, str] = {
    "world": "brns run ",
    "estimator": "--estimator ",
    "preset": "--estimator ",
    "mutation": "--set mutate=",
    "selection": "--set select=",
    "founders": "--set founders=",
}
"""how a command line names a part"""


def runs(
    directory: Annotated[
        Path, typer.Argument(help="a directory with runs anywhere below it")
    ] = Path("runs"),
) -> None:
    """List the runs below a directory, and what they found so far."""
    from brns.cli.listing import print_runs

    print_runs(directory)


def list_(
    name: Annotated[
        str | None, typer.Argument(help="one of them: its settings", show_default="all names")
    ] = None,
) -> None:
    """List what can be run and set, or the settings of NAME."""
    from brns.cli.screen import console

    if name is None:
        for one in PARTS:
            console.print(f"{USES[one.kind] + one.name:<24} {one.meaning}", soft_wrap=True)
        return
    part = chosen("NAME", name, *USES)
    from brns.experiments import OPERATORS, named

    console.print(f"{USES[part.kind]}{name}  {part.meaning}", style="bold")
    if part.kind == "world":
        search = named(name)
        _print_settings("", search)
        for one in ("task", "estimator", *OPERATORS):
            own = getattr(search, one)
            console.print(f"{one}: {CLASSES[type(own).__name__].name}")
            _print_settings(f"{one}.", own)
    else:
        prefix = {kind: operator for operator, kind in OPERATORS.items()}.get(
            part.kind, "estimator"
        )
        _print_settings(f"{prefix}.", part.load()())


def _print_settings(prefix: str, part: Any) -> None:
    from rich.table import Table

    from brns.cli.screen import console

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, (_, meaning) in settings(type(part)).items():
        table.add_row(f"  --set {prefix}{name}={_written(getattr(part, name))}", meaning)
    console.print(table)


def _written(value: Any) -> str:
    """A value without the parentheses and capitals of Python; a shell would read the parentheses itself."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_written, value))}]"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def show(
    directory: Directory,
    search: Search = None,
    json: Annotated[
        bool, typer.Option("--json", help="print the numbers of each run as JSON")
    ] = False,
    details: Annotated[
        bool, typer.Option("--all", help="show all numbers and what they mean")
    ] = False,
) -> None:
    """Show the numbers of runs, and draw the pictures that they lack."""
    from brns.cli.conclusion import conclude, print_json
    from brns.cli.user_code import records_of

    found = records_of([directory], search)
    if json:
        print_json(found)
    else:
        conclude(directory, found, details=details)


def figure(
    name: Annotated[
        str,
        typer.Argument(help="a figure's name or its number in the paper, such as coverage or 3a"),
    ],
    directories: Directories,
    out: Annotated[
        Path | None, typer.Option(help="a .png, .pdf or .svg", show_default="NAME.png")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="write the numbers of the figure, too")
    ] = None,
    width: Annotated[
        Literal["column", "page"] | None,
        typer.Option(help="for print: 3.5 or 7.2 inches wide, in type of 7 points"),
    ] = None,
    over: Annotated[
        Literal["generations", "evaluations"], typer.Option(help="what x is, of curves")
    ] = "generations",
    cells: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="cells in each dimension, of coverage, elites and qd-score",
            show_default="6,6 of coverage, or finer where those are full; 20,20",
        ),
    ] = None,
    search: Search = None,
) -> None:
    """Draw one of the paper's figures, of one or several methods.

    An unknown name is answered with all that there are.
    """
    from brns.cli.user_code import records_of
    from brns.metrics.numbers import csv_text
    from brns.pictures import data as numbers
    from brns.pictures import draw, save
    from brns.runs.storage import write_bytes

    out = out or Path(f"{name}.png")
    shape = _shape(cells) if cells else None
    runs = records_of(directories, search)
    save(draw(name, runs, width=width, over=over, shape=shape), out)
    typer.echo(f"Figure: {out}")
    if data:
        write_bytes(data, csv_text(numbers(name, runs, shape=shape)).encode())
        typer.echo(f"Numbers: {data}")


def _shape(cells: str) -> tuple[int, ...]:
    """The numbers in a text such as `12,12`."""
    numbers = cells.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise SettingsError(f"--cells takes numbers such as 12,12, one a dimension; got {cells!r}")
    return tuple(map(int, numbers))


def report(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
    search: Search = None,
) -> None:
    """Write a page about runs for a browser.

    It has a table, figures, settings and the search itself, opens from disk and needs no network.
    """
    from brns.cli.user_code import records_of
    from brns.pictures.report import write

    write(records_of(directories, search), out)
    typer.echo(f"Report: {out}")


def movie(
    directory: Directory,
    out: Annotated[
        Path | None,
        typer.Option(
            help="a .gif, or an .mp4 (needs ffmpeg)",
            show_default="movie.gif or individual-WHICH.gif there",
        ),
    ] = None,
    individual: Annotated[
        str | None, typer.Option(help="film one individual in its world: an id, or best")
    ] = None,
    search: Search = None,
) -> None:
    """Write a movie of a run's population, or of one individual.

    The population stands on maps of novelty, generation by generation. Of several seeds it is the first.
    """
    from brns.cli.user_code import records_of
    from brns.pictures.movie import write, write_individual

    record, *others = records_of([directory], search)
    if others:
        typer.echo(
            f"{directory} holds {1 + len(others)} runs; this is the first, seed {record.seed}."
        )
    if individual is None:
        out = out or record.path / "movie.gif"
        write(record, out)
    else:
        which: Any = int(individual) if individual.isdecimal() else individual
        out = out or record.path / f"individual-{individual}.gif"
        write_individual(record, out, which)
    typer.echo(f"Movie: {out}")
