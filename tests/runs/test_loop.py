"""Running and resuming: a run that was stopped, however it was, ends in the same bits."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from files import bits
from searches import search

from brns import PolynomialMutation, Record, RecordError
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
    run(search(), 10, out=folder / "one", seed=5, keep_every=3)
    run(search(), 10, out=folder / "batch", seeds=[1, 0], keep_every=3)
    return folder


@pytest.fixture
def runs(whole, tmp_path):
    """A copy of both, to be cut."""
    return Path(shutil.copytree(whole, tmp_path / "runs"))


def test_what_a_killed_process_left_half_written_is_swept_away_and_nothing_else(whole, runs):
    left = [".run.7.tmp.json", "generations/.000004.7.tmp.npz", "states/.000004.7.tmp.npz"]
    others = [".movie.7.tmp.gif", "notes.tmp.npz"]
    for name in left + others:
        (runs / "one" / name).write_bytes(b"PK")
    resume(runs / "one", search=search())
    assert not any((runs / "one" / name).exists() for name in left)
    assert all((runs / "one" / name).exists() for name in others)
    assert bits(runs / "one") == bits(whole / "one")


def test_one_seed_of_a_batch_is_refused_since_it_was_computed_with_the_others(runs):
    with pytest.raises(
        RecordError, match=r"seeds \[1\] of a batch of \[0, 1\].*resume the directory that holds them all"
    ):
        resume(runs / "batch" / "seed0001", 12, search=search())


def test_the_seeds_of_a_batch_are_those_of_runs_alone_up_to_rounding(whole, tmp_path):
    run(search(), 3, out=tmp_path, seed=1)
    alone, batched = Record(tmp_path), Record(whole / "batch" / "seed0001")
    for column in ("offspring.genotype", "survivors.descriptor"):
        mine, theirs = alone.column(column), batched.column(column, alone.generations[-len(alone.column(column)) :])
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


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
    with pytest.raises(ValueError, match=r"not a part of brns"):
        resume(runs / "one", 12)


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
    (last,), (first,) = (run(search(), 1, out=tmp_path / f"{s}", seed=s) for s in (2**32 - 1, 0))
    assert not np.array_equal(last.column("offspring.genotype"), first.column("offspring.genotype"))


def test_each_generation_is_on_disk_when_it_is_handed_out(tmp_path):
    for (saved,) in start(search(), 3, out=tmp_path, seed=5):
        assert Record(tmp_path).generations[-1] == saved.number == Record(tmp_path).snapshots[-1]
        np.testing.assert_array_equal(
            Record(tmp_path).column("survivors.id", [saved.number])[0], saved.generation.survivors.id
        )
