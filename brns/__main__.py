"""The command line: `brns run`, `resume`, `show`, `runs`, `figure`, `report`, `movie`, `reproduce`, `list`."""

import contextlib
import signal
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from brns.loop import Saved
    from brns.record import Record
    from brns.search import NoveltySearch
    from brns.tensorboard import TensorBoard

console = Console(highlight=False)
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Novelty search without an archive (BR-NS), the archive methods to hold it against, and their measures.",
    epilog="Begin with: brns run maze. See what can be set with: brns list.",
)

Directory = Annotated[Path, typer.Argument(help="a run's directory, or the directory of a batch of seeds")]
Directories = Annotated[list[Path], typer.Argument(help="directories of runs or of batches of seeds")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="evaluate in so many processes; any number gives the same bits, the maze is faster without"
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="evaluate on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786"),
]
Scalars = Annotated[bool, typer.Option("--tensorboard", help="write TensorBoard's scalars to tensorboard/ in the run")]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="stop where a worker takes longer for its 4 individuals")
]


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="maze or ant; see brns list")],
    estimator: Annotated[
        str, typer.Option(help="the novelty: recognition, paper (BR-NS with its settings), archive, population, counts")
    ] = "recognition",
    seed: Annotated[int, typer.Option(min=0, help="the (first) seed")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds, computed as one batch")] = 1,
    generations: Annotated[int, typer.Option(min=1, help="how many generations")] = 400,
    out: Annotated[Path | None, typer.Option(help="directory [default: runs/EXPERIMENT-ESTIMATOR-seedK]")] = None,
    keep_every: Annotated[
        int, typer.Option(min=1, help="stride of the states kept for statistics; 1 keeps all, the last always stays")
    ] = 10,
    watch_cycling: Annotated[
        int, typer.Option(min=0, help="look every N generations whether the search visits old ground; 0 is off")
    ] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="change a setting, such as estimator.epochs=5; repeatable"),
    ] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
) -> None:
    """Run an experiment, with progress, and end with a summary and a picture."""
    _use_compilation_cache()
    from brns.loop import start
    from brns.parallel import spread

    search = _experiment(experiment, estimator, set_ or [])
    several = f"seeds{seed}-{seed + seeds - 1}" if seeds > 1 else f"seed{seed}"
    out = out or Path("runs") / f"{experiment}-{estimator}-{several}"
    which = range(seed, seed + seeds) if seeds > 1 else seed
    with spread(search, workers, dask, timeout) as search, _scalars(tensorboard) as scalars:
        steps = start(search, generations, out=out, seeds=which, keep_every=keep_every)
        _follow(steps, generations, out, scalars, watch_every=watch_cycling)


@app.command()
def resume(
    directory: Directory,
    generations: Annotated[
        int | None, typer.Option(min=1, help="how many in all [default: as many as it was started for]")
    ] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
) -> None:
    """Go on with a run that was stopped, to the same bits as if it had not been; or make it longer."""
    _use_compilation_cache()
    from brns.loop import go_on
    from brns.parallel import Chunked, spread
    from brns.record import records
    from brns.settings import SettingsError

    done = records(directory)
    total = generations or done[0].planned
    completed = min(record.generations[-1] for record in done)
    if completed >= total:
        console.print(f"{directory} has its {total} generations already; make it longer with --generations N")
        return _conclude(directory)
    search = done[0].search
    if (workers or dask) and not isinstance(search.task, Chunked):
        raise SettingsError(
            f"{directory} was started without workers, whose chunks of individuals may round otherwise; resume it "
            "without --workers and --dask"
        )
    with spread(search, workers, dask, timeout) as search, _scalars(tensorboard) as scalars:
        _follow(go_on(directory, generations, search=search), total, directory, scalars, completed)


@app.command()
def runs(
    directory: Annotated[Path, typer.Argument(help="a directory with runs anywhere below it")] = Path("runs"),
) -> None:
    """List the runs below a directory: their state, progress, settings and what they found so far."""
    from brns.listing import listing

    found = listing(directory)
    # At a screen lines are folded to fit it; through a pipe a run is one line.
    wide = console if console.is_terminal else Console(highlight=False, width=1000)
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    for name in ("state", "done", "task", "novelty", "seed", "solved", "first", "cover"):
        table.add_column(name, justify="left" if name in ("state", "task", "novelty") else "right", no_wrap=True)
    for one in found:
        lines = textwrap.wrap(escape(f"{one.path.relative_to(directory)}"), max(wide.width - 62, 8))
        row = ["\n".join(lines), {"running": "[green]", "interrupted": "[yellow]"}.get(one.state, "") + one.state]
        if one.state != "damaged":
            row += [f"{_number(one.generation)}/{one.planned}", one.task, one.estimator, f"{one.seed}"]
            row += [_number(one.solutions), _number(one.first_solved)]
            row += ["-" if one.coverage is None else f"{one.coverage:.0%}"]
        table.add_row(*row, style="red" if one.state == "damaged" else None)
    wide.print(table)
    for one in found:
        if one.state == "damaged":
            console.print(f"damaged: {one.reason}", markup=False, soft_wrap=True)


@app.command()
def show(directory: Directory) -> None:
    """Show a run's summary and draw its picture again."""
    _use_compilation_cache()
    _conclude(directory)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="a figure's name or its number in the paper, such as coverage or 3a")],
    directories: Directories,
    out: Annotated[Path | None, typer.Option(help="a .png, .pdf or .svg [default: NAME.png]")] = None,
) -> None:
    """Draw one of the paper's figures, of runs of one or several methods. For 6 the runs are CSV files of timings."""
    _use_compilation_cache()
    from brns.figures import PAPER, draw, read_times, save

    out = out or Path(f"{name}.png")
    timed = PAPER.get(name, name) == "time"
    source = [row for path in directories for row in read_times(path)] if timed else _records(directories)
    save(draw(name, source), out)
    console.print(f"Figure: {out}", soft_wrap=True)


@app.command()
def report(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
) -> None:
    """Write one self-contained page: settings, table, figures and a view of the search to look into."""
    _use_compilation_cache()
    from brns.report import write

    with console.status("Reading the runs and drawing"):
        write(_records(directories), out)
    console.print(f"Report: {out}", soft_wrap=True)


@app.command()
def movie(
    directory: Directory,
    out: Annotated[Path | None, typer.Option(help="a .gif or .mp4 [default: DIRECTORY/movie.gif]")] = None,
    individual: Annotated[
        str | None, typer.Option(help="film one individual of the ant maze in its world: an id, or best")
    ] = None,
) -> None:
    """Write a movie of the population and the novelty map over generations, or of one individual."""
    _use_compilation_cache()
    from brns.movie import write, write_individual
    from brns.settings import SettingsError

    (record,) = _records([directory])[:1]
    if individual not in (None, "best") and not individual.isdecimal():
        raise SettingsError(f"--individual takes an id or best; got {individual!r}")
    with console.status("Drawing the frames"):
        if individual is None:
            out = write(record, out or record.path / "movie.gif")
        else:
            which = "best" if individual == "best" else int(individual)
            out = write_individual(record, out or record.path / f"individual-{individual}.gif", which)
    console.print(f"Movie: {out}", soft_wrap=True)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help="maze, ablation, ant, timing, or all")],
    scale: Annotated[str, typer.Option(help="smoke (minutes), short (an hour or two) or paper")] = "smoke",
    out: Annotated[Path | None, typer.Option(help="directory [default: runs/reproduction-SCALE]")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="processes that evaluate the ants")] = None,
    dask: Annotated[str | None, typer.Option(help="the scheduler of a Dask cluster that evaluates the ants")] = None,
) -> None:
    """Run the paper's experiments, or go on with them; write a page of its claims beside what was measured."""
    _use_compilation_cache()
    from brns.reproduce import PARTS
    from brns.reproduce import reproduce as make

    parts = PARTS if what == "all" else (what,)
    out = out or Path("runs") / f"reproduction-{scale}"
    page = make(parts, scale, out, workers=workers, dask=dask, follow=_progress)
    console.print(f"Page: {page}", soft_wrap=True)


def _progress(steps: Iterable["list[Saved]"], title: str, total: int, done: int) -> Iterator["list[Saved]"]:
    """Show how far a run is, and hand its generations on."""
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(title, total=total, completed=done)
        for saved in steps:
            progress.update(bar, completed=saved[0].number)
            yield saved
        progress.update(bar, completed=total)


@app.command(name="list")
def list_() -> None:
    """List experiments and estimators, with their settings, defaults and meaning."""
    from brns.experiments import ESTIMATORS, EXPERIMENTS
    from brns.settings import settings

    for name, make in EXPERIMENTS.items():
        console.print(f"\n[bold]brns run {name}[/bold]  {_first_line(make)}")
        search = make()
        for prefix, part in [("", search), *((f"{p}.", getattr(search, p)) for p in ("task", "mutate", "select"))]:
            _print_settings(prefix, part, settings(type(part)))
        for chosen, estimator in ESTIMATORS[name].items():
            console.print(f"\n  [bold]--estimator {chosen}[/bold]  {_first_line(type(estimator))}")
            _print_settings("estimator.", estimator, settings(type(estimator)))


def _print_settings(prefix: str, part: Any, listed: Sequence[Any]) -> None:
    table = Table(box=None, pad_edge=True, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for setting in listed:
        value = str(getattr(part, setting.name)).replace("None", "none")
        table.add_row(f"  --set {prefix}{setting.name}={value.replace(' ', '')}", setting.meaning)
    console.print(table)


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def _experiment(name: str, estimator: str, changes: Sequence[str]) -> "NoveltySearch":
    """The experiment of that name with the settings changed; every wrong name or value is reported at once."""
    import equinox as eqx

    from brns.experiments import ESTIMATORS, EXPERIMENTS
    from brns.settings import SettingsError, configure

    make = _choose("experiment", name, EXPERIMENTS)
    search = make(_choose("--estimator", estimator, ESTIMATORS[name]))
    parts: dict[str, dict[str, Any]] = {"": {}, "task": {}, "estimator": {}, "mutate": {}, "select": {}}
    problems = []
    for change in changes:
        key, equals, text = change.partition("=")
        part, _, setting = key.strip().rpartition(".")
        if not equals or part not in parts:
            problems.append(
                "--set takes NAME=VALUE, where NAME may begin with task., estimator., mutate. or select.; "
                f"got {change!r}"
            )
        else:
            parts[part][setting] = _value(text.strip())
    for part, wanted in parts.items():
        try:
            if part and wanted:
                search = eqx.tree_at(
                    lambda s, part=part: getattr(s, part), search, configure(getattr(search, part), wanted)
                )
        except ValueError as error:
            problems.append(str(error))
    try:
        search = configure(search, parts[""]) if parts[""] else search
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def _scalars(wanted: bool) -> "contextlib.AbstractContextManager[TensorBoard | None]":
    if not wanted:
        return contextlib.nullcontext()
    from brns.tensorboard import TensorBoard

    return TensorBoard()


def _choose(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    from brns.settings import SettingsError

    if name not in choices:
        raise SettingsError(f"{what} must be one of {', '.join(choices)}; got {name!r}")
    return choices[name]


def _value(text: str) -> Any:
    """A value as TOML reads it; bare words are strings, and none is None."""
    if text.lower() == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _follow(
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
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[found]}"),
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
    _conclude(out)


def _watch(saved: "list[Saved]", number: int) -> None:
    from brns.watch import watch

    for one in saved:
        text, old_ground = watch(one.record)
        warning = " [bold]The search begins to visit old ground.[/bold]" if old_ground else ""
        console.print(f"Generation {number}, seed {one.record.seed}: {text}.{warning}")


def _found(saved: "list[Saved]") -> str:
    """Coverage of everything evaluated, mean over seeds, and successes so far, of all seeds."""
    rows = [one.row for one in saved]
    covered = [row.coverage for row in rows if row.coverage is not None]
    coverage = f"coverage {sum(covered) / len(covered):.0%}, " if covered else ""
    return f"{coverage}solvers {sum(row.solutions for row in rows)}"


def _conclude(directory: Path) -> None:
    """The summary table and the picture of a run or a batch."""
    from brns.figures import overview, save
    from brns.metrics.summary import summary
    from brns.record import records
    from brns.scene import scene

    found = records(directory)
    of_paths = scene(found[0].search.task).paths
    rows = [summary(record, of_paths=of_paths) for record in found]
    table = Table(title=f"{directory}", title_justify="left", box=None, header_style="bold")
    table.add_column()
    for record in found:
        table.add_column(f"seed {record.seed}", justify="right")
    for name in dict.fromkeys(name for row in rows for name in row):
        table.add_row(name.replace("_", " "), *(_number(row.get(name)) for row in rows))
    console.print(table)
    for record in found:
        picture = record.path / "overview.png"
        save(overview(record), picture)
        console.print(f"Picture: {picture}", soft_wrap=True)


def _records(directories: Sequence[Path]) -> "list[Record]":
    from brns.record import records

    return [record for directory in directories for record in records(directory)]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def _use_compilation_cache() -> None:
    """Keep compiled code between processes, so that a second start is quick."""
    import jax
    import platformdirs

    jax.config.update("jax_compilation_cache_dir", str(platformdirs.user_cache_path("brns") / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def main() -> None:
    """Run the command line: what a user can mend ends with one clear message and exit status 2."""
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is saved; go on with: brns resume DIRECTORY")
        sys.exit(130)
    except (ValueError, ImportError, RuntimeError, OSError) as error:
        Console(stderr=True, highlight=False).print(f"brns: {error}", markup=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
