"""The commands that look at runs and settings, such as `brns show`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from brns.cli.options import Directories, Directory, Search
from brns.settings.configuration import find_setting_types_and_meanings, validate_setting
from brns.settings.parts import CLASSES, PARTS, PLACES, SettingsError, suggest_name

DEFAULTS = ("VisitCounts", "MixedMutation", "Elitist", "UniformFounders")
"""the parts of a search that says nothing else"""
Settings = dict[str, tuple[Any, str]]
"""name to value and meaning"""


def runs(
    directory: Annotated[
        Path, typer.Argument(help="a directory with runs anywhere below it")
    ] = Path("runs"),
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="COLUMN=VALUE",
            help="only runs that are so, such as state=failed or task=maze; repeatable",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="by a column, such as began or coverage_evaluated"),
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="the largest first")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print all that is known of each as JSON")
    ] = False,
) -> None:
    """List the runs below a directory.

    How each ended, what it found so far, when and where.
    """
    from brns.cli import listing

    rows = listing.select_runs(directory, filters or (), sort, reverse)
    if json:
        listing.print_json(rows)
    else:
        listing.print_runs(directory, rows)


def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            help="a part: its settings; a setting: who has it; a kind, such as mutate: its parts",
            show_default="all names",
        ),
    ] = None,
) -> None:
    """List what can be run and set.

    With NAME: its settings, what has a setting of that name, or all of a kind.
    """
    from brns.cli.screen import console, print_message

    if name is None or name in PLACES.values():
        for part in PARTS:
            if name not in (None, part.search_argument):
                continue
            usual = "(default) " if part.attribute in DEFAULTS else ""
            print_message(f"{part.command_line_usage:<25} {usual}{part.meaning}")
        return
    import brns

    searchs = _read_settings(brns.NoveltySearch, {})
    holders: list[tuple[str, str, Settings]] = [("every experiment", "", searchs)]
    for part in PARTS:
        title = f"{part.command_line_usage}  {part.meaning}"
        settings = _read_settings(getattr(brns, part.attribute), part.settings)
        holders.append((title, part.search_argument, settings))
        if part.name == name:
            console.print(title, style="bold")
            console.print("settings, as they are by default:")
            if part.kind == "task":
                return _print_experiment(name)
            return _print_settings(part.search_argument, settings)
    setting = name.rpartition(".")[2]
    names = [part.name for part in PARTS]
    known = set().union(*(settings for _, _, settings in holders))
    if setting not in known:
        raise SettingsError(
            f"NAME must be one of {', '.join(names)}, or a setting; got "
            f"{name!r}{suggest_name(name, [*names, *known])}"
        )
    console.print(f"{setting} is a setting of what follows, as it is by default there:")
    for title, place, settings in holders:
        if setting in settings:
            console.print(title, style="bold")
            _print_settings(place, {setting: settings[setting]})


def _read_settings(kind: Any, values: Mapping[str, Any]) -> Settings:
    """The settings of a class with these values, and else with its defaults."""
    values = {field.name: field.default for field in dataclasses.fields(kind)} | dict(values)
    found = find_setting_types_and_meanings(kind)
    return {name: (values[name], meaning) for name, (_, meaning) in found.items()}


def _print_experiment(task_name: str) -> None:
    """The settings of a task's experiment, with all its parts."""
    from brns.cli.screen import console
    from brns.experiments import make_search

    search = make_search(task_name)
    for place in ("", *dict.fromkeys(PLACES.values())):
        part = getattr(search, place) if place else search
        if place:
            console.print(f"{place}: {CLASSES[type(part).__name__].name}")
        _print_settings(place, _read_settings(type(part), vars(part)))


def _print_settings(place: str, settings: Settings) -> None:
    """A line for each setting: how it is set to what it is by default, and what it means."""
    from rich.table import Table

    from brns.cli.screen import console

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, (value, meaning) in settings.items():
        setting = f"{place}.{name}".lstrip(".")
        table.add_row(f"  --set {setting}={_format_set_value(value)}", meaning)
    console.print(table)


def _format_set_value(value: Any) -> str:
    """A value without the capitals of Python and its parentheses, which a shell would read."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_format_set_value, value))}]"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def show(
    directories: Annotated[
        list[Path],
        typer.Argument(help="runs, batches of seeds, or directories with runs anywhere below"),
    ],
    search: Search = None,
    json: Annotated[
        bool, typer.Option("--json", help="print the numbers of each run as JSON")
    ] = False,
    details: Annotated[
        bool, typer.Option("--all", help="show all numbers and what they mean")
    ] = False,
) -> None:
    """Show the numbers of runs and how they ended.

    Missing pictures are drawn.
    """
    from brns.cli.conclusion import print_conclusion_and_draw, print_json
    from brns.cli.listing import find_batches_and_lone_runs
    from brns.cli.user_code import load_records

    places = [place for directory in directories for place in find_batches_and_lone_runs(directory)]
    runs = {place: load_records([place], search) for place in dict.fromkeys(places)}
    if json:
        print_json([record for records in runs.values() for record in records])
        return
    for place, records in runs.items():
        print_conclusion_and_draw(place, records, details=details)


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
    from brns.cli.user_code import load_records
    from brns.experiments.overrides import parse_value
    from brns.formatting import format_csv
    from brns.pictures import save
    from brns.pictures.figures import prepare_figure
    from brns.runs.files import write_bytes

    out = out or Path(f"{name}.png")
    if data and data.suffix != ".csv":
        raise ValueError(f"the numbers' file ends in .csv; got {str(data)!r}")
    grid = None
    if cells:
        what = "--cells takes numbers such as 12,12, one a dimension"
        grid = validate_setting(what, tuple[int, ...], parse_value(f"{cells},"))
    prepared = prepare_figure(name, load_records(directories, search), over=over, cells=grid)
    save(prepared.draw(width=width), out)
    typer.echo(f"Figure: {out}")
    if data:
        write_bytes(data, format_csv(prepared.data()).encode())
        typer.echo(f"Numbers: {data}")


def report(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
    search: Search = None,
) -> None:
    """Write a page about runs for a browser.

    It has a table, figures, settings and the search itself, opens from disk and needs no network.
    """
    from brns.cli.user_code import load_records
    from brns.pictures.report import write_report

    write_report(load_records(directories, search), out)
    typer.echo(f"Report: {out}")


def movie(
    directory: Directory,
    out: Annotated[
        Path | None,
        typer.Option(help="a .gif", show_default="movie.gif or individual-WHICH.gif there"),
    ] = None,
    individual: Annotated[
        str | None, typer.Option(help="film one individual's episode: an id, or best")
    ] = None,
    search: Search = None,
) -> None:
    """Write a movie of a run's population, or of one individual.

    The population stands on maps of novelty, generation by generation.
    Of several seeds it is the first.
    """
    from brns.cli.user_code import load_first_record
    from brns.pictures.movie import write_individual_movie, write_movie

    record = load_first_record(directory, search)
    if individual is None:
        out = out or record.path / "movie.gif"
        write_movie(record, out)
    else:
        out = out or record.path / f"individual-{individual}.gif"
        which: Any = int(individual) if individual.isdecimal() else individual
        write_individual_movie(record, out, which)
    typer.echo(f"Movie: {out}")
