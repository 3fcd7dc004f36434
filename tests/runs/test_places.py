"""Where a run may stand: links, volumes, closed folders, names of any bytes,
and a working directory that moves."""

import errno
import fcntl
import os
import shutil
import subprocess

import pytest
from searches import HOST, search
from worlds import HostIdentity

import brns
from brns import PopulationKNN, Record, RecordError
from brns.runs import provenance
from brns.settings.description import part_to_json


class Wanderer(HostIdentity):
    """Works in a folder of its own, and comes back or not."""

    folder: str
    back: bool

    def __init__(self, folder, back):
        self.folder, self.back = folder, back

    def evaluate(self, genotypes, key):
        here = os.getcwd()
        os.chdir(self.folder)
        evaluation = super().evaluate(genotypes, key)
        if self.back:
            os.chdir(here)
        return evaluation


@pytest.mark.parametrize("back", [True, False])
def test_a_relative_place_is_where_it_was_when_the_run_began(back, tmp_path, monkeypatch):
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    one = search(Wanderer(str(tmp_path / "elsewhere"), back), PopulationKNN(k=2))
    steps = brns.generations(one, 2, out="steps", progress=False)
    (record,) = brns.run(one, 3, out="run", checkpoint_every=1, progress=False)
    assert [saved.number for saved in steps] == [0, 1, 2]
    read = Record(tmp_path / "here" / "run", one)
    monkeypatch.chdir(tmp_path / "here")
    relative = Record("run", one)
    (record,) = brns.resume("run", 4, search=one, progress=False)
    monkeypatch.chdir(tmp_path)
    assert record.last == read.last == relative.last == 4
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"run", "steps"}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_a_working_directory_a_relative_place_is_refused(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    one = search(HostIdentity(), PopulationKNN(k=2))
    with pytest.raises(RecordError, match="give an absolute path"):
        brns.run(one, 1, out="run", progress=False)
    with pytest.raises(RecordError, match=r"cannot be made \(File name too long\)"):
        brns.run(one, 1, out=tmp_path / ("n" * 256), progress=False)
    (record,) = brns.run(one, 1, progress=False)
    assert record.last == 1


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_means_what_it_points_to(exists, tmp_path):
    if exists:
        (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "scratch")
    brns.run(HOST, 1, out=tmp_path / "link", progress=False)
    brns.run(HOST, 2, out=tmp_path / "link", exist="resume", progress=False)
    (record,) = brns.resume(tmp_path / "link", 3, search=HOST, progress=False)
    assert (tmp_path / "link").is_symlink()
    assert Record(tmp_path / "scratch").last == record.last == 3


def never(*_):
    raise AssertionError("founders were computed")


def test_the_working_directory_is_refused_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(HOST), "init", never)
    for place in (".", tmp_path):
        with pytest.raises(RecordError, match=r"give a folder below it, such as .*/run"):
            brns.run(HOST, 1, out=place, progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EBUSY, errno.EACCES])
def test_a_volume_or_a_folder_in_a_closed_one_is_refused_before_anything_is_computed(
    code, tmp_path, monkeypatch
):
    """A mount cannot be replaced, nor a folder whose parent is somebody else's."""
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr(type(HOST), "init", never)

    def refuse(path, *_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "rmdir" if code == errno.EBUSY else "mkdir", refuse)
    with pytest.raises(RecordError, match=rf"{os.strerror(code)}.*such as .*mine/run"):
        brns.run(HOST, 1, out=tmp_path / "mine", progress=False)
    monkeypatch.undo()
    brns.run(HOST, 1, out=tmp_path / "mine" / "run", progress=False)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["run"]


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("mount"), reason="mounts need root")
def test_a_mounted_volume_is_told_to_take_a_folder_below_it(tmp_path):
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        with pytest.raises(RecordError, match="give a folder below it"):
            brns.run(HOST, 1, out=tmp_path, progress=False)
        brns.run(HOST, 1, out=tmp_path / "run", progress=False)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EIO, errno.ENOTSUP])
def test_a_file_system_without_locks_is_told_once_and_the_run_goes_on(code, tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="has no locks: .* no other process") as said:
        runs = brns.run(HOST, 2, out=tmp_path / "run", seeds=2, progress=False)
    assert len(said) == 1
    assert [(record.last, record.status) for record in runs] == [(2, "finished")] * 2
    with pytest.warns(UserWarning, match="has no locks"):
        brns.resume(tmp_path / "run", 3, search=HOST, progress=False)


def test_names_may_be_any_bytes(tmp_path, monkeypatch):
    """Latin-1, which is no UTF-8; also as a word of the command line, and as a setting."""
    place = tmp_path / os.fsdecode(b"stra\xdfe")
    monkeypatch.setattr("sys.argv", ["brns", "run", "--out", str(place)])
    one = search(HostIdentity(), PopulationKNN(k=2), population_size=4)
    brns.run(one, 1, out=place, progress=False)
    copy = brns.fork(place, 1, one, out=place.with_name("fork"), generations=2)
    (record,) = brns.resume(place, 2, search=one, progress=False)
    assert record.last == 2
    assert r"stra\udcdfe" in copy.metadata.forked.path
    assert r"stra\udcdfe" in provenance.command()
    assert part_to_json(place)["path"].endswith(r"stra\udcdfe")
