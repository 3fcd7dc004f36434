"""Novelty as the reward of reinforcement learning, over a vector environment of Gymnasium.

    python examples/novelty_reward.py            (needs pip install gymnasium; ten seconds)

Tabular Q-learning drives a car in its valley. The environment's reward punishes every push, so the
car learns to stand still. With novelty as the reward it learns to swing up. If the reward of your
task is informative, add both.
"""

import gymnasium
import numpy as np

import brns


class NoveltyReward(gymnasium.vector.VectorWrapper):
    """The reward is how novel an observation is, given all before it in any of the environments."""

    def __init__(self, envs):
        super().__init__(envs)
        space = envs.single_observation_space
        self.novelty = brns.Novelty(brns.VisitCounts(), brns.Box(space.low, space.high))

    def step(self, actions):
        observations, _, *rest = self.env.step(actions)
        rewards = self.novelty.score(observations)
        self.novelty.learn(observations)
        return observations, rewards, *rest


def cell(observations):
    """The index of the 20 x 20 cell of place and speed."""
    unit = (observations - [-1.2, -0.07]) / [1.8, 0.14]
    return np.clip(unit * 20, 0, 19).astype(int) @ [20, 1]


def learn(envs, steps=1000):
    """How many of the 400 cells were visited."""
    random = np.random.default_rng(0)
    table, visited = np.zeros((400, 3)), set()
    now = cell(envs.reset(seed=0)[0])
    for _ in range(steps):
        greedy = (table[now] + 1e-6 * random.random((len(now), 3))).argmax(axis=1)
        drawn = random.integers(3, size=len(now))
        actions = np.where(random.random(len(now)) < 0.1, drawn, greedy)
        observations, rewards, ended, _, _ = envs.step(actions[:, None] - 1.0)
        then = cell(observations)
        worth = rewards + 0.95 * table[then].max(axis=1) * ~ended
        table[now, actions] += 0.5 * (worth - table[now, actions])
        visited.update(then.tolist())
        now = then
    return len(visited)


if __name__ == "__main__":
    cars = gymnasium.make_vec("MountainCarContinuous-v0", 16)
    print(f"its own reward: {learn(cars)} of 400 cells visited")
    print(f"novelty: {learn(NoveltyReward(cars))} of 400 cells visited")
