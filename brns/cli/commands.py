"""The table of commands, and those that run searches: `brns run`, `resume` and `fork`.

JAX is imported within a command, once its names and places are known to be right.
"""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from brns.cli import options as o
from brns.cli.compare import compare
from brns.cli.inspect import figure, list_, movie, report, runs, show
from brns.cli.modules import enable_import_and_check_module
from brns.settings.parts import RECOMMENDED, SettingsError, find_part

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its help takes three times as long
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Novelty search without an archive (BR-NS), its archive-based baselines, and their "
    "measures.",
    epilog="Begin with: brns run maze. See what can be set with: brns list.",
)


def _version(show_version: bool) -> None:
    if show_version:
        from brns import __version__

        typer.echo(f"brns {__version__}")
        raise typer.Exit


@app.callback()
def brns(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="show the version and exit"
        ),
    ] = False,
) -> None:
    """Options before a command."""


@app.command()
def run(
    experiment: o.Experiment,
    estimator: o.Estimator = None,
    seed: Annotated[int, typer.Option(min=0, help="the seed, or the first of several")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds, computed side by side")] = 1,
    generations: Annotated[int, typer.Option(min=1, help="how many generations")] = 400,
    out: o.OutDir = None,
    checkpoint_every: o.CheckpointEvery = 10,
    genotypes: o.Genotypes = "survivors",
    until: o.Until = None,
    set_: o.Changes = None,
    workers: o.Workers = None,
    timeout: o.Timeout = None,
    failures: o.Failures = None,
    worker_log: o.Log = None,
) -> None:
    """Run an experiment, and end with its numbers and a picture.

    Ctrl-C stops it; brns resume continues bit-identical from the last finished generation.
    """
    searches, changes = [], set_ or []
    if ":" in experiment:
        searches = [experiment]
        enable_import_and_check_module(experiment)
    else:
        estimator = estimator or RECOMMENDED
        find_part("an experiment that is not module:object", experiment, "task")
        find_part("--estimator", estimator, "estimator", "preset")
    from brns.cli.conclusion import print_conclusion_and_draw
    from brns.cli.user_code import (
        add_resume_command_to_errors,
        make_default_out,
        make_search_from,
        open_workers,
    )
    from brns.metrics.saturation import saturated
    from brns.runs import loop
    from brns.runs.paths import check_not_taken

    out = out or make_default_out(experiment, estimator, changes, seed, seeds)
    check_not_taken(out)
    search = make_search_from(experiment, estimator, changes)
    with open_workers(search, workers, timeout, failures, worker_log) as search:
        with add_resume_command_to_errors(out, searches):
            done = loop.run(
                search,
                generations,
                out=out,
                seed=seed,
                seeds=seeds if seeds > 1 else None,
                checkpoint_every=checkpoint_every,
                genotypes=genotypes,
                name=estimator,
                until=saturated if until else None,
            )
        print_conclusion_and_draw(out, done, redraw=True)


@app.command()
def resume(
    directory: o.Directory,
    generations: o.Total = None,
    until: o.Until = None,
    workers: o.Workers = None,
    timeout: o.Timeout = None,
    failures: o.Failures = None,
    worker_log: o.Log = None,
    search: o.Search = None,
    accept_edits: o.Edited = False,
) -> None:
    """Resume a run that was stopped, or make it longer.

    The result is bit-identical to a run that was never stopped.
    """
    from brns.cli.conclusion import print_conclusion_and_draw
    from brns.cli.user_code import add_resume_command_to_errors, load_records, open_workers
    from brns.metrics.saturation import saturated
    from brns.runs import loop
    from brns.tasks.chunked import has_chunks

    done = load_records([directory], search)
    total = generations or done[0].planned_generations
    completed = min(record.last_generation for record in done)
    if completed >= total:
        text = f"{directory} has {completed} generations already; --generations makes it longer."
        typer.echo(text)
        return print_conclusion_and_draw(directory, done)
    experiment = done[0].search
    if workers and not has_chunks(experiment.task):
        raise SettingsError(f"{directory} was started without workers; go on without")
    with open_workers(experiment, workers, timeout, failures, worker_log) as experiment:
        with add_resume_command_to_errors(directory, search or ()):
            done = loop.resume(
                directory,
                generations,
                search=experiment,
                accept_edits=accept_edits,
                until=saturated if until else None,
            )
        print_conclusion_and_draw(directory, done, redraw=True)


@app.command(name="fork")
def fork_(
    directory: Annotated[Path, typer.Argument(help="a run's directory")],
    at: Annotated[int, typer.Option(min=0, help="a generation whose state is kept")],
    out: Annotated[Path, typer.Option(help="directory of the fork")],
    set_: o.Changes = None,
    generations: o.Total = None,
    workers: o.Workers = None,
    timeout: o.Timeout = None,
    failures: o.Failures = None,
    worker_log: o.Log = None,
    search: o.Search = None,
) -> None:
    """Continue from one of a run's generations with other settings.

    The fork has a directory of its own; the run stays as it is. Of several seeds it is the first.
    """
    from brns.cli.user_code import load_first_record
    from brns.experiments.overrides import apply_overrides
    from brns.runs.fork import fork
    from brns.tasks.chunked import Chunked, has_chunks, unwrap_task

    record = load_first_record(directory, search)
    other = apply_overrides(record.search, set_ or [])
    if workers and not has_chunks(other.task):
        other = dataclasses.replace(other, task=Chunked(unwrap_task(other.task)))
    fork(record, at, other, out=out, generations=generations)
    resume(
        out,
        workers=workers,
        timeout=timeout,
        failures=failures,
        worker_log=worker_log,
        search=search,
    )


for command in (runs, show, figure, report, movie, compare):
    app.command()(command)
app.command(name="list")(list_)
