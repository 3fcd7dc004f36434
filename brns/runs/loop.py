"""Running an experiment: the loop over generations and seeds, on disk from the first to the last."""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple, SupportsIndex

import jax

from brns.core import Generation
from brns.runs import compilation_cache
from brns.runs import facts as run_json
from brns.runs import seeds as side_by_side
from brns.runs.bar import Bar, screen
from brns.runs.places import building, chosen, folders, holds_runs, locked, refuse_taken, temporary_place, whole
from brns.runs.progress import NEEDED, Progress, Row
from brns.runs.record import Record, records
from brns.runs.seeds import refuse_not_finite
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState, founding

Exist = Literal["refuse", "resume"]
SECONDS = 1.0  # of work that a killed process loses at most, beside the generation in progress


class SavedGeneration(NamedTuple):
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
    seed: SupportsIndex = 0,
    seeds: SupportsIndex | Iterable[SupportsIndex] | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Run an experiment and return one record per seed.

    `seed` is one seed, a whole number from 0 to 2**32 - 1. `seeds` asks for a batch: so many from `seed` on, or those
    of a list. `seeds=20` means the same in `brns.compare` and as `--seeds 20`.

    `out` is the run's directory; of a batch it holds one directory per seed. Without it the run is kept in a temporary
    one, until Python ends. A directory holds one run or one batch: a second is a `RecordError`, or with
    `exist="resume"` the one that is there goes on, if it is the same experiment with the same seeds.

    Seeds of a traceable task are computed in a batch for each core (`jax.vmap`), those of a host task in turn, or with
    workers side by side. The same list of seeds gives the same bits on the same kind of machine and versions, resumed
    on any number of cores; a seed within a batch equals the seed alone up to rounding, which chaos in a task can
    amplify. `checkpoint_every` is the stride of the states kept for statistics; the last is always kept.

    `until` is asked about each generation that was saved, and ends the run when it is true of every seed. A bar shows
    where the run is, at a terminal and in a notebook; `progress=False` shows none.
    """
    steps, place, number, done = _begun(search, generations, out, seed, seeds, checkpoint_every, exist, progress)
    for _ in _followed(steps, number, done, until, progress):
        pass
    return records(place, search)


def generations(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike | None = None,
    seed: SupportsIndex = 0,
    seeds: SupportsIndex | Iterable[SupportsIndex] | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> Iterator[SavedGeneration]:
    """`run` as a loop of your own: hands out each generation when it is saved, from the founders on.

    Of several seeds it hands out the generation of each in turn, in the order of the seeds. Leave the loop when you
    like, by `break` or with `until`: all that was handed out is on disk, and `resume` or `exist="resume"` goes on.
    """
    steps, _, number, done = _begun(search, generations, out, seed, seeds, checkpoint_every, exist, progress)
    for saved in _followed(steps, number, done, until, progress):
        yield from saved


def resume(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    *,
    search: NoveltySearch | None = None,
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Go on with a run, or the runs of a batch of seeds, to the same bits as if it had never stopped.

    `generations` is how many there shall be in all, by default as many as the run was started for. `search`, the
    experiment that made the run, is needed where a part of it is your own. `until` and `progress` are those of `run`.
    """
    runs = records(path, search)
    planned = runs[0].planned if generations is None else whole("generations", generations)
    steps = go_on(path, planned, search=search)
    for _ in _followed(steps, planned, _done(runs), until, progress):
        pass
    return records(path, search)


def _place(out: str | os.PathLike | None, progress: bool) -> Path:
    if out is not None:
        return Path(out)
    folder = temporary_place()
    if progress:
        screen().print(f"Kept in {folder} until Python ends; give out= to keep it.", soft_wrap=True)
    return folder


def _begun(
    search: NoveltySearch,
    generations: SupportsIndex,
    out: str | os.PathLike | None,
    seed: SupportsIndex,
    seeds: SupportsIndex | Iterable[SupportsIndex] | None,
    checkpoint_every: SupportsIndex,
    exist: Exist,
    progress: bool,
) -> tuple[Generator[list[SavedGeneration], None, None], Path, int, int]:
    """The generations of a run that begins in a directory, or goes on there; the directory; how many, and done."""
    if exist not in ("refuse", "resume"):
        raise ValueError(f'exist must be "refuse" or "resume"; got {exist!r}')
    several, numbers = chosen(seed, seeds)
    generations, checkpoint_every = whole("generations", generations), whole("checkpoint_every", checkpoint_every)
    out = _place(out, progress)
    if exist == "refuse" or not holds_runs(out):
        refuse_taken(out)
        seed, seeds = (0, numbers) if several else (numbers[0], None)
        steps = start(search, generations, out=out, seed=seed, seeds=seeds, checkpoint_every=checkpoint_every)
        return steps, out, generations, 0
    runs = records(out, search)
    held, wanted = [run.seed for run in runs], folders(out, several, numbers)
    stride = runs[0].checkpoint_every
    if held != numbers or stride != checkpoint_every or [run.path for run in runs] != wanted:
        raise RecordError(
            f"{out} holds seeds {held} with checkpoint_every={stride}; seeds {numbers} with "
            f"checkpoint_every={checkpoint_every} were asked for: ask for the same, or choose another place"
        )
    return go_on(out, generations, search=search), out, generations, _done(runs)


def _done(runs: Sequence[Record]) -> int:
    """How many generations all of them have finished."""
    return min(run.last for run in runs)


def _followed(
    steps: Generator[list[SavedGeneration], None, None],
    generations: int,
    done: int,
    until: Callable[[SavedGeneration], bool] | None,
    progress: bool,
) -> Iterator[list[SavedGeneration]]:
    """The generations, shown as they come, up to the first of which `until` is true in every seed."""
    console = screen()
    shown = progress and (console.is_terminal or console.is_jupyter)
    with contextlib.closing(steps), Bar(generations, done, console) if shown else contextlib.nullcontext() as bar:
        for saved in steps:
            if bar is not None:
                bar.show([one.row for one in saved])
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
    seed: SupportsIndex = 0,
    seeds: SupportsIndex | Iterable[SupportsIndex] | None = None,
    checkpoint_every: SupportsIndex = 10,
) -> Generator[list[SavedGeneration], None, None]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out.

    The founders are saved under a hidden name beside `out`, and appear in it at once: there is no run without them.
    """
    several, numbers = chosen(seed, seeds)
    generations, checkpoint_every = whole("generations", generations), whole("checkpoint_every", checkpoint_every)
    out = Path(out)
    refuse_taken(out)
    compilation_cache.keep()
    states = [search.init(jax.random.key(number)) for number in numbers]
    for state in states:
        refuse_not_finite(search, 0, founding(state), state)
    founders = [founding(jax.device_get(state)) for state in states]
    with building(out) as aside:
        places = folders(aside, several, numbers)
        for path, number, state, one in zip(places, numbers, states, founders, strict=True):
            record = Record.create(path, run_json.new(search, number, numbers, generations, checkpoint_every))
            record.append(0, one)
            record.checkpoint(state)
    with locked(folders(out, several, numbers)):
        runs = [Record(path, search) for path in folders(out, several, numbers)]
        progress = [Progress(record.path, record.behavior_space) for record in runs]
        yield _told(runs, progress, 0, founders)
        yield from _advance(search, runs, progress, states, generations)


def go_on(
    path: str | os.PathLike, generations: SupportsIndex | None = None, *, search: NoveltySearch | None = None
) -> Generator[list[SavedGeneration], None, None]:
    """`resume`, one generation of all seeds at a time."""
    runs = records(path, search)
    search = search or runs[0].search
    if [r.seed for r in runs] != sorted(runs[0].seeds):
        raise RecordError(
            f"{path} holds seeds {[r.seed for r in runs]}, and {runs[0].path} was computed with seeds {runs[0].seeds}; "
            "resume a whole batch, or a run that was started alone"
        )
    compilation_cache.keep()
    with locked([record.path for record in runs]):
        common = set.intersection(*(set(r.snapshots) & set(range(r.last + 1)) for r in runs))
        if not common:
            raise RecordError(f"{path} has no state to go on from: start anew")
        number = max(common)
        states = [record.state(number, search) for record in runs]
        generations = runs[0].planned if generations is None else whole("generations", generations)
        progress = [Progress(record.path, record.behavior_space) for record in runs]
        for record, one in zip(runs, progress, strict=True):
            record.tidy(number)
            one.restore([record.read(g, NEEDED) for g in range(number + 1)])
            record.plan(generations)
        yield from _advance(search, runs, progress, states, generations)


def _advance(
    search: NoveltySearch, runs: list[Record], progress: list[Progress], states: list[SearchState], generations: int
) -> Iterator[list[SavedGeneration]]:
    """Generation after generation, each checked and saved while the next is computed.

    A state is saved at every checkpoint, at least every second, and when the loop is left. The last one that is no
    checkpoint is removed only when the next is there: what a crash leaves is enough to go on.
    """
    keys = [jax.random.key(record.seed) for record in runs]
    kept, saved = int(states[0].generation), time.monotonic()
    steps = side_by_side.generations(search, keys, states, generations - kept, runs[0].lanes)
    with contextlib.closing(steps), ThreadPoolExecutor(min(2 * len(runs), 16)) as writers:
        try:
            for number, after in enumerate(steps, kept + 1):
                for before, (state, generation) in zip(states, after, strict=True):
                    refuse_not_finite(search, number, generation, state, before)
                now = time.monotonic()
                due = number % runs[0].checkpoint_every == 0 or number == generations or now > saved + SECONDS
                _save(writers, runs, number, after, due)
                states = [state for state, _ in after]
                if due:
                    for record in runs:
                        record.forget(kept)
                    kept, saved = number, now
                yield _told(runs, progress, number, [generation for _, generation in after])
        finally:
            if states[0].generation > kept:
                for record, state in zip(runs, states, strict=True):
                    record.checkpoint(state)
                    record.forget(kept)


def _save(
    writers: Executor, runs: list[Record], number: int, after: Sequence[tuple[SearchState, Generation]], due: bool
) -> None:
    """Save the generation, and its states where they are due, side by side: most of the time is waiting for a disk."""
    begun = []
    for record, (state, generation) in zip(runs, after, strict=True):
        begun.append(writers.submit(record.append, number, generation))
        if due:
            begun.append(writers.submit(record.checkpoint, state))
    for written in begun:
        written.result()  # raises what a write raised


def _told(
    runs: list[Record], progress: list[Progress], number: int, generations: Sequence[Generation]
) -> list[SavedGeneration]:
    return [
        SavedGeneration(record, number, generation, one.add(number, generation))
        for record, one, generation in zip(runs, progress, generations, strict=True)
    ]
