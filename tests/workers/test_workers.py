import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from trees import same
from worlds import Faulty, Heavy, HostIdentity, Identity, Windy

import brns
from brns.settings import build, describe
from brns.workers.chunks import Chunked, ChunkFailed, EvaluationError, innermost
from brns.workers.dask import Dask
from brns.workers.processes import Processes
from brns.workers.worker import Worker

KEY = jax.random.key(3)
GENOTYPES = Identity().genotype_space.uniform(KEY, 26).at[:, 0].set(0.0).at[9, 0].set(0.9)
"""26 individuals of which Faulty's faults meet number 9 alone"""


@pytest.fixture(scope="module")
def shared():
    """One pool of two workers for many tests: copies of a `Processes` with another task share it."""
    with Processes(HostIdentity(), workers=2) as processes:
        yield processes


def warm(processes):
    """Each worker has started and evaluated, so that a timeout is the task's alone, and a death is no start's."""
    processes.evaluate(GENOTYPES, KEY)
    while any(worker.task is None for worker in processes.pool.workers):
        processes.evaluate(GENOTYPES, KEY)


def with_task(processes, task, **changes):
    processes = eqx.tree_at(lambda p: p.task, processes, task)
    for name, value in changes.items():
        processes = eqx.tree_at(lambda p, n=name: getattr(p, n), processes, value, is_leaf=lambda x: x is None)
    return processes


@pytest.mark.parametrize("chunk", [1, 4, 7, 26, 100])
@pytest.mark.parametrize("task", [HostIdentity(), Windy()])
def test_cutting_changes_no_bit(task, chunk):
    assert same(Chunked(task, chunk=chunk).evaluate(GENOTYPES, KEY), task.evaluate(GENOTYPES, KEY))


def test_a_traceable_task_meets_one_shape_whatever_the_batch():
    shapes = []

    class Noting(eqx.Module):
        genotype_space: brns.Box = Identity().genotype_space
        behavior_space: brns.Box = Identity().behavior_space
        traceable: bool = True

        def evaluate(self, genotypes, key):
            shapes.append(genotypes.shape)
            return Identity().evaluate(genotypes, key)

    for n in (26, 25, 8, 3):
        Chunked(Noting(), chunk=4).evaluate(GENOTYPES[:n], KEY)
    assert shapes == [(4, 5)]


def test_processes_give_the_bits_of_chunked(shared):
    for chunk in (4, 7):
        for task in (HostIdentity(), Windy(), brns.DeceptiveMaze(steps=20)):
            genotypes = task.genotype_space.uniform(KEY, 10)
            expected = Chunked(task, chunk=chunk).evaluate(genotypes, KEY)
            assert same(with_task(shared, task, chunk=chunk).evaluate(genotypes, KEY), expected)
    assert len(shared.pool.workers) == 2
    assert all(worker.process.pid != os.getpid() for worker in shared.pool.workers)


def test_a_class_that_nobody_can_import_goes_along_with_what_it_uses(shared):
    pytest.importorskip("cloudpickle")
    scale = 300

    class Local(eqx.Module):
        genotype_space: brns.Box = Identity().genotype_space
        behavior_space: brns.Box = Identity().behavior_space
        traceable: bool = False

        def evaluate(self, genotypes, key):
            n = len(genotypes)
            return brns.Evaluation(scale + scale * genotypes[:, :2], np.zeros(n), np.zeros(n, bool))

    assert same(with_task(shared, Local()).evaluate(GENOTYPES, KEY), Local().evaluate(GENOTYPES, KEY))


def test_a_pickled_copy_works_with_workers_of_its_own(shared):
    with pickle.loads(pickle.dumps(shared)) as copy:
        assert describe(copy) == describe(shared)
        assert same(copy.evaluate(GENOTYPES[:4], KEY), HostIdentity().evaluate(GENOTYPES[:4], KEY))
        ours, theirs = ({worker.process.pid for worker in one.pool.workers} for one in (copy, shared))
        assert ours
        assert not ours & theirs


def test_a_run_of_two_workers_is_resumed_without_any_to_the_same_bits(shared, tmp_path):
    def search(task):
        return brns.NoveltySearch(task, brns.PopulationKNN(k=3), population_size=6, offspring_size=5)

    brns.run(search(with_task(shared, Windy())), 2, out=tmp_path / "a")
    (resumed,) = brns.resume(tmp_path / "a", 4, search=search(Chunked(Windy())))
    (whole,) = brns.run(search(Chunked(Windy())), 4, out=tmp_path / "b")
    assert resumed.experiment["task"] == {"name": "Chunked", "task": describe(Windy()), "chunk": 4}
    for column in ("survivors.descriptor", "survivors.novelty", "offspring.genotype"):
        assert np.array_equal(resumed.column(column), whole.column(column))
    with pytest.raises(brns.RecordError, match=r"task\.chunk was 4 and is 5"):
        brns.resume(tmp_path / "a", 5, search=search(Chunked(Windy(), chunk=5)))


def test_a_record_rebuilds_the_task_without_workers():
    maze = brns.DeceptiveMaze(steps=20)
    for spread in (Processes(maze, workers=8, timeout=1.0, chunk=5), Dask(maze, "tcp://10.0.0.1:8786", chunk=5)):
        rebuilt = build(describe(spread))
        assert isinstance(rebuilt, Chunked)
        assert (rebuilt.chunk, describe(rebuilt.task)) == (5, describe(maze))


def test_the_innermost_task_is_the_world_itself():
    maze = brns.DeceptiveMaze(steps=20)
    assert innermost(maze) is maze
    assert innermost(Processes(Chunked(maze))) is maze
    assert innermost(Dask(maze)) is maze


def test_a_dead_worker_costs_no_result(shared, tmp_path):
    once = with_task(shared, Faulty("dies", flag=str(tmp_path / "died")))
    assert same(once.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))
    assert (tmp_path / "died").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_worker_that_died_is_noticed_while_a_child_of_it_lives(shared, tmp_path):
    shared.evaluate(GENOTYPES, KEY)
    once = with_task(shared, Faulty("forks", flag=str(tmp_path / "died")))
    assert same(once.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))
    os.kill(int((tmp_path / "died").read_text()), signal.SIGKILL)  # a child that lives no more is a ProcessLookupError


def test_an_idle_worker_that_was_killed_is_replaced_without_blame(shared):
    careful = with_task(shared, HostIdentity(), deaths=1)
    warm(careful)
    os.kill(shared.pool.workers[0].process.pid, signal.SIGKILL)
    shared.pool.workers[0].process.join()
    assert same(careful.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))


def test_individuals_that_always_kill_their_worker_are_named(shared):
    with pytest.raises(EvaluationError, match=r"Faulty.*individuals 8 to 11 of 26 .*ended its process 2 times.*-9"):
        with_task(shared, Faulty("dies"), deaths=2).evaluate(GENOTYPES, KEY)


def test_individuals_that_hang_are_named_and_their_worker_killed(shared):
    warm(shared)
    with pytest.raises(EvaluationError, match=r"individual 9 of 26 .*more than timeout=3.0 seconds"):
        with_task(shared, Faulty("hangs"), chunk=1, timeout=3.0).evaluate(GENOTYPES, KEY)
    assert shared.pool.workers == []


def frozen(worker):
    os.kill(worker.process.pid, signal.SIGSTOP)
    return worker


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="freezes")
def test_a_worker_that_is_frozen_while_its_pipe_is_full_is_killed_in_time(shared):
    warm(shared)
    for worker in shared.pool.workers:
        frozen(worker)
    with pytest.raises(EvaluationError, match=r"individuals 0 to 3 of 26 .*more than timeout=1.0 seconds"):
        with_task(shared, Heavy(), timeout=1.0).evaluate(GENOTYPES, KEY)
    assert shared.pool.workers == []


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="freezes")
def test_a_worker_that_is_frozen_while_it_starts_is_killed_in_time(monkeypatch):
    monkeypatch.setattr("brns.workers.worker.SECONDS_TO_START", 0.5)
    monkeypatch.setattr("brns.workers.pool.Worker", lambda timeout: frozen(Worker(timeout)))
    with (
        Processes(HostIdentity(), timeout=0.5) as processes,
        pytest.raises(EvaluationError, match=r"a worker process did not start within 1.0 seconds"),
    ):
        processes.evaluate(GENOTYPES, KEY)


@pytest.mark.slow
def test_an_answer_that_is_cut_short_ends_at_the_deadline(shared):
    warm(shared)
    worker = shared.pool.workers[0]
    ours, theirs = multiprocessing.Pipe()
    worker.pipe.close()
    worker.pipe = ours
    worker.give(b"", 3, np.asarray(GENOTYPES), b"", timeout=1.0)
    os.write(theirs.fileno(), b"\x00\x00\x10\x00 half of what was announced")
    with pytest.raises(OSError, match="end of file during message"):
        worker.hear()
    with pytest.raises(ChunkFailed, match=r"more than timeout=1.0"):
        worker.in_time()
    shared.close()


def test_an_error_without_a_text_is_told_as_what_it_is(shared):
    with pytest.raises(EvaluationError, match=r"raised Mute: \(its text cannot be made: UnicodeError\)"):
        with_task(shared, Faulty("mute")).evaluate(GENOTYPES, KEY)


def test_individuals_on_which_the_task_raises_are_named_with_its_message(shared):
    with pytest.raises(EvaluationError, match=r"individuals 8 to 11 of 26 .*ZeroDivisionError: the floor") as caught:
        with_task(shared, Faulty("raises")).evaluate(GENOTYPES, KEY)
    assert "worlds.py" in "".join(caught.value.__notes__)


def test_wrong_shapes_and_numbers_are_found(shared, tmp_path):
    with pytest.raises(EvaluationError, match=r"of individuals 8 to 11 .*descriptor of shape \(4, 2\); got \(4, 3\)"):
        with_task(shared, Faulty("wide")).evaluate(GENOTYPES, KEY)
    search = brns.NoveltySearch(Chunked(Faulty("nan")), brns.PopulationKNN(k=3), population_size=20)
    with pytest.raises(ValueError, match=r"descriptor that is not finite for .+ of 20 individuals of generation 0"):
        brns.run(search, 1, out=tmp_path / "run")


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"chunk": 0}, {"deaths": 0}, {"timeout": 0.0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        Processes(HostIdentity(), **wrong)


def test_without_the_extra_dask_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"brns\[dask\]"):
        Dask(HostIdentity()).evaluate(GENOTYPES, KEY)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bits_though_a_worker_is_killed(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent), prepend=os.pathsep)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        maze = brns.DeceptiveMaze(steps=20)
        with Dask(HostIdentity(), cluster.scheduler_address) as spread:
            assert same(spread.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))
            pids = spread.cluster.client.run(os.getpid)
            os.kill(min(pids.values()), signal.SIGKILL)
            assert same(spread.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))

            on_maze = eqx.tree_at(lambda s: s.task, spread, maze)
            genotypes = maze.genotype_space.uniform(KEY, 10)
            assert same(on_maze.evaluate(genotypes, KEY), Chunked(maze).evaluate(genotypes, KEY))

            once = eqx.tree_at(lambda s: s.task, spread, Faulty("dies", flag=str(tmp_path / "died")))
            assert same(once.evaluate(GENOTYPES, KEY), HostIdentity().evaluate(GENOTYPES, KEY))
            for fault, message in [("dies", "ended its process 3 times"), ("raises", "ZeroDivisionError: the floor")]:
                with pytest.raises(EvaluationError, match=f"individuals 8 to 11 of 26 .*{message}"):
                    eqx.tree_at(lambda s: s.task, spread, Faulty(fault)).evaluate(GENOTYPES, KEY)
            with pytest.raises(EvaluationError, match=r"individuals 8 to 11 of 26 .*more than timeout"):
                Dask(Faulty("hangs"), cluster.scheduler_address, timeout=20.0).evaluate(GENOTYPES, KEY)


def asked(task, found):
    """The thread of somebody who asks a task; what it is told, or the error, is put into `found`."""

    def ask():
        try:
            found.append(task.evaluate(GENOTYPES, KEY))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.slow
def test_several_callers_share_the_workers_and_each_has_its_own_answer_or_error(shared):
    """Three with other chunks at once, one of whom meets an error that ends the workers of all."""
    tasks = [
        with_task(shared, HostIdentity(), chunk=1),
        with_task(shared, Faulty("raises")),
        with_task(shared, Windy()),
    ]
    found = [[], [], []]
    for thread in [asked(task, told) for task, told in zip(tasks, found, strict=True)]:
        thread.join()
    (one,), (error,), (other,) = found
    assert same(one, HostIdentity().evaluate(GENOTYPES, KEY))
    assert same(other, Windy().evaluate(GENOTYPES, KEY))
    assert isinstance(error, EvaluationError)
    assert "individuals 8 to 11 of 26" in str(error)
    assert shared.pool.batches == []


def test_who_waits_while_the_workers_are_ended_is_told(shared):
    shared.evaluate(GENOTYPES, KEY)
    found = []
    thread = asked(with_task(shared, Faulty("hangs"), chunk=1), found)
    deadline = time.monotonic() + 120
    while not shared.pool.owner and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    shared.close()
    thread.join()
    assert "its workers were ended" in str(found[0])
    assert shared.pool.workers == []
