"""The command line: `brns run`, `resume`, `fork`, `show`, `runs`, `figure`, `report`, `movie`,
`reproduce`, `compare`, `list`."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from brns.cli import screen
from brns.cli.follow import scalars_of, to_the_end
from brns.cli.forking import fork
from brns.cli.looking import figure, movie, report, show
from brns.cli.options import DaskAddress, Directory, Founders, Scalars, Search, Timeout, Workers
from brns.cli.place import default_place
from brns.cli.screen import console
from brns.parts import parts

if TYPE_CHECKING:
    from brns.search import NoveltySearch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Novelty search without an archive (BR-NS), the archive methods to hold it against, and their measures.",
    epilog="Begin with: brns run maze. See what can be set with: brns list.",
)


def _version(wanted: bool) -> bool:
    if wanted:
        from brns import __version__

        console.print(f"brns {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="show the version and exit")
    ] = False,
) -> None:
    """What stands before a command."""


@app.command()
def run(
    experiment: Annotated[
        str,
        typer.Argument(help=f"{', '.join(parts('world'))}, see brns list; or a search of your own as module:object"),
    ],
    estimator: Annotated[
        str | None,
        typer.Option(
            help=f"the novelty: {', '.join(parts('estimator', 'preset'))}; see brns list", show_default="exact"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="the (first) seed")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds, computed side by side")] = 1,
    generations: Annotated[int, typer.Option(min=1, help="how many generations")] = 400,
    out: Annotated[
        Path | None, typer.Option(help="directory", show_default="runs/NAME-ESTIMATOR-CHANGES-seedK")
    ] = None,
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
    founders: Founders = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
) -> None:
    """Run an experiment, with progress, and end with a summary and a picture."""
    from brns.runs.loop import start
    from brns.runs.places import chosen, folders, refuse_taken
    from brns.workers.parallel import in_parallel

    which = range(seed, seed + seeds) if seeds > 1 else seed
    out = out or default_place(experiment, estimator, set_ or [], which)
    refuse_taken(out, folders(out, *chosen(which)))
    search = _chosen(experiment, estimator, set_ or [])
    if founders is not None:
        from brns.cli.own import own_founders
        from brns.settings import SettingsError

        if any(change.strip().startswith("founders") for change in set_ or []):
            raise SettingsError("--founders and --set founders say both how a search begins; give one of them")
        search = dataclasses.replace(search, founders=own_founders(founders))
    with in_parallel(search, workers, dask, timeout) as search, scalars_of(tensorboard) as scalars:
        steps = start(search, generations, out=out, seeds=which, keep_every=keep_every)
        own = [experiment] if ":" in experiment else []
        to_the_end(steps, generations, out, search, scalars, watch_every=watch_cycling, own=own)


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
    search: Search = None,
) -> None:
    """Go on with a run that was stopped, to the same bits as if it had not been; or make it longer."""
    from brns.cli.conclusion import conclude
    from brns.cli.own import records_of
    from brns.runs.loop import go_on
    from brns.settings import SettingsError
    from brns.workers.chunks import InChunks
    from brns.workers.parallel import in_parallel

    done = records_of([directory], search)
    total = generations or done[0].planned
    completed = min(record.last for record in done)
    if completed >= total:
        has = "its" if completed == total else f"{completed} generations, more than the"
        console.print(f"{directory} has {has} {total} generations already; make it longer with --generations N")
        return conclude(directory, done)
    whole = done[0].search
    if (workers or dask) and not isinstance(whole.task, InChunks):
        raise SettingsError(
            f"{directory} was started without workers, whose chunks of individuals may round otherwise; resume it "
            "without --workers and --dask"
        )
    with in_parallel(whole, workers, dask, timeout) as whole, scalars_of(tensorboard) as scalars:
        steps = go_on(directory, generations, search=whole)
        to_the_end(steps, total, directory, whole, scalars, completed, own=search or ())


@app.command()
def runs(
    directory: Annotated[Path, typer.Argument(help="a directory with runs anywhere below it")] = Path("runs"),
) -> None:
    """List the runs below a directory: their state, progress, settings and what they found so far."""
    from brns.runs.listing import listing

    screen.print_runs(directory, listing(directory))


for command in (fork, show, figure, report, movie):
    app.command()(command)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help="maze, ablation, ant, timing, or all")],
    scale: Annotated[str, typer.Option(help="smoke (minutes), short (hours) or paper")] = "smoke",
    out: Annotated[Path | None, typer.Option(help="directory", show_default="runs/reproduction-SCALE")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="searches of ants side by side", show_default="all cores")
    ] = None,
    dask: Annotated[str | None, typer.Option(help="the scheduler of a Dask cluster that evaluates the ants")] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="run no ants: the page is of those finished here, and on the last page")
    ] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="only tell how long it will take")] = False,
) -> None:
    """Run the paper's experiments, or go on with them; write a page of its claims beside what was measured."""
    from brns.cli.follow import follow_part
    from brns.reproduce import PARTS, planned
    from brns.reproduce import reproduce as make
    from brns.reproduce.estimate import estimate as hours
    from brns.settings import SettingsError

    parts = PARTS if what == "all" else (what,)
    planned(parts, scale)  # names what there is
    if "ant" not in parts and (workers or dask):
        raise SettingsError(f"--workers and --dask are for the ants; {what} has none")
    if estimate and (dask or finished):
        raise SettingsError("--estimate tells how long this machine takes for all of it, without --dask and --finished")
    out = out or Path("runs") / f"reproduction-{scale}"
    if estimate:
        console.print(hours(parts, planned(parts, scale), out, workers), soft_wrap=True)
        return
    page = make(
        parts, scale, out, workers=workers, dask=dask, finished=finished, follow=follow_part, count=screen.track
    )
    console.print(f"Page: {page}", soft_wrap=True)


@app.command()
def compare(
    worlds: Annotated[
        list[str],
        typer.Argument(
            help="suite, or some of its worlds, such as arm maze; or your own search or task, as module:object"
        ),
    ],
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            help="a method, the first is the reference; repeatable", show_default="archive, and all but counts"
        ),
    ] = None,
    mutation: Annotated[
        list[str] | None, typer.Option(help="an operator each method runs with; repeatable", show_default="polynomial")
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="how many seeds")] = 20,
    generations: Annotated[
        int | None, typer.Option(min=2, help="how many generations", show_default="the world's own")
    ] = None,
    out: Annotated[Path, typer.Option(help="directory; OUT.md is the page")] = Path("runs/comparison"),
    workers: Annotated[int | None, typer.Option(min=1, help="jobs side by side", show_default="all cores")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="only tell how long it will take")] = False,
) -> None:
    """Compare methods in worlds of the suite or in your own, or go on with it: a table, a picture and a verdict."""
    from brns.cli.own import own_object
    from brns.comparison import page
    from brns.comparison.estimate import hours
    from brns.comparison.run import compare as make
    from brns.comparison.run import worlds_of
    from brns.comparison.worlds import SUITE, world
    from brns.experiments import chosen
    from brns.settings import SettingsError

    if own := [name for name in worlds if ":" in name]:
        if len(worlds) > 1:
            raise SettingsError(f"what is your own is compared alone; got {', '.join(worlds)}: name {own[0]} only")
        wanted = own_object(own[0])
    else:
        wanted = list(SUITE) if worlds == ["suite"] else [world(name) for name in worlds]
    known = parts("estimator", "preset")
    # Of all, a grid is left out: it has too many cells where descriptors have many dimensions.
    names = estimator or ["archive", *(name for name in known if name not in ("archive", "counts"))]
    for what, given in (("--estimator", names), ("--mutation", mutation or [])):
        if len(set(given)) < len(given):
            raise SettingsError(f"{what} gives {', '.join(given)}; give each once")
    methods = {name: chosen("--estimator", name, known).load()() for name in names}
    operators = {name: chosen("--mutation", name, parts("mutation")).load()() for name in mutation or ()}
    if estimate:
        told = hours(worlds_of(wanted), methods, seeds, generations, screen.track, workers, max(len(operators), 1))
        console.print(told)
        return
    page.place(out)
    found = make(
        wanted,
        methods,
        seeds=seeds,
        generations=generations,
        out=out,
        mutations=operators or None,
        workers=workers,
    )
    for line in found.verdicts:
        console.print(line)
    console.print(f"Page: {page.write(found)}", soft_wrap=True)


@app.command(name="list")
def list_(
    experiment: Annotated[str | None, typer.Argument(help="one of them", show_default="all")] = None,
) -> None:
    """List experiments and estimators, with their settings, defaults and meaning."""
    from brns.experiments import OPERATORS, named
    from brns.settings import SettingsError, settings

    worlds = parts("world")
    if experiment not in (None, *worlds):
        raise SettingsError(f"experiment must be one of {', '.join(worlds)}; got {experiment!r}")
    for name in worlds if experiment is None else (experiment,):
        console.print(Text.assemble("\n", (f"brns run {name}", "bold"), f"  {worlds[name].meaning}"))
        search = named(name)
        for prefix, part in [("", search), *((f"{p}.", getattr(search, p)) for p in ("task", *OPERATORS))]:
            screen.print_settings(prefix, part, settings(type(part)))
        for chosen, part in parts("estimator", "preset").items():
            estimator = named(name, chosen).estimator
            console.print(Text.assemble("\n  ", (f"--estimator {chosen}", "bold"), f"  {part.meaning}"))
            screen.print_settings("estimator.", estimator, settings(type(estimator)))
    for operator, kind in OPERATORS.items():
        console.print()
        for name, part in parts(kind).items():
            console.print(Text.assemble((f"--set {operator}={name}", "bold"), f"  {part.meaning}"))
            screen.print_settings(f"{operator}.", part.load()(), settings(part.load()))


def _chosen(experiment: str, estimator: str | None, changes: Sequence[str]) -> "NoveltySearch":
    """The search to run."""
    from brns.experiments import RECOMMENDED, changed, configured
    from brns.settings import SettingsError

    if ":" not in experiment:
        return configured(experiment, estimator or RECOMMENDED, changes)
    if estimator is not None:
        raise SettingsError(f"{experiment} has an estimator of its own; leave --estimator {estimator} out")
    from brns.cli.own import own_search

    return changed(own_search(experiment), changes)


def main() -> None:
    """Run the command line: what a user can mend ends with one clear message and exit status 2."""
    try:
        app(standalone_mode=True)
    except SystemExit as ended:
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):  # which Typer made an exit
            console.print("Stopped. What was finished is saved: the same command goes on, and brns resume with a run.")
        raise
    except Exception as error:
        from brns.cli.own import in_own_code

        own = in_own_code(error)
        if not own and not isinstance(error, ValueError | ImportError | RuntimeError | OSError):
            raise  # which is ours to mend
        usual = isinstance(error, ValueError | ImportError | RuntimeError | OSError) and f"{error}"
        told = [f"brns: {error if usual else repr(error)}", *getattr(error, "__notes__", ())]
        if own:
            told += ["It was raised in your code:", own]
        Console(stderr=True, highlight=False).print("\n".join(told), markup=False, soft_wrap=True)
        sys.exit(2)
