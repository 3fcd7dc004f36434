"""Environments in JAX of other shapes, jumanji's and gymnax's, for `JaxEnvironmentTask`."""

from math import prod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from brns.tasks.behaviors import UNBOUNDED


class Adapted(NamedTuple):
    """The state that `JaxEnvironmentTask` sees of an adapted environment."""

    state: Any
    """the environment's own"""
    obs: Any
    reward: Any
    done: Any
    key: Any
    """for what is random in the steps to come; None if the environment keeps it"""


class Adapter(eqx.Module):
    """An environment of another shape; `actions` is the space of its actions."""

    env: Any
    """without wrappers that reset it at its end, or batch it"""

    @property
    def action_size(self) -> int:
        """How many numbers an action has; one for each value of a discrete one."""
        return sum(self.num_values) or prod(self.action_space.shape)

    @property
    def num_values(self) -> tuple[int, ...]:
        """How many values each discrete action has; none for a continuous one."""
        with jax.ensure_compile_time_eval():
            space = self.action_space
            number = getattr(space, "num_values", getattr(space, "n", None))
            return () if number is None else tuple(np.ravel(number).tolist())

    @property
    def action_space(self) -> Any:
        """The space of actions."""
        raise NotImplementedError

    def _to_native(self, action: Float[Array, " a"]) -> Array:
        """An action as the space has it."""
        space = self.action_space
        if self.num_values:
            groups = jnp.split(action, np.cumsum(self.num_values)[:-1])
            return jnp.stack([group.argmax() for group in groups]).reshape(space.shape)
        low = getattr(space, "low", getattr(space, "minimum", -jnp.inf))
        high = getattr(space, "high", getattr(space, "maximum", jnp.inf))
        low, high = (jnp.broadcast_to(jnp.asarray(each), space.shape) for each in (low, high))
        from_below, from_above = low > -UNBOUNDED, high < UNBOUNDED
        least = jnp.where(from_below, low, jnp.where(from_above, high - 2, -1.0))
        most = jnp.where(from_below & from_above, high, least + 2)
        share = (action.reshape(space.shape) + 1) / 2
        if jnp.issubdtype(space.dtype, jnp.integer):  # each value is as likely as the next
            scaled = jnp.floor(least + (most - least + 1) * share)
        else:
            scaled = least + (most - least) * share
        return jnp.clip(scaled, low, high).astype(space.dtype)


class TimeStepEnv(Adapter):
    """A jumanji environment as `JaxEnvironmentTask` takes it:
    `brns.JaxEnvironmentTask(brns.TimeStepEnv(jumanji.make("Maze-v0")), ...)`.

    It has `reset(key) -> (state, timestep)` and `step(state, action) -> (state, timestep)` as in
    dm_env, and an `action_spec`. `watch=lambda adapted: adapted.state...` reads its own state.
    """

    @property
    def action_space(self) -> Any:
        """The specification of an action."""
        spec = self.env.action_spec
        return spec() if callable(spec) else spec

    def reset(self, key: Key[Array, ""]) -> Adapted:
        """The first state of an episode.

        Args:
            key: all chance of the episode comes from it.

        Returns:
            With `obs`, `reward` and `done`, as `JaxEnvironmentTask` reads them.
        """
        return self._make_adapted_state(*self.env.reset(key))

    def step(self, adapted: Adapted, action: Float[Array, " a"]) -> Adapted:
        """The next state.

        Args:
            adapted: the state before.
            action: numbers from -1 to 1, which are scaled to the bounds of the actions; of discrete
                actions, a one for what was chosen.

        Returns:
            As of `reset`.
        """
        return self._make_adapted_state(*self.env.step(adapted.state, self._to_native(action)))

    def _make_adapted_state(self, state: Any, timestep: Any) -> Adapted:
        return _make_adapted_state(
            state, timestep.observation, timestep.reward, timestep.last(), None
        )


class ParamsEnv(Adapter):
    """A gymnax environment as `JaxEnvironmentTask` takes it:
    `brns.JaxEnvironmentTask(brns.ParamsEnv(*gymnax.make("CartPole-v1")), ...)`.

    It has `reset(key, params) -> (obs, state)`,
    `step_env(key, state, action, params) -> (obs, state, reward, done, info)` (or `step`, if that
    does not begin anew by itself) and `action_space(params)`.
    `watch=lambda adapted: adapted.state...` reads its own state.
    """

    params: Any
    """its parameters, such as `env.default_params`"""

    @property
    def action_space(self) -> Any:
        """The space of actions."""
        return self.env.action_space(self.params)

    def reset(self, key: Key[Array, ""]) -> Adapted:
        """The first state of an episode; see `TimeStepEnv.reset`."""
        first, later = jax.random.split(key)
        obs, state = self.env.reset(first, self.params)
        return _make_adapted_state(state, obs, 0.0, False, later)

    def step(self, adapted: Adapted, action: Float[Array, " a"]) -> Adapted:
        """The next state; see `TimeStepEnv.step`."""
        now, later = jax.random.split(adapted.key)
        step = getattr(self.env, "step_env", None) or self.env.step
        native = self._to_native(action)
        obs, state, reward, done, _ = step(now, adapted.state, native, self.params)
        return _make_adapted_state(state, obs, reward, done, later)


def _make_adapted_state(state: Any, obs: Any, reward: Any, done: Any, key: Any) -> Adapted:
    """Of the same types after a reset as after a step."""
    return Adapted(state, obs, jnp.asarray(reward, float), jnp.asarray(done, bool), key)
