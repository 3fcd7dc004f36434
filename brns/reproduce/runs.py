"""Runs that are made, or gone on with, until they have the generations that a scale asks for."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from brns.reproduce.plan import Runs
from brns.runs.loop import Saved, go_on, start
from brns.runs.record import Record, records
from brns.search import NoveltySearch

Follow = Callable[[Iterable[list[Saved]], str, int, int], Iterable[list[Saved]]]
"""looks at the generations as they pass: `follow(steps, title, total, done)` hands on what `steps` gives"""


def unseen(steps: Iterable[list[Saved]], title: str, total: int, done: int) -> Iterable[list[Saved]]:
    """The `Follow` that shows nothing."""
    return steps


def run(search: NoveltySearch, plan: Runs, out: Path, title: str, follow: Follow = unseen) -> list[Record]:
    """One record per seed, at least as long as planned; goes on where an earlier call was stopped."""
    begun = records(out) if out.exists() and any(out.rglob("run.json")) else []
    if len(begun) == plan.seeds and all(record.snapshots for record in begun):
        steps, done = go_on(out, plan.generations, search=search), min(record.snapshots[-1] for record in begun)
    else:  # stopped before the founders of all seeds were saved, or never begun
        shutil.rmtree(out, ignore_errors=True)
        steps, done = _start(search, plan, out), 0
    for _ in follow(steps, title, plan.generations, done):
        pass
    return records(out)


def _start(search: NoveltySearch, plan: Runs, out: Path) -> Iterator[list[Saved]]:
    return start(search, plan.generations, out=out, seeds=range(plan.seeds), keep_every=plan.keep_every)
