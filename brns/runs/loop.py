"""Running an experiment, on disk from the first generation to the last; going on with it;
and with other settings.
"""

import contextlib
import dataclasses
import datetime
import functools
import logging
import os
import shlex
import textwrap
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple, SupportsIndex, get_args

import equinox as eqx
import jax
import numpy as np

from brns.core import Generation, initial_generation
from brns.formatting import escape_control
from brns.runs import compilation_cache, metadata, storage
from brns.runs import seeds as side_by_side
from brns.runs.metadata import Forked, Status
from brns.runs.paths import (
    Seeds,
    atomic_directory,
    holds_runs,
    place,
    refuse_unusable,
    require_integer,
    resolve_seeds,
    run_locks,
    seed_folders,
    temporary_folder,
)
from brns.runs.progress import Progress, Row, with_progress
from brns.runs.provenance import describe_process
from brns.runs.record import GENOTYPE, Record, records
from brns.runs.remaking import Keep, whole_generation
from brns.runs.sources import Source, difference
from brns.runs.storage import RecordError
from brns.search import NoveltySearch, SearchState, check_generation
from brns.settings import (
    SettingsError,
    format_overrides,
    part_from_json,
    part_to_json,
    short_repr,
)

LOG = logging.getLogger("brns")
Exist = Literal["refuse", "resume"]
SECONDS = (
    1.0  # of work that a resumed run computes again at most, beside the generation in progress
)
WRITERS = 16  # threads that save states side by side: most of the time is waiting for a disk
SHARED = ("population_size", "offspring_size", "founders")
"""settings that a fork cannot change: individuals are numbered by the sizes,
and the founders lived long ago"""


class SavedGeneration(NamedTuple):
    """One seed's generation, on disk by now:
    what a progress display or a live statistic may look at.
    """

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
    genotypes: Keep = "survivors",
    exist: Exist = "refuse",
    accept_edits: bool = False,
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Run an experiment and return a list with one record per seed.

    The same list of seeds gives the same bits on the same kind of machine and versions, resumed on
    any number of cores; a seed within a batch equals the seed alone up to rounding, which chaos in
    a task can amplify.

    Args:
        search: the experiment.
        generations: how many there shall be in all.
        out: the run's directory, of a batch with a directory for each seed; a link means what it
            points to. Without it they are kept until Python ends.
        seed: one seed, from 0 to 2**32 - 1.
        seeds: a batch: so many from `seed` on, or a list.
        checkpoint_every: the stride of the states kept for statistics; the last is always kept.
        genotypes: whose are stored: those of `survivors` and solutions, from which others are made
            again on the same versions and kind of machine; or `all`, for ever and everywhere.
        exist: a directory holds one run or one batch. A second is refused; with `resume` the one
            that is there continues, if it is the same experiment with the same seeds.
        accept_edits: go on with a run though your own code was edited since.
        until: asked about each generation that was saved,
            and ends the run when it is true of every seed.
        progress: whether a bar is shown.

    Returns:
        One record per seed.

    Raises:
        RecordError: Where the directory is taken, or its run is another.
        ValueError: Where an argument or what a part gave is not what it should be.
    """
    folder = temporary_folder() if out is None else place(out)
    steps = run_steps(
        search,
        generations,
        folder,
        seed,
        seeds,
        checkpoint_every,
        exist,
        genotypes=genotypes,
        accept_edits=accept_edits,
    )
    for _ in with_progress(steps, until, progress, folder if out is None else None):
        pass
    return records(folder, search)


def generations(
    search: NoveltySearch,
    generations: SupportsIndex,
    *,
    out: str | os.PathLike | None = None,
    seed: SupportsIndex = 0,
    seeds: Seeds | None = None,
    checkpoint_every: SupportsIndex = 10,
    genotypes: Keep = "survivors",
    exist: Exist = "refuse",
    accept_edits: bool = False,
    progress: bool = True,
) -> Iterator[SavedGeneration]:
    """`run` as a loop of your own: hands out each generation when it is saved, from the founders
    on.

    Leave the loop when you like: all that was handed out is on disk, and `resume` or
    `exist="resume"` goes on.

    Args:
        search: the experiment.
        generations: how many there shall be in all.
        out: as in `run`.
        seed: as in `run`.
        seeds: as in `run`.
        checkpoint_every: as in `run`.
        genotypes: as in `run`.
        exist: as in `run`.
        accept_edits: as in `run`.
        progress: whether a bar is shown.

    Returns:
        An iterator over generations; of several seeds it hands out each one's in turn.

    Raises:
        RecordError: where the directory is taken, or its run is another.
        ValueError: where an argument or what a part gave is not what it should be.
    """
    folder = temporary_folder() if out is None else place(out)  # now, not when the loop begins
    steps = run_steps(
        search,
        generations,
        folder,
        seed,
        seeds,
        checkpoint_every,
        exist,
        genotypes=genotypes,
        accept_edits=accept_edits,
    )
    return _each(with_progress(steps, None, progress, folder if out is None else None))


def _each(steps: Iterator[list[SavedGeneration]]) -> Iterator[SavedGeneration]:
    """Each seed's generation in turn."""
    for saved in steps:
        yield from saved


def resume(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    *,
    search: NoveltySearch | None = None,
    accept_edits: bool = False,
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Continue a run, or the runs of a batch of seeds,
    to the same bits as if they had never stopped.

    Where folders of a batch are missing, the others go on, to other bits in their last digits:
    seeds that are computed together round together.

    Args:
        path: the directory of a run or of a batch.
        generations: how many there shall be in all, by default as many as the run was started for.
        search: the experiment that made the run, which is needed where a part of it is your own.
        accept_edits: go on though your own code was edited since.
        until: asked about each generation that was saved,
            and ends the run when it is true of every seed.
        progress: whether a bar is shown.

    Returns:
        One record per seed.

    Raises:
        RecordError: Where the run is another experiment's or code's, is damaged,
            or is one seed of a batch.
    """
    path = Path(path).absolute()
    for _ in with_progress(resume_steps(path, generations, search, accept_edits), until, progress):
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
    """A run that goes on from a generation of another, with other settings; `brns.resume(out)`
    continues it.

    It is a run of its own: generations 0 to `at` are copied, so that figures and coverage see one
    search from its founders on; of the states only the one that it goes on from. Its `run.json`
    says where it comes from. One seed of a batch is forked alone, and equals the batch's up to
    rounding. After an error nothing is made.

    Args:
        run: the directory of the other run, or its record.
        at: the generation to go on from; its state must be on disk.
        search: the experiment to go on with, by default the run's own, which ends in the same bits
            as the run itself.
        out: the directory of the new run.
        generations: how many there shall be in all, by default as many as the run was asked for.

    Returns:
        The new run, as far as it was copied.

    Raises:
        RecordError: where the generation has no state, where the search's state has another shape,
            or where `out` is taken.
        ValueError: where the settings change the space of behaviors, the length of genotypes, the
            sizes of population and offspring or the founders.
    """
    source = run if isinstance(run, Record) else Record(run)
    out, at = place(out), require_integer("at", at, 0)
    search = search or source.search
    total = require_integer(
        "generations", source.planned if generations is None else generations, at + 1
    )
    before, after = source.experiment, part_to_json(search)
    changed = source.other_settings(search)
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
    genes, length = search.task.genotype_space.dimension, state.population.genotype.shape[1]
    if genes != length:
        raise ValueError(
            f"a fork cannot change the length of genotypes: {run} has {length}; got {genes}"
        )
    stored = source.metadata.genotypes
    new_metadata = metadata.new(
        search, source.seed, [source.seed], total, source.checkpoint_every, stored
    )
    edited = difference(source.metadata.sources, Source(search))
    text = {f"the code of {name}": ("edited", "another") for name in edited}
    new_metadata.forked = Forked(
        path=part_to_json(os.fspath(source)),
        id=source.metadata.id,
        generation=at,
        changed=changed | text,
    )
    refuse_unusable(out)
    with atomic_directory(out) as folder:
        metadata.create(folder, new_metadata)
        copy = Record(folder, search)
        for number in range(at + 1):
            arrays = source.arrays("generations", number)
            copy.write("generations", number, arrays)
            if new_metadata.forked.changed and not copy.remakes(number):
                born = _makers(source, search).column(GENOTYPE, [number])[0]
                copy.write("generations", number, arrays | whole_generation(born))
            if number in storage.list_generations(source.path / "failed"):
                copy.write("failed", number, source.arrays("failed", number))
        copy.checkpoint(search, state, before=-1)
    if source.elsewhere:
        _makers(source, search).check_genotypes()
    return Record(out, search)


def _makers(source: Record, search: NoveltySearch) -> Record:
    """A record whose search varies genotypes as the run did,
    of which a part may be a user's that only a fork knows.
    """
    if source.known_search is not None:
        return source
    before = source.experiment
    try:
        mutate = part_from_json(before["mutate"], search.mutate)
    except SettingsError as error:
        raise SettingsError(
            f"genotypes of {source.path} must be made again by its own operators. Fork "
            f"brns.Record({str(source.path)!r}, search) with the search that made it: {error}"
        ) from None
    makers = Record(source)
    makers.search = dataclasses.replace(search, mutate=mutate, tournament=before["tournament"])
    return makers


def run_steps(
    search: NoveltySearch,
    generations: SupportsIndex,
    out: str | os.PathLike,
    seed: SupportsIndex = 0,
    seeds: Seeds | None = None,
    checkpoint_every: SupportsIndex = 10,
    exist: Exist = "refuse",
    *,
    genotypes: Keep = "survivors",
    accept_edits: bool = False,
) -> Generator[list[SavedGeneration], Status | None, None]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out.

    The founders are saved under a hidden name beside `out`, and appear in it at once:
    there is no run without them.

    Args:
        search: the experiment.
        generations: as in `run`, and so are the others.
        out: the run's directory.
        seed: one seed.
        seeds: a batch.
        checkpoint_every: the stride of the states kept.
        exist: what to do where `out` holds a run.
        genotypes: whose are stored.
        accept_edits: go on though your own code was edited.

    Returns:
        A generator of one saved generation per seed. It may be sent the status with which to end.

    Raises:
        ValueError: where an argument is not what it should be.
        RecordError: where the directory is taken, or its run is another.
    """
    if not isinstance(search, NoveltySearch):
        raise ValueError(
            f"a run needs a search, as in brns.NoveltySearch(task); got {short_repr(search)}"
        )
    if exist not in get_args(Exist):
        raise ValueError(f"exist must be {' or '.join(get_args(Exist))}; got {exist!r}")
    if genotypes not in get_args(Keep):
        raise ValueError(f"genotypes must be {' or '.join(get_args(Keep))}; got {genotypes!r}")
    several, numbers = resolve_seeds(seed, seeds)
    generations, stride = (
        require_integer("generations", generations),
        require_integer("checkpoint_every", checkpoint_every),
    )
    out = place(out)
    folders_of = functools.partial(seed_folders, several=several, seeds=numbers)
    if exist == "resume" and holds_runs(out):
        _refuse_others(out, numbers, folders_of(out), stride, genotypes)
        yield from resume_steps(out, generations, search, accept_edits)
        return
    began = datetime.datetime.now(datetime.UTC)
    first = metadata.new(search, numbers[0], numbers, generations, stride, genotypes)
    new_metadata = metadata.of_seeds(first, numbers)
    refuse_unusable(out)
    compilation_cache.keep()
    begun = side_by_side.to_host([search.begin(jax.random.key(number)) for number in numbers])
    states = [state for state, _ in begun]
    with atomic_directory(out) as folder, ThreadPoolExecutor(WRITERS) as writers:
        saving = []
        for path, facts, (state, lost) in zip(folders_of(folder), new_metadata, begun, strict=True):
            metadata.create(path, facts)
            saving.append(writers.submit(Record(path).begin, search, state, lost))
        for future in saving:
            future.result()
    runs = [Record(path) for path in folders_of(out)]
    with run_locks(folders_of(out)):
        yield from _advance(search, runs, states, generations, began)


def _refuse_others(
    out: Path, seeds: list[int], paths: list[Path], stride: int, genotypes: Keep
) -> None:
    """A `RecordError` where the runs in a directory were asked for with other arguments."""
    runs = records(out)
    present, first = [run.seed for run in runs], runs[0]
    requested = {"checkpoint_every": stride, "genotypes": genotypes}
    there = {"checkpoint_every": first.checkpoint_every, "genotypes": first.metadata.genotypes}
    wanted = seeds in (sorted(first.seeds), sorted(first.metadata.together))
    odd = [run.path.name for run in runs if run.path not in paths]
    if wanted and odd:
        raise RecordError(
            f"{out} holds {', '.join(odd)}, where seeds {seeds} would not be: give those that it "
            "was begun with, give a folder that was renamed its name back, or choose another place"
        )
    if not wanted or requested != there:
        others = [name for name in requested if requested[name] != there[name]]
        names = others or ["checkpoint_every"]
        raise RecordError(
            f"{out} holds seeds {present} with "
            f"{format_overrides({name: there[name] for name in names})}; seeds {seeds} with "
            f"{format_overrides({name: requested[name] for name in names})} were asked for; "
            "choose another place"
        )


def resume_steps(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    search: NoveltySearch | None = None,
    accept_edits: bool = False,
) -> Generator[list[SavedGeneration], Status | None, None]:
    """`resume`, one generation of all seeds at a time.

    Args:
        path: of the run or batch.
        generations: how many there shall be in all; by default as planned.
        search: the experiment, where a part of it is your own.
        accept_edits: go on though your own code was edited.

    Returns:
        As of `run_steps`.

    Raises:
        RecordError: where the run is another experiment's or code's, is damaged, or is one seed of
            a batch.
    """
    began = datetime.datetime.now(datetime.UTC)
    runs = records(path, search)
    first = runs[0]
    _refuse_part_of_a_batch(Path(path).absolute(), runs)
    source = Source(first.search)
    for record in runs:
        if (edited := record.edited(source)) and not accept_edits:
            raise RecordError(_told_edits(record, edited, source))
    compilation_cache.keep()
    with run_locks([record.path for record in runs]):
        common = max(set.intersection(*(set(record.snapshots) for record in runs)), default=None)
        if common is None:
            lacking = [record.path.name for record in runs if not record.snapshots]
            which = f" in {', '.join(lacking)}" if lacking else " that all its seeds are in"
            others = "; without it the others go on" if 0 < len(lacking) < len(runs) else ""
            raise RecordError(f"{path} has no state to go on from{which}{others}: start anew")
        total = (
            first.planned if generations is None else require_integer("generations", generations)
        )
        if text := _told_totals(path, common, first.planned, total):
            LOG.warning("%s", escape_control(text))
        states = [record.prepare_resume(common, total) for record in runs]
        _leave_out_missing(runs)
        for record in runs:
            if record.edited(source):
                record.accept(source, common)
                record.check_genotypes()
            elif record.elsewhere:
                record.check_genotypes()
        yield from _advance(first.search, runs, states, total, began)


def _told_totals(path: str | os.PathLike, last: int, planned: int, total: int) -> str:
    """What going on means where another number of generations is asked for; else empty."""
    if total == planned:
        return ""
    requested = f"{os.fspath(path)} was begun for {planned} generations and {total} are asked for"
    if last >= total:
        return f"{requested}; it has {last} already, and nothing is computed"
    return f"{requested}; it goes on from {last} to {total}"


def _told_edits(record: Record, edited: Mapping[str, str], source: Source) -> str:
    """What was edited, where, and what to do."""
    parts = []
    for name, lines in edited.items():
        file = source.files.get(name)
        parts.append(f"{name}{f' ({file})' if file else ''}\n{textwrap.indent(lines, '  ')}")
    return (
        f"{record.path} was made by other code of yours, and would be half of one experiment, "
        "half of another. What was edited:\n"
        + "\n".join(parts)
        + "\nStart anew in another place, or undo the edit; to go on all the same, "
        "accept_edits=True (--accept-edits)"
    )


def _refuse_part_of_a_batch(path: Path, runs: list[Record]) -> None:
    """A `RecordError` where one seed of a batch would go on alone,
    or one that is no longer of it.
    """
    present = {run.seed for run in runs}
    for run in runs:
        same = [other.path.name for other in runs if other.seed == run.seed]
        if len(same) > 1:
            raise RecordError(
                f"{path} holds seed {run.seed} {len(same)} times, in {', '.join(same)}: move all "
                "but one of them elsewhere"
            )
    alone = [run.path for run in runs] == [path]
    for record in runs:
        together = record.metadata.together
        if present - together or (alone and together - present):
            odd = next((run for run in runs if run.seed not in together), record)
            at = odd.snapshots[-1] if odd.snapshots else 0
            raise RecordError(
                f"{path} holds seeds {sorted(present)}, and {record.path} was computed with seeds "
                f"{sorted(together)}: resume a whole batch, or a run that was started alone. To "
                "go on with one seed alone, make a run of it: brns fork "
                f"{shlex.quote(str(odd.path))} --at {at} --out FOLDER"
            )


def _leave_out_missing(runs: list[Record]) -> None:
    """Of a batch of which folders are missing the others go on, and are a batch from now on."""
    present = {run.seed for run in runs}
    if missing := sorted(runs[0].metadata.together - present):
        rounding = (
            ". Seeds that are computed together round together, so that their last bits may be "
            "others than with all"
        )
        warnings.warn(
            f"seeds {missing} of the batch are missing: the others go on without them"
            f"{rounding if runs[0].search.task.traceable else ''}",
            stacklevel=2,
        )
    for record in runs:
        if record.metadata.together != present:
            record.metadata.left_out = sorted(set(record.seeds) - present)
            metadata.write(record.path, record.metadata)


@dataclasses.dataclass
class Ending:
    """How the work on some runs ended."""

    status: Status = "failed"
    reason: str = ""


@contextlib.contextmanager
def _session(
    search: NoveltySearch, runs: list[Record], after: int, began: datetime.datetime
) -> Generator[Ending, None, None]:
    """Meanwhile each run's `run.json` says that work on it goes on, and then how it ended."""
    provenance = describe_process()
    for record in runs:
        record.begin_session(after, began, provenance)
    ending, room = Ending(), contextlib.nullcontext()
    try:
        yield ending
    except GeneratorExit:
        if ending.status != "finished":
            ending.status = "stopped"
        raise
    except KeyboardInterrupt:
        ending.status = "interrupted"
        raise
    except BaseException as error:
        ending.status = "failed"
        ending.reason = escape_control(f"{type(error).__name__}: {error}")
        room = contextlib.suppress(RecordError)  # a disk that is full has none for this either
        raise
    finally:
        for record in runs:
            with room:
                record.end_session(search, ending.status, ending.reason)


def _advance(
    search: NoveltySearch,
    runs: list[Record],
    states: list[SearchState],
    generations: int,
    began: datetime.datetime,
) -> Generator[list[SavedGeneration], Status | None, None]:
    """Generation after generation of all seeds, each checked and saved while the next is computed.

    What is sent into it ends it: the status that the runs have then.
    """
    at, saved = int(states[0].generation), time.monotonic()
    progress = []
    for record in runs:
        done = (
            record.arrays("generations", g, ("offspring", "survivors", "failed"))
            for g in range(at + 1)
        )
        progress.append(Progress(record.path, record.behavior_space, done))
    if at >= generations:
        return
    with _session(search, runs, at, began) as ending:
        if at == 0:
            founders = [
                initial_generation(side_by_side.to_host(state.population)) for state in states
            ]
            founders = jax.tree.map(np.array, founders)
            together = zip(runs, founders, progress, strict=True)
            ended = yield [
                SavedGeneration(record, 0, facts, each.row) for record, facts, each in together
            ]
            if ended:
                ending.status = ended
                return
        keys = [jax.random.key(record.seed) for record in runs]
        steps = side_by_side.generations(
            search, keys, states, generations - at, runs[0].metadata.seed_batches
        )
        saving: list[Future[None]] = []
        with contextlib.closing(steps), ThreadPoolExecutor(WRITERS) as writers:
            try:
                for number, after in enumerate(steps, at + 1):
                    finished = []
                    for record, (state, generation), each in zip(
                        runs, after, progress, strict=True
                    ):
                        check_generation(search, generation)
                        record.append(number, generation, state.credit, search)
                        row = each.add(number, generation)
                        base = jax.tree.map(
                            np.array, generation
                        )  # not what the search goes on with
                        finished.append(SavedGeneration(record, number, base, row))
                    states = [state for state, _ in after]
                    # States are saved meanwhile: at every checkpoint, at least every second,
                    # and when the loop is left.
                    due = number % runs[0].checkpoint_every == 0 or number == generations
                    if due or time.monotonic() > saved + SECONDS:
                        for each in saving:
                            each.result()
                        saving = []
                        for record, state in zip(runs, states, strict=True):
                            saving.append(writers.submit(record.checkpoint, search, state, at))
                        at, saved = number, time.monotonic()
                    if number == generations:
                        ending.status = "finished"
                    if (ended := (yield finished)) and number < generations:
                        ending.status = ended
                        break
            finally:
                for each in saving:
                    each.result()
                if states[0].generation > at:
                    for record, state in zip(runs, states, strict=True):
                        record.checkpoint(search, state, at)
