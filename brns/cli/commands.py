"""The commands that run searches: `brns run`, `resume`, `fork`, `compare`; and `runs` and `list`.

JAX and what needs it is imported within a command, once it is known that the command can be done.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brns.cli.looking import figure, movie, report, show
from brns.cli.options import Changes, DaskAddress, Directory, Founders, Scalars, Search, Timeout, Workers
from brns.settings import SettingsError, chosen, parts

if TYPE_CHECKING:
    from brns.search import NoveltySearch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its help takes three times as long
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Novelty search without an archive (BR-NS), the archive methods to hold it against, and their measures.",
    epilog="Begin with: brns run maze. See what can be set with: brns list.",
)


def _version(wanted: bool) -> bool:
    if wanted:
        from brns import __version__

        typer.echo(f"brns {__version__}")
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
        typer.Option(help=f"the novelty: {', '.join(parts('estimator', 'preset'))}", show_default="exact"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="the seed, or the first of several")] = 0,
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
    set_: Changes = None,
    founders: Founders = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
) -> None:
    """Run an experiment, and end with its numbers and a picture.

    Ctrl-C ends it after the generation in progress; brns resume goes on, to the same bits.
    """
    own, changes = ":" in experiment, set_ or []
    if not own:
        chosen("experiment", experiment, "world")
        chosen("--estimator", estimator or "exact", "estimator", "preset")
    elif estimator is not None:
        raise SettingsError(f"{experiment} has an estimator of its own; leave --estimator {estimator} out")
    if founders is not None and any(change.strip().startswith("founders") for change in changes):
        raise SettingsError("--founders and --set founders say both how a search begins; give one of them")
    from brns.cli.follow import to_the_end
    from brns.cli.parallel import in_parallel
    from brns.cli.place import default_place
    from brns.runs.loop import start
    from brns.runs.places import refuse_taken

    which = range(seed, seed + seeds) if seeds > 1 else seed
    out = out or default_place(experiment, estimator, changes, which)
    refuse_taken(out)
    search = _search(experiment, estimator, changes, founders)
    with in_parallel(search, workers, dask, timeout) as search:
        steps = start(
            search, generations, out=out, keep_every=keep_every, seed=seed, seeds=None if seeds == 1 else seeds
        )
        to_the_end(
            steps, generations, out, search, tensorboard, watch_every=watch_cycling, own=[experiment] if own else []
        )


def _search(experiment: str, estimator: str | None, changes: Sequence[str], founders: Path | None) -> "NoveltySearch":
    """The search to run."""
    from brns.cli.own import own_founders, own_search
    from brns.experiments import RECOMMENDED, changed, named

    search = own_search(experiment) if ":" in experiment else named(experiment, estimator or RECOMMENDED)
    search = changed(search, changes)
    return search if founders is None else dataclasses.replace(search, founders=own_founders(founders))


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
    """Go on with a run that was stopped, or make it longer.

    It ends in the same bits as a run that was never stopped.
    """
    from brns.cli.conclusion import conclude
    from brns.cli.follow import to_the_end
    from brns.cli.own import records_of
    from brns.cli.parallel import in_parallel
    from brns.runs.loop import go_on
    from brns.workers import Chunked

    done = records_of([directory], search)
    total = generations or done[0].planned
    completed = min(record.last for record in done)
    if completed >= total:
        has = "its" if completed == total else f"{completed} generations, more than the"
        typer.echo(f"{directory} has {has} {total} generations already; make it longer with --generations N")
        return conclude(directory, done)
    whole = done[0].search
    if (workers or dask) and not isinstance(whole.task, Chunked):
        raise SettingsError(
            f"{directory} was started without workers, whose chunks of individuals may round otherwise; resume it "
            "without --workers and --dask"
        )
    with in_parallel(whole, workers, dask, timeout) as whole:
        steps = go_on(directory, generations, search=whole)
        to_the_end(steps, total, directory, whole, tensorboard, completed, own=search or ())


@app.command()
def fork(
    directory: Directory,
    at: Annotated[int, typer.Option(min=0, help="the generation to go on from, one whose state is kept")],
    out: Annotated[Path, typer.Option(help="directory of the fork")],
    set_: Changes = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="how many in all", show_default="as many as the run was asked for")
    ] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
    search: Search = None,
) -> None:
    """Go on from one of a run's generations with other settings.

    The fork has a folder of its own; the run stays as it is.
    """
    import equinox as eqx

    from brns.cli.follow import to_the_end
    from brns.cli.own import records_of
    from brns.cli.parallel import in_parallel
    from brns.experiments import changed
    from brns.runs.fork import branch
    from brns.runs.loop import go_on
    from brns.workers import Chunked, innermost

    whole = records_of([directory], search)[0].search
    other = changed(eqx.tree_at(lambda s: s.task, whole, innermost(whole.task)), set_ or [])
    if isinstance(whole.task, Chunked):  # a run that was started with workers
        other = eqx.tree_at(lambda s: s.task, other, eqx.tree_at(lambda t: t.task, whole.task, other.task))
    with in_parallel(other, workers, dask, timeout) as other:
        planned = branch(directory, at, other, out=out, generations=generations, progress=True)[0].planned
        steps = go_on(out, search=other)
        to_the_end(steps, planned, out, other, tensorboard, completed=at, own=search or ())


@app.command()
def runs(
    directory: Annotated[Path, typer.Argument(help="a directory with runs anywhere below it")] = Path("runs"),
) -> None:
    """List the runs below a directory, and what they found so far."""
    from brns.cli.listing import listing
    from brns.cli.screen import print_runs

    print_runs(directory, listing(directory))


for command in (show, figure, report, movie):
    app.command()(command)


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
            help="a method, or your own as module:object; the first is the reference; repeatable",
            show_default="archive, and all but counts",
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
    """Compare methods in worlds of the suite, or in your own.

    Makes a page with tables, a picture and a verdict. The same command goes on with one that was stopped.
    """
    # Of all, a grid is left out: it has too many cells where descriptors have many dimensions.
    names = estimator or ["archive", *(n for n in parts("estimator", "preset") if n not in ("archive", "counts"))]
    for what, given in (("--estimator", names), ("--mutation", mutation or [])):
        if len(set(given)) < len(given):
            raise SettingsError(f"{what} gives {', '.join(given)}; give each once")
    methods = {name: chosen("--estimator", name, "estimator", "preset") for name in names if ":" not in name}
    operators = {name: chosen("--mutation", name, "mutation") for name in mutation or ()}
    own = [name for name in worlds if ":" in name]
    if own and len(worlds) > 1:
        raise SettingsError(f"what is your own is compared alone; got {', '.join(worlds)}: name {own[0]} only")
    from brns.cli.comparing import to_its_page
    from brns.cli.own import own_object
    from brns.comparison.estimate import hours
    from brns.comparison.run import worlds_of
    from brns.comparison.worlds import SUITE, world
    from brns.runs import compilation_cache
    from brns.runs.bar import track

    compilation_cache.keep()
    suite = list(SUITE) if worlds == ["suite"] else [world(name) for name in worlds if not own]
    wanted = own_object(own[0]) if own else suite
    made = {}
    for name in names:
        theirs = name.partition(":")[2]
        made[theirs or name] = own_object(name) if theirs else methods[name].load()()
    mutations = {name: part.load()() for name, part in operators.items()}
    if estimate:
        first, jobs = next(iter(made.values())), len(made) * max(len(mutations), 1)
        typer.echo(hours(worlds_of(wanted), first, jobs, seeds, generations, track))
        return
    to_its_page(wanted, made, seeds, generations, out, mutations, workers)


@app.command(name="list")
def list_(
    experiment: Annotated[str | None, typer.Argument(help="one of them", show_default="all")] = None,
) -> None:
    """List what can be run and set: names, defaults, meanings."""
    worlds = parts("world")
    if experiment is not None:
        worlds = {experiment: chosen("experiment", experiment, "world")}
    from rich.text import Text

    from brns.cli.screen import console, print_settings
    from brns.experiments import OPERATORS, named

    for world, task in worlds.items():
        console.print(Text.assemble("\n", (f"brns run {world}", "bold"), f"  {task.meaning}"))
        search = named(world)
        print_settings("", search)
        for part in ("task", *OPERATORS):
            print_settings(f"{part}.", getattr(search, part))
        for name, part in parts("estimator", "preset").items():
            console.print(Text.assemble("\n  ", (f"--estimator {name}", "bold"), f"  {part.meaning}"))
            print_settings("estimator.", named(world, name).estimator)
    for operator, kind in OPERATORS.items():
        console.print()
        for name, part in parts(kind).items():
            console.print(Text.assemble((f"--set {operator}={name}", "bold"), f"  {part.meaning}"))
            print_settings(f"{operator}.", part.load()())
