"""The two mazes as Gymnasium environments, `brns/AntMaze-v0` and `brns/DeceptiveMaze-v0`.

Importing this file makes them known to Gymnasium; so does `gymnasium.make("brns.tasks.environments:brns/AntMaze-v0")`.
"""

from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jaxtyping import Float

from brns.tasks.ant.model import ARENAS
from brns.tasks.ant.physics import Physics, observation, position
from brns.tasks.ant.rules import AntMaze, within
from brns.tasks.maze.rules import FASTEST, NOTHING_SEEN, RANGE, DeceptiveMaze


class AntMazeEnvironment(gymnasium.Env):
    """The ant maze, one control step of 0.025 s at a time, by the rules of `brns.AntMaze`, or of the task given.

    Reward: 1 at the first visit of each area. The episode terminates when all are visited or the physics is unstable,
    and is truncated after 1500 steps. Every episode starts alike.
    `info`: `position`, the torso's x and y in metres; `visited`, one bool an area; `unstable`.
    """

    def __init__(self, task: AntMaze | None = None):
        self.task = task or AntMaze()
        self.physics = Physics(self.task.arena, self.task.integrator, threads=1)
        self.areas = np.array(list(ARENAS[self.task.arena].areas.values()))
        self.observation_space = spaces.Box(-np.inf, np.inf, (29,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (8,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.state = self.physics.start[None].copy()
        self.visited = np.zeros(len(self.areas), bool)
        return observation(self.state)[0], self._info()

    def step(self, action: Float[np.ndarray, "8"]):
        action = np.asarray(action, np.float64)[None]
        state, (sound,) = self.physics.advance(self.state, action, self.task.frame_skip)
        before = self.visited
        if sound:
            self.state = state
            self.visited = before | within(position(state), self.areas)[0]
        reward = float(self.visited.sum() - before.sum())
        terminated = bool(self.visited.all() or not sound)
        return observation(self.state)[0], reward, terminated, False, self._info(unstable=not sound)

    def _info(self, unstable: bool = False) -> dict[str, Any]:
        return {"position": self.state[0, 1:3].copy(), "visited": self.visited.copy(), "unstable": unstable}


class DeceptiveMazeEnvironment(gymnasium.Env):
    """The deceptive maze, one step at a time, by the rules of `brns.DeceptiveMaze`.

    Reward: 1 on reaching the goal, which terminates the episode; it is truncated after 2000 steps. Every episode starts
    alike. `info`: `position`, x and y in world units; `heading`, radians; `visited`, whether the goal was reached.
    """

    def __init__(self):
        self.maze = DeceptiveMaze()
        high = np.array([RANGE, RANGE, RANGE, 1.0, 1.0], np.float32)
        self.observation_space = spaces.Box(np.zeros(5, np.float32), high)
        self.action_space = spaces.Box(-FASTEST, FASTEST, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.pose = np.array(self.maze.start, np.float32)
        return np.array(NOTHING_SEEN, np.float32), self._info()

    def step(self, action: Float[np.ndarray, "2"]):
        poses, sensed = self.maze.step(jnp.asarray(self.pose[None]), jnp.asarray(action, jnp.float32)[None])
        self.pose = np.array(poses[0])
        visited = bool(self.maze.solved(poses[:, :2])[0])
        return np.array(sensed[0]), float(visited), visited, False, self._info(visited)

    def _info(self, visited: bool = False) -> dict[str, Any]:
        return {"position": self.pose[:2].copy(), "heading": float(self.pose[2]), "visited": visited}


for _name, _steps in (("AntMaze", 1500), ("DeceptiveMaze", 2000)):
    gymnasium.register(f"brns/{_name}-v0", entry_point=f"{__name__}:{_name}Environment", max_episode_steps=_steps)
