"""What is edited while Python goes on, as in a notebook: the next run computes what its record
says, though programs were compiled, environments made and tasks sent before."""

import pickle
from types import SimpleNamespace

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from modules import Own, loaded, typed
from searches import search
from worlds import Identity

import brns
from brns.tasks import worker

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


def reach(task, out=None):
    """How far behaviors of the first generation lie at most, and the run's record."""
    (record,) = brns.run(search(task), 1, out=out, genotypes="all", progress=False)
    return float(np.abs(record.column("offspring.descriptor", [1])).max())


@pytest.mark.parametrize("kind", ["Host", "Compiled", "Module"])
@pytest.mark.parametrize("anew", [True, False])
def test_a_global_that_is_changed_holds_in_the_next_run(kind, anew, own):
    task = getattr(own, kind)()
    before = reach(task)
    own.GAIN = 9.0
    task = getattr(own, kind)() if anew else task
    assert reach(task) == pytest.approx(9 * before)
    own.GAIN = 1.0
    assert reach(task) == before


def test_an_attribute_or_a_method_that_is_changed_holds_in_the_next_run(own):
    task = own.Compiled()
    before = reach(task)
    task.bias = 5.0
    assert reach(task) > 4 + before
    task.bias, own.Compiled.gain = 0.0, 2.0
    assert reach(task) == pytest.approx(2 * before)
    text = "def use(self, genotypes, key):\n    return Evaluation(0 * genotypes + 3)"
    own.Compiled.evaluate = typed(text, Evaluation=brns.Evaluation)
    assert reach(task) == 3


def test_a_global_of_an_estimator_or_a_mutation_holds_in_the_next_run(own):
    def run():
        (record,) = brns.run(
            search(Identity(), own.Estimator(), mutate=own.Mutation()), 1, genotypes="all"
        )
        return record

    assert run().column("survivors.novelty").max() == 1
    own.GAIN = 9.0
    record = run()
    assert record.column("survivors.novelty").min() == 9
    parents = {tuple(genotype) for genotype in np.clip(record.population(0).genotype + 0.1, -1, 1)}
    assert set(map(tuple, record.column("offspring.genotype", [1])[0])) <= parents
    brns.check_mutation(own.Mutation(), own.Module().genotype_space)
    own.GAIN = 5.0
    brns.check_mutation(own.Mutation(), own.Module().genotype_space)  # that compiles it twice


@pytest.mark.parametrize("base", ["collections.UserString", "collections.abc.Sequence", "object"])
def test_objects_of_every_kind_are_remembered(base, own):
    text = f"""
import collections.abc
class Word({base}):
    data, size = "word", float("nan")
    def __init__(self, *_):
        self.length = 1.0
    def __len__(self):
        return 1
    def __getitem__(self, i):
        return [1.0][i]
word = Word("word")
def use(x):
    return x * len(word)
"""
    module = {"__name__": "typed"}
    exec(text, module)
    task = Own(module["use"])
    assert reach(task) == reach(task)


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


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
@pytest.mark.parametrize("of", ["factory", "id"])
def test_environments_are_made_anew_where_what_makes_them_was_changed(of, monkeypatch):
    monkeypatch.setattr(SETTINGS, "speed", 1.0)

    def register(speed):
        gymnasium.register("Speed-v0", entry_point=Speed, kwargs={"speed": speed})
        SETTINGS.speed = speed

    register(1.0)
    make = {"factory": lambda: Speed(SETTINGS.speed), "id": "Speed-v0"}[of]
    task = brns.GymnasiumTask(make, steps=5)
    try:
        assert reach(task) == 5
        register(9.0)
        assert reach(task) == 45
        # In a batch of more than there were before, too.
        many = task.genotype_space.uniform(jax.random.key(0), 12)
        assert set(np.ravel(task.evaluate(many, jax.random.key(0)).descriptor)) == {45.0}
    finally:
        del gymnasium.registry["Speed-v0"]


def test_workers_get_the_task_again_where_it_was_changed(own):
    task = own.Host()
    chunked = brns.Chunked(task)
    reach(chunked)
    first = chunked._pickle_task()
    assert chunked._pickle_task() is first
    task.bias = 5.0
    brns.run(search(chunked), 1)
    assert chunked._pickle_task().digest != first.digest


def test_an_id_of_gymnasium_that_was_registered_again_is_sent_to_workers(monkeypatch):
    spec = gymnasium.registry["CartPole-v1"]
    again = gymnasium.envs.registration.EnvSpec("Long-v0", spec.entry_point, max_episode_steps=7)
    monkeypatch.setitem(gymnasium.registry, "Long-v0", again)
    sent = worker.pickle_registered_environments()
    assert again in [pickle.loads(each)[0] for each in sent]


def test_what_changes_by_itself_makes_nothing_anew(own, monkeypatch):
    """Counters of evaluations."""

    class Counting(own.Host):
        calls = 0

        def __init__(self):
            super().__init__()
            self.steps = 0

        def evaluate(self, genotypes, key):
            self.steps += 1
            type(self).calls += 1
            return super().evaluate(genotypes, key)

    task, cleared = Counting(), []
    reach(task)
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    reach(task)
    reach(task)
    assert not cleared
