"""Full disks, limits of size, closed folders, and copies."""

import errno
import math
import os
import resource
import shutil

import jax
import pytest
from files import bits, refusing
from shell import begin, finished
from small import MAZE, SEARCH

import brns
from brns import NoveltySearch, Record, RecordError
from brns.runs.active import ActiveRun
from brns.runs.loop import generations, resume, run


@pytest.fixture
def half(tmp_path):
    """The run of `whole`, stopped after generation 5."""
    for saved in generations(SEARCH, 10, out=tmp_path / "half", seed=7, checkpoint_every=3):
        if saved.number == 5:
            break
    return tmp_path / "half"


@pytest.mark.slow
def test_a_save_that_hits_a_limit_of_size_goes_on_once_it_is_lifted(whole, half, monkeypatch):
    """The system refuses the second kilobyte of any file: EFBIG in the middle of a write."""
    before, limits = bits(half), resource.getrlimit(resource.RLIMIT_FSIZE)
    spared = jax.config.jax_persistent_cache_min_compile_time_secs
    # JAX's cache is not what is tried here
    jax.config.update("jax_persistent_cache_min_compile_time_secs", math.inf)
    reopen = ActiveRun.begin_session_and_clean_up

    def limited(*arguments, **settings):
        reopen(*arguments, **settings)  # run.json itself is larger
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))

    monkeypatch.setattr(ActiveRun, "begin_session_and_clean_up", limited)
    try:
        with pytest.raises(RecordError, match=r"000006.npz \(File too large\).* then resume"):
            resume(half, search=SEARCH)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", spared)
    monkeypatch.undo()
    assert bits(half) == before
    assert Record(half).status == "interrupted"  # there was no room to say more
    resume(half, search=SEARCH)
    assert bits(half) == bits(whole)


UNPRIVILEGED = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
)
"""what makes root obey the permissions of files"""


@pytest.mark.slow
@pytest.mark.skipif(
    bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root may write everywhere"
)
def test_a_folder_that_cannot_be_written_is_told_and_can_be_read(tmp_path):
    folder = tmp_path / "closed"
    maze = NoveltySearch(brns.DeceptiveMaze(steps=20), brns.VisitCounts(grids=8), 6, 6)
    run(maze, 2, out=folder / "old")
    before = bits(folder / "old")
    for path in [folder, *folder.rglob("old/**/*"), folder / "old"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for command, status, expected in [
            ([*MAZE, "--out", "new"], 2, "(Permission denied): choose another place"),
            (["resume", "old", "--generations", 3], 2, "old (Permission denied): copy the run"),
            (["show", "old"], 0, "old/overview.png (Permission denied)"),
        ]:
            ended = finished(begin(*command, folder=folder, prefix=UNPRIVILEGED))
            said = ended.stdout + ended.stderr
            assert ended.returncode == status, said
            assert "Traceback" not in said
            assert expected in said
        assert "coverage" in said
        assert "No picture" in said
    finally:
        for path in folder.rglob("*"):
            path.chmod(0o755)
    assert bits(folder / "old") == before


def test_an_empty_folder_keeps_its_rights(tmp_path):
    """Such as one of a group that works together."""
    out = tmp_path / "shared"
    out.mkdir()
    out.chmod(0o2770)
    run(SEARCH, 1, out=out)
    assert out.stat().st_mode & 0o7777 == 0o2770
    assert (out / "generations").stat().st_gid == out.stat().st_gid


def test_a_run_that_cannot_be_read_is_told(half, monkeypatch):
    for what, read in [
        ("zipfile.ZipFile", lambda: Record(half).column("offspring.id")),
        ("pathlib.Path.exists", lambda: brns.records(half)),
        ("pathlib.Path.read_bytes", lambda: Record(half)),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(what, refusing(errno.EACCES))
            with pytest.raises(RecordError, match=r"Permission denied\): ask its owner"):
                read()


def test_a_copy_and_the_original_resume_to_the_same_bits(whole, half, tmp_path):
    copy = shutil.copytree(half, tmp_path / "elsewhere" / "copy")
    for path in (half, copy):
        resume(path, search=SEARCH)
        assert bits(path) == bits(whole)
