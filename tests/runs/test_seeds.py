"""Seeds side by side: on other cores, by workers, and the next generation ahead."""

import os
import queue
import shutil
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from files import bits, same
from jax.custom_batching import custom_vmap
from searches import HOST
from worlds import HostIdentity, Identity

import brns
from brns import NoveltySearch, RecordError, fork, resume, run
from brns.runs import seeds
from brns.runs.active import ActiveRun
from brns.tasks.chunked import Chunked

KEYS = [jax.random.key(0), jax.random.key(1)]


def search(task):
    return replace(HOST, task=task)


@pytest.mark.parametrize(
    ("n", "batches", "sizes"),
    [(8, 2, [4, 4]), (5, 2, [3, 2]), (3, 3, [1, 1, 1]), (4, 1, [4]), (25, 16, [2] * 12 + [1])],
)
def test_seeds_are_cut_evenly_and_in_order(n, batches, sizes):
    parts = seeds.split_seeds(n, batches)
    assert [part.stop - part.start for part in parts] == sizes
    assert [i for part in parts for i in range(n)[part]] == [*range(n)]


@custom_vmap
def beside(points):
    return points


@beside.def_vmap
def _(size, batched, points):
    return points + 0.1 * size, batched[0]


class Lanes(Identity):
    """Matrix products round by the size of their batch: here by 0.1 a seed, on every machine."""

    def evaluate(self, genotypes, key):
        first = jax.random.normal(jax.random.key(0), (5, 64))
        second = jax.random.normal(jax.random.key(1), (64, 2))
        reached = jnp.tanh(jnp.tanh(genotypes @ first) @ second / 8)
        return super().evaluate(genotypes, key)._replace(descriptor=beside(300 + 250 * reached))


def test_a_run_goes_on_in_as_many_lanes_as_it_began_with(tmp_path, monkeypatch):
    """Four seeds on two cores, then on one, against two all along.
    One batch would be another run."""
    one = search(Lanes())
    monkeypatch.setattr(seeds, "cores", lambda: 2)
    run(one, 4, out=tmp_path / "whole", seeds=4, checkpoint_every=2)
    run(one, 2, out=tmp_path / "part", seeds=4, checkpoint_every=2)
    monkeypatch.setattr(seeds, "cores", lambda: 1)
    (first, *_) = resume(tmp_path / "part", 4, search=one)
    assert first.metadata.seed_batches == 2
    assert seeds.count_parallel_batches(HostIdentity(), 3) == 1
    assert bits(tmp_path / "whole") == bits(tmp_path / "part")


def test_a_generation_is_saved_while_the_next_is_computed(tmp_path, monkeypatch):
    """Each is begun before the one before it is saved, and nothing beyond the last is."""
    begun, saved, step, save = queue.SimpleQueue(), [], NoveltySearch.step, ActiveRun.save

    def saving(run, state, generation):
        # 1 and 2 are begun when 1 is saved, and then 3.
        for _ in range({1: 2, 2: 1}.get(int(state.generation), 0)):
            begun.get(timeout=120)
        saved.append(int(state.generation))
        return save(run, state, generation)

    monkeypatch.setattr(
        NoveltySearch, "step", lambda self, *args: begun.put("begun") or step(self, *args)
    )
    monkeypatch.setattr(ActiveRun, "save", saving)
    for shown in brns.generations(search(Identity()), 3, out=tmp_path / "run", progress=False):
        assert saved[-1:] == [shown.number][: shown.number]
    assert saved == [1, 2, 3]
    assert begun.empty()


class Fake(Chunked):
    """Workers that are this process, and evaluate for two seeds at a time or for none."""

    both: threading.Barrier
    fails_at: int
    calls: list

    def __init__(self, both, fails_at=10**6):
        self.task, self.executor = HostIdentity(), ThreadPoolExecutor(1)
        self.both, self.fails_at, self.calls = both, fails_at, []

    def evaluate(self, genotypes, key):
        self.both.wait(300)
        self.calls.append(1)
        if len(self.calls) >= self.fails_at:
            raise ZeroDivisionError("the floor")
        return self.task.evaluate(genotypes, key)

    def close(self):
        self.both.abort()


def begun():
    return [HOST.init(key) for key in KEYS]


def test_seeds_with_workers_have_the_bits_of_those_in_turn():
    fake = Fake(threading.Barrier(2))
    together = list(seeds.compute_generations(search(fake), KEYS, begun(), 3, 1))
    in_turn = list(seeds.compute_generations(HOST, KEYS, begun(), 3, 1))
    assert len(together) == 3
    assert same(together, in_turn)


def test_an_error_of_workers_comes_after_the_generations_before_it():
    fake = Fake(threading.Barrier(2), fails_at=5)
    steps = seeds.compute_generations(search(fake), KEYS, begun(), 9, 1)
    assert len([next(steps), next(steps)]) == 2
    with pytest.raises(ZeroDivisionError, match="the floor"):
        next(steps)


def test_seeds_that_nobody_asks_any_more_are_ended_with_their_workers():
    """One that has ended leaves the other in its evaluation until the workers are closed."""
    threads, fake = set(threading.enumerate()), Fake(threading.Barrier(2))
    steps = seeds.compute_generations(search(fake), KEYS, begun(), 1000, 1)
    next(steps)
    steps.close()
    assert set(threading.enumerate()) <= threads
    assert len(fake.calls) <= 2 * (1 + seeds.AHEAD)


CHILD = """
import os, shutil, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:int(sys.argv[1])]))
import brns
method, size = getattr(brns, sys.argv[2])(), int(sys.argv[3])
search = brns.NoveltySearch(brns.PlanarArm(), method, size, size, brns.PolynomialMutation())
seeds = {"seeds": int(sys.argv[4])} if sys.argv[4] != "1" else {}
for generations in map(int, sys.argv[6:]):
    brns.run(search, generations, out=sys.argv[5], exist="resume", progress=False, **seeds)
    if generations == 1:
        shutil.copytree(sys.argv[5], "part")
"""
several_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="two cores to choose from",
)


@several_cores
@pytest.mark.parametrize(
    ("method", "size", "seeds"),
    [
        ("ExactRecognition", 500, 1),
        pytest.param("BehaviorRecognition", 300, 2, marks=pytest.mark.slow),
    ],
)
def test_a_run_begun_on_two_cores_and_resumed_on_one_ends_in_the_same_bits(
    method, size, seeds, tmp_path
):
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "0",  # as users compile
    }
    for cores, out, generations in [(2, "whole", (1, 2)), (1, "part", (2,))]:
        command = [sys.executable, "-c", CHILD, cores, method, size, seeds, out, *generations]
        subprocess.run(list(map(str, command)), env=environment, check=True, cwd=tmp_path)
    whole, part = bits(tmp_path / "whole"), bits(tmp_path / "part")
    assert {name: part[name] for name in whole} == whole


def test_a_batch_of_which_a_folder_is_missing_goes_on_without_it(tmp_path):
    """Seeds on the host have their bits whatever the others do."""
    run(HOST, 4, out=tmp_path / "whole", seeds=3, progress=False)
    run(HOST, 2, out=tmp_path / "part", seeds=3, progress=False)
    gone = tmp_path / "part" / "seed0001"
    gone.rename(tmp_path / "away")
    with pytest.warns(UserWarning, match=r"seeds \[1\] of the batch are missing: .* without them"):
        records = resume(tmp_path / "part", 3, search=HOST, progress=False)
    assert [(record.seed, record.last) for record in records] == [(0, 3), (2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said
        run(HOST, 4, out=tmp_path / "part", seeds=3, exist="resume", progress=False)
    whole, part = bits(tmp_path / "whole"), bits(tmp_path / "part")
    assert part == {name: whole[name] for name in whole if "seed0001" not in name}
    (tmp_path / "away").rename(gone)
    for path in (tmp_path / "part", gone, tmp_path / "part" / "seed0000"):
        with pytest.raises(RecordError, match=r"holds seeds .*brns fork .* --at \d --out FOLDER"):
            resume(path, 5, search=HOST, progress=False)
    copy = fork(gone, 2, HOST, out=tmp_path / "alone", generations=3)
    (record,) = resume(copy, search=HOST, progress=False)
    assert record.last == 3


def test_a_batch_goes_on_by_the_seeds_that_are_left_and_with_each_once(tmp_path):
    run(HOST, 2, out=tmp_path / "run", seeds=3, progress=False)
    copied = shutil.copytree(tmp_path / "run" / "seed0001", tmp_path / "run" / "seed0007")
    with pytest.raises(RecordError, match="seed 1 2 times, in seed0001, seed0007: move all but"):
        resume(tmp_path / "run", 3, search=HOST, progress=False)
    with pytest.raises(RecordError, match="seed 1 2 times, in seed0001, seed0007: move all but"):
        run(HOST, 3, out=tmp_path / "run", seeds=3, exist="resume", progress=False)
    shutil.rmtree(copied)
    shutil.rmtree(tmp_path / "run" / "seed0001")
    with pytest.warns(UserWarning, match="missing"):
        resume(tmp_path / "run", 3, search=HOST, progress=False)
    run(HOST, 4, out=tmp_path / "run", seeds=[0, 2], exist="resume", progress=False)
    shutil.rmtree(tmp_path / "run" / "seed0002" / "states")
    with pytest.raises(RecordError, match="in seed0002; without it the others go on"):
        resume(tmp_path / "run", 5, search=HOST, progress=False)


def test_a_traced_batch_of_which_folders_are_missing_goes_on(tmp_path):
    one = search(Identity())
    run(one, 2, out=tmp_path / "run", seeds=4, progress=False)
    for seed in (0, 3):
        shutil.rmtree(tmp_path / "run" / f"seed{seed:04d}")
    with pytest.warns(UserWarning, match=r"seeds \[0, 3\] .* round together"):
        records = resume(tmp_path / "run", 4, search=one, progress=False)
    ended = [(record.seed, record.last, record.status) for record in records]
    assert ended == [(1, 4, "finished"), (2, 4, "finished")]
