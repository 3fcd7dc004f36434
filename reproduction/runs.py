"""Searches side by side: each seed is a run in a folder of its own, in a process of one thread.

A run that was stopped continues; one that is finished is only measured.
"""

import itertools
import multiprocessing
import signal
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from brns import run
from brns.progress import show_progress_of
from brns.search import NoveltySearch
from reproduction.numbers import summarize_run_for_claims
from reproduction.plan import Runs


class Job(NamedTuple):
    """One seed of a method."""

    name: str
    search: NoveltySearch
    seed: int
    generations: int
    checkpoint_every: int
    folder: Path

    def __call__(self) -> dict[str, float]:
        """Run it to its end, and return its numbers."""
        (record,) = run(
            self.search,
            self.generations,
            out=self.folder,
            seed=self.seed,
            checkpoint_every=self.checkpoint_every,
            exist="resume",
            progress=False,
        )
        return summarize_run_for_claims(record)


def make_jobs(methods: Mapping[str, NoveltySearch], plan: Runs, out: Path) -> list[Job]:
    """The runs of a plan: all methods' first seeds, then the second."""
    todo = []
    for seed, (name, search) in itertools.product(range(plan.seeds), methods.items()):
        folder = out / name / f"seed{seed:04d}"
        todo.append(Job(name, search, seed, plan.generations, plan.checkpoint_every, folder))
    return todo


def run_and_measure(
    todo: Sequence[Job], workers: int, title: str
) -> dict[str, dict[int, dict[str, float]]]:
    """The jobs' numbers by method and seed; after an error or Ctrl-C the next call goes on."""
    with open_process_pool(workers) as pool:
        futures = [pool.submit(job) for job in todo]
        for future in show_progress_of(as_completed(futures), f"{title}, runs", len(futures)):
            future.result()
        rows: dict[str, dict[int, dict[str, float]]] = {}
        for job, future in zip(todo, futures, strict=True):
            rows.setdefault(job.name, {})[job.seed] = future.result()
    return rows


@contextmanager
def open_process_pool(workers: int) -> Generator[ProcessPoolExecutor]:
    """Processes that ignore Ctrl-C, and end with whatever ends this one."""
    spawn = multiprocessing.get_context("spawn")
    ignore = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(
        workers, mp_context=spawn, initializer=signal.signal, initargs=ignore
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
