"""`--workers` and `--dask`: evaluation elsewhere, by the command line."""

import time

import equinox as eqx
import numpy as np
import pytest
from shell import SHORT, call

from brns import Record, run
from brns.workers import Chunked


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def ant(folder):
    """The words after `brns run` for a short ant maze, which `folder` then holds a run of: alone."""
    pytest.importorskip("mujoco")
    words = ["ant", "--set", "task.steps=32", "--set", "population_size=6", "--set", "offspring_size=5"]
    done = call("run", *words, "--generations", 1, "--out", "alone", folder=folder)
    assert done.returncode == 0, done.stderr
    return words


@pytest.mark.slow
def test_a_run_of_workers_is_forked_with_other_settings_of_its_world(folder, ant):
    chunked = eqx.tree_at(lambda s: s.task, Record(folder / "alone").search, replace_fn=Chunked)  # as workers have it
    run(chunked, 1, out=folder / "two", keep_every=1)
    at = ("fork", "two", "--at", 0, "--set", "task.stuck_window=200", "--out", "forked")
    forked = call(*at, folder=folder)
    assert forked.returncode == 0, forked.stderr
    task = Record(folder / "forked").experiment["task"]
    assert (task["name"], task["task"]["stuck_window"]) == ("Chunked", 200)


@pytest.mark.slow
def test_workers_change_no_bit_and_a_run_of_theirs_goes_on_with_and_without(folder, ant):
    first = call("run", *ant, "--generations", 1, "--workers", 1, "--timeout", 300, "--out", "spread", folder=folder)
    assert first.returncode == 0, first.stderr
    for generations, workers in [(2, ["--workers", 1]), (3, [])]:
        longer = call("resume", "spread", "--generations", generations, *workers, folder=folder)
        assert longer.returncode == 0, longer.stderr
    chunked = eqx.tree_at(lambda s: s.task, Record(folder / "alone").search, replace_fn=Chunked)
    (whole,) = run(chunked, 3, out=folder / "chunked")
    for name in ("offspring.genotype", "offspring.novelty", "survivors.descriptor"):
        np.testing.assert_array_equal(whole.column(name), Record(folder / "spread").column(name))


@pytest.mark.slow
def test_a_dask_cluster_changes_no_bit(folder, ant):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        on_cluster = ["--dask", cluster.scheduler_address]
        for command in (["run", *ant, "--out", "cluster"], ["resume", "cluster"]):
            done = call(*command, "--generations", 1 + (command[0] == "resume"), *on_cluster, folder=folder)
            assert done.returncode == 0, done.stderr
    chunked = eqx.tree_at(lambda s: s.task, Record(folder / "alone").search, replace_fn=Chunked)
    (whole,) = run(chunked, 2, out=folder / "chunked-two")
    for name in ("offspring.genotype", "survivors.descriptor"):
        np.testing.assert_array_equal(whole.column(name), Record(folder / "cluster").column(name))


@pytest.mark.slow
def test_a_wrong_dask_address_is_told_soon(folder):
    pytest.importorskip("distributed")
    begun = time.monotonic()
    done = call("run", "maze", *SHORT, "--dask", "tcp://127.0.0.1:1", "--out", "nobody", folder=folder)
    assert time.monotonic() - begun < 10  # 4 of them are the wait for an answer
    assert done.returncode == 2
    assert "tcp://127.0.0.1:1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "maze", "--out", "no", "--workers", 2, "--dask", "tcp://127.0.0.1:1"), "one of them"),
        (("run", "maze", "--out", "no", "--timeout", 5), "a timeout goes with either"),
        (("resume", "alone", "--generations", 9, "--workers", 2), "was started without workers"),
        (("resume", "alone", "--generations", 9, "--dask", "tcp://127.0.0.1:1"), "was started without workers"),
    ],
)
def test_workers_that_cannot_be_had_are_an_error_that_says_why(folder, ant, arguments, told):
    done = call(*arguments, folder=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert Record(folder / "alone").planned == 1
