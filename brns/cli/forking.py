"""`brns fork`: a run gone on with from one of its generations, with other settings."""

from pathlib import Path
from typing import Annotated

import typer

from brns.cli import screen
from brns.cli.follow import scalars_of, to_the_end
from brns.cli.options import DaskAddress, Directory, Scalars, Search, Timeout, Workers


def fork(
    directory: Directory,
    at: Annotated[int, typer.Option(min=0, help="the generation to go on from, one whose state is kept")],
    out: Annotated[Path, typer.Option(help="directory of the fork")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="change a setting, such as mutate.rate=0.2; repeatable"),
    ] = None,
    generations: Annotated[
        int | None, typer.Option(min=1, help="how many in all", show_default="as many as the run was asked for")
    ] = None,
    workers: Workers = None,
    dask: DaskAddress = None,
    timeout: Timeout = None,
    tensorboard: Scalars = False,
    search: Search = None,
) -> None:
    """Go on from one of a run's generations with other settings, in a folder of its own; the run stays as it is."""
    import equinox as eqx

    from brns.cli.own import records_of
    from brns.experiments import changed
    from brns.runs.fork import branch
    from brns.runs.loop import go_on
    from brns.workers.chunks import InChunks, innermost
    from brns.workers.parallel import in_parallel

    whole = records_of([directory], search)[0].search
    other = changed(eqx.tree_at(lambda s: s.task, whole, innermost(whole.task)), set_ or [])
    if isinstance(whole.task, InChunks):  # a run that was started with workers
        other = eqx.tree_at(lambda s: s.task, other, eqx.tree_at(lambda t: t.task, whole.task, other.task))
    with in_parallel(other, workers, dask, timeout) as other, scalars_of(tensorboard) as scalars:
        planned = branch(directory, at, other, out=out, generations=generations, track=screen.track)[0].planned
        to_the_end(go_on(out, search=other), planned, out, other, scalars, completed=at, own=search or ())
