"""The commands that look at runs and settings: `brns runs`, `list`, `show`, `figure`, `report` and `movie`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from brns.cli.options import Directories, Directory, Overwrite, Search
from brns.settings import SettingsError, chosen, parts


def runs(
    directory: Annotated[Path, typer.Argument(help="a directory with runs anywhere below it")] = Path("runs"),
) -> None:
    """List the runs below a directory, and what they found so far."""
    from brns.cli.listing import print_runs

    print_runs(directory)


def list_(
    experiment: Annotated[str | None, typer.Argument(help="one of them", show_default="all")] = None,
) -> None:
    """List what can be run and set: names, defaults, meanings."""
    worlds = {experiment: chosen("experiment", experiment, "world")} if experiment else parts("world")
    from brns.cli.screen import console, print_settings
    from brns.experiments import OPERATORS, named

    for world, task in worlds.items():
        console.print(f"\nbrns run {world}  {task.meaning}", style="bold")
        search = named(world)
        print_settings("", search)
        for part in ("task", *OPERATORS):
            print_settings(f"{part}.", getattr(search, part))
        for name, part in parts("estimator", "preset").items():
            console.print(f"\n  --estimator {name}  {part.meaning}", style="bold")
            print_settings("estimator.", named(world, name).estimator)
    for operator, kind in OPERATORS.items():
        console.print()
        for name, part in parts(kind).items():
            console.print(f"--set {operator}={name}  {part.meaning}", style="bold")
            print_settings(f"{operator}.", part.load()())


def show(
    directory: Directory,
    search: Search = None,
    json: Annotated[bool, typer.Option("--json", help="print the numbers of each run as JSON")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="print the numbers of each run as CSV")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Show the numbers of runs, and draw the pictures that they lack."""
    if json and csv:
        raise SettingsError("numbers are printed with --json or with --csv; got both")
    from brns.cli.conclusion import conclude, print_numbers
    from brns.cli.own import records_of

    found = records_of([directory], search)
    if json or csv:
        print_numbers(found, "json" if json else "csv")
    else:
        conclude(directory, found, overwrite)


def figure(
    name: Annotated[str, typer.Argument(help="a figure's name or its number in the paper, such as coverage or 3a")],
    directories: Directories,
    out: Annotated[Path | None, typer.Option(help="a .png, .pdf or .svg", show_default="NAME.png")] = None,
    search: Search = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw one of the paper's figures, of one or several methods.

    An unknown name is answered with all that there are.
    """
    from brns.cli.own import records_of
    from brns.pictures import draw, save

    out = out or Path(f"{name}.png")
    save(draw(name, records_of(directories, search)), out, overwrite)
    typer.echo(f"Figure: {out}")


def report(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
    search: Search = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a page about runs for a browser: settings, a table, figures and the search itself.

    It opens from disk and needs no network.
    """
    from brns.cli.own import records_of
    from brns.pictures.report import write
    from brns.runs.bar import track

    write(records_of(directories, search), out, track, overwrite)
    typer.echo(f"Report: {out}")


def movie(
    directory: Directory,
    out: Annotated[
        Path | None, typer.Option(help="a .gif or .mp4", show_default="movie.gif or individual-WHICH.gif there")
    ] = None,
    individual: Annotated[str | None, typer.Option(help="film one individual in its world: an id, or best")] = None,
    search: Search = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a movie of a run's population, or of one individual.

    The population stands on maps of novelty, generation by generation. Of several seeds it is the first.
    """
    from brns.cli.own import records_of
    from brns.pictures.movie import write, write_individual
    from brns.runs.bar import track

    record = records_of([directory], search)[0]
    if individual is None:
        out = out or record.path / "movie.gif"
        write(record, out, track=track, overwrite=overwrite)
    else:
        which: Any = int(individual) if individual.isdecimal() else individual
        out = out or record.path / f"individual-{individual}.gif"
        write_individual(record, out, which, track, overwrite)
    typer.echo(f"Movie: {out}")
