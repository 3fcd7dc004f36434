"""Running an experiment: the loop over generations and seeds, on disk from the first to the last."""

import contextlib
import operator
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple, SupportsIndex

import jax

from brns.core import Generation
from brns.runs import compilation_cache
from brns.runs import seeds as side_by_side
from brns.runs.bar import Bar, screen
from brns.runs.finite import check
from brns.runs.locks import locked
from brns.runs.places import chosen, clear, folders, holds_runs, place, refuse_taken, unfinished
from brns.runs.progress import Progress, Row
from brns.runs.record import Record, records
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState, founding

Exist = Literal["refuse", "resume"]


class Saved(NamedTuple):
    """One seed's generation, on disk by now: what a progress display or a live statistic may look at."""

    record: Record
    """the run as far as it is"""
    number: int
    """of the generation; 0 are the founders"""
    generation: Generation
    """who was born and who survived"""
    row: Row
    """its line of progress.csv: coverage, solutions and novelty so far"""


def run(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike | None = None,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 0,
    keep_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    until: Callable[[Saved], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Run an experiment and return one record per seed.

    `out` is the run's directory; with several seeds it holds one directory per seed. Without it the run is kept in a
    temporary one, until Python ends. A directory holds one run or one batch: a second is a `RecordError`, or with
    `exist="resume"` the one that is there goes on, if it is the same experiment with the same seeds.

    A seed is a whole number from 0 to 2**32 - 1. Seeds of a traceable task are computed in a batch for each core
    (`jax.vmap`), those of a host task in turn, or with workers side by side. The same list of seeds gives the same bits
    on the same machine and versions; a seed within a batch equals the seed alone up to rounding, which chaos in a task
    can amplify. `keep_every` is the stride of the states kept for statistics (the last is always kept, so that `resume`
    can go on).

    `until` is asked about each generation that was saved, and ends the run when it is true of every seed; what can be
    done then is what can be done with any run that was stopped. A bar shows where the run is, at a terminal and in a
    notebook; `progress=False` shows none.
    """
    out = place(out, progress)
    steps, number, done = _steps_in(search, generations, out, seeds, keep_every, exist)
    for _ in _followed(steps, number, done, until, progress):
        pass
    return records(out, search)


def resume(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    *,
    search: NoveltySearch | None = None,
    until: Callable[[Saved], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Go on with a run, or the runs of a batch of seeds, to the same bits as if it had never stopped.

    `generations` is how many there shall be in all, by default as many as the run was started for.
    `search` is needed where the task or the estimator is your own: it must be the experiment that made the run.
    `until` and `progress` are those of `run`.
    """
    runs = records(path, search)
    planned = runs[0].planned if generations is None else whole("generations", generations)
    steps = go_on(path, planned, search=search)
    for _ in _followed(steps, planned, _done(runs), until, progress):
        pass
    return records(path, search)


def generations(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike | None = None,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 0,
    keep_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    until: Callable[[Saved], bool] | None = None,
    progress: bool = True,
) -> Iterator[Saved]:
    """`run` as a loop of your own: hands out each generation when it is saved, from the founders on.

    Of several seeds it hands out the generation of each in turn, in the order of the seeds. Leave the loop when you
    like, by `break` or with `until`: all that was handed out is on disk, and `resume` or `exist="resume"` goes on.
    """
    out = place(out, progress)
    steps, number, done = _steps_in(search, generations, out, seeds, keep_every, exist)
    for saved in _followed(steps, number, done, until, progress):
        yield from saved


def _steps_in(
    search: NoveltySearch,
    generations: SupportsIndex,
    out: Path,
    seeds: SupportsIndex | Iterable[SupportsIndex],
    keep_every: SupportsIndex,
    exist: Exist,
) -> tuple[Generator[list[Saved], None, None], int, int]:
    """The generations of a run that begins in a directory, or goes on there; how many they are, and how many done."""
    if exist not in ("refuse", "resume"):
        raise ValueError(f'exist must be "refuse" or "resume"; got {exist!r}')
    several, seeds = chosen(seeds)
    generations, keep_every = whole("generations", generations), whole("keep_every", keep_every)
    if exist == "refuse" or not holds_runs(out):
        refuse_taken(out, folders(out, several, seeds))
        steps = start(search, generations, out=out, seeds=seeds if several else seeds[0], keep_every=keep_every)
        return steps, generations, 0
    runs = records(out, search)
    held = [(run.path, run.seed, run.keep_every) for run in runs]
    if held != [(path, seed, keep_every) for path, seed in zip(folders(out, several, seeds), seeds, strict=True)]:
        raise RecordError(
            f"{out} holds a run of seeds {[run.seed for run in runs]} with keep_every={runs[0].keep_every}, and seeds "
            f"{seeds} with keep_every={keep_every} were asked for; ask for the same, or choose another place"
        )
    return go_on(out, generations, search=search), generations, _done(runs)


def _done(runs: Sequence[Record]) -> int:
    """How many generations all of them have finished."""
    return min(run.last for run in runs)


def _followed(
    steps: Generator[list[Saved], None, None],
    generations: int,
    done: int,
    until: Callable[[Saved], bool] | None,
    progress: bool,
) -> Iterator[list[Saved]]:
    """The generations, shown as they come, up to the first of which `until` is true in every seed."""
    console = screen()
    shown = progress and (console.is_terminal or console.is_jupyter)
    with contextlib.closing(steps), Bar(generations, done, console) if shown else contextlib.nullcontext() as bar:
        for saved in steps:
            if bar is not None:
                bar.show(saved)
            yield saved
            if until is not None:
                answers = [until(one) for one in saved]
                if all(answers):
                    return


def start(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 0,
    keep_every: SupportsIndex = 10,
) -> Generator[list[Saved], None, None]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out."""
    several, seeds = chosen(seeds)
    generations, keep_every = whole("generations", generations), whole("keep_every", keep_every)
    out = Path(out)
    paths = folders(out, several, seeds)
    refuse_taken(out, paths)
    compilation_cache.keep()
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


def go_on(
    path: str | os.PathLike, generations: SupportsIndex | None = None, *, search: NoveltySearch | None = None
) -> Generator[list[Saved], None, None]:
    """`resume`, one generation of all seeds at a time."""
    runs = records(path, search)
    search = search or runs[0].search
    if len(runs) > 1 and all(r.seeds == [r.seed] for r in runs):
        raise RecordError(
            f"{path} holds {len(runs)} runs that were started one by one; resume each of them, such as {runs[0].path}"
        )
    if [r.seed for r in runs] != sorted(runs[0].seeds):
        raise RecordError(
            f"{path} holds seeds {[r.seed for r in runs]} of a batch of {runs[0].seeds}, which was computed together; "
            "resume the directory that holds them all, or start anew where it was stopped before its founders"
        )
    compilation_cache.keep()
    with locked([record.path for record in runs]):
        common = set.intersection(*(set(r.snapshots) & set(range(r.last + 1)) for r in runs))
        if not common:
            raise RecordError(f"{path} has no state to go on from: its files in states/ were removed; start anew")
        states = [record.state(max(common), search) for record in runs]
        generations = runs[0].planned if generations is None else whole("generations", generations)
        for record in runs:
            record.tidy(max(common))
            record.plan(generations)
        progress = [Progress(record, search.task.behavior_space) for record in runs]
        for one in progress:
            one.restore(max(common))
        yield from _advance(search, progress, states, generations)


def whole(name: str, value: Any, least: int = 1) -> int:
    """A number of generations as an integer; a `ValueError` where it is none from `least` on."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number from {least} on; got {value!r}")
    return number


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
