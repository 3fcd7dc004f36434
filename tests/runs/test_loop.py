"""Running and resuming: a run that was stopped, however it was, ends in the same bits."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from files import bits
from searches import search
from shell import call
from worlds import HostIdentity

from brns import ArchiveKNN, ExactRecognition, PolynomialMutation, Record, RecordError
from brns.runs.loop import resume, run, start
from brns.runs.loop import whole as whole_number

pytestmark = pytest.mark.usefixtures("users_compiler")


def cut(path, generation, state):
    """Leave what a crash would: the generations up to one, the states up to another."""
    for folder, last in [("generations", generation), ("states", state)]:
        for file in (path / folder).iterdir():
            if int(file.stem) > last:
                file.unlink()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 10 generations and a batch of two seeds that never stopped."""
    folder = tmp_path_factory.mktemp("run")
    run(search(), 10, out=folder / "one", seeds=5, keep_every=3)
    run(search(), 10, out=folder / "batch", seeds=[1, 0], keep_every=3)
    return folder


@pytest.fixture
def runs(whole, tmp_path):
    """A copy of both, to be cut."""
    return Path(shutil.copytree(whole, tmp_path / "runs"))


@pytest.mark.parametrize(
    ("generation", "state"),
    [(10, 9), (8, 3), *(pytest.param(*both, marks=pytest.mark.slow) for both in [(10, 6), (7, 6), (6, 6), (0, 0)])],
)
def test_a_run_cut_anywhere_resumes_to_the_same_bits(whole, runs, generation, state):
    cut(runs / "one", generation, state)
    (record,) = resume(runs / "one", search=search())
    assert record.generations == list(range(11))
    assert bits(runs / "one") == bits(whole / "one")


def test_what_a_killed_process_left_half_written_is_swept_away_and_nothing_else(whole, runs):
    left = [".run.7.tmp.json", "generations/.000004.7.tmp.npz", "states/.000004.7.tmp.npz"]
    others = [".movie.7.tmp.gif", "notes.tmp.npz"]
    for name in left + others:
        (runs / "one" / name).write_bytes(b"PK")
    resume(runs / "one", search=search())
    assert not any((runs / "one" / name).exists() for name in left)
    assert all((runs / "one" / name).exists() for name in others)
    assert bits(runs / "one") == bits(whole / "one")


def test_a_run_made_longer_is_the_run_that_was_long_from_the_start(whole, tmp_path):
    run(search(), 4, out=tmp_path, seeds=5, keep_every=3)
    assert Record(tmp_path).snapshots == [0, 3, 4]
    (record,) = resume(tmp_path, 10, search=search())
    assert record.snapshots == [0, 3, 6, 9, 10]
    assert record.planned == 10
    assert bits(tmp_path) == bits(whole / "one")


def test_a_run_that_is_done_stays_as_it_is(whole, runs):
    resume(runs / "one", search=search())
    assert bits(runs / "one") == bits(whole / "one")


def test_a_host_task_resumes_to_the_same_bits(tmp_path):
    run(search(HostIdentity()), 4, out=tmp_path / "whole", seeds=[0, 1])
    run(search(HostIdentity()), 2, out=tmp_path / "part", seeds=[0, 1])
    resume(tmp_path / "part", 4, search=search(HostIdentity()))
    assert bits(tmp_path / "part") == {k: v for k, v in bits(tmp_path / "whole").items() if "states/000002" not in k}


def test_a_run_in_another_place_resumes(whole, runs, tmp_path):
    cut(runs / "one", 7, 6)
    shutil.move(runs / "one", tmp_path / "elsewhere")
    resume(tmp_path / "elsewhere", search=search())
    assert bits(tmp_path / "elsewhere") == bits(whole / "one")


def test_a_batch_of_seeds_resumes_as_a_batch(whole, runs):
    """One seed was a generation ahead of the other when the run was stopped."""
    cut(runs / "batch" / "seed0000", 8, 6)
    cut(runs / "batch" / "seed0001", 7, 6)
    resume(runs / "batch", search=search())
    assert bits(runs / "batch") == bits(whole / "batch")


def test_one_seed_of_a_batch_is_refused_since_it_was_computed_with_the_others(runs):
    with pytest.raises(
        RecordError, match=r"seeds \[1\] of a batch of \[0, 1\].*resume the directory that holds them all"
    ):
        resume(runs / "batch" / "seed0001", 12, search=search())


def test_the_seeds_of_a_batch_are_those_of_runs_alone_up_to_rounding(whole, tmp_path):
    run(search(), 3, out=tmp_path, seeds=1)
    alone, batched = Record(tmp_path), Record(whole / "batch" / "seed0001")
    for column in ("offspring.genotype", "survivors.descriptor"):
        mine, theirs = alone.column(column), batched.column(column, alone.generations[-len(alone.column(column)) :])
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ExactRecognition(size=16), ArchiveKNN(k=3, growth=2, capacity=20)])
def test_a_batch_of_any_novelty_resumes_to_the_same_bits(estimator, tmp_path):
    one = search(estimator=estimator)
    run(one, 6, out=tmp_path / "whole", seeds=range(3), keep_every=3)
    run(one, 3, out=tmp_path / "part", seeds=range(3), keep_every=3)
    resume(tmp_path / "part", 6, search=one)
    assert bits(tmp_path / "part") == bits(tmp_path / "whole")


def test_a_state_is_dropped_only_when_the_next_is_there(tmp_path, monkeypatch):
    append = Record.append

    def refuse(record, number, generation):
        if number == 2:
            raise RecordError("no room")
        append(record, number, generation)

    monkeypatch.setattr(Record, "append", refuse)
    with pytest.raises(RecordError, match="no room"):
        run(search(), 4, out=tmp_path)
    assert Record(tmp_path).snapshots == [0, 1]


def test_another_experiment_is_refused_and_told_apart(runs):
    before = bits(runs / "one")
    with pytest.raises(RecordError, match=r"another experiment: mutate.rate was 0.5 and is 0.25"):
        resume(runs / "one", 12, search=search(mutate=PolynomialMutation(eta=2.0, rate=0.25)))
    assert bits(runs / "one") == before
    assert Record(runs / "one").planned == 10


def test_an_experiment_with_parts_of_ones_own_must_be_given(runs):
    with pytest.raises(ValueError, match=r"'Identity' is not a part of brns.* search=\.\.\."):
        resume(runs / "one", 12)


def test_a_run_stopped_before_it_began_says_so(runs):
    cut(runs / "one", -1, -1)
    with pytest.raises(RecordError, match=r"no state to go on from; start anew"):
        resume(runs / "one", search=search())
    done = call("resume", runs / "one", folder=runs)
    assert done.returncode == 2
    assert "was stopped before its founders were saved" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"generations": 0}, "generations must be a whole number from 1 on; got 0"),
        ({"keep_every": 0}, "keep_every must be a whole number from 1 on; got 0"),
        ({"seeds": []}, r"one or more different seeds from 0 on; got \[\]"),
        ({"seeds": [1, 1]}, r"got \[1, 1\]"),
        ({"seeds": -1}, r"got \[-1\]"),
        ({"seeds": np.array([0, 1.5])}, r"a seed is a whole number from 0 to 2\*\*32 - 1; got .*1.5"),
        ({"seeds": np.zeros((2, 2), int)}, "a seed is a whole number"),
        ({"seeds": 2**32}, r"a seed is at most 2\*\*32 - 1; got 4294967296"),
        ({"seeds": [0, 2**63]}, "got 9223372036854775808"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        run(search(), out=tmp_path / "run", **({"generations": 2} | wrong))
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_asked_for_no_whole_number_of_generations_stays_as_it_is(runs):
    before = bits(runs / "one")
    with pytest.raises(ValueError, match=r"generations must be a whole number from 1 on; got 1000.0"):
        whole_number("generations", 1e3)
    for wrong in (0, -5):
        with pytest.raises(ValueError, match="generations must be a whole number from 1 on"):
            resume(runs / "one", wrong, search=search())
    assert bits(runs / "one") == before
    assert resume(runs / "one", np.int64(11), search=search())[0].last == 11


@pytest.mark.parametrize(
    ("seeds", "found"),
    [(np.int64(3), [3]), (np.arange(2), [0, 1]), ((s for s in (7, 5)), [5, 7]), (np.array(4), [4]), ({6}, [6])],
)
def test_seeds_of_any_kind_of_whole_numbers(seeds, found, tmp_path):
    assert [record.seed for record in run(search(), 1, out=tmp_path / "run", seeds=seeds)] == found


def test_the_greatest_seed_is_a_seed_of_its_own(tmp_path):
    (last,), (first,) = (run(search(), 1, out=tmp_path / f"{s}", seeds=s) for s in (2**32 - 1, 0))
    assert not np.array_equal(last.column("offspring.genotype"), first.column("offspring.genotype"))


def test_each_generation_is_on_disk_when_it_is_handed_out(tmp_path):
    for (saved,) in start(search(), 3, out=tmp_path, seeds=5):
        assert Record(tmp_path).generations[-1] == saved.number == Record(tmp_path).snapshots[-1]
        np.testing.assert_array_equal(
            Record(tmp_path).column("survivors.id", [saved.number])[0], saved.generation.survivors.id
        )


CHILD = """
import sys, time
sys.path[:0] = sys.argv[1:3]
from searches import search
from brns.runs.loop import resume, run, start
for saved in start(search(), 10, out=sys.argv[3], seeds=[0, 1], keep_every=3):
    print(saved[0].number, flush=True)
    time.sleep(600 if saved[0].number == 8 else 0.02)
"""


def test_a_run_killed_outright_resumes_to_the_same_bits(whole, tmp_path):
    """kill -9 at a moment of its own after generation 4, in another process."""
    here = Path(__file__).parent.parent
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(here), str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while (line := child.stdout.readline()) and int(line) < 4:
            pass
        time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert Record(tmp_path / "run" / "seed0000").generations[-1] < 10
    resume(tmp_path / "run", search=search())
    assert bits(tmp_path / "run") == bits(whole / "batch")
