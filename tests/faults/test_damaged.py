"""Damaged files, and those of others: objects,
other runs' files and other formats are refused by name."""

import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from files import rewrite
from hypothesis import given
from hypothesis import strategies as st
from small import SEARCH, WILD

from brns import Novelty, Record, RecordError, VisitCounts
from brns.runs.loop import resume

FILES = [f"{kind}/00000{g}.npz" for kind in ("generations", "states") for g in (0, 4)]
FILES += ["run.json", "progress.csv"]


def everything(path):
    """All that a reader gets of a record: facts, columns, solutions, genotypes and states."""
    record = Record(path, SEARCH)
    names = ("survivors.novelty", "offspring.genotype", "parents.id")
    columns = [record.column(name) for name in names]
    states = [record.arrays("states", number) for number in record.generations_with_states]
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves((columns, record.solutions(), states))]
    return record.metadata, [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]


@pytest.fixture(scope="module")
def damaged(finished, tmp_path_factory):
    """A run that may be damaged, and all that it holds."""
    path = Path(shutil.copytree(finished.path, tmp_path_factory.mktemp("damaged") / "run"))
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


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_in_any_file_is_refused_by_name_or_changes_nothing(damaged, name):
    length = (damaged[0] / name).stat().st_size
    places = range(0, length, -(-length // 12))
    found = [refused(damaged, name, lambda b, at=at: flipped(b, at)) for at in places]
    assert any(found) == (name != "progress.csv")  # of which nothing is read


@WILD
@given(name=st.sampled_from(FILES), at=st.integers(0, 10**6))
def test_any_file_cut_short_at_any_length_is_refused(damaged, name, at):
    cut = refused(damaged, name, lambda content: content[: at % len(content)])
    assert cut == (name != "progress.csv")


@pytest.fixture
def path(finished, tmp_path):
    """A copy of a run of four generations, to be spoiled."""
    return Path(shutil.copytree(finished.path, tmp_path / "run"))


class Bomb:
    """Unpickling it would leave a file behind."""

    def __reduce__(self):
        return Path("exploded").touch, ()


READ = {
    "generations/000002.npz": lambda path: Record(path).column("offspring.id"),
    "states/000004.npz": lambda path: resume(path, 6, search=SEARCH),
}


@pytest.mark.parametrize("name", [*READ, "novelty.npz"])
def test_objects_are_never_unpickled(path, name, monkeypatch):
    monkeypatch.chdir(path)
    Novelty(VisitCounts(grids=8), SEARCH.task.behavior_space).save("novelty.npz")
    bomb = np.array([Bomb()], object)
    with np.load(name, allow_pickle=False) as arrays:
        np.savez(name, **{key: array if key == "seal" else bomb for key, array in arrays.items()})
    with pytest.raises(ValueError, match=r"is damaged|allow_pickle"):
        READ[name](path) if name in READ else Novelty.load(name)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("name", READ)
def test_a_file_of_another_run_or_generation_is_refused(path, name):
    shutil.copy((path / name).with_name("000003.npz"), path / name)
    with pytest.raises(RecordError, match="belongs to 'generation 3 of"):
        READ[name](path)
    facts = json.loads((path / "run.json").read_text())
    rewrite(path, facts | {"id": "0" * 16})
    with pytest.raises(RecordError, match="belongs to 'generation"):
        READ[name](path)


@pytest.mark.parametrize("change", [{"format": 4}, {"seed": "x"}, {"versions": None}, {"more": 1}])
def test_a_run_of_another_format_is_refused(path, change):
    facts = json.loads((path / "run.json").read_text()) | change
    (path / "run.json").write_text(json.dumps(facts))
    with pytest.raises(RecordError, match=rf"reads: {next(iter(change))}"):
        Record(path)
