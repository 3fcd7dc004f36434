"""Damaged files: bytes flipped, cut short, or put between others, in every file of a run."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import SEARCH, WILD

from brns import Record, RecordError, run

FILES = ["run.json", "progress.csv", *(f"{kind}/00000{g}.npz" for kind in ("generations", "states") for g in (0, 2, 3))]


def everything(path):
    """All that a reader gets of a record: facts, columns, solutions, genotypes and states."""
    record = Record(path, SEARCH)
    columns = [record.column(name) for name in ("survivors.novelty", "offspring.genotype", "parents.id")]
    states = [record.arrays("states", number) for number in record.snapshots]
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves((columns, record.solutions(), states))]
    return record.metadata, [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A run of three generations that may be damaged, and all that it holds."""
    path = tmp_path_factory.mktemp("damaged") / "run"
    run(SEARCH, 3, out=path, seed=5, checkpoint_every=2)
    assert {str(file.relative_to(path)) for file in path.rglob("*.*")} - {*FILES} == {"generations/000001.npz"}
    return path, everything(path)


def refused(damaged, name, change):
    """Whether another content of a file is refused by name; if not, the record is what it was."""
    path, expected = damaged
    file = path / name
    before = file.read_bytes()
    file.write_bytes(change(before))
    try:
        found = everything(path)
    except RecordError as error:
        found = str(error)
    finally:
        file.write_bytes(before)
    assert found == expected or file.name in found
    return found != expected


def flipped(content, at, flip=1):
    return content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :]


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_in_any_file_is_refused_by_name_or_changes_nothing(damaged, name):
    length = len((damaged[0] / name).read_bytes())
    found = [refused(damaged, name, lambda b, at=at: flipped(b, at)) for at in range(0, length, -(-length // 12))]
    assert any(found) == (name != "progress.csv")  # of which nothing is read


@WILD
@given(name=st.sampled_from(FILES), at=st.integers(0, 10**6))
def test_any_file_cut_short_at_any_length_is_refused(damaged, name, at):
    assert refused(damaged, name, lambda content: content[: at % len(content)]) == (name != "progress.csv")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", "3", '{"format": true}'])
def test_a_run_json_of_anything_else_is_refused(damaged, text):
    assert refused(damaged, "run.json", lambda content: text.encode())
