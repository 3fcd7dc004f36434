"""The runs: which methods there are, and searches side by side that go on where they were stopped."""

import re
from pathlib import Path

import numpy as np
import pytest
from worlds import Faulty, Identity

import brns
from brns import ArchiveKNN, GridCounts, NoveltySearch, Record, run
from brns.pictures import method
from brns.runs.storage import RecordError
from brns.settings import build, describe
from reproduction import runs
from reproduction.plan import Runs, ant_methods, variants

ALONE = {"paper", "recognition", "exact", "random"}
SEARCH = NoveltySearch(Identity(), GridCounts(), population_size=8, offspring_size=6)
PLAN = Runs(seeds=2, generations=6, keep_every=2)


def test_the_library_does_not_know_of_its_reproduction():
    for path in Path(brns.__file__).parent.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) reproduction\b", path.read_text(), re.MULTILINE), path


def test_archives_that_never_fill_are_run_once():
    assert set(ant_methods(1500, 150)) == {*ALONE, "archive-6000"}
    assert set(ant_methods(1500, 201)) == {*ALONE, "archive-2000", "archive-6000"}
    assert set(ant_methods(1500, 1000)) == {*ALONE, "archive-2000", "archive-4000", "archive-6000"}


def test_a_record_can_rebuild_every_method_and_every_variant():
    ants = ant_methods(1500, 1000)
    assert all(search.task.steps == 1500 for search in ants.values())
    assert ants["random"].estimator == ants["archive-6000"].estimator
    maze = [describe(variant.search) for variant in variants().values()]
    assert all(a != b for i, a in enumerate(maze) for b in maze[:i])
    assert all(describe(build(one)) == one for one in [*maze, *map(describe, ants.values())])


def test_random_search_is_called_so(tmp_path):
    methods = ant_methods(1500, 150)
    made = {name: Record.create(tmp_path / name, search, 0, [0], 1, 1) for name, search in methods.items()}
    assert method(made["random"]) == "random search"
    assert method(made["archive-6000"]) == "archive k-NN"


def test_all_methods_first_seeds_come_first(tmp_path):
    todo = runs.jobs({"a": SEARCH, "b": SEARCH}, PLAN, tmp_path)
    assert [(job.name, job.seed) for job in todo] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert todo[2].folder == tmp_path / "a" / "seed0001"


def test_a_run_goes_on_where_it_was_stopped_and_is_then_only_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "numbers", lambda record: {"last": float(record.last)})
    job = runs.jobs({"a": SEARCH}, PLAN, tmp_path)[1]
    assert job.done == 0
    run(SEARCH, 4, out=job.folder, seeds=1, keep_every=2)
    assert job.done == 4
    before = {file: file.stat().st_mtime_ns for file in job.folder.glob("generations/*.npz")}
    assert job() == {"last": 6}
    (alone,) = run(SEARCH, 6, out=tmp_path / "alone", seeds=1, keep_every=2)
    np.testing.assert_array_equal(Record(job.folder).column("survivors.id"), alone.column("survivors.id"))
    after = {file: file.stat().st_mtime_ns for file in job.folder.glob("generations/*.npz")}
    assert {file: after[file] for file in before} == before
    assert job() == {"last": 6}
    assert {file: file.stat().st_mtime_ns for file in after} == after


def test_a_folder_of_something_else_is_named_and_left(tmp_path):
    job = runs.jobs({"a": SEARCH}, PLAN, tmp_path)[0]
    run(SEARCH, 4, out=job.folder, seeds=0, keep_every=4)
    with pytest.raises(RecordError, match="keep_every=4"):
        job()
    other = job._replace(keep_every=4, search=NoveltySearch(Identity(), ArchiveKNN(k=2), 8, 6))
    with pytest.raises(RecordError, match="estimator"):
        other()
    assert Record(job.folder).last == 4


def test_a_job_that_fails_in_its_process_ends_the_others(tmp_path):
    """One side: the first job fails, and the second, which would find no fault, is never begun."""
    broken = NoveltySearch(Faulty("raises"), GridCounts(), population_size=8, offspring_size=6)
    todo = runs.jobs({"a": broken, "b": SEARCH}, PLAN._replace(seeds=1), tmp_path)
    with pytest.raises(ZeroDivisionError):
        runs.measured(todo, 1, "two methods")
    assert todo[1].done < PLAN.generations
