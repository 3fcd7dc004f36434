"""`--workers` and `--dask`: evaluation elsewhere, by the command line."""

import contextlib
import time

import pytest
from shell import SHORT, call

from brns import Record

ANT = ("ant", "--set", "task.steps=32", "--set", "population_size=6", "--set", "offspring_size=5")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "dask"])
def test_a_run_of_workers_goes_on_with_and_without_and_is_forked(where, folder):
    pytest.importorskip("mujoco")
    with contextlib.ExitStack() as stack:
        workers = ["--workers", 1, "--timeout", 300]
        if where == "dask":
            local = pytest.importorskip("distributed").LocalCluster
            cluster = stack.enter_context(local(n_workers=1, threads_per_worker=1, dashboard_address=None))
            workers = ["--dask", cluster.scheduler_address]
        call("run", *ANT, "--generations", 1, "--out", where, *workers, folder=folder)
        call("resume", where, "--generations", 2, *workers, folder=folder)
    call("resume", where, "--generations", 3, folder=folder)
    out = f"{where}-forked"
    wilder = ("--at", 3, "--set", "task.stuck_window=200", "--out", out)
    call("fork", where, *wilder, "--generations", 4, folder=folder)
    task = Record(folder / out).experiment["task"]
    assert (task["name"], task["task"]["stuck_window"]) == ("Chunked", 200)


@pytest.mark.slow
def test_a_wrong_dask_address_is_told_soon(folder):
    pytest.importorskip("distributed")
    begun = time.monotonic()
    nobody = ("--dask", "tcp://127.0.0.1:1", "--out", "nobody")
    done = call("run", "maze", *SHORT, *nobody, folder=folder, status=2)
    assert time.monotonic() - begun < 10  # 4 of them are the wait for an answer
    assert "tcp://127.0.0.1:1" in done.stderr
