"""The command line: `brns run`, `resume`, `show`, `runs`, `figure`, `report`, `movie`,
`reproduce`, `compare`, `list`."""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import platformdirs
import typer
from rich.console import Console
from rich.text import Text

from brns.cli import screen
from brns.cli.screen import console

if TYPE_CHECKING:
    from brns.runs.record import Record
    from brns.runs.tensorboard import TensorBoard

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
    experiment: Annotated[str, typer.Argument(help="maze, ant, arm, car, ...; see brns list")],
    estimator: Annotated[
        str, typer.Option(help="the novelty: recognition, paper (BR-NS with its settings), archive, population, counts")
    ] = "recognition",
    seed: Annotated[int, typer.Option(min=0, help="the (first) seed")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds, computed as one batch")] = 1,
    generations: Annotated[int, typer.Option(min=1, help="how many generations")] = 400,
    out: Annotated[Path | None, typer.Option(help="directory", show_default="runs/EXPERIMENT-ESTIMATOR-seedK")] = None,
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
    from brns.experiments import configured
    from brns.runs.loop import start
    from brns.workers.spread import spread

    search = configured(experiment, estimator, set_ or [])
    several = f"seeds{seed}-{seed + seeds - 1}" if seeds > 1 else f"seed{seed}"
    out = out or Path("runs") / f"{experiment}-{estimator}-{several}"
    which = range(seed, seed + seeds) if seeds > 1 else seed
    with spread(search, workers, dask, timeout) as search, _scalars(tensorboard) as scalars:
        steps = start(search, generations, out=out, seeds=which, keep_every=keep_every)
        screen.follow(steps, generations, out, scalars, watch_every=watch_cycling)


@app.command()
def resume(
    directory: Directory,
    generations: Annotated[
        int | None, typer.Option(min=1, help="how many in all", show_default="as many as it was started for")
    ] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
) -> None:
    """Go on with a run that was stopped, to the same bits as if it had not been; or make it longer."""
    from brns.runs.loop import go_on
    from brns.runs.record import records
    from brns.runs.settings import SettingsError
    from brns.workers.spread import Chunked, spread

    done = records(directory)
    total = generations or done[0].planned
    completed = min(record.generations[-1] for record in done)
    if completed >= total:
        console.print(f"{directory} has its {total} generations already; make it longer with --generations N")
        return screen.conclude(directory)
    search = done[0].search
    if (workers or dask) and not isinstance(search.task, Chunked):
        raise SettingsError(
            f"{directory} was started without workers, whose chunks of individuals may round otherwise; resume it "
            "without --workers and --dask"
        )
    with spread(search, workers, dask, timeout) as search, _scalars(tensorboard) as scalars:
        screen.follow(go_on(directory, generations, search=search), total, directory, scalars, completed)


@app.command()
def runs(
    directory: Annotated[Path, typer.Argument(help="a directory with runs anywhere below it")] = Path("runs"),
) -> None:
    """List the runs below a directory: their state, progress, settings and what they found so far."""
    from brns.runs.listing import listing

    screen.print_runs(directory, listing(directory))


@app.command()
def show(directory: Directory) -> None:
    """Show a run's summary and draw its picture again."""
    screen.conclude(directory)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="a figure's name or its number in the paper, such as coverage or 3a")],
    directories: Directories,
    out: Annotated[Path | None, typer.Option(help="a .png, .pdf or .svg", show_default="NAME.png")] = None,
) -> None:
    """Draw one of the paper's figures, of runs of one or several methods. For 6 the runs are CSV files of timings."""
    from brns.pictures import PAPER, draw, read_times, save

    out = out or Path(f"{name}.png")
    timed = PAPER.get(name, name) == "time"
    source = [row for path in directories for row in read_times(path)] if timed else _records(directories)
    with console.status("Drawing"):
        save(draw(name, source), out)
    console.print(f"Figure: {out}", soft_wrap=True)


@app.command()
def report(
    directories: Directories,
    out: Annotated[Path, typer.Option(help="the page")] = Path("report.html"),
) -> None:
    """Write one self-contained page: settings, table, figures and a view of the search to look into."""
    from brns.pictures.report import write

    write(_records(directories), out, screen.count)
    console.print(f"Report: {out}", soft_wrap=True)


@app.command()
def movie(
    directory: Directory,
    out: Annotated[Path | None, typer.Option(help="a .gif or .mp4", show_default="DIRECTORY/movie.gif")] = None,
    individual: Annotated[
        str | None, typer.Option(help="film one individual of the ant maze in its world: an id, or best")
    ] = None,
) -> None:
    """Write a movie of the population and the novelty map over generations, or of one individual."""
    from brns.pictures.movie import write, write_individual
    from brns.runs.settings import SettingsError

    (record,) = _records([directory])[:1]
    if individual not in (None, "best") and not individual.isdecimal():
        raise SettingsError(f"--individual takes an id or best; got {individual!r}")
    if individual is None:
        out = write(record, out or record.path / "movie.gif", count=screen.count)
    else:
        which = "best" if individual == "best" else int(individual)
        out = write_individual(record, out or record.path / f"individual-{individual}.gif", which, screen.count)
    console.print(f"Movie: {out}", soft_wrap=True)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help="maze, ablation, ant, timing, or all")],
    scale: Annotated[str, typer.Option(help="smoke (minutes), short (an hour or two) or paper")] = "smoke",
    out: Annotated[Path | None, typer.Option(help="directory", show_default="runs/reproduction-SCALE")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="processes that evaluate the ants")] = None,
    dask: Annotated[str | None, typer.Option(help="the scheduler of a Dask cluster that evaluates the ants")] = None,
) -> None:
    """Run the paper's experiments, or go on with them; write a page of its claims beside what was measured."""
    from brns.reproduce import PARTS
    from brns.reproduce import reproduce as make

    parts = PARTS if what == "all" else (what,)
    out = out or Path("runs") / f"reproduction-{scale}"
    page = make(parts, scale, out, workers=workers, dask=dask, follow=screen.follow_part, count=screen.count)
    console.print(f"Page: {page}", soft_wrap=True)


@app.command()
def compare(
    worlds: Annotated[list[str], typer.Argument(help="suite, or some of its worlds, such as arm maze")],
    estimator: Annotated[
        list[str] | None, typer.Option(help="a method, the first is the reference; repeatable", show_default="all")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="how many seeds")] = 20,
    generations: Annotated[
        int | None, typer.Option(min=2, help="how many generations", show_default="the world's own")
    ] = None,
    out: Annotated[Path, typer.Option(help="directory; OUT.md is the page")] = Path("runs/comparison"),
    workers: Annotated[int | None, typer.Option(min=1, help="jobs side by side", show_default="all cores")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="only tell how long it will take")] = False,
) -> None:
    """Compare methods in worlds of the suite, or go on with it: a table, a picture and a verdict."""
    from brns.comparison import page
    from brns.comparison.estimate import hours
    from brns.comparison.run import compare as make
    from brns.comparison.worlds import SUITE, world
    from brns.experiments import METHODS, chosen

    wanted = list(SUITE) if worlds == ["suite"] else [world(name) for name in worlds]
    names = estimator or ["archive", *(name for name in METHODS if name != "archive")]
    methods = {name: chosen("--estimator", name, METHODS) for name in names}
    if estimate:
        console.print(hours(wanted, methods, seeds, generations, screen.count))
        return
    found = make(wanted, methods, seeds=seeds, generations=generations, out=out, workers=workers, count=screen.count)
    for line in found.verdicts:
        console.print(line)
    console.print(f"Page: {page.write(found)}", soft_wrap=True)


@app.command(name="list")
def list_() -> None:
    """List experiments and estimators, with their settings, defaults and meaning."""
    from brns.experiments import ESTIMATORS, EXPERIMENTS
    from brns.runs.settings import settings

    for name, make in EXPERIMENTS.items():
        console.print(Text.assemble("\n", (f"brns run {name}", "bold"), f"  {_first_line(make)}"))
        search = make()
        for prefix, part in [("", search), *((f"{p}.", getattr(search, p)) for p in ("task", "mutate", "select"))]:
            screen.print_settings(prefix, part, settings(type(part)))
        for chosen, estimator in ESTIMATORS[name].items():
            console.print(Text.assemble("\n  ", (f"--estimator {chosen}", "bold"), f"  {_first_line(type(estimator))}"))
            screen.print_settings("estimator.", estimator, settings(type(estimator)))


def _records(directories: Sequence[Path]) -> "list[Record]":
    from brns.runs.record import records

    return [record for directory in directories for record in records(directory)]


def _scalars(wanted: bool) -> "contextlib.AbstractContextManager[TensorBoard | None]":
    if not wanted:
        return contextlib.nullcontext()
    from brns.runs.tensorboard import TensorBoard

    return TensorBoard()


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def main() -> None:
    """Run the command line: what a user can mend ends with one clear message and exit status 2."""
    # Compiled code is kept between processes, so that a second start is quick. JAX reads these when it is imported.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(platformdirs.user_cache_path("brns") / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
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
