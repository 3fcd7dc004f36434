"""Files of arrays as bytes: those of `zipfile`, and read by NumPy."""

import io
import zipfile

import numpy as np
import pytest

from brns.runs import npz, storage
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


def by_zipfile(arrays, comment, deflated=()):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.create_system = 3  # Unix, which it is not on Windows
            method = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            archive.writestr(info, member.getvalue(), method, compresslevel=1)
        archive.comment = comment
    return buffer.getvalue()


def test_the_bytes_are_those_of_zipfile():
    assert npz.npz(ARRAYS, lambda sums: b"sealed") == by_zipfile(ARRAYS, b"sealed")
    some = ("offspring.genotype", "none", "generation")
    assert npz.npz(ARRAYS, lambda sums: b"sealed", some) == by_zipfile(ARRAYS, b"sealed", some)


def test_numpy_reads_the_same_arrays():
    with np.load(io.BytesIO(npz.npz(ARRAYS, lambda sums: b"", ARRAYS))) as read:
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


def test_what_would_unpack_to_too_much_is_not_deflated(tmp_path, monkeypatch):
    """It is as long as what it unpacks to, and so it can be read."""
    monkeypatch.setattr(storage, "UNPACKED", 1000)
    for n in (50, 500):
        write_arrays(tmp_path / "a.npz", {"a": np.zeros(n)}, Seal("run", 0), "a")
        assert ((tmp_path / "a.npz").stat().st_size > 8 * n) == (n == 500)
        np.testing.assert_array_equal(storage.read_arrays(tmp_path / "a.npz", Seal("run", 0))["a"], np.zeros(n))
