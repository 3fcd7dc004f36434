"""A comparison at a terminal: its verdicts and its page, or what is left of it after Ctrl-C."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from brns.comparison import page
from brns.comparison.run import compare
from brns.core import Mutation, NoveltyEstimator


def to_its_page(
    wanted: Any,
    estimators: Mapping[str, NoveltyEstimator],
    seeds: int,
    generations: int | None,
    out: Path,
    mutations: Mapping[str, Mutation],
    workers: int | None,
) -> None:
    """Compare, print the verdicts and write the page."""
    there = page.place(out)
    told = {"seeds": seeds, "generations": generations, "mutations": mutations or None, "workers": workers}
    try:
        found = compare(wanted, estimators, out=out, **told)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What is finished is in {out}: the same command goes on from there.")
        sys.stdout.flush()
        os._exit(130)  # what threads compute cannot be stopped otherwise, and is nowhere written
    for line in found.verdicts:
        typer.echo(line)
    page.write(found, there)
    typer.echo(f"Page: {there}")
