"""Any Gymnasium environment as a task: a policy acts in it, a function of yours says what the behavior was."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.core import Box, Evaluation
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
    """as the policy gave them"""
    rewards: Float[np.ndarray, " t"]
    infos: list[dict[str, Any]]
    """the environment's own, beginning with the one of the reset"""
    terminated: bool
    """whether the environment ended the episode itself, not a limit of time"""


class GymnasiumTask(eqx.Module):
    """A Gymnasium environment in which feed-forward policies live one episode each.

    The observation is flattened; a discrete action is the policy's largest output; a bounded continuous one is its
    output, scaled from [-1, 1] to the bounds where the policy squashes it, else clipped to them. Fitness is the sum of
    the rewards.

    Row i depends on genotype i alone if the environment's `reset(seed=...)` forgets what was before, as Gymnasium asks.
    `brns.Processes(GymnasiumTask(...), workers=8)` spreads the episodes over processes, where all functions given must
    be importable.

    Errors: `ValueError` where the policy does not fit the environment or `describe` does not fit the behavior space;
    `ImportError` where Gymnasium is missing.
    """

    make_env: Callable[[], gymnasium.Env]
    """makes the environment"""
    policy: FeedForward
    """from flattened observations to actions"""
    describe: Callable[[Episode], Any]
    """the behavior, `(d,)`, of an episode"""
    behavior_space: Box
    """where behaviors lie"""
    steps: int = 1000
    """most steps of an episode; an environment may have a limit of its own"""
    success: Callable[[Episode], bool] | None = None
    """the criterion of success; none by default"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one a generation, the same for all of its individuals"""

    traceable = False

    def __check_init__(self):
        if self.steps < 1:
            raise ValueError(f"an episode has 1 step or more; got steps={self.steps}")

    @property
    def genotype_space(self) -> Box:
        """Weights and biases in [-1, 1]; paper, section 5."""
        return Box([-1.0] * self.policy.genotype_length, [1.0] * self.policy.genotype_length)

    def evaluate(self, genotypes: Float[Array, "n p"] | Float[np.ndarray, "n p"], key: Key[Array, ""]) -> Evaluation:
        genotypes = np.asarray(genotypes)
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1)) if self.seed is None else self.seed
        rows = self._live(genotypes, seed)
        return Evaluation(
            jnp.asarray(rows[:, 2:], jnp.float32), jnp.asarray(rows[:, 0], jnp.float32), jnp.asarray(rows[:, 1] > 0)
        )

    def episode(self, genotype: Float[Array, " p"] | Float[np.ndarray, " p"], seed: int = 0) -> Episode:
        """One episode as a whole."""
        with closing(self.make_env()) as env:
            return self._episode(env, np.asarray(genotype), seed)

    def _live(self, genotypes: Float[np.ndarray, "n p"], seed: int) -> Float[np.ndarray, "n facts"]:
        """Fitness, success and descriptor of each genotype."""
        d = self.behavior_space.dimension
        rows = np.empty((len(genotypes), 2 + d))
        with closing(self.make_env()) as env:
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
        to_action = _actor(env, self.policy)
        layers = self.policy.host_layers(genotype[None])
        observation, info = env.reset(seed=seed)
        observations, actions, rewards, infos, terminated = [], [], [], [info], False
        for _ in range(self.steps):
            observations.append(np.asarray(spaces.flatten(env.observation_space, observation), float))
            actions.append(self.policy.act_on_host(layers, observations[-1][None])[0])
            observation, reward, terminated, truncated, info = env.step(to_action(actions[-1]))
            rewards.append(float(reward))
            infos.append(info)
            if terminated or truncated:
                break
        observations.append(np.asarray(spaces.flatten(env.observation_space, observation), float))
        return Episode(np.stack(observations), np.stack(actions), np.array(rewards), infos, bool(terminated))


def _actor(env: gymnasium.Env, policy: FeedForward) -> Callable[[Float[np.ndarray, " a"]], Any]:
    """From a policy's output to an action of the environment."""
    sensed, space = spaces.flatdim(env.observation_space), env.action_space
    if isinstance(space, spaces.Discrete):
        outputs = int(space.n)
    elif isinstance(space, spaces.Box):
        outputs = int(np.prod(space.shape))
    else:
        raise ValueError(f"the environment's actions must be Discrete or Box; got {space}; wrap it in an ActionWrapper")
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
