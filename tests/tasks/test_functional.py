"""Environments in JAX as tasks, against a plain loop of the environment."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns import Box, FeedForward, FunctionalTask, check_task

KEY = jax.random.key(0)


class State(NamedTuple):
    obs: dict
    reward: jax.Array
    done: jax.Array
    pushes: jax.Array


class Corridor:
    """x moves by 1 + the action; the reward is the new x, and the end is at 3. The reset draws the start."""

    action_size = 1

    def reset(self, key):
        x = jax.random.uniform(key)
        return State({"x": x, "old": x[None]}, jnp.float32(0), jnp.float32(0), jnp.float32(0))

    def step(self, state, action):
        x = state.obs["x"] + 1 + action[0]
        ended = jnp.float32(x >= 3)
        return State({"x": x, "old": state.obs["x"][None]}, x, ended, state.pushes + action[0])


def corridor(env=Corridor, **changes):
    settings = {"steps": 6, "behavior_space": Box([-10.0] * 2, [10.0] * 2), "policy": FeedForward((2, 1), True)}
    return FunctionalTask(env(), **{**settings, **changes})


def plain(task, genotype, key):
    """One episode by a loop in Python: places, pushes and rewards until the end."""
    state, places, pushes, rewards = task.env.reset(key), [], [], []
    for _ in range(task.steps):
        places.append(float(state.obs["x"]))
        pushes.append(float(state.pushes))
        sensed = jnp.stack([state.obs["old"][0], state.obs["x"]])
        state = task.env.step(state, task.policy(genotype[None], sensed[None])[0])
        rewards.append(float(state.reward))
        if state.done:
            break
    return [*places, float(state.obs["x"])], [*pushes, float(state.pushes)], rewards


def test_a_batch_is_a_plain_loop_of_the_environment():
    task = corridor(
        watch=lambda state: {"x": state.obs["x"], "pushes": state.pushes},
        describe=lambda episode: jnp.stack([episode.observations["x"][-1], episode.observations["pushes"][-1]]),
        success=lambda episode: episode.done,
    )
    rows = task.genotype_space.uniform(KEY, 8)
    found = task.evaluate(rows, jax.random.key(5))
    lengths = set()
    for i, row in enumerate(rows):
        places, pushes, rewards = plain(task, row, jax.random.key(task.seed))
        episode = task.episode(row, jax.random.key(task.seed))
        n = len(places)
        assert int(episode.length) == n - 1
        assert episode.observations["x"].tolist() == pytest.approx([*places, *[places[-1]] * (7 - n)], rel=1e-6)
        assert episode.rewards.tolist() == pytest.approx([*rewards, *[0] * (7 - n)], rel=1e-6)
        assert found.descriptor[i].tolist() == pytest.approx([places[-1], pushes[-1]], rel=1e-5)
        assert found.fitness[i] == pytest.approx(sum(rewards), rel=1e-5)
        assert found.solved[i] == (places[-1] >= 3)
        lengths.add(n)
    assert len(lengths) > 2
    check_task(task)


def test_seeds_in_lanes_are_single_seeds():
    task = corridor(seed=None)
    rows = task.genotype_space.uniform(KEY, 6)
    keys = jax.random.split(KEY, 3)
    together = jax.vmap(task.evaluate, (None, 0))(rows, keys)
    for i, key in enumerate(keys):
        np.testing.assert_allclose(together.descriptor[i], task.evaluate(rows, key).descriptor, rtol=1e-5)
    assert len(set(together.descriptor[:, 0, 0].tolist())) == 3


class Growing(Corridor):
    def step(self, state, action):
        return super().step(state, action)._replace(obs={"x": state.obs["x"], "old": jnp.zeros(2)})


def test_what_does_not_fit_is_refused():
    assert FunctionalTask(Corridor(), 6, Box([0.0], [1.0])).policy == FeedForward((2, 10, 10, 1), squash_output=True)
    with pytest.raises(ValueError, match="from 2 observations to 1 actions"):
        corridor(policy=FeedForward((3, 1)))
    with pytest.raises(TypeError, match="obs"):
        check_task(corridor(Growing))


@pytest.mark.slow
def test_a_real_environment_of_playground_is_a_plain_loop_of_it():
    registry = pytest.importorskip("mujoco_playground").registry
    env = registry.load("CartpoleBalance", config_overrides={"impl": "jax"})
    task = FunctionalTask(env, 5, Box([-5.0] * 2, [5.0] * 2), lambda episode: episode.observations[-1], watch=places)
    rows = task.genotype_space.uniform(KEY, 4)
    found = task.evaluate(rows, KEY)
    step = jax.jit(env.step)
    for row, descriptor, fitness in zip(rows, found.descriptor, found.fitness, strict=True):
        state, rewards = env.reset(jax.random.key(0)), 0.0
        for _ in range(5):
            state = step(state, task.policy(row[None], state.obs[None])[0])
            rewards += state.reward
        np.testing.assert_allclose(descriptor, places(state), atol=1e-4)
        np.testing.assert_allclose(fitness, rewards, rtol=1e-4)


def places(state):
    return state.data.qpos
