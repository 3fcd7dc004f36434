"""Any Gymnasium environment as a task: a policy acts in it, a function of yours says what the behavior was."""

from collections.abc import Callable
from contextlib import closing
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

    Row i depends on genotype i alone if the environment's `reset(seed=...)` forgets what was before, as Gymnasium asks.
    `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes.

    Errors: `ValueError` where the policy does not fit the environment, `describe` does not fit the behavior space, or
    no behavior space is given and the observations have no bounds; `ImportError` where Gymnasium is missing.
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
        if self.policy is not None and self.behavior_space is not None:
            return
        with closing(self._made()) as env:
            if self.policy is None:
                self.policy = FeedForward(_ends(env, 10, 10), squash_output=True)
            if self.behavior_space is None:
                self.behavior_space = _bounds(env, self.describe)

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
        genotypes = np.asarray(genotypes)
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        rows = self._live(genotypes, seed)
        return Evaluation(
            jnp.asarray(rows[:, 2:], jnp.float32), jnp.asarray(rows[:, 0], jnp.float32), jnp.asarray(rows[:, 1] > 0)
        )

    def episode(self, genotype: Float[Array, " p"] | Float[np.ndarray, " p"], seed: int | None = None) -> Episode:
        """One episode as a whole, by default that by which individuals are evaluated; of a task without a seed, 0."""
        seed = (self.seed or 0) if seed is None else seed
        with closing(self._made()) as env:
            return self._episode(env, np.asarray(genotype), seed)

    def _made(self) -> gymnasium.Env:
        return gymnasium.make(self.make_env) if isinstance(self.make_env, str) else self.make_env()

    def _live(self, genotypes: Float[np.ndarray, "n p"], seed: int) -> Float[np.ndarray, "n facts"]:
        """Fitness, success and descriptor of each genotype."""
        d = self.behavior_space.dimension
        rows = np.empty((len(genotypes), 2 + d))
        with closing(self._made()) as env:
            for row, genotype in zip(rows, genotypes, strict=True):
                episode = self._episode(env, genotype, seed)
                descriptor = np.asarray(self.describe(episode), float)
                if descriptor.shape != (d,):
                    raise ValueError(
                        f"describe must give a descriptor of shape ({d},), as the behavior space has; "
                        f"got {descriptor.shape}"
                    )
                row[0], row[1], row[2:] = (
                    episode.rewards.sum(),
                    bool(self.success and self.success(episode)),
                    descriptor,
                )
        return rows

    def _episode(self, env: gymnasium.Env, genotype: Float[np.ndarray, " p"], seed: int) -> Episode:
        act = _acting(env, self.policy, genotype)
        observation, info = env.reset(seed=seed)
        observations, actions, rewards, infos, terminated = [], [], [], [info], False
        for _ in range(self.steps):
            observations.append(np.asarray(spaces.flatten(env.observation_space, observation), float))
            given, action = act(observations[-1])
            actions.append(given)
            observation, reward, terminated, truncated, info = env.step(action)
            rewards.append(float(reward))
            infos.append(info)
            if terminated or truncated:
                break
        observations.append(np.asarray(spaces.flatten(env.observation_space, observation), float))
        return Episode(np.stack(observations), np.stack(actions), np.array(rewards), infos, bool(terminated))


def _acting(
    env: gymnasium.Env, policy: FeedForward | Policy, genotype: Float[np.ndarray, " p"]
) -> Callable[[Float[np.ndarray, " o"]], tuple[Float[np.ndarray, " a"], Any]]:
    """From an observation to the action, as the policy gave it and as the environment takes it."""
    if isinstance(policy, FeedForward):
        to_action, network = _actor(env, policy), policy.on_host(genotype[None])

        def act(observation: Float[np.ndarray, " o"]) -> tuple[Float[np.ndarray, " a"], Any]:
            output = network(observation[None])[0]
            return output, to_action(output)

        return act
    actor = policy.actor(genotype)

    def own(observation: Float[np.ndarray, " o"]) -> tuple[Float[np.ndarray, " a"], Any]:
        action = actor(observation)
        return np.asarray(spaces.flatten(env.action_space, action), float), action

    return own


def _ends(env: gymnasium.Env, *hidden: int) -> tuple[int, ...]:
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


def _actor(env: gymnasium.Env, policy: FeedForward) -> Callable[[Float[np.ndarray, " a"]], Any]:
    """From a policy's output to an action of the environment."""
    sensed, outputs = _ends(env)
    space: Any = env.action_space
    if (policy.sizes[0], policy.sizes[-1]) != (sensed, outputs):
        raise ValueError(
            f"this environment needs a policy from {sensed} observations to {outputs} actions; got sizes={policy.sizes}"
        )
    if isinstance(space, spaces.Discrete):
        return lambda output: int(space.start + np.argmax(output))
    low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
    bounded = np.isfinite(low) & np.isfinite(high)
    half = np.where(bounded, high - low, 2.0) / 2
    middle = np.where(bounded, np.where(bounded, low, 0.0) + half, 0.0)

    def act(output: Float[np.ndarray, " a"]) -> np.ndarray:
        scaled = middle + half * output if policy.squash_output else output
        return np.clip(scaled, low, high).astype(space.dtype).reshape(space.shape)

    return act
