"""Running an experiment: the loop over generations and seeds, on disk from the first to the last."""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple, SupportsIndex

import jax

from brns.checks import refuse_not_finite
from brns.core import Generation, founding
from brns.runs import compilation_cache, metadata
from brns.runs import seeds as side_by_side
from brns.runs.bar import Bar, screen
from brns.runs.paths import building, chosen, folders, holds_runs, locked, refuse_taken, temporary_place, whole
from brns.runs.progress import NEEDED, Progress, Row
from brns.runs.record import Record, records
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState

Exist = Literal["refuse", "resume"]
Step = tuple[SearchState, Generation]
SECONDS = 1.0  # of work that a killed process loses at most, beside the generation in progress
WRITERS = 16  # threads that save side by side: most of the time is waiting for a disk


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
    place = temporary_place() if out is None else Path(out)
    steps = start(
        search, generations, out=place, seed=seed, seeds=seeds, checkpoint_every=checkpoint_every, exist=exist
    )
    for _ in _followed(steps, until, progress, place if out is None else None):
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
    place = temporary_place() if out is None else Path(out)
    steps = start(
        search, generations, out=place, seed=seed, seeds=seeds, checkpoint_every=checkpoint_every, exist=exist
    )
    for saved in _followed(steps, until, progress, place if out is None else None):
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
    steps = go_on(path, generations, search=search)
    for _ in _followed(steps, until, progress):
        pass
    return records(path, search)


def _followed(
    steps: Generator[list[SavedGeneration], None, None],
    until: Callable[[SavedGeneration], bool] | None,
    progress: bool,
    temporary: Path | None = None,
) -> Iterator[list[SavedGeneration]]:
    """The generations, shown as they come, up to the first of which `until` is true in every seed."""
    console = screen()
    shown = progress and (console.is_terminal or console.is_jupyter)
    bar = Bar("generation", console, found="compiling") if shown else None
    with contextlib.closing(steps), bar or contextlib.nullcontext():
        for saved in steps:
            if progress and temporary:
                console.print(f"Kept in {temporary} until Python ends; give out= to keep it.", soft_wrap=True)
                temporary = None
            if bar is not None:
                bar.show([one.row for one in saved], saved[0].record.planned)
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
    exist: Exist = "refuse",
) -> Generator[list[SavedGeneration], None, None]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out.

    The founders are saved under a hidden name beside `out`, and appear in it at once: there is no run without them.
    """
    if exist not in ("refuse", "resume"):
        raise ValueError(f'exist must be "refuse" or "resume"; got {exist!r}')
    several, numbers = chosen(seed, seeds)
    generations, checkpoint_every = whole("generations", generations), whole("checkpoint_every", checkpoint_every)
    out = Path(out)
    places = folders(out, several, numbers)
    if exist == "resume" and holds_runs(out):
        _refuse_other(out, places, numbers, checkpoint_every)
        yield from go_on(out, generations, search=search)
        return
    refuse_taken(out)
    compilation_cache.keep()
    states = [search.init(jax.random.key(number)) for number in numbers]
    founders = _founded(states)
    with building(out) as aside, ThreadPoolExecutor(WRITERS) as writers:
        begun = []
        for path, number in zip(folders(aside, several, numbers), numbers, strict=True):
            made = metadata.new(search, number, numbers, generations, checkpoint_every)
            begun.append(Record.create(path, made))
        _save(search, writers, begun, founders, [None] * len(states), due=True)
    with locked(places):
        yield from _advance(search, [Record(path) for path in places], states, generations)


def _refuse_other(out: Path, places: Sequence[Path], seeds: Sequence[int], checkpoint_every: int) -> None:
    """A `RecordError` where the runs that are there are not those that were asked for."""
    runs = records(out)
    held, stride = [run.seed for run in runs], runs[0].checkpoint_every
    if held != seeds or stride != checkpoint_every or [run.path for run in runs] != places:
        raise RecordError(
            f"{out} holds seeds {held} with checkpoint_every={stride}; seeds {seeds} with "
            f"checkpoint_every={checkpoint_every} were asked for: ask for the same, or choose another place"
        )


def go_on(
    path: str | os.PathLike, generations: SupportsIndex | None = None, *, search: NoveltySearch | None = None
) -> Generator[list[SavedGeneration], None, None]:
    """`resume`, one generation of all seeds at a time."""
    runs = records(path, search)
    first = runs[0]
    if (held := [run.seed for run in runs]) != sorted(first.seeds):
        raise RecordError(
            f"{path} holds seeds {held}, and {first.path} was computed with seeds {first.seeds}; resume a whole batch, "
            "or a run that was started alone"
        )
    compilation_cache.keep()
    with locked([record.path for record in runs]):
        common = set.intersection(*({g for g in r.snapshots if g <= r.last} for r in runs))
        if not common:
            raise RecordError(f"{path} has no state to go on from: start anew")
        number = max(common)
        states = [record.state(number) for record in runs]
        generations = first.planned if generations is None else whole("generations", generations)
        for record in runs:
            record.tidy(number)
            record.plan(generations)
        yield from _advance(first.search, runs, states, generations)


def _advance(
    search: NoveltySearch, runs: list[Record], states: list[SearchState], generations: int
) -> Iterator[list[SavedGeneration]]:
    """Generation after generation, each checked and saved while the next is computed.

    A state is saved at every checkpoint, at least every second, and when the loop is left. The last one that is no
    checkpoint is removed only when the next is there: what a crash leaves is enough to go on.
    """
    keys = [jax.random.key(record.seed) for record in runs]
    kept, saved = int(states[0].generation), time.monotonic()
    progress = []
    for record in runs:
        done = (record.read(g, NEEDED) for g in range(kept + 1))
        progress.append(Progress(record.path, record.behavior_space, done))
    if kept == 0:
        yield _told(runs, progress, _founded(states))
    steps = side_by_side.generations(search, keys, states, generations - kept, runs[0].metadata.lanes)
    with contextlib.closing(steps), ThreadPoolExecutor(WRITERS) as writers:
        try:
            for number, after in enumerate(steps, kept + 1):
                now = time.monotonic()
                due = number % runs[0].checkpoint_every == 0 or number == generations or now > saved + SECONDS
                _save(search, writers, runs, after, states, due)
                states = [state for state, _ in after]
                if due:
                    for record in runs:
                        record.forget(kept)
                    kept, saved = number, now
                for one, (_, generation) in zip(progress, after, strict=True):
                    one.add(number, generation)
                yield _told(runs, progress, after)
        finally:
            if states[0].generation > kept:
                for record, state in zip(runs, states, strict=True):
                    record.checkpoint(search, state)
                    record.forget(kept)


def _save(
    search: NoveltySearch,
    writers: Executor,
    runs: list[Record],
    after: Sequence[Step],
    before: Sequence[SearchState | None],
    due: bool,
) -> None:
    """Check a generation of all seeds, and then save it, and its states where they are due."""
    number = int(after[0][0].generation)
    for (state, generation), old in zip(after, before, strict=True):
        refuse_not_finite(search, number, generation, state, old)
    begun = []
    for record, (state, generation) in zip(runs, after, strict=True):
        begun.append(writers.submit(record.append, number, generation))
        if due:
            begun.append(writers.submit(record.checkpoint, search, state))
    for written in begun:
        written.result()  # raises what a write raised


def _founded(states: Sequence[SearchState]) -> list[Step]:
    """Generation 0 of all seeds, with arrays on the host."""
    return [(state, founding(state.population)) for state in jax.device_get(states)]


def _told(runs: list[Record], progress: list[Progress], after: Sequence[Step]) -> list[SavedGeneration]:
    together = zip(runs, after, progress, strict=True)
    return [SavedGeneration(record, one.row.generation, facts, one.row) for record, (_, facts), one in together]
