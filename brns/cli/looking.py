"""The commands that look at runs: `brns show`, `figure`, `report` and `movie`."""

from pathlib import Path
from typing import Annotated

import typer

from brns.cli.options import Directories, Directory, Overwrite, Search


def show(
    directory: Directory,
    search: Search = None,
    json: Annotated[bool, typer.Option("--json", help="print each run's numbers as JSON, and draw nothing")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="print each run's numbers as CSV, and draw nothing")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Show the numbers of runs, and draw the pictures that they lack."""
    from brns.cli.conclusion import conclude, print_numbers
    from brns.cli.own import records_of
    from brns.settings import SettingsError

    if json and csv:
        raise SettingsError("numbers are printed with --json or with --csv; got both")
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
    """Write one page about runs, to look into in a browser.

    It holds their settings, a table, figures and a view of the search, and needs no network.
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
    individual: Annotated[
        str | None, typer.Option(help="film one individual in its world, such as the ant maze: an id, or best")
    ] = None,
    search: Search = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a movie of a run's population, or of one individual.

    The population stands on maps of novelty, generation by generation. Of several seeds it is the first.
    """
    from brns.cli.own import records_of
    from brns.pictures.movie import write, write_individual
    from brns.runs.bar import track
    from brns.settings import SettingsError

    record = records_of([directory], search)[0]
    if individual not in (None, "best") and not individual.isdecimal():
        raise SettingsError(f"--individual takes an id or best; got {individual!r}")
    if individual is None:
        out = write(record, out or record.path / "movie.gif", track=track, overwrite=overwrite)
    else:
        which = "best" if individual == "best" else int(individual)
        out = write_individual(record, out or record.path / f"individual-{individual}.gif", which, track, overwrite)
    typer.echo(f"Movie: {out}")
