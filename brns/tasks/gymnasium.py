"""Any Gymnasium environment as a task: a policy acts in it, a function of yours says what the behavior was."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation
from brns.settings import shown
from brns.tasks.policy import FeedForward

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise ImportError("GymnasiumTask needs Gymnasium: pip install 'brns[gymnasium]'") from None

MADE = threading.local()


class Episode(NamedTuple):
    """What happened in t steps of an environment."""

    observations: Float[np.ndarray, "times o"]
    """flattened; the first is that of the reset"""
    actions: Float[np.ndarray, "t a"]
    """as the environment took them, flattened"""
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

    def actor(self, genotype: Float[np.ndarray, " p"]) -> Callable[[Float[np.ndarray, " o"]], Any]:
        """A function from flattened observations to actions of the environment, made anew for each episode."""
        ...


def last_observation(episode: Episode) -> Float[np.ndarray, " o"]:
    """The behavior of an episode: its last observation."""
    return episode.observations[-1]


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment in which policies live one episode each: `GymnasiumTask("Pendulum-v1")`.

    Observations are flattened. With a `FeedForward`, a discrete action is the index of the largest output. A continuous
    action is the output clipped to the bounds; a squashed output is first scaled from [-1, 1] to them. Fitness is the
    sum of the rewards.

    Each process and thread makes one environment and resets it for each episode; `reset(seed=...)` must forget the
    episode before. `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes.
    """

    make_env: Callable[[], gymnasium.Env] | str
    """the environment's id, or a function that makes it"""
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

    traceable = False

    def __post_init__(self):
        if self.policy is None:
            self.policy = FeedForward(_sizes(self._env(), 10, 10), squash_output=True)
        if self.behavior_space is None:
            self.behavior_space = _bounds(self._env(), self.describe)

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    def evaluate(self, genotypes: Float[Array, "n p"] | Float[np.ndarray, "n p"], key: Key[Array, ""]) -> Evaluation:
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        descriptors, fitness, solved = [], [], []
        for genotype in np.asarray(genotypes):
            episode = self.episode(genotype, seed)
            descriptors.append(np.asarray(self.describe(episode), float))
            fitness.append(episode.rewards.sum())
            solved.append(bool(self.success and self.success(episode)))
        descriptor = jnp.asarray(np.stack(descriptors), jnp.float32)
        return Evaluation(descriptor, jnp.asarray(fitness, jnp.float32), jnp.asarray(solved))

    def episode(self, genotype: Float[Array, " p"] | Float[np.ndarray, " p"], seed: int | None = None) -> Episode:
        """One episode from this seed, by default the task's, or 0 where the task has none."""
        env = self._env()
        act = _actor(env, self.policy, np.asarray(genotype))
        observation, info = env.reset(seed=(self.seed or 0) if seed is None else seed)
        observations = [_flat(env.observation_space, observation)]
        actions, rewards, infos, terminated = [], [], [info], False
        for _ in range(self.steps):
            action = act(observations[-1])
            observation, reward, terminated, truncated, info = env.step(action)
            actions.append(_flat(env.action_space, action))
            observations.append(_flat(env.observation_space, observation))
            rewards.append(float(reward))
            infos.append(info)
            if terminated or truncated:
                break
        return Episode(np.stack(observations), np.stack(actions), np.array(rewards), infos, bool(terminated))

    def _env(self) -> gymnasium.Env:
        """This thread's environment; one made for another task is closed."""
        made = MADE.__dict__
        if made.get("by") is not self.make_env:
            if "env" in made:
                made.pop("env").close()
            made["env"] = gymnasium.make(self.make_env) if isinstance(self.make_env, str) else self.make_env()
            made["by"] = self.make_env
        return made["env"]


def _flat(space: spaces.Space, value: Any) -> Float[np.ndarray, " o"]:
    return np.asarray(spaces.flatten(space, value), float)


def _actor(
    env: gymnasium.Env, policy: FeedForward | Policy, genotype: Float[np.ndarray, " p"]
) -> Callable[[Float[np.ndarray, " o"]], Any]:
    """A function from observations to actions, for one episode."""
    if not isinstance(policy, FeedForward):
        return policy.actor(genotype)
    network = policy.on_host(genotype[None])
    taken = _taken(env, policy)
    return lambda observation: taken(network(observation[None])[0])


def _sizes(env: gymnasium.Env, *hidden: int) -> tuple[int, ...]:
    """Neurons a layer of a network from its observations to its actions."""
    space = env.action_space
    if not isinstance(space, spaces.Discrete | spaces.Box):
        raise ValueError(f"a FeedForward takes Discrete or Box actions, not {space}: give a policy of your own")
    return (spaces.flatdim(env.observation_space), *hidden, spaces.flatdim(space))


def _bounds(env: gymnasium.Env, describe: Callable[[Episode], Any]) -> Box:
    """The box of the last observation."""
    space: Any = spaces.flatten_space(env.observation_space)
    bounded = isinstance(space, spaces.Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all()
    if describe is not last_observation or not bounded:
        raise ValueError(
            "give behavior_space, where behaviors lie: it is known only if they are last observations with finite "
            f"bounds; got describe={shown(describe)} and observations {env.observation_space}"
        )
    return Box(space.low.ravel(), space.high.ravel())


def _taken(env: gymnasium.Env, policy: FeedForward) -> Callable[[Float[np.ndarray, " a"]], Any]:
    """From a policy's output to an action of the environment."""
    sensed, outputs = _sizes(env)
    space: Any = env.action_space
    if (policy.sizes[0], policy.sizes[-1]) != (sensed, outputs):
        raise ValueError(
            f"this environment needs a policy from {sensed} observations to {outputs} actions; got sizes={policy.sizes}"
        )
    if isinstance(space, spaces.Discrete):
        return lambda output: int(space.start + np.argmax(output))
    low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
    bounded = np.isfinite(low) & np.isfinite(high)
    least, most = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    half = (most - least) / 2
    middle = least + half

    def act(output: Float[np.ndarray, " a"]) -> np.ndarray:
        scaled = middle + half * output if policy.squash_output else output
        return np.clip(scaled, low, high).astype(space.dtype).reshape(space.shape)

    return act
