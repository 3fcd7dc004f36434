"""Running an experiment, on disk from the first generation to the last; going on with it; and with other settings."""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple, SupportsIndex, get_args

import equinox as eqx
import jax

from brns.core import Generation, founding
from brns.runs import compilation_cache, metadata, storage
from brns.runs import seeds as side_by_side
from brns.runs.metadata import Forked
from brns.runs.paths import (
    Seeds,
    building,
    chosen,
    folders,
    holds_runs,
    locked,
    refuse_taken,
    temporary_place,
    whole,
)
from brns.runs.progress import Progress, Row, follow
from brns.runs.record import Record, records
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState
from brns.settings import changes, describe, shown

Exist = Literal["refuse", "resume"]
SECONDS = (
    1.0  # of work that a resumed run computes again at most, beside the generation in progress
)
WRITERS = 16  # threads that save states side by side: most of the time is waiting for a disk
SHARED = ("population_size", "offspring_size", "founders")
"""settings that a fork cannot change: individuals are numbered by the sizes, and the founders lived long ago"""


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
    seeds: Seeds | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Run an experiment and return a list with one record per seed.

    `seed` is one seed, from 0 to 2**32 - 1; `seeds` a batch: so many from `seed` on, or a list. The same list gives the
    same bits on the same kind of machine and versions, resumed on any number of cores; a seed within a batch equals the
    seed alone up to rounding, which chaos in a task can amplify.

    `out` is the run's directory, of a batch with a directory for each seed; without it they are kept until Python ends.
    A directory holds one run or one batch: a second is a `RecordError`, or with `exist="resume"` the one that is there
    continues, if it is the same experiment with the same seeds. `checkpoint_every` is the stride of the states kept for
    statistics; the last is always kept. `until` is asked about each generation that was saved, and ends the run when it
    is true of every seed. `progress=False` shows no bar.
    """
    place = temporary_place() if out is None else Path(out)
    steps = start(search, generations, place, seed, seeds, checkpoint_every, exist)
    for _ in follow(steps, until, progress, place if out is None else None):
        pass
    return records(place, search)


def generations(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike | None = None,
    seed: SupportsIndex = 0,
    seeds: Seeds | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    progress: bool = True,
) -> Iterator[SavedGeneration]:
    """`run` as a loop of your own: hands out each generation when it is saved, from the founders on.

    Of several seeds it hands out each one's in turn. Leave the loop when you like: all that was handed out is on disk,
    and `resume` or `exist="resume"` goes on.
    """
    place = temporary_place() if out is None else Path(out)
    steps = start(search, generations, place, seed, seeds, checkpoint_every, exist)
    for saved in follow(steps, None, progress, place if out is None else None):
        yield from saved


def resume(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    *,
    search: NoveltySearch | None = None,
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Continue a run, or the runs of a batch of seeds, to the same bits as if they had never stopped.

    `generations` is how many there shall be in all, by default as many as the run was started for. `search`, the
    experiment that made the run, is needed where a part of it is your own. `until` and `progress` are those of `run`.
    """
    for _ in follow(go_on(path, generations, search), until, progress):
        pass
    return records(path, search)


def fork(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
) -> Record:
    """A run that goes on from generation `at` of another, with other settings; `brns.resume(out)` continues it.

    It is a run of its own: generations 0 to `at` are copied, so that figures and coverage see one search from its
    founders on; of the states only the one that it goes on from. Its `run.json` says where it comes from.

    `search` is the experiment to go on with, by default the run's own, which ends in the same bits as the run itself.
    `generations` is how many there shall be in all, by default as many as the run was asked for. One seed of a batch is
    forked alone, and equals the batch's up to rounding.

    Errors: `RecordError` where the generation has no state, where the search's state has another shape, or where `out`
    is taken; `ValueError` where the settings change the space of behaviors, the length of genotypes, the sizes of
    population and offspring or the founders. Then nothing is made.
    """
    source = run if isinstance(run, Record) else Record(run)
    out, at = Path(out), whole("at", at, 0)
    search = search or source.search
    total = whole("generations", source.planned if generations is None else generations, at + 1)
    before, after = source.experiment, describe(search)
    for name in SHARED:
        if before[name] != after[name]:
            raise ValueError(
                f"a fork cannot change {name}: {run} has {before[name]!r}; got {after[name]!r}"
            )
    if not eqx.tree_equal(source.behavior_space, search.task.behavior_space):
        raise ValueError(
            f"a fork cannot change the space of behaviors: {run} has {source.behavior_space}"
        )
    state = source.state(at, search)
    genes, known = search.task.genotype_space.dimension, state.population.genotype.shape[1]
    if genes != known:
        raise ValueError(
            f"a fork cannot change the length of genotypes: {run} has {known}; got {genes}"
        )
    made = metadata.new(search, source.seed, [source.seed], total, source.checkpoint_every)
    changed = changes(before, after)
    made.forked = Forked(path=os.fspath(run), id=source.metadata.id, generation=at, changed=changed)
    refuse_taken(out)
    with building(out) as aside:
        metadata.create(aside, made)
        copy = Record(aside)
        for number in range(at + 1):
            copy.write("generations", number, source.arrays("generations", number))
            if number in storage.numbers_in(source.path / "failed"):
                copy.write("failed", number, source.arrays("failed", number))
        copy.checkpoint(search, state, before=-1)
    return Record(out, search)


def start(
    search: NoveltySearch,
    generations: SupportsIndex,
    out: str | os.PathLike,
    seed: SupportsIndex = 0,
    seeds: Seeds | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
) -> Generator[list[SavedGeneration], None, None]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out.

    The founders are saved under a hidden name beside `out`, and appear in it at once: there is no run without them.
    """
    if not isinstance(search, NoveltySearch):
        raise ValueError(
            f"a run needs a search, as in brns.NoveltySearch(task); got {shown(search)}"
        )
    if exist not in get_args(Exist):
        raise ValueError(f"exist must be {' or '.join(get_args(Exist))}; got {exist!r}")
    several, numbers = chosen(seed, seeds)
    generations, stride = (
        whole("generations", generations),
        whole("checkpoint_every", checkpoint_every),
    )
    out = Path(out)
    places = folders(out, several, numbers)
    if exist == "resume" and holds_runs(out):
        runs = records(out)
        held, had = [run.seed for run in runs], runs[0].checkpoint_every
        if held != numbers or had != stride or [run.path for run in runs] != places:
            raise RecordError(
                f"{out} holds seeds {held} with checkpoint_every={had}; seeds {numbers} with checkpoint_every={stride} "
                "were asked for; choose another place"
            )
        yield from go_on(out, generations, search)
        return
    refuse_taken(out)
    compilation_cache.keep()
    begun = side_by_side.on_host([search.begin(jax.random.key(number)) for number in numbers])
    states = [state for state, _ in begun]
    with building(out) as aside, ThreadPoolExecutor(WRITERS) as writers:
        saving = []
        for path, number, (state, lost) in zip(
            folders(aside, several, numbers), numbers, begun, strict=True
        ):
            metadata.create(path, metadata.new(search, number, numbers, generations, stride))
            saving.append(writers.submit(Record(path).begin, search, state, lost))
        for one in saving:
            one.result()
    with locked(places):
        yield from _advance(search, [Record(path) for path in places], states, generations)


def go_on(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    search: NoveltySearch | None = None,
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
        kept = max(set.intersection(*(set(record.snapshots) for record in runs)), default=None)
        if kept is None:
            raise RecordError(f"{path} has no state to go on from: start anew")
        total = first.planned if generations is None else whole("generations", generations)
        yield from _advance(
            first.search, runs, [record.go_on(kept, total) for record in runs], total
        )


def _advance(
    search: NoveltySearch, runs: list[Record], states: list[SearchState], generations: int
) -> Iterator[list[SavedGeneration]]:
    """Generation after generation of all seeds, each checked and saved while the next is computed."""
    kept, saved = int(states[0].generation), time.monotonic()
    progress = []
    for record in runs:
        done = (
            record.arrays("generations", g, ("offspring", "survivors", "failed"))
            for g in range(kept + 1)
        )
        progress.append(Progress(record.path, record.behavior_space, done))
    if kept == 0:
        founders = [founding(side_by_side.on_host(state.population)) for state in states]
        together = zip(runs, founders, progress, strict=True)
        yield [SavedGeneration(record, 0, facts, one.row) for record, facts, one in together]
    keys = [jax.random.key(record.seed) for record in runs]
    steps = side_by_side.generations(
        search, keys, states, generations - kept, runs[0].metadata.lanes
    )
    saving: list[Future[None]] = []
    with contextlib.closing(steps), ThreadPoolExecutor(WRITERS) as writers:
        try:
            for number, after in enumerate(steps, kept + 1):
                told = []
                for record, (state, generation), one in zip(runs, after, progress, strict=True):
                    record.append(number, generation, state.credit, search.task)
                    told.append(
                        SavedGeneration(record, number, generation, one.add(number, generation))
                    )
                states = [state for state, _ in after]
                # States are saved meanwhile: at every checkpoint, at least every second, and when the loop is left.
                due = number % runs[0].checkpoint_every == 0 or number == generations
                if due or time.monotonic() > saved + SECONDS:
                    for one in saving:
                        one.result()
                    saving = []
                    for record, state in zip(runs, states, strict=True):
                        saving.append(writers.submit(record.checkpoint, search, state, kept))
                    kept, saved = number, time.monotonic()
                yield told
        finally:
            for one in saving:
                one.result()
            if states[0].generation > kept:
                for record, state in zip(runs, states, strict=True):
                    record.checkpoint(search, state, kept)
