"""Faults done for real: processes killed at any moment, full disks, damaged files, closed folders, wild input.

What docs/reliability.rst promises is shown here and in test_record, test_loop, test_lock and test_parallel.
"""

import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import jax
import numpy as np
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from worlds import Faulty, Identity

import brns
from brns import BehaviorRecognition, NoveltySearch, PolynomialMutation, Record, RecordError
from brns.__main__ import app
from brns.loop import resume, run, start
from brns.parallel import Dask, Processes
from brns.settings import settings as settings_of

MAZE = ["run", "maze", "--set", "task.steps=20", "--set", "population_size=6", "--set", "offspring_size=6"]
ANT = ["run", "ant", "--set", "task.steps=16", "--set", "population_size=4", "--set", "offspring_size=4"]
SEARCH = NoveltySearch(
    Identity(),
    BehaviorRecognition(depths=(0, 1), reservoir=10),
    population_size=8,
    offspring_size=6,
    mutate=PolynomialMutation(eta=2.0, rate=0.5),
)


SAME = ("format", "experiment", "seed", "seeds", "keep_every")
"""of run.json what does not tell how and for how long it was run"""


def bits(path):
    """Every file of a run but its lock: its name and its content."""
    found = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    facts = json.loads(found.pop("run.json"))
    found.pop("lock")
    found.pop("progress.csv", None)  # its seconds are the one thing that differs
    return {"run.json": {k: v for k, v in facts.items() if k in SAME}, **found}


def npz(files):
    """Those of them that hold arrays, and run.json: all but pictures."""
    return {name: content for name, content in files.items() if not name.endswith(".png")}


def test_every_fault_that_the_documentation_names_has_its_test():
    here = Path(__file__).parent
    named = re.findall(r"`(test_\w+)", (here.parent / "docs" / "reliability.rst").read_text())
    code = "".join(file.read_text() for file in here.glob("test_*.py"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}" not in code] == []


# --- processes that die --------------------------------------------------------------------------------------------


def brns_process(*arguments, folder, prefix=()):
    """The command line in a process of its own, with a compilation cache of its own."""
    cache = str(folder / "cache")
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": cache, "COLUMNS": "200"}
    command = [*prefix, sys.executable, "-m", "brns", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def finished(*arguments, **options):
    """The same, awaited: its exit status and all that it said."""
    process = brns_process(*arguments, **options)
    out, err = process.communicate(timeout=600)
    return process.returncode, out + err


def generation(out, number):
    return out / "generations" / f"{number:06d}.npz"


def last(out):
    """The last generation that can be gone on from; None where a run would have to start anew."""
    return max((int(file.stem) for file in (out / "states").glob("0*.npz")), default=None)


@pytest.mark.parametrize(
    ("experiment", "kills"),
    [
        pytest.param(MAZE, 3, id="maze-3"),
        pytest.param(MAZE, 50, id="maze-50", marks=pytest.mark.slow),
        pytest.param(ANT, 10, id="ant-10", marks=pytest.mark.slow),
    ],
)
def test_a_run_killed_again_and_again_ends_in_the_same_bits(experiment, kills, tmp_path):
    """kill -9 while it starts or some generations later, at a moment of its own, and each time `brns resume`."""
    moment, out, starting, met = random.Random(0), tmp_path / "killed", math.inf, Counter()
    for _ in range(kills):
        before = last(out)
        if before is None:  # killed before its first generation was whole, which `resume` says, and so would a person
            shutil.rmtree(out, ignore_errors=True)
        again = ["resume", out] if before is not None else [*experiment, "--generations", 100_000, "--out", out]
        begin, process = time.monotonic(), brns_process(*again, folder=tmp_path)
        if starting < math.inf and moment.random() < 0.5:
            time.sleep(moment.uniform(0, 1.2 * starting))
        else:
            awaited = generation(out, (before or 0) + moment.randint(1, 20))
            while not awaited.exists() and process.poll() is None:
                time.sleep(0.001)
            starting = min(starting, time.monotonic() - begin)  # the first one compiles
            time.sleep(moment.uniform(0, 0.05))
        process.kill()
        _, said = process.communicate()
        assert process.returncode == -signal.SIGKILL, said
        met["starting" if last(out) == before else "searching"] += 1
    assert met["searching"] > kills / 4
    total = last(out) + 2
    for command in (["resume", out], [*experiment, "--out", tmp_path / "whole"]):
        status, said = finished(*command, "--generations", total, folder=tmp_path)
        assert status == 0, said
    assert Record(out).generations[-1] == total
    assert npz(bits(out)) == npz(bits(tmp_path / "whole"))
    print(f"{kills} kills, {dict(met)}, {total} generations")


class Death(BaseException):
    """The process ends here: nothing catches it."""


def dying(function, steps, alive):
    """The function, before which the process dies when it has done `alive` steps of any such function."""

    def step(*arguments, **keywords):
        steps.append(function.__name__)
        if len(steps) > alive:
            raise Death
        return function(*arguments, **keywords)

    return step


def test_whatever_step_of_its_saves_a_run_dies_before_it_resumes_to_the_same_files(tmp_path, monkeypatch):
    """Every call that makes, syncs, renames or removes a file in turn, of a run that keeps every second state."""
    run(SEARCH, 3, out=tmp_path / "whole", keep_every=2)
    whole, anew = bits(tmp_path / "whole"), 0
    for alive in range(1000):
        out, steps = tmp_path / f"after{alive}", []
        with monkeypatch.context() as patch:
            for name in ("mkdir", "fsync", "replace", "unlink"):
                patch.setattr(os, name, dying(getattr(os, name), steps, alive))
            try:
                run(SEARCH, 3, out=out, keep_every=2)
            except Death:
                pass
            else:
                break
        if last(out) is None:
            anew += 1
            with pytest.raises(RecordError, match=r"is not a run|start anew"):
                resume(out, search=SEARCH)
        else:
            resume(out, search=SEARCH)
            assert bits(out) == whole, f"died before its step {alive}, {steps[-1]}"
    assert alive > 30
    assert anew < 15


@pytest.mark.slow
def test_a_compilation_cache_that_was_cut_short_costs_time_and_no_bit(tmp_path):
    """JAX writes its cache in place, so that a kill can leave half a file there."""
    status, said = finished(*MAZE, "--generations", 2, "--out", "one", folder=tmp_path)
    assert status == 0, said
    compiled = list((tmp_path / "cache").rglob("*-cache"))
    assert compiled
    for file in compiled:
        os.truncate(file, file.stat().st_size // 2)
    status, said = finished(*MAZE, "--generations", 2, "--out", "two", folder=tmp_path)
    assert status == 0, said
    assert npz(bits(tmp_path / "one")) == npz(bits(tmp_path / "two"))


@pytest.mark.slow
def test_ctrl_c_finishes_the_generation_of_ants_and_a_second_one_stops_at_once(tmp_path):
    """A generation takes seconds; Ctrl-C comes in the middle of one."""
    ants = ["run", "ant", "--set", "population_size=16", "--set", "offspring_size=16", "--generations", "4"]
    status, said = finished(*ants, "--out", "whole", folder=tmp_path)
    assert status == 0, said
    for out, presses in [("once", 1), ("twice", 2)]:
        process = brns_process(*ants, "--out", out, folder=tmp_path)
        while not (tmp_path / out / "states/000001.npz").exists():
            assert process.poll() is None
            time.sleep(0.01)
        for _ in range(presses):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        pressed = time.monotonic()
        text, _ = process.communicate(timeout=120)
        took, record = time.monotonic() - pressed, Record(tmp_path / out)
        assert process.returncode == 130
        assert "Finishing this generation" in text
        assert (f"Stopped after generation {record.generations[-1]}" if presses == 1 else "Stopped at once") in text
        assert f"brns resume {out}" in text
        assert record.generations[-1] == (2 if presses == 1 else 1)
        print(f"{presses} x Ctrl-C: ended {took:.1f} s later")
        status, said = finished("resume", out, folder=tmp_path)
        assert status == 0, said
        assert npz(bits(tmp_path / out)) == npz(bits(tmp_path / "whole"))


# --- disks, folders and clocks -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 10 generations that never stopped, in files to be read only."""
    path = tmp_path_factory.mktemp("faults") / "run"
    run(SEARCH, 10, out=path, seeds=5, keep_every=3)
    return path


@pytest.fixture
def half(tmp_path):
    """The same run, stopped after generation 5."""
    steps = start(SEARCH, 10, out=tmp_path / "half", seeds=5, keep_every=3)
    while next(steps)[0].number < 5:
        pass
    steps.close()
    return tmp_path / "half"


def test_a_save_that_hits_a_limit_of_size_goes_on_once_it_is_lifted(whole, half):
    """The system refuses the second kilobyte of any file: EFBIG in the middle of a write."""
    before, limits = bits(half), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(RecordError, match=r"could not save .*000006.npz \(File too large\).* then resume"):
            resume(half, search=SEARCH)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert bits(half) == before
    resume(half, search=SEARCH)
    assert bits(half) == bits(whole)


@pytest.fixture
def disk(tmp_path):
    """A real disk of 64 KB; not everybody may make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
        pytest.skip("mounting a disk of 64 KB is not permitted")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(whole, disk):
    with pytest.raises(RecordError, match=r"could not save .*\(No space left on device\).* make room .* then resume"):
        run(SEARCH, 10, out=disk / "run", seeds=5, keep_every=3)
    done = Record(disk / "run").generations[-1]
    assert 0 < done < 10
    for name in ("survivors.descriptor", "offspring.genotype"):
        generations = range(1, done + 1)
        np.testing.assert_array_equal(
            Record(disk / "run").column(name, generations), Record(whole).column(name)[-10:][:done]
        )
    subprocess.run(["mount", "-o", "remount,size=1m", disk], check=True)
    resume(disk / "run", search=SEARCH)
    assert bits(disk / "run") == bits(whole)


UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
"""what makes root obey the permissions of files"""


@pytest.mark.skipif(bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told_in_one_message_and_can_be_read(tmp_path):
    folder = tmp_path / "closed"
    run(NoveltySearch(brns.DeceptiveMaze(steps=20), brns.GridCounts(), 6, 6), 2, out=folder / "old")
    (folder / "cache").mkdir()
    before = bits(folder / "old")
    for path in [folder, *folder.rglob("old/**/*"), folder / "old"]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for command, expected in [
            ([*MAZE, "--out", "new"], "could not make new (Permission denied): choose another place"),
            (["resume", "old", "--generations", 3], "could not write to old (Permission denied)"),
            (["show", "old"], "overview.png"),
        ]:
            status, said = finished(*command, folder=folder, prefix=UNPRIVILEGED)
            assert status == 2, said
            assert "Traceback" not in said
            assert expected in said
        assert "coverage" in said  # `show` had shown its table before it could not draw
    finally:
        for path in folder.rglob("*"):
            path.chmod(0o755)
    assert bits(folder / "old") == before


def test_a_copy_and_the_original_resume_to_the_same_bits_each_in_its_place(whole, half, tmp_path):
    copy = shutil.copytree(half, tmp_path / "elsewhere" / "copy")
    for path in (half, copy):
        resume(path, search=SEARCH)
        assert bits(path) == bits(whole)


@pytest.mark.parametrize("now", [0.0, 4e9])
def test_no_clock_matters(whole, half, monkeypatch, now):
    """The system's time and those of all files are in 1970, or in 2096, when the run is resumed."""
    for file in half.rglob("*"):
        os.utime(file, (4e9 - now, 4e9 - now))
    monkeypatch.setattr(time, "time", lambda: now)
    resume(half, search=SEARCH)
    assert bits(half) == bits(whole)


# --- damaged files -------------------------------------------------------------------------------------------------

WILD = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def everything(path):
    """All arrays of a record as a reader gets them: columns, solutions, genotypes and states."""
    record = Record(path)
    columns = [record.column(name) for name in ("survivors.novelty", "offspring.genotype", "parents.id")]
    states = [record.state(number, SEARCH) for number in record.snapshots]
    return [np.asarray(leaf) for leaf in jax.tree.leaves((columns, record.solutions(), states))]


@pytest.fixture(scope="module")
def damaged(whole, tmp_path_factory):
    """The run in a place where it may be damaged; with its files, and all that it holds."""
    path = Path(shutil.copytree(whole, tmp_path_factory.mktemp("damaged") / "run"))
    files = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".npz"))
    return path, files, everything(path)


def read_or_refused(path, file, content, expected):
    """Read the record while a file of it has another content: the same arrays as ever, or a `RecordError`."""
    before = file.read_bytes()
    file.write_bytes(content)
    try:
        found = everything(path)
    except RecordError:
        return False
    finally:
        file.write_bytes(before)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return True


@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_any_byte_flipped_in_any_file_is_noticed_or_harmless(damaged, which, at, flip):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = bytearray(file.read_bytes())
    content[at % len(content)] ^= flip
    read_or_refused(path, file, bytes(content), expected)


@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6))
def test_any_file_cut_short_at_any_length_is_refused(damaged, which, at):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = file.read_bytes()
    assert not read_or_refused(path, file, content[: at % len(content)], expected)


@WILD
@given(which=st.integers(0, 10**6), at=st.integers(0, 10**6), junk=st.binary(min_size=1, max_size=200))
def test_junk_in_the_middle_of_any_file_is_noticed_or_harmless(damaged, which, at, junk):
    path, files, expected = damaged
    file = files[which % len(files)]
    content = file.read_bytes()
    read_or_refused(path, file, content[: at % len(content)] + junk + content[at % len(content) :], expected)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=10), values, max_size=4),
    max_leaves=10,
)


@WILD
@given(data=st.data())
def test_a_run_json_of_any_values_is_a_record_or_a_record_error(damaged, data):
    path, _, _ = damaged
    file = path / "run.json"
    facts = json.loads(file.read_text())
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(facts)), JSON, min_size=1, max_size=3))
    refused_or_sound(file, json.dumps(facts | changed))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", "3", '{"format": true}'])
def test_a_run_json_that_is_too_much_is_refused(damaged, text):
    assert not refused_or_sound(damaged[0] / "run.json", text)


def refused_or_sound(file, text):
    """Read a run.json: if it is not refused, what a record says of itself is of the types that it promises."""
    before = file.read_bytes()
    file.write_text(text)
    try:
        record = Record(file.parent)
    except RecordError:
        return False
    finally:
        file.write_bytes(before)
    assert isinstance(record.experiment, dict)
    assert isinstance(record.versions, dict)
    for number in (record.seed, record.planned, record.keep_every, *record.seeds):
        assert type(number) is int
    assert record.keep_every > 0
    return True


@pytest.mark.parametrize(
    ("column", "array", "message"),
    [
        ("offspring.novelty", np.zeros(5, np.float32), "000004.npz was edited: the columns of its offspring are not"),
        ("survivors.novelty", np.zeros((), np.float32), "000004.npz was edited: the columns of its survivors are not"),
        (
            "survivors.descriptor",
            np.zeros((8, 3), np.float32),
            r"\(8, 2\) in generation 0 and \(8, 3\) in generation 4",
        ),
    ],
)
def test_columns_of_a_wrong_shape_are_refused(half, column, array, message):
    file = half / "generations" / "000004.npz"
    with np.load(file, allow_pickle=False) as arrays:
        changed = {**arrays, column: array}
    np.savez(file, allow_pickle=False, **changed)
    with pytest.raises(RecordError, match=message):
        Record(half).column(column)


# --- tasks that fail, and wild settings ----------------------------------------------------------------------------


def fails(task, message, folder):
    """A run of a task that fails on some founders: one error, and no run left behind."""
    search = NoveltySearch(task, brns.PopulationKNN(k=3), population_size=20, offspring_size=5)
    with pytest.raises(ValueError, match=message):
        run(search, 3, out=folder / "run")
    assert not (folder / "run").exists()


FAILURES = [
    ("raises", "of individuals .* of 20 .* raised ZeroDivisionError: the floor has no friction"),
    ("hangs", "of individuals .* of 20 .* took more than timeout=20.0 seconds, and was killed"),
    ("wide", r"of individuals .* of 20 .* must return descriptor of shape \(4, 2\); got \(4, 3\)"),
    ("nan", "Chunked gave a descriptor that is not finite for .* of 20 individuals of generation 0"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "message"), FAILURES)
def test_a_task_that_fails_in_processes_ends_the_run_with_one_error(fault, message, tmp_path):
    with Processes(Faulty(fault), workers=2, timeout=20.0) as task:
        fails(task, message.replace("Chunked", "Processes"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "message"), FAILURES)
def test_a_task_that_fails_on_a_cluster_ends_the_run_with_one_error(fault, message, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Dask(Faulty(fault), cluster.scheduler_address, timeout=20.0) as task,
    ):
        fails(task, message.replace("Chunked", "Dask"), tmp_path)


SETTINGS = [
    f"{prefix}{setting.name}"
    for prefix, part in [
        ("", NoveltySearch),
        ("task.", brns.DeceptiveMaze),
        ("task.", brns.AntMaze),
        ("estimator.", BehaviorRecognition),
        ("estimator.", brns.ArchiveKNN),
        ("mutate.", PolynomialMutation),
        ("select.", brns.Elitist),
    ]
    for setting in settings_of(part)
]
VALUES = st.one_of(
    st.sampled_from(
        ["0", "-1", "1", "5", "0.5", "1e400", "nan", "-inf", "none", "true", "[1, 2]", "[]", "1979-05-27", ""]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=20),
)
CHANGES = st.one_of(
    st.builds("{}={}".format, st.sampled_from(SETTINGS), VALUES),
    st.builds("{}={}".format, st.text(max_size=10), VALUES),
    st.text(max_size=30),
)


@WILD
@given(
    experiment=st.sampled_from(["maze", "ant"]),
    estimator=st.sampled_from(["recognition", "archive", "population", "counts"]),
    changes=st.lists(CHANGES, max_size=4),
)
def test_whatever_is_set_ends_in_a_run_or_in_one_message(monkeypatch, experiment, estimator, changes):
    """The command line up to where the run would start; `main` makes exit status 2 and a message of a `ValueError`."""

    def started(*_, **__):
        raise typer.Exit(0)

    monkeypatch.setattr("brns.loop.start", started)
    command = ["run", experiment, "--estimator", estimator, *(f"--set={change}" for change in changes)]
    result = CliRunner().invoke(app, command)
    if isinstance(result.exception, ValueError):
        assert str(result.exception)
    else:
        assert result.exit_code in (0, 2), result.exception
        assert result.exception is None or isinstance(result.exception, SystemExit)
