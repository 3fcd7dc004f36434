"""A run on disk: what is written, what a crash leaves, and what is refused."""

import errno
import io
import json
import os
import shutil
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from files import seal, spoil, unsealed
from worlds import Identity

from brns import NoveltySearch, PolynomialMutation, Record, RecordError
from brns.experiments import paper_recognition
from brns.runs.loop import resume, run
from brns.runs.record import records
from brns.runs.storage import Seal, read_arrays

SEARCH = NoveltySearch(
    Identity(),
    replace(paper_recognition(), depths=(0, 1), reservoir=10),
    population_size=8,
    offspring_size=6,
    mutate=PolynomialMutation(eta=2.0, rate=0.5),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 10 generations that never stopped, in files to be read only."""
    path = tmp_path_factory.mktemp("record") / "run"
    run(SEARCH, 10, out=path, seeds=5, keep_every=3)
    return path


@pytest.fixture
def path(whole, tmp_path):
    """A copy of that run, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def bits(path):
    """The content of every file of generations and states by its name."""
    return {str(file.relative_to(path)): unsealed(file) for file in sorted(Path(path).rglob("0*.npz"))}


# --- what is written -----------------------------------------------------------------------------------------------


def test_the_facts_of_a_run_are_plain_json(whole):
    facts = json.loads((whole / "run.json").read_text())
    assert (facts["format"], facts["seed"], facts["seeds"], facts["generations"], facts["keep_every"]) == (
        2,
        5,
        [5],
        10,
        3,
    )
    assert facts["experiment"]["population_size"] == 8
    assert facts["experiment"]["mutate"] == {"name": "PolynomialMutation", "eta": 2.0, "rate": 0.5}
    assert facts["experiment"]["estimator"]["depths"] == [0, 1]
    assert {"brns", "jax", "jaxlib", "numpy", "python"} <= set(facts["versions"])


def test_numpy_alone_reads_a_generation(whole):
    with np.load(whole / "generations" / "000003.npz", allow_pickle=False) as arrays:
        shapes = {name: arrays[name].shape for name in arrays.files}
        np.testing.assert_array_equal(arrays["offspring.id"], 8 + 2 * 6 + np.arange(6))
    each = {"descriptor": (2,), "fitness": (), "solved": (), "novelty": (), "id": (), "parent": (), "born": ()}
    assert shapes == {
        "mutations.where": (6, 1),
        "mutations.genes": shapes["mutations.genes"],
        **{f"offspring.{name}": (6, *shape) for name, shape in each.items()},
        **{f"survivors.{name}": (8, *shape) for name, shape in each.items()},
        "parents.id": (8,),
        "parents.novelty": (8,),
    }
    with np.load(whole / "states" / "000003.npz", allow_pickle=False) as arrays:
        assert arrays["generation"] == 3
        assert arrays["estimator.predictor.layers.0.weight"].shape == (6, 2)


def test_the_stride_keeps_states_and_the_last_is_always_kept(whole):
    record = Record(whole)
    assert record.snapshots == [0, 3, 6, 9, 10]
    assert record.generations == list(range(11))


def test_columns_are_stacked_over_generations(whole):
    record = Record(whole)
    assert record.column("survivors.descriptor").shape == (11, 8, 2)
    assert record.column("offspring.genotype").shape == (10, 6, 5)
    assert record.column("parents.novelty").shape == (10, 8)
    np.testing.assert_array_equal(record.column("parents.id"), record.column("survivors.id")[:-1])
    np.testing.assert_array_equal(record.column("offspring.id", [4, 2])[:, 0], [8 + 3 * 6, 8 + 1 * 6])
    with pytest.raises(RecordError, match=r"no column 'survivors.genotype'; it has .*survivors.descriptor"):
        record.column("survivors.genotype")


def test_genotypes_are_found_where_they_were_born(whole):
    record = Record(whole)
    last = record.state(10, SEARCH).population
    genotypes = record.genotypes(np.asarray(last.id), np.asarray(last.born))
    np.testing.assert_array_equal(genotypes, last.genotype)
    with pytest.raises(RecordError, match=r"of generations 0, 2 no individual has the id 999, -7; give ids"):
        record.genotypes(np.array([3, 999, -7]), np.array([0, 2, 2]))


def test_solutions_stand_once_each_with_their_generation_of_birth(whole):
    record = Record(whole)
    expected, seen = [], []
    for g in record.generations:
        arrays = record.read(g, ["offspring.genotype", "offspring.id"])
        # Identity is solved where both first genes are above 0.8.
        solved = (arrays["offspring.genotype"][:, :2] > 0.8).all(axis=1)
        expected += arrays["offspring.id"][solved].tolist()
        seen += [g] * int(solved.sum())
    solutions = record.solutions()
    assert expected
    assert solutions.id.tolist() == expected
    assert solutions.born.tolist() == seen
    assert solutions.solved.all()
    assert (solutions.genotype[:, :2] > 0.8).all()
    np.testing.assert_allclose(solutions.descriptor, 300 + 300 * solutions.genotype[:, :2], rtol=1e-5)


def test_a_frame_holds_one_row_a_generation(whole):
    record = Record(whole)
    frame = record.frame()
    assert frame["generation"].tolist() == list(range(11))
    assert frame["evaluations"].tolist() == [8 + 6 * g for g in range(11)]
    assert frame["solutions"].iloc[-1] == len(record.solutions().id)
    novelty = record.column("survivors.novelty")
    np.testing.assert_allclose(frame["novelty_mean"], novelty.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(frame["novelty_max"], novelty.max(axis=1), rtol=1e-6)
    age = (np.arange(11)[:, None] - record.column("survivors.born")).mean(axis=1)
    np.testing.assert_allclose(frame["age_mean"], age)


def test_a_state_comes_back_with_its_bits(whole):
    record = Record(whole)
    state = record.state(9, SEARCH)
    again, _ = SEARCH.step(state, jax.random.key(5))
    np.testing.assert_array_equal(again.population.genotype, record.state(10, SEARCH).population.genotype)
    with pytest.raises(RecordError, match=r"keeps no state of generation 4; it has 0, 3 \.\.\. 10 \(5 of them\)"):
        record.state(4, SEARCH)


def test_a_record_knows_the_search_that_it_was_made_with(whole, path):
    (record,) = resume(path, 10, search=SEARCH)
    assert record.search is SEARCH
    assert record.state(9).population.id.shape == (8,)
    (again,) = records(path, SEARCH)
    assert again.search is SEARCH
    with pytest.raises(ValueError, match=r"'Identity' is not a part .* brns.records\(path, search=...\)"):
        Record(path).search  # noqa: B018
    other = NoveltySearch(Identity(), SEARCH.estimator, 8, 6, PolynomialMutation(eta=2.0, rate=0.25))
    with pytest.raises(RecordError, match=r"another experiment: mutate.rate was 0.5 and is 0.25"):
        Record(path, other)


def test_the_box_of_behaviors_needs_no_search(whole):
    space = Record(whole).behavior_space
    assert (space.low.tolist(), space.high.tolist()) == ([0, 0], [600, 600])
    assert Record(whole).experiment["task"]["name"] == "Identity"


def test_an_experiment_from_before_a_setting_was_there_is_the_one_with_its_default(path):
    facts = json.loads((path / "run.json").read_text())
    del facts["experiment"]["fresh_parents"], facts["experiment"]["mutate"]["rate"]
    (path / "run.json").write_text(json.dumps(facts))
    default = NoveltySearch(Identity(), SEARCH.estimator, 8, 6, PolynomialMutation(eta=2.0))
    assert Record(path, default).search is default
    with pytest.raises(RecordError, match=r"mutate.rate was None and is 0.5"):
        Record(path, SEARCH)


def test_records_finds_one_run_or_those_below(whole, tmp_path):
    assert [r.seed for r in records(whole)] == [5]
    run(SEARCH, 1, out=tmp_path / "many", seeds=[7, 2])
    assert [r.seed for r in records(tmp_path / "many")] == [2, 7]
    with pytest.raises(RecordError, match=r"is not a run and holds none"):
        records(whole / "generations")
    with pytest.raises(RecordError, match=r"is not a run: it has no run.json"):
        Record(tmp_path)


def test_a_run_is_never_written_over(path):
    before = bits(path)
    with pytest.raises(RecordError, match=r"exists already; resume it \(brns resume"):
        run(SEARCH, 3, out=path)
    assert bits(path) == before


def test_a_batch_is_refused_before_anything_is_written_where_one_of_its_runs_exists(tmp_path):
    run(SEARCH, 1, out=tmp_path / "many" / "seed0001")
    with pytest.raises(RecordError, match="exists already"):
        run(SEARCH, 1, out=tmp_path / "many", seeds=[0, 1])
    assert os.listdir(tmp_path / "many") == ["seed0001"]


# --- what is refused -----------------------------------------------------------------------------------------------


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


class Bomb:
    """Unpickling it would leave a file behind."""

    def __reduce__(self):
        return Path("exploded").touch, ()


def test_objects_are_refused_and_never_unpickled(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    spoil(path / "generations" / "000002.npz", "offspring.id.npy", npy(np.array([Bomb()] * 6, object)))
    with pytest.raises(RecordError, match=r"000002.npz is damaged \(offspring.id holds Python objects"):
        Record(path).column("offspring.id")
    assert not Path("exploded").exists()


def test_a_header_that_claims_too_much_is_refused_without_allocating_it(path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 8)})
    file = path / "generations" / "000002.npz"
    spoil(file, "offspring.fitness.npy", header.getvalue() + b"\0" * 24)
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"offspring.fitness claims shape \(1000000000, 8\) and holds 24 bytes"):
        read_arrays(file, seal(file))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_compressed_member_is_refused_before_it_is_unpacked(path):
    file = path / "generations" / "000002.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("offspring.id.npy", npy(np.zeros(10_000_000)))
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"its arrays claim 80000128 bytes, and such a file holds at most 67108864"):
        read_arrays(file, seal(file))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_member_is_unpacked_no_further_than_it_claims(path):
    """80 MB of zeros that claim to be 6 numbers."""
    file, told = path / "generations" / "000002.npz", len(npy(np.zeros(6)))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("offspring.id.npy", npy(np.zeros(10_000_000)))
        archive.filelist[0].file_size = told
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"000002.npz is damaged \(Bad CRC-32"):
        read_arrays(file, Seal(None, 2))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_members_that_claim_the_same_bytes_are_refused_before_they_are_read(path):
    """A zip file whose directory names one stored member of 1 MB 200 times: 200 MB, were each as long as it may be."""
    file = path / "generations" / "000002.npz"
    expected, buffer = seal(file), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", npy(np.zeros(125_000)))
        archive.filelist += archive.filelist * 199
    file.write_bytes(buffer.getvalue())
    with zipfile.ZipFile(file) as archive:
        assert len(archive.infolist()) == 200
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"its arrays claim 200025600 bytes"):
        read_arrays(file, expected)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (3",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': ('3',), }",
        b"{'descr': [('a', '<f4', 3, 4, 5)], 'fortran_order': False, 'shape': (3,), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (10**3,), }",
        b'"' * 3,
        b"(" * 5000,
        b"\xff",
    ],
)
@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"])
def test_whatever_is_wrong_with_a_header_the_file_is_named(header, version, tmp_path):
    file = tmp_path / "000002.npz"
    length = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("offspring.fitness.npy", b"\x93NUMPY" + version + length + header + b"\0" * 24)
    with pytest.raises(RecordError, match=r"000002.npz is damaged"):
        read_arrays(file, Seal(None, 2))  # of a run made before files had seals, so that the header is met


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"name": "DeceptiveMaze", "bitmap": ["." * 1000] * 1000}, "bitmap is longer than 300000 characters"),
        ({"name": "Elitist", "threshold": {"name": ["DeceptiveMaze"]}}, "is not a part of brns"),
        ({"name": "NoveltySearch"}, "run.json describes no experiment"),
    ],
)
def test_settings_that_no_experiment_has_are_refused(path, experiment, message):
    facts = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(facts | {"experiment": experiment}))
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        Record(path).search  # noqa: B018
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_any_flipped_byte_is_noticed_or_harmless(path):
    """One bit here and there in a file: the arrays are as they were, or a `RecordError` says that they are not."""
    file = path / "generations" / "000002.npz"
    whole, expected = file.read_bytes(), read_arrays(file, seal(file))
    noticed, random = 0, np.random.default_rng(0)
    size, directory = len(whole), whole.index(b"PK\x01\x02")
    places = [*range(60), *range(directory, directory + 80), *range(size - 22, size), *random.choice(size, 400)]
    for at in places:
        file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << random.integers(8))]) + whole[at + 1 :])
        try:
            arrays = read_arrays(file, seal(file))
        except RecordError:
            noticed += 1
        else:
            for name, array in expected.items():
                np.testing.assert_array_equal(arrays[name], array)
    assert noticed > 300


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_file_cut_short_is_refused_and_says_what_to_do(path, kept):
    file = path / "generations" / "000007.npz"
    file.write_bytes(file.read_bytes()[:kept])
    record = Record(path)
    with pytest.raises(RecordError, match=r"000007.npz is damaged .* remove the damaged file and all later ones"):
        record.column("offspring.id")
    assert record.column("offspring.id", range(1, 7)).shape == (6, 6)


def test_a_generation_removed_from_the_middle_is_missed(path):
    (path / "generations" / "000004.npz").unlink()
    with pytest.raises(RecordError, match=r"lacks generation 4 though it has 10; a file was removed"):
        Record(path).generations  # noqa: B018
    with pytest.raises(RecordError, match="lacks generation 4"):
        resume(path, 12, search=SEARCH)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, r"has format 3, and this version of brns reads up to 2; update brns"),
        ({"format": None}, r"names no format version"),
        ({"seed": ...}, r"lacks seed; it was edited"),
        ({"id": "../../x"}, r"run.json was edited: no run has id="),
        ({"behavior_space": {"low": [0.0, 1.0], "high": [1.0, 1.0]}}, r"no run has behavior_space="),
        ({"behavior_space": {"low": [0.0], "high": [float("inf")]}}, r"no run has behavior_space="),
        ({"behavior_space": []}, r"no run has behavior_space="),
    ],
)
def test_a_run_of_another_format_is_refused(path, change, message):
    facts = json.loads((path / "run.json").read_text()) | change
    (path / "run.json").write_text(json.dumps({k: v for k, v in facts.items() if v is not ...}))
    with pytest.raises(RecordError, match=message):
        Record(path)


@pytest.mark.parametrize("text", ["", '{"format": 1', "[]", "\x00"])
def test_a_spoiled_run_json_is_refused(path, text):
    (path / "run.json").write_text(text)
    with pytest.raises(RecordError, match=r"run.json"):
        Record(path)


def test_a_state_of_another_experiment_is_refused(path):
    larger = NoveltySearch(Identity(), replace(paper_recognition(), depths=(0, 1), reservoir=10, width=4), 8, 6)
    with pytest.raises(RecordError, match=r"another experiment: estimator.predictor.*weight .*\[4, 2\].*\[6, 2\]"):
        Record(path).state(9, larger)
    deeper = NoveltySearch(Identity(), replace(paper_recognition(), depths=(0, 2), reservoir=10), 8, 6)
    with pytest.raises(RecordError, match=r"another experiment: it differs in estimator"):
        Record(path).state(9, deeper)


def test_a_full_disk_stops_the_run_and_keeps_what_was_saved(whole, tmp_path, monkeypatch):
    sync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match=r"could not save .*No space left on device.*make room .* then resume"):
        run(SEARCH, 10, out=tmp_path / "run", seeds=5, keep_every=3)
    monkeypatch.undo()
    record = Record(tmp_path / "run")
    done = record.generations[-1]
    assert 1 < done < 10
    assert record.column("survivors.id").shape == (done + 1, 8)
    assert not list((tmp_path / "run").rglob("*.tmp*"))
    resume(tmp_path / "run", search=SEARCH)
    assert bits(tmp_path / "run") == bits(whole)
