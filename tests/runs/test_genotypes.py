"""Genotypes on disk: what differs from the parents, and every one of them comes back to the bit."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from files import reseal, seal
from worlds import Identity

from brns import GridCounts, IsoLineDD, NoveltySearch, PolynomialMutation, Record, RecordError
from brns.core import Generation, Population
from brns.runs.genotypes import written
from brns.runs.loop import generations, resume
from brns.runs.storage import read_arrays

BEFORE = Path(__file__).parent / "made_before"


def search(mutate=None):
    return NoveltySearch(Identity(), GridCounts(), 8, 6, mutate or PolynomialMutation(eta=2.0, rate=0.2))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 12 generations with a state every 5, and the genotypes that were born in each."""
    path = tmp_path_factory.mktemp("genotypes") / "run"
    steps = generations(search(), 12, out=path, seeds=3, keep_every=5)
    return path, [np.asarray(saved.generation.offspring.genotype) for saved in steps]


@pytest.fixture
def path(whole, tmp_path):
    """A copy of that run, to be spoiled."""
    return Path(shutil.copytree(whole[0], tmp_path / "run"))


def population(genotype, ids, parent):
    rest = {name: np.zeros(len(ids)) for name in Population._fields}
    return Population(**rest | {"genotype": np.array(genotype, np.float32), "id": np.array(ids), "parent": parent})


def test_what_differs_is_written():
    parents = population([[1, 2, 3], [4, 5, 0]], [9, 7], [0, 0])
    offspring = population([[4, 5, 0], [1, 2, 8], [6, 5, -0.0]], [10, 11, 12], np.array([7, 9, 7]))
    columns = written(Generation(parents, offspring, parents))
    assert set(columns) == {"mutations.where", "mutations.genes"}
    assert columns["mutations.where"].tolist() == [[0b00000000], [0b00100000], [0b10100000]]
    assert columns["mutations.genes"].tolist() == [8, 6, 0]
    assert np.signbit(columns["mutations.genes"]).tolist() == [False, False, True]


def test_whoever_has_no_parent_there_stands_whole():
    people = population([[1, 2, 3], [4, 5, 0]], [9, 7], np.array([-1, -1]))
    columns = written(Generation(people, people, people))
    assert columns.keys() == {"offspring.genotype"}


def test_all_come_back_whatever_is_asked_for_first(whole):
    path, born = whole
    record = Record(path)
    assert "offspring.genotype" not in np.load(path / "generations" / "000007.npz")
    for number in (9, 2, 12, 11, 0, 12):
        np.testing.assert_array_equal(record.column("offspring.genotype", [number])[0], born[number])
    np.testing.assert_array_equal(Record(path).column("offspring.genotype"), born[1:])


@pytest.mark.parametrize("spoilt", ["removed", "damaged"])
def test_a_state_that_is_gone_costs_no_genotype(whole, path, spoilt):
    for state in (path / "states").iterdir():
        state.unlink() if spoilt == "removed" else state.write_bytes(b"PK" + state.read_bytes()[:500])
    for number in (12, 4):
        np.testing.assert_array_equal(Record(path).column("offspring.genotype", [number])[0], whole[1][number])


def test_offspring_unlike_their_parents_stand_whole(tmp_path):
    steps = generations(search(IsoLineDD()), 2, out=tmp_path / "run")
    born = [np.asarray(saved.generation.offspring.genotype) for saved in steps]
    arrays = np.load(tmp_path / "run" / "generations" / "000002.npz")
    np.testing.assert_array_equal(arrays["offspring.genotype"], born[2])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("mutations.where", np.zeros((6, 2), np.uint8), "the mutations of generation 7 fit no genotypes"),
        ("mutations.where", np.full((6, 1), 255, np.uint8), "the mutations of generation 7 fit no genotypes"),
        ("mutations.genes", np.zeros(1), "the mutations of generation 7 fit no genotypes"),
        ("offspring.parent", np.full(6, 900, np.int32), r"generation 7 names individuals \[900, .* who did not live"),
    ],
)
def test_mutations_that_fit_no_parents_are_refused(path, column, values, message):
    file = path / "generations" / "000007.npz"
    reseal(file, {**read_arrays(file, seal(file)), column: values})
    with pytest.raises(RecordError, match=message):
        Record(path).column("offspring.genotype", [7])


def test_a_run_of_before_goes_on_as_runs_are_written_now(tmp_path):
    path = Path(shutil.copytree(BEFORE / "archive", tmp_path / "run"))
    before = Record(path).column("offspring.genotype")
    (record,) = resume(path, 9)
    assert json.loads((path / "run.json").read_text())["format"] == 2
    np.testing.assert_array_equal(record.column("offspring.genotype")[:6], before)
    assert "mutations.genes" in np.load(path / "generations" / "000009.npz")
    last = record.state(9).population
    np.testing.assert_array_equal(record.population(9).genotype, last.genotype)
