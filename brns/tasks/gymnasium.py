"""Any Gymnasium environment as a task: policies act in a batch of it, a function of yours says what a behavior was."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation
from brns.settings import shown
from brns.tasks.functional import last_observation
from brns.tasks.policy import FeedForward, Genotypes, fitted

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
    from gymnasium.vector.utils import iterate
except ImportError:
    raise ImportError("GymnasiumTask needs Gymnasium: pip install 'brns[gymnasium]'") from None

MADE = threading.local()


class Episode(NamedTuple):
    """What happened in t steps of an environment."""

    observations: Float[np.ndarray, "times o"]
    """flattened; the first is that of the reset"""
    rewards: Float[np.ndarray, " t"]
    infos: list[dict[str, Any]]
    """the environment's own; the first is that of the reset"""
    terminated: bool
    """whether the environment ended the episode, not a limit of time"""


@runtime_checkable
class Policy(Protocol):
    """A policy of your own, such as one with a memory, a controller with a few gains, or another library's network."""

    @property
    def genotype_space(self) -> Box: ...

    def actor(
        self, genotypes: Float[np.ndarray, "n p"]
    ) -> Callable[[Float[np.ndarray, "n o"]], Any]:
        """A function from n flattened observations to n actions as `gymnasium.vector` takes them.

        It is made anew for each batch of episodes. Row i is for genotype i.
        """


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment in which policies live one episode each: `GymnasiumTask("Pendulum-v1")`.

    Observations are flattened. With a `FeedForward`, a discrete action is the index of the largest output. A continuous
    action is the output clipped to the bounds; a squashed output is first scaled from [-1, 1] to them. Fitness is the
    sum of the rewards.

    A batch has an environment for each individual, made once and reset for each episode; `reset(seed=...)` must forget
    the episode before. `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes.
    """

    make_env: Callable[..., Any] | str
    """the environment's id, or a function that makes one; if `vector`, a function of n that makes n"""
    policy: FeedForward | Policy = None  # ty: ignore[invalid-assignment]
    """from flattened observations to actions; by default two hidden layers of 10 neurons and a squashed output"""
    describe: Callable[[Episode], Any] = last_observation
    """the behavior `(d,)` of an episode; by default its last observation"""
    behavior_space: Box = None  # ty: ignore[invalid-assignment]
    """where behaviors lie; by default the bounds of the observations"""
    steps: int = 1000
    """most steps of an episode; an environment may have a limit of its own"""
    success: Callable[[Episode], bool] | None = None
    """whether an episode solves the task; by default none does"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one for each generation"""
    vector: bool = False
    """whether to use the environment's own vector form; it must begin every world alike"""

    traceable = False

    def __post_init__(self):
        if self.policy is None:
            self.policy = fitted(None, *_sizes(self._worlds(1)))
        if self.behavior_space is None:
            self.behavior_space = _bounds(self._worlds(1), self.describe)

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    def evaluate(self, genotypes: Genotypes, key: Key[Array, ""]) -> Evaluation:
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        episodes = self.episodes(genotypes, seed)
        descriptor = np.stack(
            [np.asarray(self.describe(episode), np.float32) for episode in episodes]
        )
        fitness = np.array([episode.rewards.sum() for episode in episodes], np.float32)
        solved = np.array([bool(self.success and self.success(episode)) for episode in episodes])
        return Evaluation(jnp.asarray(descriptor), jnp.asarray(fitness), jnp.asarray(solved))

    def episodes(self, genotypes: Genotypes, seed: int | None = None) -> list[Episode]:
        """An episode of each genotype from this seed, by default the task's, or 0 where the task has none."""
        genotypes, seed = np.asarray(genotypes), (self.seed or 0) if seed is None else seed
        n = len(genotypes)
        worlds = self._worlds(n)
        sensed = partial(_flat, worlds.observation_space, worlds.single_observation_space)
        act = _actor(worlds, self.policy, genotypes)
        start: Any = seed if self.vector else [seed] * n
        observation, info = worlds.reset(seed=start)
        observations, rewards, infos = [sensed(observation)], [], [info]
        lengths, living, terminated = np.zeros(n, int), np.ones(n, bool), np.zeros(n, bool)
        for _ in range(self.steps):
            observation, reward, ended, truncated, info = worlds.step(act(observations[-1]))
            observations.append(sensed(observation))
            rewards.append(np.array(reward, float))
            infos.append(info)
            lengths += living
            terminated |= living & ended
            living &= ~(ended | truncated)
            if not living.any():
                break
        seen, earned = np.stack(observations, axis=1), np.stack(rewards, axis=1)
        episodes = []
        for i, t in enumerate(lengths.tolist()):
            its = [_own(i, info) for info in infos[: t + 1]]
            episodes.append(Episode(seen[i, : t + 1], earned[i, :t], its, bool(terminated[i])))
        return episodes

    def _worlds(self, n: int) -> VectorEnv:
        """This thread's environments for a batch of n; those made for another task are closed."""
        if getattr(MADE, "by", None) != (self.make_env, self.vector):
            for worlds in getattr(MADE, "worlds", {}).values():
                worlds.close()
            MADE.by, MADE.worlds = (self.make_env, self.vector), {}
        if n not in MADE.worlds:
            MADE.worlds[n] = _made(self.make_env, n, self.vector)
        return MADE.worlds[n]


class Ended(gymnasium.Wrapper):
    """Rests after the end of an episode, where a vector environment begins another that nobody asked for."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        if seed is None:
            return self.last, {}
        self.ended = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any):
        if self.ended:
            return self.last, 0.0, False, False, {}
        self.last, reward, terminated, truncated, info = self.env.step(action)
        self.ended = terminated or truncated
        return self.last, reward, terminated, truncated, info


def _made(make_env: Any, n: int, vector: bool) -> VectorEnv:
    if not callable(make_env) and (vector or not isinstance(make_env, str)):
        raise ValueError(f"make_env must be an id or a function; got {make_env!r}")
    if not vector:
        make = partial(gymnasium.make, make_env) if isinstance(make_env, str) else make_env
        return SyncVectorEnv([lambda: Ended(make())] * n)
    worlds = make_env(n)
    if worlds.num_envs != n:
        raise ValueError(
            f"make_env made {worlds.num_envs} worlds for {n} individuals; use brns.Chunked"
        )
    if worlds.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP) != AutoresetMode.NEXT_STEP:
        raise ValueError(
            f"a vector environment must have AutoresetMode.NEXT_STEP; got {worlds.metadata}"
        )
    return worlds


def _flat(space: spaces.Space, single: spaces.Space, rows: Any) -> Float[np.ndarray, "n o"]:
    if isinstance(single, spaces.Box):
        return np.array(rows, float).reshape(len(rows), -1)
    return np.array([spaces.flatten(single, row) for row in iterate(space, rows)], float)


def _own(i: int, infos: dict[str, Any]) -> dict[str, Any]:
    """World i's part of a vector environment's infos, where `_key` says who has `key`."""
    return {
        key: _own(i, value) if isinstance(value, dict) else value[i]
        for key, value in infos.items()
        if not key.startswith("_") and (f"_{key}" not in infos or infos[f"_{key}"][i])
    }


def _sizes(worlds: VectorEnv) -> tuple[int, int]:
    space = worlds.single_action_space
    if not isinstance(space, spaces.Discrete | spaces.Box):
        raise ValueError(
            f"a FeedForward takes Discrete or Box actions, not {space}: give a policy of your own"
        )
    return spaces.flatdim(worlds.single_observation_space), spaces.flatdim(space)


def _bounds(worlds: VectorEnv, describe: Callable[[Episode], Any]) -> Box:
    space: Any = spaces.flatten_space(worlds.single_observation_space)
    bounded = (
        isinstance(space, spaces.Box)
        and np.isfinite(space.low).all()
        and np.isfinite(space.high).all()
    )
    if describe is not last_observation or not bounded:
        raise ValueError(
            "give behavior_space, where behaviors lie: it is known only if they are last observations with finite "
            f"bounds; got describe={shown(describe)} and observations {worlds.single_observation_space}"
        )
    return Box(space.low.ravel(), space.high.ravel())


def _actor(
    worlds: VectorEnv, policy: FeedForward | Policy, genotypes: np.ndarray
) -> Callable[[np.ndarray], Any]:
    if not isinstance(policy, FeedForward):
        return policy.actor(genotypes)
    fitted(policy, *_sizes(worlds))
    layers = policy.layers(genotypes.astype(float))
    space: Any = worlds.single_action_space
    if isinstance(space, spaces.Discrete):
        return lambda observations: (
            space.start + np.argmax(policy.act(layers, observations.T).T, axis=1)
        )
    low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
    bounded = np.isfinite(low) & np.isfinite(high)
    least, most = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    half = (most - least) / 2
    middle = least + half

    def act(observations: Float[np.ndarray, "n o"]) -> np.ndarray:
        outputs = policy.act(layers, observations.T).T
        scaled = middle + half * outputs if policy.squash_output else outputs
        return np.clip(scaled, low, high).astype(space.dtype).reshape(-1, *space.shape)

    return act
