"""What no run holds is refused before it can harm: objects, headers that claim too much, other formats and states."""

import io
import json
import pickle
import shutil
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from files import seal, spoil
from small import SEARCH

from brns import Box, GridCounts, Novelty, Record, RecordError, fork
from brns.cli.own import own_founders
from brns.interoperation.novelty import SEAL
from brns.runs.loop import resume
from brns.runs.progress import read
from brns.runs.storage import Seal, comment, read_arrays
from brns.settings import SettingsError


@pytest.fixture
def path(whole, tmp_path):
    """A copy of a run of 10 generations, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


class Bomb:
    """Unpickling it would leave a file behind."""

    def __reduce__(self):
        return Path("exploded").touch, ()


OBJECTS = npy(np.array([Bomb()] * 6, object))
PICKLES = [pickle.dumps(Bomb(), protocol) for protocol in (0, 5)]
"""as text and as bytes"""


@pytest.fixture
def unexploded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not Path("exploded").exists()


def zipped():
    stream = io.BytesIO()
    np.savez(stream, np.array([Bomb()] * 6, object))
    return stream.getvalue()


def put(file, members, expected):
    """A file of these members, sealed."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = comment(expected, archive)


def test_the_bomb_goes_off_where_it_is_loaded(unexploded):
    np.load(io.BytesIO(OBJECTS), allow_pickle=True)
    Path("exploded").unlink()
    for content in PICKLES:
        pickle.loads(content)
        Path("exploded").unlink()


def forked(path):
    return fork(path, 9, SEARCH, out=path.with_name("fork"))


LOADED = {
    "a column": ("generations/000002.npz", "offspring.id", lambda path: Record(path).column("offspring.id")),
    "solutions": ("generations/000002.npz", "offspring.solved", lambda path: Record(path).solutions()),
    "founders of a run": ("generations/000010.npz", "survivors.id", own_founders),
    "a state": ("states/000009.npz", "population.id", lambda path: Record(path).state(9, SEARCH)),
    "a state to go on from": ("states/000010.npz", "generation", lambda path: resume(path, 12, search=SEARCH)),
    "a state to fork at": ("states/000009.npz", "population.id", forked),
    "a generation of a fork": ("generations/000002.npz", "survivors.id", forked),
}
"""what of a run is loaded: the file, an array in it, and who loads it"""


@pytest.mark.parametrize("what", LOADED)
def test_objects_are_refused_and_never_unpickled(path, unexploded, what):
    file, member, load = LOADED[what]
    spoil(path / file, f"{member}.npy", OBJECTS)
    with pytest.raises(RecordError, match=rf"{Path(file).name} is damaged \({member} holds Python objects"):
        load(path)
    assert [there.name for there in path.parent.iterdir()] == ["run"]  # and no fork


@pytest.mark.parametrize("content", PICKLES, ids=["text", "bytes"])
def test_a_pickle_in_the_place_of_a_file_of_a_run_is_refused(path, unexploded, content):
    for file, _, load in LOADED.values():
        before = (path / file).read_bytes()
        (path / file).write_bytes(content)
        with pytest.raises(RecordError, match=rf"{Path(file).name} is damaged"):
            load(path)
        (path / file).write_bytes(before)
    (path / "progress.csv").write_bytes(content)
    assert read(Record(path)) == []
    (path / "run.json").write_bytes(content)
    with pytest.raises(RecordError, match=r"run\.json is not JSON"):
        Record(path)


def test_a_saved_novelty_with_objects_is_refused(tmp_path, unexploded):
    file = tmp_path / "novelty.npz"
    Novelty(GridCounts(cells=2), Box([0.0], [1.0])).save(file)
    with zipfile.ZipFile(file) as archive:
        sound = {name: archive.read(name) for name in archive.namelist()}
    put(file, sound, SEAL)
    Novelty.load(file)  # sealed as here it is read
    for name in sound:
        put(file, sound | {name: OBJECTS}, SEAL)
        with pytest.raises(RecordError, match="holds Python objects, which are never loaded"):
            Novelty.load(file)
    for content in PICKLES:
        file.write_bytes(content)
        with pytest.raises(RecordError, match=r"novelty\.npz is damaged"):
            Novelty.load(file)


@pytest.mark.parametrize("content", [OBJECTS, zipped(), *PICKLES], ids=["npy", "npz", "text", "bytes"])
def test_a_file_of_founders_with_objects_is_refused(tmp_path, unexploded, content):
    (tmp_path / "first.npy").write_bytes(content)
    with pytest.raises(SettingsError, match=r"--founders takes a file of numpy\.save"):
        own_founders(tmp_path / "first.npy")


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
        ({"task": {"name": "DeceptiveMaze", "bitmap": ["." * 1000] * 1000}}, "bitmap is longer than 300000 characters"),
        ({"select": {"name": "Elitist", "threshold": {"name": ["DeceptiveMaze"]}}}, "is not a part of brns"),
        ({"estimator": {"name": "NoveltySearch"}}, r"run\.json describes no experiment"),
        ({"task": None}, "was edited: no run has experiment="),
        ({"task": {"name": "Chunked", "chunk": 4}}, "was edited: no run has experiment="),
        ({"estimator": []}, "was edited: no run has experiment="),
    ],
)
def test_settings_that_no_experiment_has_are_refused(path, experiment, message):
    facts = json.loads((path / "run.json").read_text())
    changed = facts["experiment"] | {"task": {"name": "DeceptiveMaze"}} | experiment
    (path / "run.json").write_text(json.dumps(facts | {"experiment": changed}))
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
    larger = replace(SEARCH, estimator=replace(SEARCH.estimator, width=4))
    with pytest.raises(RecordError, match=r"another experiment: estimator.predictor.*weight .*\[4, 2\].*\[64, 2\]"):
        Record(path).state(9, larger)
    deeper = replace(SEARCH, estimator=replace(SEARCH.estimator, depths=(0, 2)))
    with pytest.raises(RecordError, match=r"another experiment: it differs in estimator"):
        Record(path).state(9, deeper)
