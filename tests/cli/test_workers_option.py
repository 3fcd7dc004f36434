"""`--workers` and `--dask`: evaluation elsewhere, by the command line."""

import contextlib
import time

import equinox as eqx
import numpy as np
import pytest
from shell import RUN, SHORT, call

from brns import Record, run
from brns.experiments import changed, named
from brns.workers import Chunked

ANT = ("ant", "--set", "task.steps=32", "--set", "population_size=6", "--set", "offspring_size=5")


@pytest.fixture(scope="module")
def chunked(folder):
    """A short search of the ant maze in chunks, as workers evaluate it."""
    pytest.importorskip("mujoco")
    changes = ["task.steps=32", "population_size=6", "offspring_size=5"]
    search = eqx.tree_at(lambda s: s.task, changed(named("ant"), changes), replace_fn=Chunked)
    return run(search, 3, out=folder / "chunked", checkpoint_every=1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "dask"])
def test_workers_change_no_bit_and_their_run_goes_on_with_and_without(where, folder, chunked):
    with contextlib.ExitStack() as stack:
        workers = ["--workers", 1, "--timeout", 300]
        if where == "dask":
            local = pytest.importorskip("distributed").LocalCluster
            cluster = stack.enter_context(local(n_workers=1, threads_per_worker=1, dashboard_address=None))
            workers = ["--dask", cluster.scheduler_address]
        for words in (["run", *ANT, "--out", where, *workers], ["resume", where, *workers], ["resume", where]):
            last = len(Record(folder / where).generations) if words[0] == "resume" else 1
            done = call(*words, "--generations", last, folder=folder)
            assert done.returncode == 0, done.stderr
    for name in ("offspring.genotype", "offspring.novelty", "survivors.descriptor"):
        np.testing.assert_array_equal(chunked.column(name), Record(folder / where).column(name))


@pytest.mark.slow
def test_a_run_of_workers_is_forked_with_other_settings_of_its_world(folder, chunked):
    forked = call("fork", "chunked", "--at", 2, "--set", "task.stuck_window=200", "--out", "forked", folder=folder)
    assert forked.returncode == 0, forked.stderr
    task = Record(folder / "forked").experiment["task"]
    assert (task["name"], task["task"]["stuck_window"]) == ("Chunked", 200)


@pytest.mark.slow
def test_a_wrong_dask_address_is_told_soon(folder):
    pytest.importorskip("distributed")
    begun = time.monotonic()
    done = call("run", "maze", *SHORT, "--dask", "tcp://127.0.0.1:1", "--out", "nobody", folder=folder)
    assert time.monotonic() - begun < 10  # 4 of them are the wait for an answer
    assert done.returncode == 2
    assert "tcp://127.0.0.1:1" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "maze", "--out", "no", "--workers", 2, "--dask", "tcp://127.0.0.1:1"), "one of them"),
        (("run", "maze", "--out", "no", "--timeout", 5), "--timeout goes with either"),
        (("resume", RUN, "--generations", 9, "--workers", 2), "was started without workers"),
    ],
)
def test_workers_that_cannot_be_had_are_an_error_that_says_why(folder, words, told):
    done = call(*words, folder=folder)
    assert done.returncode == 2
    assert told in done.stderr
