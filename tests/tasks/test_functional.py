"""Environments in JAX as tasks, against a plain loop of the environment."""

import copy
import dataclasses
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from brns import Box, FeedForward, JaxEnvironmentTask, ParamsEnv, Statistic, TimeStepEnv, check_task
from brns.settings.description import part_to_json
from brns.settings.sources import UserCode

KEY = jax.random.key(0)
SPACE = Box([-10.0] * 2, [10.0] * 2)


class State(NamedTuple):
    obs: dict
    reward: jax.Array
    done: jax.Array
    pushes: jax.Array


class Corridor:
    """x moves by 1 + the action; the reward is the new x; the reset draws the start, and the end is
    at 3."""

    action_size = 1

    def reset(self, key):
        x = jax.random.uniform(key)
        return State({"x": x, "old": x[None]}, jnp.float32(0), jnp.float32(0), jnp.float32(0))

    def step(self, state, action):
        x, pushes = state.obs["x"] + 1 + action[0], state.pushes + action[0]
        return State({"x": x, "old": state.obs["x"][None]}, x, jnp.float32(x >= 3), pushes)


class Growing(Corridor):
    def step(self, state, action):
        return super().step(state, action)._replace(obs={"x": state.obs["x"], "old": jnp.zeros(2)})


class Wide(Corridor):
    def step(self, state, action):
        return super().step(state, action)._replace(reward=jnp.ones(2))


def loop(task, genotype, key, step, act):
    """The states of one episode by a loop in Python."""
    states = [task.env.reset(key)]
    while len(states) <= task.steps and not states[-1].done:
        action = act(genotype[None], task.observe(states[-1])[None])[0]
        states.append(step(states[-1], action))
    return states


def test_a_batch_is_a_plain_loop_of_the_environment():
    settings = {"watch": lambda state: jnp.stack([state.obs["x"], state.pushes])}
    settings["observe"] = lambda state: state.obs["x"][None]
    task = JaxEnvironmentTask(Corridor(), 6, SPACE, success=lambda e: e.done, **settings)
    rows = task.genotype_space.uniform(KEY, 8)
    check_task(task, n=8, sizes=())
    found, lengths = task.evaluate(rows, jax.random.key(5)), set()
    step, act, key = jax.jit(task.env.step), jax.jit(task.policy), jax.random.key(0)
    episodes = jax.jit(jax.vmap(task.episode, (0, None)))(rows, key)
    for i, row in enumerate(rows):
        states = loop(task, row, key, step, act)
        episode = jax.tree.map(lambda column, i=i: column[i], episodes)
        n, watched = len(states), np.array([task.watch(state) for state in states])
        assert (int(episode.length), bool(found.solved[i])) == (n - 1, watched[-1, 0] >= 3)
        assert_allclose(episode.observations[:n], watched, rtol=1e-5)
        assert (episode.observations[n:] == episode.observations[n - 1]).all()
        assert_allclose(found.descriptor[i], watched[-1], rtol=1e-5)
        rewards = sum(state.reward for state in states)
        assert_allclose(found.fitness[i], rewards, rtol=1e-5)
        lengths.add(n)
    assert len(lengths) > 2


def test_seeds_in_lanes_are_single_seeds():
    twice = {"observe": lambda state: jnp.stack([state.obs["x"]] * 2)}
    task = JaxEnvironmentTask(Corridor(), 6, SPACE, seed=None, **twice)
    rows, keys = task.genotype_space.uniform(KEY, 6), jax.random.split(KEY, 3)
    together = jax.vmap(task.evaluate, (None, 0))(rows, keys).descriptor
    for descriptor, key in zip(together, keys, strict=True):
        assert_allclose(descriptor, task.evaluate(rows, key).descriptor, rtol=1e-5)
    assert len(set(together[:, 0, 0].tolist())) == 3
    assert_array_equal(together[..., 0], together[..., 1])  # what a policy sees is watched


@pytest.mark.slow
def test_an_attribute_that_is_changed_holds_from_the_next_check_or_run_on():
    class Scaled(Corridor):
        gain = 1.0

        def step(self, state, action):
            return super().step(state, action)._replace(reward=jnp.float32(self.gain))

    env = Scaled()
    task = JaxEnvironmentTask(env, 1, SPACE, describe=Statistic())
    rows = jnp.zeros((2, task.genotype_space.dimension))
    for env.gain in (1.0, 5.0):
        check_task(task, n=2, sizes=())
        assert_array_equal(task.evaluate(rows, KEY).fitness, env.gain)


def stateless(key):
    return 0, {}


class Miscounted(Corridor):
    """One action of three values, for which a policy needs three outputs."""

    num_values = (3,)


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (Corridor(), {"policy": FeedForward((3, 1))}, "from 2 observations to 1 actions"),
        (Corridor, {}, "whose states have obs, reward and done"),
        (SimpleNamespace(action_size=1, reset=stateless), {}, "obs, reward and done.*Gymnasium"),
        (Miscounted(), {}, r"action_size must be the sum of num_values, .*got 1 and \[3\]"),
        (Growing(), {}, r"Growing\.step.* structure, shapes and types"),
        (Wide(), {}, r"reward must be one number for an episode; got shape \(2,\)"),
        (Corridor(), {"describe": lambda e: np.asarray(e.rewards)}, "success must be JAX code"),
        (Corridor(), {"describe": lambda e: None}, "describe must give an array of numbers; got N"),
        (Corridor(), {"success": lambda e: None}, "success must give an array of numbers; got N"),
        (Corridor(), {"success": lambda e: e.rewards > 0}, r"one number .*; got shape \(6,\)"),
    ],
)
def test_what_does_not_fit_is_refused(env, settings, message):
    with pytest.raises(ValueError, match=message):
        check_task(JaxEnvironmentTask(env, 6, SPACE, **settings))


class Forgetful(Corridor):
    """The corridor, which keeps its last action: what JAX leaves there is no setting."""

    def step(self, state, action):
        self.last, self.log = action, [action]
        return super().step(state, action)


def test_what_jax_leaves_in_an_environment_is_no_setting():
    first, again = (JaxEnvironmentTask(Forgetful(), 6, SPACE) for _ in range(2))
    first.evaluate(first.genotype_space.uniform(KEY, 2), KEY)
    assert "Tracer" in str(first.env.log)
    assert part_to_json(first) == part_to_json(again)
    assert UserCode(first).texts == UserCode(again).texts


@dataclasses.dataclass
class Unhashable(Corridor):
    """The corridor as a plain dataclass with an array and a list."""

    speed: Any = dataclasses.field(default_factory=lambda: jnp.ones(2))
    names: Any = dataclasses.field(default_factory=lambda: ["x"])


class Columns(Corridor):
    """The corridor with a reward and an end of shape (1,), and the two words of a key."""

    def reset(self, key):
        state = super().reset(jax.random.wrap_key_data(jnp.asarray(key, jnp.uint32)))
        return self.columns(state)

    def columns(self, state):
        return state._replace(reward=state.reward[None], done=state.done[None])

    def step(self, state, action):
        return self.columns(super().step(state, action))


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        (Unhashable(), {}),
        (Columns(), {}),
        (Corridor(), {"describe": lambda episode: [*episode.observations[-1]]}),
    ],
)
def test_environments_and_behaviors_of_other_forms_give_the_same(env, settings):
    task = JaxEnvironmentTask(env, 6, SPACE, **settings)
    plain = JaxEnvironmentTask(Corridor(), 6, SPACE)
    rows = task.genotype_space.uniform(KEY, 2)  # as many as numbers of a behavior
    for one, other in zip(task.evaluate(rows, KEY), plain.evaluate(rows, KEY), strict=True):
        assert_array_equal(one, other)
    assert part_to_json(task)["env"]["name"] == type(env).__name__
    assert copy.copy(task.env).action_size == 1  # as where it is unpickled


def test_an_episode_may_end_before_its_first_step(monkeypatch):
    env, ended = Corridor(), Corridor().reset(KEY)._replace(done=jnp.float32(1))
    monkeypatch.setattr(env, "reset", lambda key: ended)
    task = JaxEnvironmentTask(env, 2, SPACE)
    episode = task.episode(jnp.zeros(task.genotype_space.dimension), KEY)
    assert (int(episode.length), bool(episode.done), episode.rewards.tolist()) == (0, True, [0, 0])


class Stepped:
    """An environment of jumanji's shape: a place; the action goes one back, stays, or goes on."""

    action_spec = SimpleNamespace(num_values=3, shape=(), dtype=np.int32)

    def reset(self, key):
        return {"turn": jnp.array(0)}, self.seen(jnp.array(0.0), 0.0, False)

    def seen(self, place, reward, last):
        observation = {"place": place}
        return SimpleNamespace(observation=observation, reward=reward, last=lambda: last)

    def step(self, state, action):
        assert action.shape == ()
        place = state.get("place", 0.0) + action - 1.0
        turn = state["turn"] + 1
        return {"turn": turn}, self.seen(place, place, turn >= 4)


def test_an_environment_that_returns_a_time_step():
    """The largest output is the last, so each step goes from 0 to 1 and earns 1, four times."""
    space = Box([0.0] * 3, [1.0] * 3)
    task = JaxEnvironmentTask(TimeStepEnv(Stepped()), 6, space, Statistic(of="actions"))
    assert task.policy.sizes == (1, 10, 10, 3)
    genotype = jnp.zeros(task.genotype_space.dimension).at[-1].set(1)
    evaluation = task.evaluate(genotype[None], KEY)
    assert (evaluation.descriptor.tolist(), evaluation.fitness.tolist()) == ([[0, 0, 1]], [4])
    episode = task.episode(genotype, KEY)
    assert episode.actions.tolist() == [[0, 0, 1]] * 4 + [[0, 0, 0]] * 2
    assert (int(episode.length), bool(episode.done)) == (4, True)


class Keyed:
    """An environment of gymnax's shape: two pushes of at most `most` and a wind;
    `step` begins anew by itself."""

    def __init__(self, space):
        self.space = space

    def action_space(self, params):
        return self.space

    def reset(self, key, params):
        return jnp.zeros(2), jnp.zeros(2)

    def step_env(self, key, state, action, params):
        state = state + action + params["wind"] * jax.random.normal(key, (2,))
        return state, state, jnp.sum(action), state[0] >= 6, {}

    def step(self, key, state, action, params):
        raise AssertionError


class Stepping(Keyed):
    """One with `step` alone."""

    step, step_env = Keyed.step_env, None


@pytest.mark.parametrize(
    ("space", "outputs", "path"),
    [
        # tanh(0) is the middle of 0 and 4; tanh(9) nearly the most.
        (SimpleNamespace(low=0.0, high=4.0, shape=(2,), dtype=jnp.float32), [0, 9], [2, 4]),
        # A bound of 3e38 is none.
        (SimpleNamespace(low=1.0, high=3e38, shape=(2,), dtype=jnp.float32), [0, 9], [2, 3]),
        (SimpleNamespace(n=np.array([3, 2]), shape=(2,)), [0, 0, 1, 1, 0], [2, 0]),
    ],
)
def test_an_environment_with_parameters_and_keys(space, outputs, path):
    task = JaxEnvironmentTask(ParamsEnv(Keyed(space), {"wind": 0.0}), 5, SPACE)
    genotype = jnp.zeros(task.genotype_space.dimension).at[-len(outputs) :].set(jnp.array(outputs))
    episode = task.episode(genotype, KEY)
    assert int(episode.length) == 3  # x = 2, 4, 6
    assert_allclose(episode.observations[1], path, rtol=1e-5)
    other = JaxEnvironmentTask(ParamsEnv(Stepping(space), {"wind": 0.0}), 5, SPACE)
    assert_array_equal(other.episode(genotype, KEY).observations, episode.observations)
    windy = JaxEnvironmentTask(ParamsEnv(Keyed(space), {"wind": 1.0}), 5, SPACE)
    steps = jnp.diff(windy.episode(genotype, KEY).observations, axis=0)
    assert (steps[0] != steps[1]).all()


def act_natively(env, outputs):
    """The environment's own actions, in a program that is compiled."""
    return jax.jit(jax.vmap(lambda action: env._to_native(action)))(jnp.array(outputs))


def test_each_integer_action_is_as_likely_as_the_next():
    spec = SimpleNamespace(minimum=-1, maximum=np.array([2]), shape=(1,), dtype=np.int32)
    env = TimeStepEnv(SimpleNamespace(action_spec=spec))
    actions = act_natively(env, np.linspace(-1.0, 1.0, 4001)[:, None])
    assert_allclose(np.bincount(actions[:, 0] + 1) / 4001, 0.25, atol=1e-3)


class Dazzled(Corridor):
    """Sees this number after its first step, with which an episode ends or not; each step gives 1.
    Its action is one of three.
    """

    action_size, num_values = 3, np.array([3])

    def __init__(self, seen, done):
        self.seen, self.done = seen, done

    def step(self, state, action):
        obs = {"x": jnp.float32(self.seen), "old": state.obs["old"]}
        return state._replace(obs=obs, reward=jnp.float32(1), done=jnp.float32(self.done))


@pytest.mark.parametrize(
    ("seen", "done", "fitness"), [(0, False, 3), (np.nan, False, np.nan), (np.nan, True, 1)]
)
def test_an_action_that_follows_from_nan_makes_the_fitness_nan(seen, done, fitness):
    task = JaxEnvironmentTask(Dazzled(seen, done), 3, SPACE, describe=lambda e: jnp.zeros(2))
    rows = task.genotype_space.uniform(KEY, 4).at[0, -1].set(jnp.nan)  # of one output alone
    assert_array_equal(task.evaluate(rows, KEY).fitness, [np.nan, fitness, fitness, fitness])


def two(**settings):
    """A space of two actions."""
    return SimpleNamespace(shape=(2,), dtype=jnp.float32, **settings)


@pytest.mark.parametrize(
    ("make_space", "outputs", "action"),
    [
        (lambda: two(minimum=0.0, maximum=np.inf), [-0.5, 0.5], [0.5, 1.5]),  # within 2 of a bound
        (lambda: two(low=-jnp.float32(4), high=jnp.float32(4)), [-1.0, 0.5], [-4, 2]),
        (two, [-0.5, 0.5], [-0.5, 0.5]),
        (lambda: two(num_values=jnp.full(2, 3)), [1.0, 0, 0, 0, 0, 1], [0, 2]),
    ],
)
def test_bounds_may_be_open_and_made_by_jax_when_they_are_asked_for(make_space, outputs, action):
    env = TimeStepEnv(SimpleNamespace(action_spec=make_space))
    assert_allclose(act_natively(env, [outputs])[0], action)
