"""Gymnasium's environments as tasks."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np
import pytest
from files import same

from brns import Box, FeedForward, GymnasiumTask, check_task
from brns.tasks.workers import Chunked

gymnasium = pytest.importorskip("gymnasium")
from gymnasium import spaces  # noqa: E402

KEY = jax.random.key(0)


class Corridor(gymnasium.Env):
    """x moves by the action; the reward is the new x; the end is at 3. The reset draws the start from [0, 1)."""

    observation_space = spaces.Box(-10.0, 10.0, (1,), np.float64)
    action_space = spaces.Box(0.0, 4.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.random() if seed else 0.0
        return np.array([self.x]), {"step": 0}

    def step(self, action):
        self.x += float(action[0])
        return np.array([self.x]), self.x, self.x >= 3, False, {"step": 1}


def last_place(episode):
    return episode.observations[-1, [0, 2]]


def corridor(**changes):
    settings: dict[str, Any] = {
        "policy": FeedForward((1, 1), squash_output=True),
        "describe": lambda episode: episode.observations[-1],
        "behavior_space": Box([0.0], [10.0]),
        "steps": 5,
        "success": lambda episode: episode.terminated,
    }
    return GymnasiumTask(**{"make_env": Corridor, **settings, **changes})


def test_episodes_by_hand():
    # tanh(0 x + 0) = 0 is the middle of the bounds, 2: x = 0, 2, 4, where the world ends.
    # tanh(0 x - 9) is -1, nearly, the lower bound: x stays at 0 until the steps end.
    rows = np.array([[0, 0], [0, -9]], np.float32)
    episode, other = corridor().episodes(rows)
    assert episode.observations.ravel().tolist() == [0, 2, 4]
    assert episode.rewards.tolist() == [2, 4]
    assert [info["step"] for info in episode.infos] == [0, 1, 1]
    assert (episode.terminated, other.terminated, len(other.infos)) == (True, False, 6)
    evaluation = corridor().evaluate(rows, KEY)
    assert np.asarray(evaluation.descriptor).ravel() == pytest.approx([4, 0], abs=1e-5)
    assert np.asarray(evaluation.fitness) == pytest.approx([6, 0], abs=1e-5)
    assert np.asarray(evaluation.solved).tolist() == [True, False]
    task = corridor(policy=FeedForward((1, 1)))
    episodes = task.episodes(np.array([[0, 1.5], [0, 99]], np.float32))
    assert [episode.observations.ravel().tolist() for episode in episodes] == [[0, 1.5, 3], [0, 4]]


def test_an_episode_is_that_of_the_seed_or_of_the_generation():
    rows = np.zeros((2, 2), np.float32)
    task = corridor(seed=7)
    descriptor = task.evaluate(rows, KEY).descriptor
    assert task.episodes(rows)[0].observations[-1] == pytest.approx(descriptor[0])
    assert task.episodes(rows, 8)[0].observations[0] != task.episodes(rows)[0].observations[0]
    one, other = (
        corridor(seed=None, steps=1).evaluate(rows, jax.random.key(n)).descriptor for n in (0, 1)
    )
    assert one[0] == one[1]
    assert one[0] != other[0]


class Listed(Corridor):
    """The corridor that notes which thread made it."""

    made: ClassVar[list[int]] = []

    def __init__(self):
        self.made.append(threading.get_ident())


def test_environments_are_made_once_for_a_batch_in_each_thread():
    task, made = corridor(make_env=Listed), Listed.made
    rows = task.genotype_space.uniform(KEY, 9)
    alone = [task.evaluate(rows, KEY) for _ in range(2)]
    assert made == 9 * [threading.get_ident()]
    with ThreadPoolExecutor(2) as pool:
        spread = [Chunked(task, executor=pool, chunk=2).evaluate(rows, KEY) for _ in range(2)]
    assert all(same(one, alone[0]) for one in (*alone, *spread))
    assert len(made) <= 9 + 2 * (2 + 1)


class Beginning(Corridor):
    """The corridor that begins at 0 whatever the seed."""

    def reset(self, *, seed=None, options=None):
        return super().reset()


def test_a_vector_form_of_its_own_gives_the_same():
    rows = corridor().genotype_space.uniform(KEY, 9)
    task = corridor(make_env=lambda n: gymnasium.vector.SyncVectorEnv([Beginning] * n), vector=True)
    for own, other in zip(task.episodes(rows), corridor().episodes(rows), strict=True):
        assert same(own, other)
    fixed = corridor(make_env=lambda n: gymnasium.vector.SyncVectorEnv([Corridor] * 4), vector=True)
    with pytest.raises(ValueError, match="4 worlds for 9 individuals"):
        fixed.evaluate(rows, KEY)
    instant = partial(gymnasium.vector.SyncVectorEnv, autoreset_mode="SameStep")
    with pytest.raises(ValueError, match="NEXT_STEP"):
        corridor(make_env=lambda n: instant([Corridor] * n), vector=True).evaluate(rows, KEY)


def test_a_batch_is_a_plain_loop_of_single_environments():
    """To the bit; of these poles some fall much earlier than others."""
    policy = FeedForward((4, 4, 2))
    task = GymnasiumTask("CartPole-v1", policy, behavior_space=Box([-5.0] * 4, [5.0] * 4), steps=60)
    check_task(task, n=4)
    rows, env = np.asarray(task.genotype_space.uniform(KEY, 20)), gymnasium.make("CartPole-v1")
    lengths = []
    for row, episode in zip(rows, task.episodes(rows, 3), strict=True):
        layers, observations = policy.layers(row[None].astype(float)), [env.reset(seed=3)[0]]
        ended = False
        while not ended and len(observations) <= 60:
            action = int(np.argmax(policy.act(layers, observations[-1][:, None].astype(float))))
            observation, _, ended, _, _ = env.step(action)
            observations.append(observation)
        assert np.array_equal(episode.observations, observations)
        assert (episode.rewards.sum(), episode.terminated) == (len(observations) - 1, ended)
        lengths.append(len(observations))
    assert min(lengths) < 20 < max(lengths)


def test_an_id_is_enough_where_observations_are_bounded():
    task = GymnasiumTask("Pendulum-v1", steps=5)
    assert task.policy == FeedForward((3, 10, 10, 1), squash_output=True)
    assert (task.behavior_space.low.tolist(), task.behavior_space.high.tolist()) == (
        [-1, -1, -8],
        [1, 1, 8],
    )
    with pytest.raises(ValueError, match=r"give behavior_space, .*describe=last_obs"):
        GymnasiumTask("CartPole-v1")
    with pytest.raises(ValueError, match=r"describe=last_place"):
        GymnasiumTask("Pendulum-v1", describe=last_place)
    with pytest.raises(ValueError, match="from 1 observations to 1 actions"):
        check_task(corridor(policy=FeedForward((2, 1))))


class Counting:
    """Its action is gain times the number of observations seen in its episode."""

    genotype_space = Box([0.0], [4.0])

    def actor(self, genotypes):
        seen = []

        def act(observations):
            seen.append(observations)
            return genotypes * len(seen)

        return act


def test_a_policy_of_ones_own_may_remember_within_an_episode():
    """Gain 0.5: x = 0, then + 0.5, + 1, + 1.5, which is 3 and the end. The second episode begins anew."""
    task = corridor(policy=Counting())
    assert task.genotype_space.high.tolist() == [4]
    for _ in range(2):
        (episode,) = task.episodes(np.array([[0.5]]))
        assert episode.observations.ravel().tolist() == [0, 0.5, 1.5, 3]
    assert np.asarray(task.evaluate(np.array([[0.5], [0.0]]), KEY).descriptor).ravel().tolist() == [
        3,
        0,
    ]
