"""`brns compare`: methods side by side, in worlds of the suite or in your own."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from brns.settings import SettingsError, chosen, parts


def compare(
    worlds: Annotated[
        list[str],
        typer.Argument(help="suite, or some of its worlds, such as arm maze; or your own, as module:object"),
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
    workers: Annotated[int | None, typer.Option(min=1, help="jobs side by side", show_default="2")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="only tell how long it will take")] = False,
) -> None:
    """Compare methods in worlds of the suite, or in your own.

    Makes a page with tables, a picture and a verdict. The same command resumes an interrupted comparison.
    """
    # counts is left out of the default: its grid has too many cells where descriptors have many dimensions.
    names = estimator or ["archive", *(n for n in parts("estimator", "preset") if n not in ("archive", "counts"))]
    methods = {name: chosen("--estimator", name, "estimator", "preset") for name in names if ":" not in name}
    operators = {name: chosen("--mutation", name, "mutation") for name in mutation or ()}
    own = [name for name in worlds if ":" in name]
    if own and len(worlds) > 1:
        raise SettingsError(f"your own world is compared alone: name {own[0]} only")
    from brns.cli.own import own_object
    from brns.comparison.worlds import SUITE, world
    from brns.runs import compilation_cache

    compilation_cache.keep()
    suite = list(SUITE) if worlds == ["suite"] else [world(name) for name in worlds if not own]
    where = own_object(own[0]) if own else suite
    made = {}
    for name in names:
        made[name.rpartition(":")[2]] = methods[name].load()() if name in methods else own_object(name)
    mutations = {name: part.load()() for name, part in operators.items()}
    if estimate:
        return _tell_how_long(where, made, max(len(mutations), 1), seeds, generations)
    told = {"seeds": seeds, "generations": generations, "mutations": mutations, "workers": workers}
    _compare(where, made, out, told)


def _tell_how_long(where: Any, made: dict[str, Any], mutations: int, seeds: int, generations: int | None) -> None:
    from brns.comparison.estimate import hours
    from brns.comparison.run import worlds_of
    from brns.runs.bar import track

    first, methods = next(iter(made.values())), len(made) * mutations
    typer.echo(hours(worlds_of(where), first, methods, seeds, generations, track))


def _compare(where: Any, made: dict[str, Any], out: Path, settings: dict[str, Any]) -> None:
    from brns.comparison import page
    from brns.comparison.run import compare

    there = page.place(out)
    try:
        found = compare(where, made, out=out, **settings)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What is finished is in {out}: the same command goes on from there.")
        sys.stdout.flush()
        os._exit(130)  # The threads cannot be stopped otherwise, and have written nothing of what they compute.
    for line in found.verdicts:
        typer.echo(line)
    page.write(found, there)
    typer.echo(f"Page: {there}")
