"""Environments in JAX as tasks, against a plain loop of the environment."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns import Box, FeedForward, FunctionalTask, check_task

KEY = jax.random.key(0)
SPACE = Box([-10.0] * 2, [10.0] * 2)


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
        return State(
            {"x": x, "old": state.obs["x"][None]}, x, jnp.float32(x >= 3), state.pushes + action[0]
        )


class Growing(Corridor):
    def step(self, state, action):
        return super().step(state, action)._replace(obs={"x": state.obs["x"], "old": jnp.zeros(2)})


def loop(task, genotype, key):
    """The states of one episode by a loop in Python."""
    states, step = [task.env.reset(key)], jax.jit(task.env.step)
    while len(states) <= task.steps and not states[-1].done:
        action = task.policy(genotype[None], task.observe(states[-1])[None])[0]
        states.append(step(states[-1], action))
    return states


def test_a_batch_is_a_plain_loop_of_the_environment():
    task = FunctionalTask(
        Corridor(),
        6,
        SPACE,
        watch=lambda state: jnp.stack([state.obs["x"], state.pushes]),
        success=lambda episode: episode.done,
    )
    rows = task.genotype_space.uniform(KEY, 8)
    check_task(task)
    found, lengths = task.evaluate(rows, jax.random.key(5)), set()
    for i, row in enumerate(rows):
        states, episode = loop(task, row, jax.random.key(0)), task.episode(row, jax.random.key(0))
        n, watched = len(states), np.array([task.watch(state) for state in states])
        assert (int(episode.length), bool(found.solved[i])) == (n - 1, watched[-1, 0] >= 3)
        np.testing.assert_allclose(episode.observations[:n], watched, rtol=1e-5)
        assert (episode.observations[n:] == episode.observations[n - 1]).all()
        np.testing.assert_allclose(found.descriptor[i], watched[-1], rtol=1e-5)
        np.testing.assert_allclose(
            found.fitness[i], sum(state.reward for state in states), rtol=1e-5
        )
        lengths.add(n)
    assert len(lengths) > 2


def test_seeds_in_lanes_are_single_seeds():
    task = FunctionalTask(Corridor(), 6, SPACE, seed=None)
    rows, keys = task.genotype_space.uniform(KEY, 6), jax.random.split(KEY, 3)
    together = jax.vmap(task.evaluate, (None, 0))(rows, keys).descriptor
    for descriptor, key in zip(together, keys, strict=True):
        np.testing.assert_allclose(descriptor, task.evaluate(rows, key).descriptor, rtol=1e-5)
    assert len(set(together[:, 0, 0].tolist())) == 3


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="from 2 observations to 1 actions"):
        FunctionalTask(Corridor(), 6, SPACE, policy=FeedForward((3, 1)))
    with pytest.raises(ValueError, match="Gymnasium"):
        FunctionalTask(object(), 6, SPACE)
    with pytest.raises(TypeError, match="obs"):
        check_task(FunctionalTask(Growing(), 6, SPACE))


@pytest.mark.slow
def test_a_real_environment_of_playground_is_a_plain_loop_of_it():
    registry = pytest.importorskip("mujoco_playground").registry
    env = registry.load("CartpoleBalance", config_overrides={"impl": "jax"})
    task = FunctionalTask(env, 5, SPACE, watch=lambda state: state.data.qpos)
    rows = task.genotype_space.uniform(KEY, 4)
    found = task.evaluate(rows, KEY)
    for row, descriptor, fitness in zip(rows, found.descriptor, found.fitness, strict=True):
        states = loop(task, row, jax.random.key(0))
        np.testing.assert_allclose(descriptor, states[-1].data.qpos, atol=1e-4)
        np.testing.assert_allclose(fitness, sum(state.reward for state in states), rtol=1e-4)
