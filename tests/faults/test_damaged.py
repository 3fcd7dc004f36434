"""Damaged files: bytes flipped, cut short, junk, columns of a wrong shape, any JSON."""

import json

import jax
import numpy as np
import pytest
from files import reseal
from hypothesis import given
from hypothesis import strategies as st
from small import SEARCH, WILD

from brns import Record, RecordError, run


def everything(path):
    """All arrays of a record as a reader gets them: columns, solutions, genotypes and states."""
    record = Record(path)
    columns = [record.column(name) for name in ("survivors.novelty", "offspring.genotype", "parents.id")]
    states = [record.state(number, SEARCH) for number in record.snapshots]
    return [np.asarray(leaf) for leaf in jax.tree.leaves((columns, record.solutions(), states))]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A run of three generations that may be damaged; with its files, and all that it holds."""
    path = tmp_path_factory.mktemp("damaged") / "run"
    run(SEARCH, 3, out=path, seed=5, keep_every=3)
    files = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".npz"))
    return path, files, everything(path)


def read_or_refused(path, file, content, expected):
    """Read the record while a file of it has another content: the same arrays as ever, or a `RecordError`."""
    before = file.read_bytes()
    file.write_bytes(content)
    try:
        found = everything(path)
    except RecordError:
        return False
    finally:
        file.write_bytes(before)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return True


@pytest.mark.slow  # test_refused flips bytes in an order of its own
@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_any_byte_flipped_in_any_file_is_noticed_or_harmless(damaged, which, at, flip):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= flip
    read_or_refused(path, file, bytes(content), expected)


@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6))
def test_any_file_cut_short_at_any_length_is_refused(damaged, which, at):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = file.read_bytes()
    assert not read_or_refused(path, file, content[: at % len(content)], expected)


@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6), junk=st.binary(min_size=1, max_size=200))
def test_junk_in_the_middle_of_any_file_is_noticed_or_harmless(damaged, which, at, junk):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = file.read_bytes()
    read_or_refused(path, file, content[: at % len(content)] + junk + content[at % len(content) :], expected)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=10), values, max_size=4),
    max_leaves=10,
)


@WILD
@given(data=st.data())
def test_a_run_json_of_any_values_is_a_record_or_a_record_error(damaged, data):
    path, _, _ = damaged
    file = path / "run.json"
    facts = json.loads(file.read_text())
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(facts)), JSON, min_size=1, max_size=3))
    refused_or_sound(file, json.dumps(facts | changed))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", "3", '{"format": true}'])
def test_a_run_json_that_is_too_much_is_refused(damaged, text):
    assert not refused_or_sound(damaged[0] / "run.json", text)


def refused_or_sound(file, text):
    """Read a run.json: if it is not refused, what a record says of itself is of the types that it promises."""
    before = file.read_bytes()
    file.write_text(text)
    try:
        record = Record(file.parent)
    except RecordError:
        return False
    finally:
        file.write_bytes(before)
    assert isinstance(record.experiment, dict)
    assert isinstance(record.versions, dict)
    for number in (record.seed, record.planned, record.keep_every, *record.seeds):
        assert type(number) is int
    assert record.keep_every > 0
    return True


@pytest.mark.parametrize(
    ("column", "array", "message"),
    [
        ("offspring.novelty", np.zeros(5, np.float32), "000004.npz was edited"),
        ("survivors.novelty", np.zeros((), np.float32), r"000004.npz was edited: survivors.novelty has shape \(\)"),
        (
            "survivors.descriptor",
            np.zeros((8, 3), np.float32),
            r"\(8, 2\) in generation 0 and \(8, 3\) in generation 4",
        ),
    ],
)
def test_columns_of_a_wrong_shape_are_refused(half, column, array, message):
    file = half / "generations" / "000004.npz"
    with np.load(file, allow_pickle=False) as arrays:
        changed = {**arrays, column: array}
    reseal(file, changed)
    with pytest.raises(RecordError, match=message):
        Record(half).column(column)
