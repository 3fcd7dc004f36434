"""Whatever is run, and wherever it was stopped: it is resumed to the same files. And where a run may stand."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from files import bits
from searches import search
from worlds import HostIdentity

import brns
from brns import Record, RecordError, resume, run
from brns.runs.loop import start
from brns.runs.places import aside_of

METHODS = {
    "recognition": None,
    "exact": brns.ExactRecognition(size=16),
    "archive": brns.ArchiveKNN(k=3, growth=2, capacity=20),
}


def stopped(path, generation, state):
    """Leave what a crash would: the generations up to one, the states up to another, half-written files."""
    for folder, last in [("generations", generation), ("states", state)]:
        for file in (path / folder).iterdir():
            if int(file.stem) > last:
                file.unlink()
        (path / folder / ".000009.7.tmp.npz").write_bytes(b"PK")
    (path / "progress.csv").write_text("generation,")


@pytest.mark.parametrize("at", [(6, 5), (4, 3), (0, 0)])
@pytest.mark.parametrize("seeds", [None, 2])
@pytest.mark.parametrize("world", ["traced", "host"])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_stopped_anywhere_resumes_to_the_same_files(method, world, seeds, at, made):
    one, whole, path = made(method, world, seeds)
    for folder in sorted({file.parent.parent for file in path.rglob("0*.npz")}):
        stopped(folder, *at)
    records = resume(path, search=one)
    assert bits(path) == bits(whole)
    assert not list(path.rglob("*.tmp*"))
    for record in records:
        rows = [line.rsplit(",", 1)[0] for line in (record.path / "progress.csv").read_text().splitlines()]
        before = whole / record.path.relative_to(path) / "progress.csv"
        assert rows == [line.rsplit(",", 1)[0] for line in before.read_text().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A search, its run of 6 generations that never stopped, and a copy to be spoiled."""
    runs = tmp_path_factory.mktemp("whole")

    def make(method, world, seeds):
        estimator = {} if METHODS[method] is None else {"estimator": METHODS[method]}
        one = search(HostIdentity(), **estimator) if world == "host" else search(**estimator)
        whole = runs / f"{method}-{world}-{seeds}"
        if not whole.exists():
            run(one, 6, out=whole, seeds=seeds, keep_every=3)
        return one, whole, Path(shutil.copytree(whole, tmp_path_factory.mktemp("copy") / "run"))

    return make


def test_a_run_made_longer_is_the_run_that_was_long_from_the_start(made, tmp_path):
    one, whole, _ = made("recognition", "traced", None)
    run(one, 4, out=tmp_path / "run", keep_every=3)
    (record,) = resume(tmp_path / "run", 6, search=one)
    assert (record.planned, record.snapshots) == (6, [0, 3, 6])
    assert bits(tmp_path / "run") == bits(whole)


CHILD = """
import sys, time
sys.path[:0] = sys.argv[1:2]
from searches import search
from brns.runs.loop import start
for saved in start(search(), 6, out=sys.argv[2], seeds=2, keep_every=3):
    print(saved[0].number, flush=True)
    time.sleep(600 if saved[0].number == 5 else 0.02)
"""


@pytest.mark.processes
def test_a_run_killed_outright_resumes_to_the_same_files(made, tmp_path):
    one, whole, _ = made("recognition", "traced", 2)
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent.parent), str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while (line := child.stdout.readline()) and int(line) < 3:
            pass
        os.kill(child.pid, signal.SIGKILL)
    assert Record(tmp_path / "run" / "seed0000").last < 6
    resume(tmp_path / "run", search=one)
    assert bits(tmp_path / "run") == bits(whole)


# --- where a run stands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.json", "notes.txt", "generations"])
def test_a_folder_that_holds_anything_is_left_as_it_is(name, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("a stranger's")
    with pytest.raises(RecordError, match="exists already"):
        run(search(HostIdentity()), 1, out=tmp_path / "run")
    assert [file.name for file in tmp_path.rglob("*")] == ["run", name]


@pytest.mark.parametrize(
    ("first", "second", "below"),
    [(None, 2, "."), (2, None, "."), (2, 3, "."), (None, None, "deeper"), (2, None, "third"), (2, None, "seed0002")],
)
def test_a_second_run_or_batch_is_refused_and_nothing_is_written(first, second, below, tmp_path):
    one = search(HostIdentity())
    run(one, 1, out=tmp_path / "run", seeds=first)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    with pytest.raises(RecordError, match="choose another place"):
        run(one, 1, out=tmp_path / "run" / below, seeds=second)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_record_that_holds_only_founders_is_a_run(tmp_path):
    one = search(HostIdentity())
    next(start(one, 3, out=tmp_path / "run"))
    with pytest.raises(RecordError, match="exists already"):
        run(one, 3, out=tmp_path / "run")
    assert resume(tmp_path / "run", search=one)[0].last == 3


def test_of_two_starts_one_is_refused_and_what_an_aborted_one_left_is_ignored(tmp_path, monkeypatch):
    """The second looked when nobody was there, and made its founders while the first began."""
    one, out = search(HostIdentity()), tmp_path / "run"
    aside_of(out).mkdir()
    (aside_of(out) / "run.json").write_text("half")
    late = start(replace(one), 3, out=out)
    init = type(one).init

    def slow(*arguments):
        monkeypatch.setattr(type(one), "init", init)
        run(one, 2, out=out)
        return init(*arguments)

    monkeypatch.setattr(type(one), "init", slow)
    with pytest.raises(RecordError, match="exists already"):
        next(late)
    assert Record(out).planned == 2
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


# --- seeds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [0]),
        ({"seed": 3}, [3]),
        ({"seeds": 3}, [0, 1, 2]),
        ({"seed": 5, "seeds": np.int64(2)}, [5, 6]),
        ({"seeds": (s for s in (7, 5))}, [5, 7]),
        ({"seeds": {6}}, [6]),
    ],
)
def test_seeds_have_one_meaning(asked, found, tmp_path):
    assert [record.seed for record in run(search(HostIdentity()), 1, out=tmp_path / "run", **asked)] == found


def test_what_is_refused_names_no_folder(capsys):
    with pytest.raises(ValueError, match="generations"):
        run(search(HostIdentity()), 0)
    assert capsys.readouterr().err == ""
