"""What is edited while Python goes on, as in a notebook: the next run computes what its record
says, though programs were compiled, environments made and tasks sent before."""

from functools import partial
from types import SimpleNamespace

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from modules import Own, loaded, typed
from searches import search as make
from small_tasks import Counting, Identity

import brns
from brns.runs.provenance import read_sources
from brns.settings.edits import count_process_edits, discard_compiled_if_edited

search = partial(make, estimator=brns.PopulationKNN(k=2), mutate=brns.UniformResampling())

CODE = """
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
import brns

GAIN = 1.0

class Host:
    genotype_space = brns.Box([-1.0] * 2, [1.0] * 2)
    behavior_space = brns.Box([-9.0] * 2, [9.0] * 2)
    traceable = False
    gain = 1.0
    def __init__(self):
        self.bias = 0.0
    def evaluate(self, genotypes, key):
        return brns.Evaluation(self.gain * GAIN * genotypes + self.bias)

class Compiled(Host):
    traceable = True

class Module(eqx.Module):
    genotype_space: brns.Box = brns.Box([-1.0] * 2, [1.0] * 2)
    behavior_space: brns.Box = brns.Box([-9.0] * 2, [9.0] * 2)
    traceable: bool = True
    def evaluate(self, genotypes, key):
        return brns.Evaluation(GAIN * genotypes)

class Mutation(eqx.Module):
    def __call__(self, key, genotypes, space):
        return jnp.clip(genotypes + (GAIN - 1) / 80, space.low, space.high)

class Estimator(eqx.Module):
    def init(self, space, key):
        return jnp.zeros(1)
    def score(self, state, descriptors, population):
        return GAIN + 0 * descriptors[:, 0]
    def update(self, state, generation, key):
        return state
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    return loaded(tmp_path, "own_between", CODE, monkeypatch)


def reach(task, out=None, **changes):
    """How far behaviors of the first generation lie at most."""
    one = search(task, **changes)
    (record,) = brns.run(one, 1, out=out, genotypes="all", progress=False)
    return float(np.abs(record.column("offspring.descriptor", [1])).max())


def test_a_global_that_is_changed_holds_in_the_next_run(own):
    task = own.Compiled()
    before = reach(task)
    own.GAIN = 9.0
    assert reach(task) == pytest.approx(9 * before)


@pytest.mark.slow
def test_an_attribute_or_a_method_that_is_changed_holds_in_the_next_run(own):
    """So does a key that is newly there or gone."""
    text = """
CFG = {}
class Task(Compiled):
    def evaluate(self, genotypes, key):
        gain = CFG.get("gain", 1.0)
        return brns.Evaluation(gain * self.gain * genotypes + self.bias)
"""
    exec(text, vars(own))
    task = own.Task()
    before = reach(task)
    task.bias = 5.0
    assert reach(task) > 4 + before
    task.bias, own.Task.gain = 0.0, 2.0
    assert reach(task) == pytest.approx(2 * before)
    own.Task.gain, own.CFG["gain"] = 1.0, 3.0
    assert reach(task) == pytest.approx(3 * before)
    del own.CFG["gain"]
    assert reach(task) == before


@pytest.mark.slow
def test_a_global_of_an_estimator_or_a_mutation_holds_in_the_next_run(own):
    def run():
        own_parts = {"estimator": own.Estimator(), "mutate": own.Mutation()}
        return brns.run(search(Identity(), **own_parts), 1, genotypes="all")[0]

    assert run().column("survivors.novelty").max() == 1
    own.GAIN = 9.0
    record = run()
    assert record.column("survivors.novelty").min() == 9
    parents = {tuple(genotype) for genotype in np.clip(record.population(0).genotype + 0.1, -1, 1)}
    assert set(map(tuple, record.column("offspring.genotype", [1])[0])) <= parents
    brns.check_mutation(own.Mutation(), own.Module().genotype_space)
    own.GAIN = 5.0
    brns.check_mutation(own.Mutation(), own.Module().genotype_space)  # that compiles it twice


def test_edits_that_are_accepted_hold_from_there_on(own, tmp_path):
    before = reach(own.Module(), tmp_path / "run")
    own.GAIN = 9.0
    again = search(own.Module())
    (record,) = brns.run(
        again, 2, out=tmp_path / "run", genotypes="all", exist="resume", accept_edits=True
    )
    assert np.abs(record.column("offspring.descriptor", [1])).max() == pytest.approx(before)
    genotypes = record.column("offspring.genotype", [2])
    assert np.allclose(record.column("offspring.descriptor", [2]), 9 * genotypes)


class Speed(gymnasium.Env):
    observation_space = spaces.Box(-100, 100, (1,))
    action_space = spaces.Box(-1, 1, (1,))

    def __init__(self, speed=1.0):
        self.speed = speed

    def reset(self, *, seed=None, options=None):
        self.place = np.zeros(1, np.float32)
        return self.place, {}

    def step(self, action):
        self.place = self.place + np.float32(self.speed)
        return self.place, 0.0, False, False, {}


SETTINGS = SimpleNamespace(speed=1.0)
SLOW = [pytest.param(of, marks=pytest.mark.slow) for of in ("factory", "id")]


@pytest.mark.usefixtures("keep_compiled")
@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("of", ["lambda", *SLOW])
def test_environments_are_made_anew_where_what_makes_them_was_changed(of, monkeypatch):
    """In runs; but not where nothing was changed."""
    monkeypatch.setattr(SETTINGS, "speed", 1.0)

    def register(speed):
        entry = (lambda **_: Speed(speed)) if of == "lambda" else Speed
        gymnasium.register("Speed-v0", entry_point=entry, kwargs={"speed": speed})
        SETTINGS.speed = speed

    register(1.0)
    make = (lambda: Speed(SETTINGS.speed)) if of == "factory" else "Speed-v0"
    task = brns.GymnasiumTask(make, steps=5)

    try:
        for speed in (1.0, 2.0, 1.0):
            register(speed)
            assert reach(task) == 5 * speed
            edits = count_process_edits()
            register(speed) if of == "id" else None
            reach(task)
            assert count_process_edits() == edits
    finally:
        del gymnasium.registry["Speed-v0"]


@pytest.mark.slow
def test_workers_get_the_task_again_where_it_was_changed(own):
    task = own.Host()
    chunked = brns.Chunked(task)
    reach(chunked)
    first = chunked._pickle_task()
    assert chunked._pickle_task() is first
    task.bias = 5.0
    brns.run(search(chunked), 1)
    assert chunked._pickle_task()[0] != first[0]


def test_what_changes_by_itself_makes_nothing_anew(monkeypatch):
    """Counters of evaluations."""
    task, cleared = Counting(), []
    reach(task)
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    reach(task)
    by_hand = search(task)
    for seed in (0, 1):
        by_hand.init(jax.random.key(seed))
    assert not cleared


def test_names_of_a_notebook_are_looked_for_one_by_one(keep_compiled):
    cell = "A, B = 1.0, 2.0\ndef first(x):\n    return A * x\ndef second(x):\n    return B * x\n"
    names = {"__name__": "typed", "In": [cell]}
    exec(cell, names)
    edits = count_process_edits()
    for name in ("first", "second", "first"):
        discard_compiled_if_edited(read_sources(search(Own(names[name]))))
    assert count_process_edits() == edits
    names["A"] = 3.0
    discard_compiled_if_edited(read_sources(search(Own(names["first"]))))
    assert count_process_edits() == edits + 1


def test_another_lambda_of_the_same_name_is_an_edit(keep_compiled):
    use, edits = typed("def use(x):\n    return scaled(x)", scaled=None), []
    for scaled in (lambda x: x, lambda x: 1 * x, lambda x: 2 * x, lambda y: 2 * y):
        use.__globals__["scaled"] = scaled
        discard_compiled_if_edited(read_sources(search(Own(use))))
        edits.append(count_process_edits())
    assert [after - edits[0] for after in edits] == [0, 1, 2, 3]


@pytest.mark.slow
def test_tasks_in_turn_make_nothing_anew(own, monkeypatch):
    def make(gain):
        return lambda genotypes: gain * genotypes

    tasks = [Own(make(1.0)), Own(make(0.5)), Own(lambda x: x), Own(lambda x: x / 2)]
    tasks += [Counting(), own.Module()]
    turns = [(task, {}) for task in tasks] + [(tasks[0], {"estimator": own.Estimator()})]
    for task, changes in turns:
        reach(task, **changes)
    cleared = []
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    for task, changes in turns:
        reach(task, **changes)
    for gain in (0.1, 0.2, 0.3):
        reach(Own(make(gain)))
    assert not cleared


def test_a_run_in_progress_is_not_half_of_another_experiment(own, tmp_path):
    steps = brns.generations(search(own.Module()), 9, out=tmp_path / "run")
    for _ in range(3):
        next(steps)
    own.GAIN = 9.0
    before = reach(own.Module())
    with pytest.raises(brns.RecordError, match=r"own_between\.GAIN"):
        for _ in steps:
            pass
    own.GAIN = 1.0
    assert reach(own.Module()) == pytest.approx(before / 9)


@pytest.mark.parametrize("kind", ["Host", pytest.param("Compiled", marks=pytest.mark.slow)])
def test_a_setting_that_a_loop_changes_ends_the_run_and_is_no_counter(kind, own, tmp_path):
    class Counting(getattr(own, kind)):
        def __init__(self, bias=0.0):
            self.bias, self.calls = bias, 0

        def evaluate(self, genotypes, key):
            self.calls += 1
            return super().evaluate(genotypes, key)

    task = Counting()
    steps = brns.generations(search(task), 9, out=tmp_path / "run", progress=False)
    for _ in range(2):
        next(steps)
        task.calls += 1
    task.bias = 2.0
    with pytest.raises(brns.RecordError, match=r"generation 1: task\.bias was 0\.0 and is 2\.0"):
        next(steps)
    (record,) = brns.records(tmp_path / "run")
    assert (record.last_generation, record.status) == (1, "failed")
    assert "task.bias" not in record.metadata.changing
    with pytest.raises(brns.RecordError, match=r"task\.bias was 0\.0 and is 5\.0"):
        brns.resume(record.path, search=search(Counting(5.0)), progress=False)
    task = Counting()
    for saved in brns.generations(search(task), 1, out=tmp_path / "last", progress=False):
        task.bias = float(saved.number)  # after the last generation
    assert saved.record.status == "finished"
    assert "task.bias" not in saved.record.metadata.changing
    if kind == "Compiled":  # what runs on the host cannot be outdated
        task = Counting()
        before = reach(task)
        task.bias = 3.0
        assert reach(task) == pytest.approx(3 + before, abs=0.1)


@pytest.mark.slow
def test_checks_and_comparisons_use_what_is_there_now(own, tmp_path):
    brns.check_estimator(own.Estimator())
    before = reach(own.Module())
    for own.GAIN in (1.0, 8.0):
        novelty = brns.Novelty(own.Estimator(), own.Module().behavior_space)
        assert novelty.score([[0.0, 0.0]]) == own.GAIN
    own.GAIN = float("nan")
    with pytest.raises(ValueError, match="finite"):
        brns.check_estimator(own.Estimator())
    own.GAIN = 0.01
    compared = brns.compare(
        own.Module(), {"a": brns.PopulationKNN(k=2)}, seeds=2, generations=4, out=tmp_path / "c"
    )
    ((_, methods),) = compared.results.items()
    assert methods["a"].covered.max() <= 4  # of 400, in the middle
    assert before > 0.5
