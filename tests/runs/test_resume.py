"""Whatever is run and stopped is resumed to the same files; and where it may stand."""

import gc
import os
import shutil
import signal
import tracemalloc
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from files import bits, contents
from searches import HOST, search
from shell import python
from small_tasks import Counting, HostIdentity, Identity

import brns
from brns import PolynomialMutation, Record, RecordError, resume, run
from brns.runs.active import ActiveRun
from brns.runs.paths import resolve_seeds

SEARCHES = {
    "host": HOST,
    "traced": search(Identity(), brns.PopulationKNN(k=2)),
    "counts": search(HostIdentity(), brns.VisitCounts(grids=8)),
}
LEFT = [".run.7.tmp.json", "generations/.000009.7.tmp.npz", "states/.000009.7.tmp.npz"]
OTHERS = [".movie.7.tmp.gif", "notes.tmp.npz"]


def stopped(path, generation, state):
    """Leave what a crash would: some generations and states, half-written files."""
    for folder, last in [("generations", generation), ("states", state)]:
        for file in (path / folder).iterdir():
            if int(file.stem) > last:
                file.unlink()
    for name in LEFT + OTHERS:
        (path / name).write_bytes(b"PK")
    (path / "progress.csv").write_text("generation,")


@pytest.mark.parametrize(
    ("name", "seeds", "at"), [("traced", 2, (4, 3)), ("host", 2, (0, 0)), ("counts", None, (4, 3))]
)
def test_a_run_stopped_anywhere_resumes_to_the_same_files(name, seeds, at, made):
    whole, path = made(name, seeds)
    for folder in sorted({file.parent.parent for file in path.rglob("0*.npz")}):
        stopped(folder, *at)
    for record in resume(path, search=SEARCHES[name]):
        assert [(record.path / name).exists() for name in LEFT + OTHERS] == [False] * 3 + [True] * 2
    assert bits(path) == bits(whole)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A search's run of 6 generations that never stopped, and a copy to be spoiled."""
    runs = tmp_path_factory.mktemp("whole")

    def make(name, seeds):
        whole = runs / name
        if not whole.exists():
            run(SEARCHES[name], 6, out=whole, seeds=seeds, checkpoint_every=3)
        return whole, Path(shutil.copytree(whole, tmp_path_factory.mktemp("copy") / "run"))

    return make


CHILD = """
import sys, time
from searches import HOST
import brns
for saved in brns.generations(HOST, 6, out=sys.argv[1], seeds=2, checkpoint_every=3):
    print(saved.number, flush=True)
    time.sleep(600 if saved.number == 5 else 0.02)
"""


@pytest.mark.processes
def test_a_run_that_is_written_is_locked_until_it_is_killed(made, tmp_path):
    whole, _ = made("host", 2)
    with python("-c", CHILD, tmp_path / "run") as child:
        while (line := child.stdout.readline()) and int(line) < 3:
            pass
        with pytest.raises(RecordError, match="is being written by another process"):
            resume(tmp_path / "run", search=HOST)
        os.kill(child.pid, signal.SIGKILL)
    assert Record(tmp_path / "run" / "seed0000").last_generation < 6
    resume(tmp_path / "run", search=HOST)
    assert bits(tmp_path / "run") == bits(whole)


@pytest.mark.parametrize(
    ("generations", "changes", "message"),
    [
        (7, {"mutate": PolynomialMutation(eta=2.0, rate=0.25)}, "rate was 0.5 and is 0.25"),
        (0, {}, "generations must be a whole number from 1 on; got 0"),
    ],
)
def test_what_cannot_be_resumed_is_refused_and_stays_as_it_is(generations, changes, message, made):
    whole, _ = made("host", 2)
    before = contents(whole)
    with pytest.raises(ValueError, match=message):
        resume(whole, generations, search=replace(HOST, **changes))
    assert contents(whole) == before


@pytest.mark.parametrize(
    ("out", "message"), [("around", "give that"), ("x" * 300, "another (path|place)")]
)
def test_what_is_no_run_is_not_gone_on_with(out, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(HOST, 1, out="around/run")
    before = contents(tmp_path)
    with pytest.raises(RecordError, match=message):
        run(HOST, 3, out=out, exist="resume")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run/run.json", "exists already: resume it"),
        ("run/notes.txt", "something else than a run: choose another"),
        ("run", "it is no folder: choose another"),
    ],
)
def test_a_folder_that_holds_anything_is_left_as_it_is(name, message, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("a stranger's")
    before = contents(tmp_path)
    with pytest.raises(RecordError, match=message):
        run(HOST, 1, out=tmp_path / "run")
    assert contents(tmp_path) == before


def test_what_evaluations_change_is_no_setting(tmp_path):
    """A counter of a task would make the finished run another experiment's."""
    task = Counting()
    counting = replace(HOST, task=task)
    run(counting, 2, out=tmp_path / "run")
    (record,) = resume(tmp_path / "run", 3, search=counting)
    assert {"task.calls", "small_tasks.Counting.batches"} <= {*record.metadata.changing}
    assert record.experiment["task"]["calls"] == 0
    task.gain = 2.0
    with pytest.raises(RecordError, match=r"task.gain was None and is 2"):
        resume(record, 4, search=counting)


@pytest.mark.parametrize(("first", "second"), [(None, 2), (2, None)])
def test_a_second_run_or_batch_is_refused_and_nothing_is_written(first, second, tmp_path):
    run(HOST, 1, out=tmp_path / "run", seeds=first)
    before = contents(tmp_path)
    with pytest.raises(RecordError, match=r"resume it \(brns resume .*choose another place"):
        run(HOST, 1, out=tmp_path / "run", seeds=second)
    assert contents(tmp_path) == before


def test_of_two_starts_one_is_refused(tmp_path, monkeypatch):
    """The second looked when nobody was there, and made its founders while the first began."""
    out = tmp_path / "run"
    (tmp_path / ".run.1.tmp").mkdir()
    (tmp_path / ".run.1.tmp" / "run.json").write_text("half")
    late = brns.generations(replace(HOST), 3, out=out)
    begin = type(HOST).init_with_failures

    def slow(*arguments):
        monkeypatch.setattr(type(HOST), "init_with_failures", begin)
        run(HOST, 2, out=out)
        return begin(*arguments)

    monkeypatch.setattr(type(HOST), "init_with_failures", slow)
    with pytest.raises(RecordError, match="exists already: resume it"):
        next(late)
    assert [record.planned_generations for record in brns.records(tmp_path)] == [2]
    assert {file.name for file in tmp_path.iterdir()} == {"run", ".run.1.tmp"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [0]),
        ({"seed": 3}, [3]),
        ({"seeds": 3}, [0, 1, 2]),
        ({"seed": 5, "seeds": np.int64(2)}, [5, 6]),
        ({"seeds": (s for s in (7, 5))}, [5, 7]),
    ],
)
def test_seeds_have_one_meaning(asked, found):
    assert resolve_seeds(**asked) == found


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"generations": 0}, "generations must be a whole number from 1 on"),
        ({"exist": "overwrite"}, "exist must be refuse or resume; got 'overwrite'"),
        ({"search": HOST.task}, r"a search, as in brns\.NoveltySearch\(task\); got HostIdentity"),
        ({"until": "saturated"}, r"until must be a function, such as brns\.saturated; got 'sat"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number from 1 on"),
        ({"seed": 7, "seeds": [1, 2]}, r"no seed beside a list of seeds \(.*\); got seed=7"),
        ({"seeds": []}, r"seeds, whole numbers from 0 to 2\*\*32 - 1, .*\[\]"),
        ({"seed": -1}, "got seed=-1"),
        (
            {"seeds": 20240501},
            r"1 to 100,000 .* \(seed is which one, .*; got seed=0, seeds=20240501",
        ),
        ({"seeds": np.array([0, 1.5])}, "different seeds, whole numbers"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(
    wrong, message, tmp_path, capsys, unchecked
):
    for place in (tmp_path / "run", None):
        with pytest.raises(ValueError, match=message):
            run(**({"search": HOST, "generations": 2, "out": place} | wrong))
    assert not (tmp_path / "run").exists()
    assert capsys.readouterr().err == ""  # it names no folder


@pytest.mark.slow
def test_memory_is_flat_over_a_run_and_over_what_a_resumed_one_reads(tmp_path, monkeypatch):
    """JAX's arrays, Python's and NumPy's, of generation 20 and 90 later.
    Resuming compiles at first."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # which is most of the time
    held, peaks, collector = {}, [], gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # as users have it
    counting, out = SEARCHES["counts"], tmp_path / "run"
    try:
        for saved in brns.generations(counting, 110, out=out, checkpoint_every=10):
            if saved.number == 5:
                tracemalloc.start()
            if saved.number in (20, 110):  # both keep a state
                gc.collect()
                held[saved.number] = len(jax.live_arrays()), tracemalloc.get_traced_memory()[0]
        for number in (20, 20, 110):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            record = Record(out, counting)
            ActiveRun.read_stored(record, number, 110).begin_session_and_clean_up()
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
        gc.set_threshold(*collector)
    arrays, memory = np.subtract(held[110], held[20])
    assert arrays < 20
    assert memory < 300_000  # a generation that stays takes 5000, and a collection may be due
    assert peaks[2] - peaks[1] < 200_000  # one that is read takes 10,000
