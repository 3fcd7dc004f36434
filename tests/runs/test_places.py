"""Where a run may stand: links, volumes, closed folders, names of any bytes,
and a working directory that moves."""

import errno
import fcntl
import os
import shutil
from dataclasses import replace

import pytest
from files import contents, refusing
from searches import HOST
from small_tasks import HostIdentity

import brns
from brns import Record, RecordError
from brns.runs import provenance


class Wanderer(HostIdentity):
    """Works in a folder of its own, and comes back or not."""

    folder: str = ""
    back: bool = True

    def evaluate(self, genotypes, key):
        here = os.getcwd()
        os.chdir(self.folder)
        evaluation = super().evaluate(genotypes, key)
        if self.back:
            os.chdir(here)
        return evaluation


@pytest.mark.parametrize("back", [True, False])
def test_a_relative_place_is_where_it_was_when_the_run_began(back, tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    wandering = replace(HOST, task=Wanderer(folder=str(elsewhere), back=back))
    monkeypatch.chdir(here)
    steps = brns.generations(wandering, 2, out="steps")
    brns.run(wandering, 3, out="run", checkpoint_every=1)
    assert [saved.number for saved in steps] == [0, 1, 2]
    monkeypatch.chdir(here)
    relative = Record("run", wandering)
    brns.resume("run", 4, search=wandering)
    monkeypatch.chdir(tmp_path)
    assert relative.last_generation == Record(here / "run").last_generation == 4
    assert {path.name for path in here.iterdir()} == {"run", "steps"}
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("place", ["run", "~no-such-user/run"])
def test_a_place_below_a_folder_that_is_not_there_is_refused(place, tmp_path, monkeypatch):
    """A working directory that was removed, and the home of nobody."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for begin in (Record, brns.records, brns.resume, lambda path: brns.run(HOST, 1, out=path)):
        with pytest.raises(RecordError, match=r"run begins in .* not there .*an absolute path"):
            begin(place)


def test_a_tilde_is_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    brns.run(HOST, 1, out="~/run")
    brns.resume("~/run", 2, search=HOST)
    runs = (Record("~/run"), *brns.records("~/run"))
    assert [record.last_generation for record in runs] == [2, 2]
    assert Record("~/run").path == tmp_path / "run"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_means_what_it_points_to(exists, tmp_path):
    if exists:
        (tmp_path / "scratch").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "scratch")
    brns.run(HOST, 1, out=link)
    brns.run(HOST, 2, out=link, exist="resume")
    brns.resume(link, 3, search=HOST)
    assert link.is_symlink()
    assert Record(tmp_path / "scratch").last_generation == 3


def test_what_is_no_place_is_refused(tmp_path, unchecked):
    for place in (b"run", 5):
        with pytest.raises(ValueError, match="must be a text, a path or a record; got"):
            brns.run(HOST, 1, out=place)
    (record,) = brns.run(HOST, 1, out=tmp_path / "run")
    inside = tmp_path / "run" / "more" / "inside"
    for make in (
        lambda: brns.run(HOST, 1, out=inside),
        lambda: brns.fork(record, 1, HOST, out=inside, generations=2),
    ):
        with pytest.raises(RecordError, match=r"run is a run, which cannot hold another one"):
            make()


def never(*_):
    raise AssertionError("founders were computed")


def test_the_working_directory_is_refused_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(HOST), "init_with_failures", never)
    for place in (".", tmp_path):
        with pytest.raises(RecordError, match=r"give a folder below it, such as .*/run"):
            brns.run(HOST, 1, out=place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("call", "code"), [("rmdir", errno.EBUSY), ("mkdir", errno.EACCES)])
def test_a_volume_or_a_folder_in_a_closed_one_is_refused_before_anything_is_computed(
    call, code, tmp_path, monkeypatch
):
    """A mount cannot be replaced, nor a folder whose parent is somebody else's."""
    mine = tmp_path / "mine"
    mine.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(type(HOST), "init_with_failures", never)
        patch.setattr(os, call, refusing(code))
        with pytest.raises(RecordError, match=rf"{os.strerror(code)}.*such as .*mine/run"):
            brns.run(HOST, 1, out=mine)
    brns.run(HOST, 1, out=mine / "run")
    assert [path.name for path in mine.iterdir()] == ["run"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL])
def test_a_file_system_without_locks_is_told_once_and_the_run_goes_on(code, tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", refusing(code))
    with pytest.warns(UserWarning, match="has no locks: .* no other process") as said:
        runs = brns.run(HOST, 2, out=tmp_path / "run", seeds=2)
    assert len(said) == 1
    assert [(record.last_generation, record.status) for record in runs] == [(2, "finished")] * 2
    with pytest.warns(UserWarning, match="has no locks"):
        brns.resume(tmp_path / "run", 3, search=HOST)


def test_names_may_be_any_bytes(tmp_path, monkeypatch):
    """Latin-1, which is no UTF-8; also as a word of the command line."""
    place = tmp_path / os.fsdecode(b"stra\xdfe")
    monkeypatch.setattr("sys.argv", ["brns", "run", "--out", str(place)])
    brns.run(HOST, 1, out=place)
    copy = brns.fork(place, 1, HOST, out=place.with_name("fork"), generations=2)
    (record,) = brns.resume(place, 2, search=HOST)
    assert record.last_generation == 2
    assert r"stra\udcdfe" in copy.metadata.forked.path
    assert r"stra\udcdfe" in provenance.format_command()


def test_a_run_whose_folder_is_moved_away_is_not_begun_anew(tmp_path):
    out = tmp_path / "run"
    run = brns.generations(HOST, 9, out=out)
    next(run)
    out.rename(tmp_path / "elsewhere")
    with pytest.raises(brns.RecordError, match=r"No such file.* a run that was moved"):
        list(run)
    assert not out.exists()
    assert brns.resume(tmp_path / "elsewhere", 3, search=HOST)[0].last_generation == 3


def test_a_run_whose_folder_was_removed_writes_nothing_to_another_run_in_its_place(tmp_path):
    out = tmp_path / "run"
    run = brns.generations(HOST, 9, out=out)
    next(run)
    shutil.rmtree(out)
    (record,) = brns.run(HOST, 2, out=out, seed=1)
    there = contents(out)
    with pytest.raises(RecordError, match="another run stands in"):
        list(run)
    assert contents(out) == there
    assert record.last_generation == 2
