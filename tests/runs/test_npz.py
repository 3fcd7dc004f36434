"""Files of arrays as bytes: those of `zipfile`, and read by NumPy."""

import io
import zipfile

import numpy as np
import pytest

from brns.runs import npz
from brns.runs.storage import RecordError, Seal, write_arrays

ARRAYS = {
    "offspring.genotype": np.arange(12, dtype=np.float32).reshape(4, 3),
    "offspring.solved": np.array([True, False]),
    "generation": np.int32(7),
    "none": np.zeros((0, 2)),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "every.second": np.arange(10)[::2],
    "weights['\N{GREEK SMALL LETTER XI}']": np.float64(0.5),
}


def by_zipfile(arrays, comment):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.create_system = 3  # Unix, which it is not on Windows
            archive.writestr(info, member.getvalue())
        archive.comment = comment
    return buffer.getvalue()


def test_the_bytes_are_those_of_zipfile():
    assert npz.npz(ARRAYS, lambda sums: b"sealed") == by_zipfile(ARRAYS, b"sealed")


def test_numpy_reads_the_same_arrays():
    with np.load(io.BytesIO(npz.npz(ARRAYS, lambda sums: b""))) as read:
        assert list(read) == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == np.asarray(array).dtype


def test_what_no_file_can_hold_is_refused(tmp_path, monkeypatch):
    with pytest.raises(RecordError, match=r"could not save .*: Python objects are never saved"):
        write_arrays(tmp_path / "a.npz", {"a": np.array([{}])}, Seal("run", 0))
    monkeypatch.setattr(npz, "LONGEST", 1000)
    with pytest.raises(RecordError, match=r"the arrays up to b have \d+ bytes, and a file holds at most 1000"):
        write_arrays(tmp_path / "a.npz", {"a": np.zeros(50), "b": np.zeros(100)}, Seal("run", 0))
    assert not list(tmp_path.iterdir())
