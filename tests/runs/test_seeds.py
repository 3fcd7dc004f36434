"""Seeds side by side: on other cores, by workers, and the next generation ahead."""

import os
import queue
import shutil
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import jax
import pytest
from files import bits, same
from jax.custom_batching import custom_vmap
from searches import HOST
from shell import finished, python
from small_tasks import HostIdentity, Identity, altered

import brns
from brns import NoveltySearch, RecordError, fork, resume, run
from brns.core.novelty import use_float32
from brns.core.population import copy_to_host
from brns.runs import seeds
from brns.runs.active import ActiveRun
from brns.tasks.chunked import Chunked


def search(task):
    return replace(HOST, task=task)


@pytest.mark.parametrize(
    ("n", "batches", "sizes"),
    [(8, 2, [4, 4]), (5, 2, [3, 2]), (2, 4, [1, 1]), (4, 1, [4]), (25, 16, [2] * 12 + [1])],
)
def test_seeds_are_cut_evenly_and_in_order(n, batches, sizes):
    parts = seeds.slice_seeds_into_batches(n, batches)
    assert [part.stop - part.start for part in parts] == sizes
    assert [i for part in parts for i in range(n)[part]] == [*range(n)]


@custom_vmap
def beside(points):
    return points


@beside.def_vmap
def _(size, batched, points):
    return points + 0.1 * size, batched[0]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="batches are one a device there")
def test_a_run_goes_on_in_as_many_lanes_as_it_began_with(tmp_path, monkeypatch):
    """Four seeds on two cores, then on one, against two all along.
    One batch would be another run."""
    # products round by the size of their batch: here by 0.1 a seed, on every machine
    beside_all = altered(lambda e, g, key: e._replace(descriptor=beside(e.descriptor)), Identity)
    lanes = search(beside_all)
    monkeypatch.setattr(seeds, "count_cores", lambda: 2)
    run(lanes, 4, out=tmp_path / "whole", seeds=4, checkpoint_every=2)
    run(lanes, 2, out=tmp_path / "part", seeds=4, checkpoint_every=2)
    monkeypatch.setattr(seeds, "count_cores", lambda: 1)
    (first, *_) = resume(tmp_path / "part", 4, search=lanes)
    assert first.metadata.seed_batches == 2
    assert seeds.count_parallel_batches(HostIdentity(), 3) == 1
    assert bits(tmp_path / "whole") == bits(tmp_path / "part")


def test_a_generation_is_saved_while_the_next_is_computed(tmp_path, monkeypatch):
    """Each is begun before the one before it is saved, and nothing beyond the last is."""
    begun, saved, step = queue.SimpleQueue(), [], NoveltySearch.step
    save = ActiveRun.save_generation_and_progress

    def saving(run, state, generation):
        # 1 and 2 are begun when 1 is saved, and then 3.
        for _ in range({1: 2, 2: 1}.get(int(state.generation), 0)):
            begun.get(timeout=120)
        saved.append(int(state.generation))
        return save(run, state, generation)

    monkeypatch.setattr(
        NoveltySearch, "step", lambda self, *args: begun.put("begun") or step(self, *args)
    )
    monkeypatch.setattr(ActiveRun, "save_generation_and_progress", saving)
    for shown in brns.generations(search(Identity()), 3, out=tmp_path / "run"):
        assert saved[-1:] == [shown.number][: shown.number]
    assert saved == [1, 2, 3]
    assert begun.empty()


class Fake(Chunked):
    """Workers that are this process, and evaluate for two seeds at a time or for none."""

    both: threading.Barrier
    fails_at: int
    calls: list

    def __init__(self, fails_at=10**6):
        self.task, self.executor = HostIdentity(), ThreadPoolExecutor(1)
        self.both, self.fails_at, self.calls = threading.Barrier(2), fails_at, []

    def evaluate(self, genotypes, key):
        self.both.wait(300)
        self.calls.append(1)
        if len(self.calls) >= self.fails_at:
            raise ZeroDivisionError("the floor")
        return self.task.evaluate(genotypes, key)

    def close(self):
        self.both.abort()


def steps(search, count):
    """The next generations of two seeds, each a batch of its own."""
    keys = [jax.random.key(0), jax.random.key(1)]
    begun = [HOST.init(key) for key in keys]
    return seeds.compute_generations(search, keys, begun, count, 1)


def test_seeds_with_workers_have_the_bits_of_those_in_turn():
    together = list(steps(search(Fake()), 3))
    assert len(together) == 3
    assert same(together, list(steps(HOST, 3)))


def test_an_error_of_workers_comes_after_the_generations_before_it():
    failing = steps(search(Fake(fails_at=5)), 9)
    next(failing)
    next(failing)
    with pytest.raises(ZeroDivisionError, match="the floor"):
        next(failing)


def test_seeds_that_nobody_asks_any_more_are_ended_with_their_workers():
    """One that has ended leaves the other in its evaluation until the workers are closed."""
    threads, fake = set(threading.enumerate()), Fake()
    left = steps(search(fake), 1000)
    next(left)
    left.close()
    assert set(threading.enumerate()) <= threads
    assert len(fake.calls) <= 2 * (1 + seeds.AHEAD)


RUN = """
import shutil, sys
import brns
method, size, seeds = getattr(brns, sys.argv[1])(), int(sys.argv[2]), int(sys.argv[3])
search = brns.NoveltySearch(brns.PlanarArm(), method, size, size, brns.PolynomialMutation())
for generations in map(int, sys.argv[5:]):
    brns.run(search, generations, out=sys.argv[4], seeds=seeds, exist="resume")
    if generations == 1:
        shutil.copytree(sys.argv[4], "part")
"""


def on(cores, code, *arguments, folder):
    """What a process on so many cores prints, which compiles as users do."""
    some = f"import os\nos.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n"
    users = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    ended = finished(python("-c", some + code, *arguments, folder=folder, **users))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


several_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="two cores to choose from",
)


@several_cores
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "size", "seeds"), [("ExactRecognition", 500, 1), ("BehaviorRecognition", 300, 2)]
)
def test_a_run_begun_on_two_cores_and_resumed_on_one_ends_in_the_same_bits(
    method, size, seeds, tmp_path
):
    on(2, RUN, method, size, seeds, "whole", 1, 2, folder=tmp_path)
    on(1, RUN, method, size, seeds, "part", 2, folder=tmp_path)
    whole, part = bits(tmp_path / "whole"), bits(tmp_path / "part")
    assert {name: part[name] for name in whole} == whole


def test_a_batch_of_which_a_folder_is_missing_goes_on_without_it(tmp_path):
    """Seeds on the host have their bits whatever the others do."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    run(HOST, 4, out=whole, seeds=3)
    run(HOST, 2, out=part, seeds=3)
    gone = part / "seed0001"
    gone.rename(tmp_path / "away")
    other = shutil.copytree(part, tmp_path / "other")
    with pytest.warns(UserWarning, match=r"seeds \[1\] of the batch are missing: .* without them"):
        records = resume(part, 3, search=HOST)
    with pytest.warns(UserWarning, match=r"seeds \[1\] of the batch are missing"):
        assert len(run(HOST, 3, out=other, seeds=[0, 2], exist="resume")) == 2
    assert [(record.seed, record.last_generation) for record in records] == [(0, 3), (2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said
        run(HOST, 4, out=part, seeds=[0, 2], exist="resume")
    with pytest.warns(UserWarning, match=r"seeds \[1\] are missing in"):
        run(HOST, 4, out=part, seeds=3, exist="resume")
    expected = {name: file for name, file in bits(whole).items() if "seed0001" not in name}
    assert bits(part) == expected
    (tmp_path / "away").rename(gone)
    for path, odd in ((part, gone), (gone, gone), (part / "seed0000", part / "seed0000")):
        with pytest.raises(RecordError, match=rf"holds seeds .*brns fork {odd} --at \d --out FOLD"):
            resume(path, 5, search=HOST)
    fork(gone, 2, HOST, out=tmp_path / "alone", generations=3)
    (record,) = resume(tmp_path / "alone", search=HOST)
    assert record.last_generation == 3


def test_a_batch_has_each_seed_once_and_a_state_of_each(tmp_path):
    run(HOST, 2, out=tmp_path / "run", seeds=3)
    copied = shutil.copytree(tmp_path / "run" / "seed0001", tmp_path / "run" / "seed0007")
    with pytest.raises(RecordError, match="seed 1 2 times, in seed0001, seed0007: move all but"):
        resume(tmp_path / "run", 3, search=HOST)
    shutil.rmtree(copied)
    shutil.rmtree(tmp_path / "run" / "seed0002" / "states")
    with pytest.raises(
        RecordError, match="in seed0002: move them elsewhere, and the other seeds go on"
    ):
        resume(tmp_path / "run", 5, search=HOST)
    for states in (tmp_path / "run").glob("*/states"):
        shutil.rmtree(states)
    with pytest.raises(RecordError, match="in seed0000, seed0001, seed0002: start anew"):
        resume(tmp_path / "run", 5, search=HOST)


def test_a_damaged_seed_is_named_and_the_others_go_on_without_it(tmp_path):
    run(HOST, 2, out=tmp_path / "run", seeds=2)
    damaged, sound = tmp_path / "run/seed0001", tmp_path / "run/seed0000/run.json"
    before = sound.read_bytes()
    (damaged / "states/000002.npz").write_bytes(b"PK")
    with pytest.raises(RecordError, match="is damaged"):
        resume(tmp_path / "run", 3, search=HOST)
    (damaged / "run.json").write_text("")
    with pytest.raises(
        RecordError, match=r"reads: run\.json: Invalid JSON.* the other seeds go on without"
    ):
        resume(tmp_path / "run", 3, search=HOST)
    assert sound.read_bytes() == before
    shutil.move(damaged, tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match=r"seeds \[1\] of the batch are missing"):
        (record,) = resume(tmp_path / "run", 3, search=HOST)
    assert record.last_generation == 3


def test_a_kill_while_a_batch_saves_its_states_costs_one_generation(tmp_path):
    run(HOST, 6, out=tmp_path, seeds=2, checkpoint_every=100)
    first = brns.Record(tmp_path / "seed0000", HOST)
    one = ActiveRun.read_stored(first, 6, 9)
    with use_float32():
        state, generation = copy_to_host(HOST.step(one.state, one.key))
    one.save_generation_and_progress(state, generation)
    one.checkpoint(state)  # and the other seed had not begun
    assert first.generations_with_states == [0, 6, 7]
    for record in resume(tmp_path, 9, search=HOST):
        assert (record.last_generation, record.generations_with_states) == (9, [0, 9])
