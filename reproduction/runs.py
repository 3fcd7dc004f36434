"""Searches side by side: each seed of a method is a run in a folder of its own, in a process with one thread.

A run that was stopped goes on where it was, and one that is finished is only measured. An ant takes 1500 control steps,
a search 25000 ants: two searches on a core each take less time than two after one another on two cores, which would
wait for each other at every step.
"""

import multiprocessing
import signal
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from brns import run
from brns.runs.bar import track
from brns.runs.record import Record
from brns.runs.storage import RecordError
from brns.search import NoveltySearch
from reproduction.numbers import numbers
from reproduction.plan import Runs


class Job(NamedTuple):
    """One seed of a method."""

    name: str
    search: NoveltySearch
    seed: int
    generations: int
    checkpoint_every: int
    folder: Path

    @property
    def done(self) -> int:
        """The generations that are on disk; what is damaged is refused when the run goes on."""
        try:
            return min(Record(self.folder).last, self.generations)
        except RecordError:
            return 0

    def __call__(self) -> dict[str, float]:
        """Run it, as far as it is not, and return its numbers."""
        (record,) = run(
            self.search,
            self.generations,
            out=self.folder,
            seed=self.seed,
            checkpoint_every=self.checkpoint_every,
            exist="resume",
            progress=False,
        )
        return numbers(record)


def jobs(methods: Mapping[str, NoveltySearch], plan: Runs, out: Path) -> list[Job]:
    """The runs of a plan: all methods' first seeds, then the second."""
    return [
        Job(name, search, seed, plan.generations, plan.checkpoint_every, out / name / f"seed{seed:04d}")
        for seed in range(plan.seeds)
        for name, search in methods.items()
    ]


def measured(todo: Sequence[Job], workers: int, title: str) -> dict[str, dict[int, dict[str, float]]]:
    """Every job done, so many at a time: the numbers by method and seed.

    Where a job fails, or Ctrl-C ends it, the others are ended too; what they saved stays, and the next call goes on
    from there.
    """
    with side_by_side(workers) as pool:
        futures = [pool.submit(job) for job in todo]
        for future in track(as_completed(futures), f"{title}, runs", len(futures)):
            future.result()
        rows: dict[str, dict[int, dict[str, float]]] = {}
        for job, future in zip(todo, futures, strict=True):
            rows.setdefault(job.name, {})[job.seed] = future.result()
    return rows


@contextmanager
def side_by_side(workers: int) -> Generator[ProcessPoolExecutor]:
    """Processes that Ctrl-C leaves to this one, which ends them with whatever ends it."""
    spawn = multiprocessing.get_context("spawn")
    ignore = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=signal.signal, initargs=ignore) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
