"""Every file belongs to one run and one generation, and one that does not is refused by name."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from files import seal
from test_loop import search

from brns import Record, RecordError
from brns.runs.loop import resume, run
from brns.runs.progress import Row, read
from brns.runs.storage import Seal, read_arrays, write_arrays

BEFORE = Path(__file__).parent / "made_before"
FILES = ["generations/000003.npz", "states/000003.npz"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run, the same once more, and one of another seed: all arrays have the same shapes."""
    folder = tmp_path_factory.mktemp("seals")
    run(search(), 4, out=folder / "one", seeds=5, keep_every=3)
    run(search(), 4, out=folder / "again", seeds=5, keep_every=3)
    run(search(), 4, out=folder / "other", seeds=6, keep_every=3)
    return folder


@pytest.fixture
def runs(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "runs"))


def everything(record):
    return record.column("offspring.genotype"), *(record.state(number, search()) for number in record.snapshots)


@pytest.mark.parametrize("other", ["other", "again"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_is_refused(runs, other, name):
    shutil.copy(runs / other / name, runs / "one" / name)
    mine, theirs = (Record(runs / one).identifier for one in ("one", other))
    with pytest.raises(RecordError, match=rf"{name} is damaged \(it belongs to another run: to {theirs}, .* {mine}\)"):
        everything(Record(runs / "one"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_generation_is_refused(runs, name):
    file = runs / "one" / name
    shutil.copy(file.with_name("000000.npz" if "states" in name else "000002.npz"), file)
    number = 0 if "states" in name else 2
    with pytest.raises(RecordError, match=rf"{name} is damaged \(it belongs to generation {number} and stands for 3\)"):
        everything(Record(runs / "one"))


def test_arrays_that_were_changed_are_refused_though_the_zip_is_sound(runs):
    file = runs / "one" / "generations" / "000003.npz"
    expected, arrays = seal(file), read_arrays(file, seal(file))
    write_arrays(file, arrays, expected._replace(generation=7))
    other = file.read_bytes()
    write_arrays(file, {**arrays, "offspring.fitness": arrays["offspring.fitness"] + 1}, expected)
    changed = file.read_bytes()
    file.write_bytes(changed[: changed.rindex(b"{")] + other[other.rindex(b"{") :].replace(b": 7", b": 3"))
    with pytest.raises(RecordError, match="its arrays are not those that it was sealed with"):
        read_arrays(file, expected)


def test_a_file_without_a_seal_is_refused_where_the_run_has_an_identifier(runs):
    file = runs / "one" / "generations" / "000003.npz"
    np.savez(file, **read_arrays(file, seal(file)))
    with pytest.raises(RecordError, match="it does not say to which run it belongs"):
        Record(runs / "one").column("offspring.id")


def test_the_same_arrays_and_seal_are_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_arrays(tmp_path / name, {"a": np.arange(3)}, Seal("f" * 16, 2))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with np.load(tmp_path / "one", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["a"], [0, 1, 2])


def test_runs_of_before_are_read_shown_and_gone_on_with(tmp_path):
    """They have no identifier, no box and no checks; what is written to them now is sealed for no run."""
    path = Path(shutil.copytree(BEFORE / "archive", tmp_path / "run"))
    assert read(Record(path)) == []  # nothing tells whether its numbers were changed
    before = Record(path).column("survivors.novelty")
    (record,) = resume(path, 7)
    assert record.generations == list(range(8))
    np.testing.assert_array_equal(record.column("survivors.novelty")[:7], before)
    assert record.behavior_space.high.tolist() == [600, 600]
    assert [row.generation for row in read(record)] == list(range(8))
    shutil.copy(path / "generations" / "000007.npz", path / "generations" / "000008.npz")
    with pytest.raises(RecordError, match="belongs to generation 7 and stands for 8"):
        Record(path).column("offspring.id", [8])


def test_no_changed_bit_of_progress_csv_shows_a_wrong_number(whole, tmp_path):
    path = Path(shutil.copytree(whole / "one", tmp_path / "run"))
    record, content = Record(path), (path / "progress.csv").read_bytes()
    rows = read(record)
    assert len(rows) == 5
    for at in range(0, 8 * len(content), 5):  # each bit of a byte in turn
        changed = bytearray(content)
        changed[at // 8] ^= 1 << at % 8
        (path / "progress.csv").write_bytes(changed)
        found = read(record)
        assert found == rows[: len(found)]


def test_progress_of_another_run_is_not_believed(runs):
    shutil.copy(runs / "other" / "progress.csv", runs / "one" / "progress.csv")
    assert read(Record(runs / "one")) == []
    assert all(isinstance(row, Row) for row in read(Record(runs / "other")))
