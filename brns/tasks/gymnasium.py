"""Any Gymnasium environment as a task: a policy acts in it, a function of yours says what the behavior was."""

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
from brns.tasks.policy import FeedForward

try:
    import gymnasium
    from gymnasium import spaces

    import brns.tasks.environments  # noqa: F401 (makes our own environments known)
except ImportError:
    raise ImportError("GymnasiumTask needs Gymnasium: pip install 'brns[gymnasium]'") from None


MADE = threading.local()


class Episode(NamedTuple):
    """What happened in t steps of an environment."""

    observations: Float[np.ndarray, "times o"]
    """flattened; the one of the reset first, then one a step"""
    actions: Float[np.ndarray, "t a"]
    """as a `FeedForward` gave them, before they were scaled or clipped; of a policy of your own flattened"""
    rewards: Float[np.ndarray, " t"]
    infos: list[dict[str, Any]]
    """the environment's own, beginning with the one of the reset"""
    terminated: bool
    """whether the environment ended the episode itself, not a limit of time"""


@runtime_checkable
class Policy(Protocol):
    """A policy of your own, such as one with a memory, a controller with a few gains, or another library's network."""

    @property
    def genotype_space(self) -> Box: ...

    def actor(self, genotype: Float[np.ndarray, " p"]) -> Callable[[Float[np.ndarray, " o"]], Any]:
        """What acts in one episode: a function from flattened observations to actions of the environment.

        It is made anew for each episode, and may remember what it saw in it.
        """
        ...


def last_observation(episode: Episode) -> Float[np.ndarray, " o"]:
    """The behavior of an episode as where it ended: its last observation."""
    return episode.observations[-1]


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment in which policies live one episode each: `GymnasiumTask("Pendulum-v1")`.

    The observation is flattened. Of a `FeedForward` a discrete action is the largest output; a bounded continuous one
    is the output, scaled from [-1, 1] to the bounds where the policy squashes it, else clipped to them. Fitness is the
    sum of the rewards.

    An environment is made once in each process and thread, and reset for each episode; its `reset(seed=...)` must
    forget what was before. `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes.
    """

    make_env: Callable[[], gymnasium.Env] | str
    """the environment's id, or what makes the environment"""
    policy: FeedForward | Policy = None  # ty: ignore[invalid-assignment]
    """from flattened observations to actions; by default two hidden layers of 10 neurons and a squashed output"""
    describe: Callable[[Episode], Any] = last_observation
    """the behavior, `(d,)`, of an episode; by default its last observation"""
    behavior_space: Box = None  # ty: ignore[invalid-assignment]
    """where behaviors lie; by default the bounds of the observations"""
    steps: int = 1000
    """most steps of an episode; an environment may have a limit of its own"""
    success: Callable[[Episode], bool] | None = None
    """the criterion of success; none by default"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one a generation, the same for all of its individuals"""

    traceable = False

    def __post_init__(self):
        if self.policy is None:
            self.policy = FeedForward(_sizes(self._env(), 10, 10), squash_output=True)
        if self.behavior_space is None:
            self.behavior_space = _bounds(self._env(), self.describe)

    def __check_init__(self):
        if self.steps < 1:
            raise ValueError(f"an episode has 1 step or more; got steps={self.steps}")
        if not isinstance(self.policy, FeedForward | Policy):
            raise ValueError(f"a policy is a brns.FeedForward, or has genotype_space and actor; got {self.policy!r}")

    @property
    def genotype_space(self) -> Box:
        """That of a policy of your own; of a `FeedForward` weights and biases in [-1, 1] (paper, section 5)."""
        if not isinstance(self.policy, FeedForward):
            return self.policy.genotype_space
        return Box([-1.0] * self.policy.genotype_length, [1.0] * self.policy.genotype_length)

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
        """One episode as a whole, by default that by which individuals are evaluated; of a task without a seed, 0."""
        env = self._env()
        act, flat, taken = _acting(env, self.policy, np.asarray(genotype))
        observation, info = env.reset(seed=(self.seed or 0) if seed is None else seed)
        observations = [_flat(env.observation_space, observation)]
        actions, rewards, infos, terminated = [], [], [info], False
        for _ in range(self.steps):
            output = act(observations[-1])
            observation, reward, terminated, truncated, info = env.step(taken(output))
            actions.append(flat(output))
            observations.append(_flat(env.observation_space, observation))
            rewards.append(float(reward))
            infos.append(info)
            if terminated or truncated:
                break
        return Episode(np.stack(observations), np.stack(actions), np.array(rewards), infos, bool(terminated))

    def _env(self) -> gymnasium.Env:
        """This thread's environment, made when it is first needed, and closed when another takes its place."""
        made = MADE.__dict__
        if made.get("by") is not self.make_env:
            if "env" in made:
                made.pop("env").close()
            made["env"] = gymnasium.make(self.make_env) if isinstance(self.make_env, str) else self.make_env()
            made["by"] = self.make_env
        return made["env"]


def _flat(space: spaces.Space, value: Any) -> Float[np.ndarray, " o"]:
    return np.asarray(spaces.flatten(space, value), float)


def _acting(
    env: gymnasium.Env, policy: FeedForward | Policy, genotype: Float[np.ndarray, " p"]
) -> tuple[Callable, Callable, Callable]:
    """From an observation to an output; from that to the action as it is told, and as the environment takes it."""
    if not isinstance(policy, FeedForward):
        return policy.actor(genotype), partial(_flat, env.action_space), lambda output: output
    network = policy.on_host(genotype[None])
    return lambda observation: network(observation[None])[0], lambda output: output, _taken(env, policy)


def _sizes(env: gymnasium.Env, *hidden: int) -> tuple[int, ...]:
    """Neurons a layer of a network from its observations to its actions."""
    space = env.action_space
    if isinstance(space, spaces.Discrete):
        outputs = int(space.n)
    elif isinstance(space, spaces.Box):
        outputs = int(np.prod(space.shape))
    else:
        raise ValueError(
            f"actions of a FeedForward must be Discrete or Box; got {space}: wrap the environment in an ActionWrapper, "
            "or give a policy of your own"
        )
    return (spaces.flatdim(env.observation_space), *hidden, outputs)


def _bounds(env: gymnasium.Env, describe: Callable[[Episode], Any]) -> Box:
    """The box of the last observation."""
    space: Any = spaces.flatten_space(env.observation_space)
    bounded = isinstance(space, spaces.Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all()
    if describe is not last_observation or not bounded:
        raise ValueError(
            "give behavior_space, where behaviors lie: it is known only of last observations with finite bounds; got "
            f"describe={shown(describe)} and observations {env.observation_space}"
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
