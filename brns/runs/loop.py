"""Running an experiment: the loop over generations and seeds, on disk from the first to the last."""

import contextlib
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, SupportsIndex

import jax

from brns.core import Generation
from brns.runs import seeds as side_by_side
from brns.runs.finite import check
from brns.runs.locks import locked
from brns.runs.places import clear, refuse_taken, unfinished
from brns.runs.progress import Progress, Row
from brns.runs.record import Record, records
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState, founding


class Saved(NamedTuple):
    """One seed's generation, on disk by now: what a progress display or a live statistic may look at."""

    record: Record
    number: int
    generation: Generation
    row: Row
    """its line of progress.csv"""


def run(
    search: NoveltySearch,
    generations: int,
    *,
    out: str | os.PathLike,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 0,
    keep_every: int = 10,
) -> list[Record]:
    """Run an experiment and return one record per seed.

    `out` is the run's directory; with several seeds it holds one directory per seed. A directory holds one run or one
    batch; a second is a `RecordError`. A seed is a whole number from 0 to 2**32 - 1. Seeds of a traceable task are
    computed in a batch for each core (`jax.vmap`), those of a host task in turn, or with workers side by side. The
    same list of seeds gives the same bits on the same machine and versions; a seed within a batch equals the seed
    alone up to rounding, which chaos in a task can amplify. `keep_every` is the stride of the states kept for
    statistics (the last is always kept, so that `resume` can go on).
    """
    for _ in start(search, generations, out=out, seeds=seeds, keep_every=keep_every):
        pass
    return records(out, search)


def resume(
    path: str | os.PathLike, generations: int | None = None, *, search: NoveltySearch | None = None
) -> list[Record]:
    """Go on with a run, or the runs of a batch of seeds, to the same bits as if it had never stopped.

    `generations` is how many there shall be in all, by default as many as the run was started for.
    `search` is needed where the task or the estimator is your own: it must be the experiment that made the run.
    """
    for _ in go_on(path, generations, search=search):
        pass
    return records(path, search)


def start(
    search: NoveltySearch,
    generations: int,
    *,
    out: str | os.PathLike,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 0,
    keep_every: int = 10,
) -> Iterator[list[Saved]]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out."""
    several, seeds = _seeds(seeds)
    if generations < 1 or keep_every < 1:
        raise ValueError(f"a run needs at least 1 generation and keep_every >= 1; got {generations} and {keep_every}")
    out = Path(out)
    paths = [out / f"seed{seed:04d}" for seed in seeds] if several else [out]
    refuse_taken(out, paths)
    states = [search.init(jax.random.key(seed)) for seed in seeds]
    for state in states:
        check(search, 0, founding(state), state)
    with contextlib.ExitStack() as locks:
        locks.enter_context(locked([out]))
        refuse_taken(out, paths)  # now that nobody else can begin there
        clear(unfinished(out))
        if several:
            locks.enter_context(locked(paths))
        runs = [
            Record.create(path, search, seed, seeds, generations, keep_every, state)
            for path, seed, state in zip(paths, seeds, states, strict=True)
        ]
        progress = [Progress(record, search.task.behavior_space) for record in runs]
        yield _told(progress, 0, [founding(jax.device_get(state)) for state in states])
        yield from _advance(search, progress, states, generations)


def _seeds(seeds: SupportsIndex | Iterable[SupportsIndex]) -> tuple[bool, list[int]]:
    """Whether they are a batch, and the seeds in order; a `ValueError` where they are no seeds."""
    try:
        several, found = False, [operator.index(seeds)]  # ty: ignore[invalid-argument-type]
    except TypeError:
        several, found = True, list(seeds) if isinstance(seeds, Iterable) else [seeds]
    try:
        found = sorted(map(operator.index, found))
    except TypeError:
        raise ValueError(f"a seed is a whole number from 0 to 2**32 - 1; got {found[:5]}") from None
    if not found or len(set(found)) < len(found) or found[0] < 0:
        raise ValueError(f"a run needs one or more different seeds from 0 on; got {found}")
    if found[-1] >= 2**32:  # JAX's keys take 32 bits of a seed, so that 2**32 would be 0 again
        raise ValueError(f"a seed is at most 2**32 - 1; got {found[-1]}")
    return several, found


def go_on(
    path: str | os.PathLike, generations: int | None = None, *, search: NoveltySearch | None = None
) -> Iterator[list[Saved]]:
    """`resume`, one generation of all seeds at a time."""
    runs = records(path, search)
    search = search or runs[0].search
    if [r.seed for r in runs] != sorted(runs[0].seeds):
        raise RecordError(
            f"{path} holds seeds {[r.seed for r in runs]} of a batch of {runs[0].seeds}, which was computed together; "
            "resume the directory that holds them all, or start anew where it was stopped before its founders"
        )
    with locked([record.path for record in runs]):
        common = set.intersection(*(set(r.snapshots) & set(r.generations[: r.last + 1]) for r in runs))
        if not common:
            raise RecordError(f"{path} has no state to go on from: its files in states/ were removed; start anew")
        states = [record.state(max(common), search) for record in runs]
        generations = generations or runs[0].planned
        for record in runs:
            record.tidy(max(common))
            record.plan(generations)
        progress = [Progress(record, search.task.behavior_space) for record in runs]
        for one in progress:
            one.restore(max(common))
        yield from _advance(search, progress, states, generations)


def _advance(
    search: NoveltySearch, progress: list[Progress], states: list[SearchState], generations: int
) -> Iterator[list[Saved]]:
    """Generation after generation, each checked and saved while the next is computed."""
    keys = [jax.random.key(one.record.seed) for one in progress]
    first = int(states[0].generation) + 1
    steps = side_by_side.generations(search, keys, states, generations + 1 - first, progress[0].record.lanes)
    with contextlib.closing(steps), ThreadPoolExecutor(min(2 * len(progress), 16)) as writers:
        for number, after in enumerate(steps, first):
            for before, (state, generation) in zip(states, after, strict=True):
                check(search, number, generation, state, before)
            states = [state for state, _ in after]
            yield _save(writers, progress, number, after)


def _save(
    writers: Executor, progress: list[Progress], number: int, after: Sequence[tuple[SearchState, Generation]]
) -> list[Saved]:
    """Facts and states, and only then drop what the stride does not keep: a crash between leaves enough to go on.

    All files are written side by side, since most of the time goes by until the disk has confirmed each.
    """
    begun = []
    for one, (state, generation) in zip(progress, after, strict=True):
        begun += [writers.submit(one.record.append, number, generation), writers.submit(one.record.checkpoint, state)]
    for written in begun:
        written.result()  # raises what a write raised
    for one in progress:
        one.record.forget(number - 1)
    return _told(progress, number, [generation for _, generation in after])


def _told(progress: list[Progress], number: int, generations: Sequence[Generation]) -> list[Saved]:
    return [
        Saved(one.record, number, generation, one.add(number, generation))
        for one, generation in zip(progress, generations, strict=True)
    ]
