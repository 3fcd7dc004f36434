"""What a comparison stores: a file for each method in a world, with a batch for each call that ran
seeds of it.
"""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
from pydantic import TypeAdapter
from pydantic_core import to_json

from brns.comparison.measure import MethodResult
from brns.comparison.peers import Peer
from brns.comparison.worlds import World
from brns.runs.files import RecordError, write_bytes
from brns.runs.metadata import list_changing_task_settings
from brns.search import NoveltySearch
from brns.settings.differences import find_differences, format_diff
from brns.settings.edits import diff_code_by_name, format_edits
from brns.settings.sources import UserCode


class Job(NamedTuple):
    """A method in a world."""

    world: World
    method: str
    search: NoveltySearch
    peer: Peer | None
    """in the search's place"""
    path: Path
    settings: dict[str, Any]
    """all that decides what it finds, but for seeds and the user's code"""
    code: UserCode


class Batch(NamedTuple):
    """What a method's file says of the seeds that ran together."""

    seeds: list[int]
    settings: dict[str, Any]
    provenance: dict[str, Any]
    facts: Any
    """a `MethodResult`, stored as a dictionary of lists"""
    code: dict[str, str]
    """of the user's, by name"""
    changing: list[str]
    """settings and code that evaluations changed"""


_BATCHES = TypeAdapter(list[Batch])


def read_batches_of_seeds(job: Job) -> list[Batch]:
    """What the file of a job holds, if there is one; a `RecordError` where it is of another job."""
    try:
        stored = _BATCHES.validate_json(job.path.read_bytes()) if job.path.exists() else []
        batches = []
        for batch in stored:
            facts = {name: np.array(column, np.float64) for name, column in batch.facts.items()}
            batches.append(batch._replace(facts=MethodResult(**facts)))
    except (ValueError, TypeError, AttributeError) as error:
        advice = "remove it to have it made anew"
        raise RecordError(
            f"{job.path} is damaged or of an older version ({error}): {advice}"
        ) from None
    for batch in batches:
        ignored = [*batch.changing, *list_changed_settings(job)]
        if other := find_differences(batch.settings, job.settings, ignored):
            raise RecordError(
                f"{job.path} was made with other settings: {format_diff(other)}. Take another "
                "folder, or the settings that made it"
            )
        if edited := diff_code_by_name(batch.code, job.code, ignored):
            raise RecordError(
                f"{job.path} was made by other code of yours. What was edited:\n"
                f"{format_edits(edited, job.code)}\n"
                "Take another folder, or remove the file to have it made anew"
            )
    return batches


def choose_batches(batches: Sequence[Batch], seeds: Sequence[int]) -> list[tuple[Batch, int]]:
    """For each seed the batch that holds it, and its row there."""
    places = {}
    for batch in batches:
        for row, seed in enumerate(batch.seeds):
            places.setdefault(seed, (batch, row))
    return [places[seed] for seed in seeds]


def list_changed_settings(job: Job) -> list[str]:
    """The task's settings that evaluations of this process changed."""
    names = list_changing_task_settings(job.search, job.settings["search"])
    return [f"search.{name}" for name in names]


def append_batch_to_file(job: Job, batch: Batch) -> None:
    """Add what seeds found to a job's file, to which other processes may add theirs."""
    with lock_folder(job.path.parent):
        batches = [*read_batches_of_seeds(job), batch]
        stored = [each._asdict() | {"facts": each.facts._asdict()} for each in batches]
        write_bytes(job.path, to_json_with_infinity(stored))


@contextlib.contextmanager
def lock_folder(folder: Path) -> Generator[None, None, None]:
    """Meanwhile no other process does this, where the file system has locks."""
    lock = filelock.FileLock(folder / ".lock", thread_local=False, fallback_to_soft=False)
    with contextlib.ExitStack() as locks:
        with contextlib.suppress(OSError, NotImplementedError):  # a file system without locks
            locks.enter_context(lock)
        yield


def to_json_with_infinity(content: Any) -> bytes:
    """JSON in which NaN and infinity are text, which NumPy reads as numbers."""
    return to_json(content, fallback=np.ndarray.tolist, inf_nan_mode="strings")
