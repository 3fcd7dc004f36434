"""Running an experiment, on disk from the first generation to the last; and going on with it."""

import atexit
import contextlib
import functools
import os
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, SupportsIndex, get_args

from brns.checks.parts import require_integer
from brns.formatting import escape_control
from brns.metrics.saturation import saturated
from brns.progress import Bar
from brns.runs import compilation_cache, metadata, opening, paths
from brns.runs.active import ActiveRun, SavedGeneration
from brns.runs.files import RecordError
from brns.runs.paths import Seeds
from brns.runs.record import Record, records
from brns.runs.remaking import Keep
from brns.runs.seeds import compute_generations
from brns.runs.store import list_run_or_child_runs
from brns.search import NoveltySearch
from brns.settings.edits import count_process_edits

Exist = Literal["refuse", "resume"]
Until = Callable[[SavedGeneration], bool]
OpenRuns = Callable[[contextlib.ExitStack], list[ActiveRun]]
"""begins or reopens the runs that go on; they are locked until the stack is closed"""
SECONDS = 1.0
"""of work that a resumed run computes again at most, beside the generation in progress"""


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
    name: str | None = None,
    until: Until | None = None,
    progress: bool = True,
) -> list[Record]:
    """Run an experiment and return a list with one record per seed.

    The same list of seeds in the same number of batches is bit-identical on the same machine with
    the same versions, resumed on any number of cores; a seed within a batch equals the seed alone
    up to rounding, which chaos in a task can amplify.

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
        name: what lists and figures call its estimator, such as `paper` with other settings; by
            default the preset or class that it is.
        until: asked about each generation that was saved,
            and ends the run when it is true of every seed.
        progress: whether a bar is shown.

    Returns:
        One record per seed, in ascending order.

    Raises:
        RecordError: where the directory is taken, or its run is another.
        ValueError: where an argument or what a part gave is not what it should be.
    """
    settings = checkpoint_every, genotypes, exist, accept_edits, name
    path, open_runs = _prepare_to_begin_or_reopen(search, generations, out, seed, seeds, *settings)
    for _ in _open_and_iterate_runs_with_bar(path, open_runs, until, progress, out is None):
        pass
    return records(path, search)


_LOOPS: weakref.WeakSet[Generator] = weakref.WeakSet()
"""that may be left, but not closed, when the program ends"""


@atexit.register
def _close_loops() -> None:
    """While there are modules and files to write what they leave."""
    for steps in [*_LOOPS]:
        with contextlib.suppress(ValueError):  # one that a thread goes on with
            steps.close()


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
    name: str | None = None,
    progress: bool = True,
) -> Iterator[SavedGeneration]:
    """`run` as an iterator: yields each generation once it is saved, the founders first.

    Leave the loop when you like: all that was handed out is on disk, and `resume` or
    `exist="resume"` goes on. `search`, `generations`, `out`, `seed`, `seeds`, `checkpoint_every`,
    `genotypes`, `exist`, `accept_edits`, `name` and `progress` are those of `run`.

    Returns:
        An iterator over generations; of several seeds it hands out each one's in turn.
    """
    settings = checkpoint_every, genotypes, exist, accept_edits, name
    path, open_runs = _prepare_to_begin_or_reopen(search, generations, out, seed, seeds, *settings)
    steps = _open_and_iterate_runs_with_bar(path, open_runs, None, progress, out is None)
    _LOOPS.add(steps)
    return (saved for of_all_seeds in steps for saved in of_all_seeds)


def resume(
    path: str | os.PathLike,
    generations: SupportsIndex | None = None,
    *,
    search: NoveltySearch | None = None,
    accept_edits: bool = False,
    until: Until | None = None,
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
        accept_edits: as in `run`, and so are `until` and `progress`.

    Returns:
        One record per seed, in ascending order.

    Raises:
        RecordError: where the run is another experiment's or code's, is damaged,
            or is one seed of a batch.
    """
    path = paths.expand_home(path)
    open_runs = functools.partial(opening.reopen, path, search, generations, accept_edits)
    for _ in _open_and_iterate_runs_with_bar(path, open_runs, until, progress):
        pass
    return records(path, search)


def _prepare_to_begin_or_reopen(
    search: NoveltySearch,
    generations: SupportsIndex,
    out: str | os.PathLike | None,
    seed: SupportsIndex,
    seeds: Seeds | None,
    checkpoint_every: SupportsIndex,
    genotypes: Keep,
    exist: Exist,
    accept_edits: bool,
    name: str | None,
) -> tuple[Path, OpenRuns]:
    """Where runs are, and what begins or resumes them; arguments are checked and bound now."""
    numbers = paths.resolve_seeds(seed, seeds)
    path = paths.make_temporary_folder() if out is None else paths.resolve_output_folder(out)
    metadata.check_recordable_search(search)
    for what, value, choices in [("exist", exist, Exist), ("genotypes", genotypes, Keep)]:
        if value not in get_args(choices):
            raise ValueError(f"{what} must be {' or '.join(get_args(choices))}; got {value!r}")
    total = require_integer("generations", generations)
    stride = require_integer("checkpoint_every", checkpoint_every)
    if exist == "resume" and list_run_or_child_runs(path):
        opening.check_same_arguments(path, records(path), numbers, stride, genotypes)
        return path, functools.partial(opening.reopen, path, search, total, accept_edits)
    paths.check_output_folder(path)
    facts = metadata.make_metadata_of_each_seed(search, numbers, total, stride, genotypes, name)
    folders = ["."] if seeds is None else [f"seed{number:04d}" for number in numbers]
    return path, functools.partial(opening.begin_in_directory, path, folders, search, facts)


class RunStopped(KeyboardInterrupt):
    """Ctrl-C in a run, of which a notebook shows the message alone."""

    def _render_traceback_(self) -> list[str]:
        return [f"Stopped. {self}"]


def _open_and_iterate_runs_with_bar(
    path: Path, open_runs: OpenRuns, until: Until | None, visible: bool, temporary: bool = False
) -> Generator[list[SavedGeneration], None, None]:
    """One generation of all seeds after another; each was saved before it is handed out."""
    if until is not None and not callable(until):
        raise ValueError(f"until must be a function, such as brns.saturated; got {until!r}")
    compilation_cache.enable_compilation_cache()
    with (
        Bar("generation", summary="compiling", visible=visible) as bar,
        contextlib.ExitStack() as locks,
    ):
        runs = open_runs(locks)
        if visible and temporary:
            text = f"Kept in {path} until Python ends; give out= to keep it."
            bar.progress.console.print(text, soft_wrap=True)
        try:
            if runs[0].number < runs[0].total:
                yield from iterate_generations(runs, until, bar)
        except KeyboardInterrupt:
            raise RunStopped(
                "All finished generations are saved. Go on with: "
                f"brns.resume({str(path)!r}, search=search)"
            ) from None


def iterate_generations(
    runs: Sequence[ActiveRun], until: Until | None = None, bar: Bar | None = None
) -> Generator[list[SavedGeneration], None, None]:
    """Generation after generation of all seeds; each is saved while the next is computed."""
    status, reason = "stopped", ""
    changed: list[str] = []
    room: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    try:
        with contextlib.closing(_compute_and_save(runs)) as steps:
            for saved in steps:
                if bar is not None:
                    bar.show(saved, runs[0].total)
                if saved[0].number == runs[0].total:
                    status = "finished"
                    changed = _find_settings_changed_by_evaluations(runs)
                yield saved
                # Of all seeds at once: it is asked about each.
                if until is not None and all([until(each) for each in saved]):  # noqa: C419
                    if status != "finished" and until is saturated:
                        status = "saturated"
                    break
    except GeneratorExit:  # the loop was left
        raise
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    except BaseException as error:
        status = "failed"
        reason = escape_control(f"{type(error).__name__}: {error}")
        room = contextlib.suppress(RecordError)  # a disk that is full has none for this either
        raise
    finally:
        if status in ("saturated", "interrupted"):  # else it may have been by hand
            changed = _find_settings_changed_by_evaluations(runs)
        together = len({run.stored for run in runs}) == 1
        with room, contextlib.ExitStack() as ending:  # all runs end, whatever one of them meets
            for run in runs:
                ending.callback(run.end_session, status, reason, changed)
                if together:
                    ending.callback(run.remove_temporary_states)


def _find_settings_changed_by_evaluations(runs: Sequence[ActiveRun]) -> list[str]:
    """Of a task that nobody else changed."""
    return [*runs[0].record.find_different_settings(runs[0].search)]


def _compute_and_save(runs: Sequence[ActiveRun]) -> Generator[list[SavedGeneration], None, None]:
    first, record = runs[0], runs[0].record
    begun, edits = time.monotonic(), count_process_edits()
    if first.number == 0:
        with opening.refuse_settings_changed_by_hand(first):
            yield [run.make_saved_founders() for run in runs]
    keys, states = [run.key for run in runs], [run.state for run in runs]
    count, batches = first.total - first.number, record.metadata.seed_batches
    steps = compute_generations(first.search, keys, states, count, batches)
    saving: list[Future[None]] = []
    with contextlib.closing(steps), ThreadPoolExecutor(opening.WRITERS) as writers:
        try:
            for after in steps:
                if count_process_edits() != edits:  # by another run, since the last generation
                    records = [run.record for run in runs]
                    opening.check_and_record_code_edits(records, first.number, False)
                    edits = count_process_edits()
                pairs = list(zip(runs, after, strict=True))
                saved = [run.save_generation_and_progress(*step) for run, step in pairs]
                for run, (state, _) in pairs:
                    run.state = state
                # States are saved meanwhile: at every checkpoint, at least every second,
                # and when the loop is left.
                due = first.number % record.checkpoint_every == 0
                if due or first.number == first.total or time.monotonic() > begun + SECONDS:
                    for each in saving:
                        each.result()
                    saving = [writers.submit(run.checkpoint, run.state) for run in runs]
                    begun = time.monotonic()
                with opening.refuse_settings_changed_by_hand(first):
                    yield saved
        finally:
            writers.shutdown()  # they may have been given more than `saving` holds, by Ctrl-C
            for each in saving:
                each.result()
            for run in runs:
                if run.stored < run.number:
                    run.checkpoint(run.state)
