"""Runs that are made, or gone on with, until they have the generations that a scale asks for."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from brns.reproduce.plan import Runs
from brns.runs.loop import Saved, go_on, start
from brns.runs.places import holds_runs
from brns.runs.record import Record, records
from brns.search import NoveltySearch

Follow = Callable[[Iterable[list[Saved]], str, int, int], Iterable[list[Saved]]]
"""looks at the generations as they pass: `follow(steps, title, total, done)` hands on what `steps` gives"""


def unseen(steps: Iterable[list[Saved]], title: str, total: int, done: int) -> Iterable[list[Saved]]:
    """The `Follow` that shows nothing."""
    return steps


def run(search: NoveltySearch, plan: Runs, out: Path, title: str, follow: Follow = unseen) -> list[Record]:
    """One record per seed, as long as planned; goes on where an earlier call was stopped.

    Nothing that was computed is ever removed. `ValueError` where the folder holds runs of other seeds, of another
    stride of states, or that were planned to be longer; `RecordError` where they are of another experiment.
    """
    if holds_runs(out):
        begun = records(out)
        check_same(begun, plan, out)
        steps, done = go_on(out, plan.generations, search=search), min(record.snapshots[-1] for record in begun)
    else:
        steps, done = _start(search, plan, out), 0
    for _ in follow(steps, title, plan.generations, done):
        pass
    return records(out)


def check_same(begun: list[Record], plan: Runs, out: Path) -> None:
    """The runs in the folder are those of the plan, or its beginning."""
    first = begun[0]
    held = Runs(len(first.seeds), max(record.planned for record in begun), first.facts["keep_every"])
    if (held.seeds, held.keep_every) != (plan.seeds, plan.keep_every) or held.generations > plan.generations:
        raise ValueError(
            f"{out} holds runs of {_words(held)}, and asked for are {_words(plan)}: what was computed is never "
            "removed, so take another folder (--out), or remove this one yourself"
        )


def _words(plan: Runs) -> str:
    seeds = f"{plan.seeds} seed{'s' if plan.seeds > 1 else ''}"
    return f"{seeds} and {plan.generations} generations, a state kept every {plan.keep_every}"


def _start(search: NoveltySearch, plan: Runs, out: Path) -> Iterator[list[Saved]]:
    return start(search, plan.generations, out=out, seeds=range(plan.seeds), keep_every=plan.keep_every)
