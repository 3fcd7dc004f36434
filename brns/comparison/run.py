"""All methods in one world or in the suite, side by side and resumable."""

import csv
import dataclasses
import io
import json
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from brns.comparison import statistics
from brns.comparison.measure import Facts, measured
from brns.comparison.picture import picture
from brns.comparison.worlds import SUITE, Cells, World, of_task, world
from brns.core import Mutation, NoveltyEstimator, Task
from brns.operators.mutation import PolynomialMutation
from brns.pictures.style import save
from brns.runs.bar import screen, track, untracked
from brns.runs.loop import whole
from brns.runs.provenance import grouped, here
from brns.runs.storage import RecordError, Seal, read_arrays, sealed, write_arrays, write_bytes
from brns.search import NoveltySearch
from brns.settings import describe, shown
from brns.tasks.cpu import cores
from brns.workers import has_workers


class Comparison(NamedTuple):
    """What a comparison found."""

    worlds: dict[str, World]
    found: dict[str, dict[str, Facts]]
    """by world, then by method"""
    seeds: list[int]
    reference: str
    """the method against which the others are held: the first"""
    out: Path
    made: list[dict[str, Any]]
    """which commit, machine and versions made the numbers, and as `rows` the methods; each different answer once"""
    judged: list[statistics.Judged]
    """every other method against the reference, in every world, at 10, 25, 50 and 100 % of the run"""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tidy frame: a row a world, method, seed and measure; `pandas.DataFrame(comparison.rows)`."""
        return statistics.tidy(self.found, self.seeds)

    @property
    def verdicts(self) -> list[str]:
        """A sentence for every method but the reference."""
        rows = self.judged
        methods = list(dict.fromkeys(row.method for row in rows))
        tuned = {name for name, each in self.worlds.items() if each.half == "tune"}
        return [statistics.verdict(rows, method, self.reference, tuned) for method in methods]

    def __repr__(self) -> str:
        return f"Comparison of {len(self.worlds)} worlds over {len(self.seeds)} seeds, in {self.out}\n" + "\n".join(
            self.verdicts
        )


class _Job(NamedTuple):
    world: World
    method: str
    search: NoveltySearch
    path: Path


def compare(
    what: Task | NoveltySearch | World | Sequence[World | str] | str,
    estimators: Mapping[str, NoveltyEstimator],
    *,
    seeds: SupportsIndex | Iterable[SupportsIndex] = 20,
    generations: int | None = None,
    out: str | os.PathLike = "runs/comparison",
    mutations: Mapping[str, Mutation] | None = None,
    cells: Cells | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Compare estimators in a task, a search, or the suite's worlds, over seeds: coverage, cycling, cost, verdicts.

    `what` is a task or a search of your own, a `World`, the name of one, several of them, or "suite". The first
    estimator is the reference that the others are held against. With `mutations`, each estimator runs with each, as
    "estimator, mutation".
    `generations` is by default the world's own, and 200 for a task of your own. `cells` says where individuals of your
    task lie, if its behavior is not planar. `workers` jobs, by default as many as there are cores, run side by side.

    `out` gets a file a world and method when it is done, so that a second call goes on where the first was stopped and
    computes nothing twice; then runs.csv, the tidy frame, and comparison.png. Memory and disk hold coverage curves and
    Q of ten generations, no records.

    Ctrl-C ends it when every job has come to the next tenth of its run. A bar shows how many jobs are done, at a
    terminal and in a notebook; `progress=False` shows none.

    Errors: `ValueError` for settings that make no comparison, or files in `out` that other settings made. A part that
    is your own counts as the same where its class has the same name and its settings the same values: take another
    folder after a change of its code.
    """
    given = seeds if isinstance(seeds, Iterable) else range(operator.index(seeds))
    seeds = [operator.index(one) for one in given]
    if not isinstance(estimators, Mapping):
        raise ValueError(f"estimators must be a dict of names and estimators; got {shown(estimators)}")
    if cells is not None and not isinstance(cells, Cells):
        raise ValueError(f"cells must be brns.comparison.worlds.Cells, which say where an individual lies; got {cells}")
    generations = None if generations is None else whole("generations", generations, 2)
    if not estimators or len(set(seeds)) < max(len(seeds), 1):
        raise ValueError(f"a comparison needs an estimator and different seeds; got {list(estimators)} and {seeds}")
    chosen = worlds_of(what, generations, cells)
    worlds = {each.name: each for each in chosen}
    _refuse_twice(
        [each.name for each in chosen], "worlds of one name: name them apart, such as world._replace(name=...)"
    )
    varied = mutations or {"": what.mutate if isinstance(what, NoveltySearch) else PolynomialMutation()}
    out = Path(out)
    jobs = list(_jobs(what, worlds.values(), estimators, varied, out))
    _refuse_twice([str(job.path) for job in jobs], "methods whose names make one file: give them other names")
    found: dict[str, dict[str, Facts]] = {name: {} for name in worlds}
    stop, alone, follow = Event(), Lock(), track if progress else untracked
    with ThreadPoolExecutor(workers or cores()) as pool:
        begun = [pool.submit(_done, job, seeds, stop, alone) for job in jobs]
        try:
            for _ in follow((done.result() for done in as_completed(begun)), "comparing", len(begun)):
                pass
        except KeyboardInterrupt:
            told = f"Stopping: each job goes on to the next tenth of its run. What is finished is in {out}, and"
            screen().print(told, "the same call goes on from there.", soft_wrap=True)
            raise
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    for job, done in zip(jobs, begun, strict=True):
        found[job.world.name][job.method], _ = done.result()
    made = grouped((job.method, done.result()[1]) for job, done in zip(jobs, begun, strict=True))
    reference = jobs[0].method
    comparison = Comparison(worlds, found, seeds, reference, out, made, statistics.judged(found, reference))
    write_bytes(out / "runs.csv", _csv(comparison.rows))
    save(picture(worlds, found), out / "comparison.png", overwrite=True, dpi=110)
    return comparison


def _refuse_twice(names: list[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"a comparison has no place for several {what}; got {', '.join(twice)} more than once")


def worlds_of(what: Any, generations: int | None = None, cells: Cells | None = None) -> list[World]:
    """The worlds that are meant by a task, a search, worlds, their names, or "suite"."""
    if cells is not None and not isinstance(what, NoveltySearch | Task):
        raise ValueError(
            f"cells are for a task or search of your own; a world has its own (world._replace(cells=...)); got {cells}"
        )
    if isinstance(what, str):
        chosen = list(SUITE) if what == "suite" else [world(what)]
    elif isinstance(what, World):
        chosen = [what]
    elif isinstance(what, NoveltySearch):
        chosen = [
            of_task(what.task, what.population_size, generations or 200, cells)._replace(offspring=what.offspring_size)
        ]
    elif isinstance(what, Task):
        chosen = [of_task(what, 100, generations or 200, cells)]
    elif isinstance(what, Sequence):
        chosen = [world(each) if isinstance(each, str) else each for each in what]
    else:
        raise ValueError(
            f'what is compared in is a task, a search, worlds or names of them, or "suite"; got {shown(what)}'
        )
    return [each._replace(generations=generations or each.generations) for each in chosen]


def _jobs(what: Any, worlds: Any, estimators: Any, mutations: Any, out: Path) -> Iterator[_Job]:
    """World by world."""
    for each in worlds:
        task = each.task()
        for name, estimator in estimators.items():
            for label, mutation in mutations.items():
                method = f"{name}, {label}" if label else name
                if isinstance(what, NoveltySearch):
                    search = dataclasses.replace(what, estimator=estimator, mutate=mutation)
                else:
                    search = NoveltySearch(task, estimator, each.individuals, each.born, mutation)
                file = "".join(c if c.isalnum() or c in "-_" else "-" for c in method)
                yield _Job(each, method, search, out / "runs" / each.name / f"{file}.npz")


def _done(job: _Job, seeds: list[int], stop: Event, alone: Lock) -> tuple[Facts, dict[str, Any]]:
    """The facts of a job, from its file if it is finished, and what made them.

    A host task is called by one job at a time, as by a run: it may keep a simulator.
    """
    settings = {
        "search": describe(job.search),
        "seeds": seeds,
        "generations": job.world.generations,
        "cells": _described(job.world.cells),
    }
    if job.path.exists():
        arrays = read_arrays(job.path, sealed(job.path))
        if "settings" not in arrays:
            raise RecordError(f"{job.path} is no file of a comparison; take another folder")
        stored = json.loads(arrays.pop("settings").tobytes())
        # Files of before did not say their cells, which were the suite's.
        usual = [_described(each.cells) for each in SUITE if each.name == job.world.name]
        stored = {"cells": usual[0] if usual else None, **stored, "search": stored["search"]}
        if stored != settings:
            raise RecordError(
                f"{job.path} was made with other settings, seeds, generations or cells; take another folder, or the "
                "settings that made it"
            )
        made = json.loads(arrays.pop("made").tobytes()) if "made" in arrays else {}
        facts = {**arrays, "milliseconds": float(arrays["milliseconds"])}
        return Facts(**facts), made  # ty: ignore[invalid-argument-type]
    together = job.search.task.traceable or has_workers(job.search.task)
    with nullcontext() if together else alone:
        found = measured(job.search, job.world.cells, job.world.generations, seeds, stop)
    made = {key: value for key, value in here().items() if key != "command"}
    job.path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {**found._asdict(), "settings": _bytes(json.dumps(settings)), "made": _bytes(json.dumps(made))}
    write_arrays(job.path, arrays, Seal("brns.compare", job.world.generations))
    return found, made


def _described(cells: Cells) -> dict[str, Any]:
    """What decides which cells are visited, and how many there are."""
    return {name: describe(value) for name, value in cells._asdict().items() if name != "counted"}


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
