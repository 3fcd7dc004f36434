"""An environment in JAX as a task: a policy acts in it, time is scanned."""

import contextlib
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from pydantic import PositiveInt

from brns.checks.parts import NOT_JAX, check_setting_types, is_hashable
from brns.core import Box, Evaluation
from brns.settings.description import part_to_json
from brns.tasks.behaviors import Waypoints
from brns.tasks.policy import FeedForward, make_or_check_policy


class Episode(NamedTuple):
    """What was seen in an episode of `steps` steps, or fewer:
    after its end nothing changes and rewards are 0.
    """

    observations: PyTree[Array, "times ..."]
    """what `watch` gave of each state; the first is that of the reset,
    and there is one more than steps"""
    rewards: Float[Array, " steps"]
    actions: Float[Array, "steps a"]
    """0 after the end; of a discrete action, a one for what was chosen and zeros for the others"""
    length: Int[Array, ""]
    """steps until the end"""
    done: Bool[Array, ""]
    """whether the environment ended the episode, not `steps`"""


def flat_observation(state: Any) -> Float[Array, " o"]:
    """A state's observation as floats; of several arrays one vector, in their names' order."""
    return ravel_pytree(state.obs)[0].astype(float)


class JaxEnvironmentTask(eqx.Module):
    """A task made of a JAX environment, MuJoCo Playground's, Brax's or your own, and a policy.

    Each genotype is a policy that acts for one episode. The environment has
    `reset(key) -> state`, `step(state, action) -> state` and `action_size`; a state has `obs`,
    `reward` and `done`. The output of the policy is the action, by default squashed into [-1, 1].
    Of an environment that also has `num_values`, how many there are for each discrete action, the
    largest output of each is 1 and the others are 0. Fitness is the sum of the rewards.
    `TimeStepEnv` and `ParamsEnv` give this shape to jumanji's and gymnax's.
    """

    env: Any
    """the environment, without wrappers that reset it or batch it"""
    steps: PositiveInt
    """most steps of an episode"""
    behavior_space: Box
    """where behaviors lie"""
    describe: Callable[[Episode], Any] = Waypoints()
    """the behavior `(d,)` of an episode; by default its last observation"""
    policy: FeedForward = None  # ty: ignore[invalid-assignment]
    """from observations to actions;
    by default two hidden layers of 10 neurons and a squashed output"""
    observe: Callable[[Any], Array] = flat_observation
    """what a policy sees of a state, `(o,)`; by default all of `state.obs`"""
    watch: Callable[[Any], Any] | None = None
    """what `describe` sees of a state; by default what a policy sees"""
    success: Callable[[Episode], Array] | None = None
    """whether an episode solves the task; by default none does"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one for each generation"""

    _raw: bool = eqx.field(init=False, static=True)

    traceable = True

    def __post_init__(self):
        check_setting_types(self)
        try:
            actions = operator.index(self.env.action_size)
            self._raw, state = _detect_raw_key_and_state_shapes(self.env.reset)
            _ = state.reward, state.done
            (observations,) = jax.eval_shape(self.observe, state).shape
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                "JaxEnvironmentTask.env must be an environment in JAX, with reset(key), "
                "step(state, action) and a whole number action_size, whose states have obs, "
                "reward and done; what `observe` gives of one is (o,). Got "
                f"{type(self.env).__name__} ({error}). "
                "Gymnasium's are for brns.GymnasiumTask, jumanji's and gymnax's for "
                "brns.TimeStepEnv and brns.ParamsEnv"
            ) from error
        num_values = _count_values_of_discrete_actions(self.env)
        if num_values.size and num_values.sum() != actions:
            raise ValueError(
                "action_size must be the sum of num_values, an output for each value of a discrete "
                f"action; got {actions} and {num_values.tolist()}"
            )
        self.policy = make_or_check_policy(self.policy, observations, actions)
        if not is_hashable(self.env):
            self.env = Unhashable(self.env)

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    @eqx.filter_jit
    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        """An episode of each policy; see `Task.evaluate`."""
        if self.seed is not None:
            key = jax.random.key(self.seed)
        try:
            # A key for each: simulators that batch by themselves need the whole state batched.
            episodes = jax.vmap(self.episode)(genotypes, jnp.broadcast_to(key, len(genotypes)))
            descriptor, solved = jax.vmap(self._describe_and_check_success)(episodes)
        except NOT_JAX as error:
            raise ValueError(
                f"{type(self.env).__name__}.step, observe, watch, describe and success must be JAX "
                "code (jax.numpy in place of numpy, jnp.where in place of if), and step must give "
                "a state with the structure, shapes and types of the one that it takes; "
                f"{type(error).__name__}: {error}"
            ) from error
        return Evaluation(descriptor, episodes.rewards.sum(axis=1), solved)

    def _describe_and_check_success(self, episode: Episode) -> tuple[Array, Any]:
        """A behavior, and whether the task is solved."""
        descriptor = _as_array("describe", self.describe(episode)).astype(float)
        return descriptor, _as_scalar("success", self.success(episode)) if self.success else False

    def episode(self, genotype: Float[Array, " p"], key: Key[Array, ""]) -> Episode:
        """One episode.

        Args:
            genotype: of the policy, `(p,)`.
            key: of the reset.

        Returns:
            What `describe` is given.
        """
        watch, layers = self.watch or self.observe, self.policy.layers(genotype[None])
        num_values = _count_values_of_discrete_actions(self.env)

        def advance(carry: tuple[Any, Array], _: None) -> tuple[tuple[Any, Array], Any]:
            state, done = carry
            action = self.policy.act(layers, self.observe(state)[:, None])[:, 0]
            unknown = jnp.isnan(action).any()  # of which all would act alike
            action = _one_hot_of_each_group(action, num_values) if num_values.size else action
            state = self.env.step(state, action)
            reward = _as_scalar("a state's reward", state.reward)
            reward = jnp.where(done, 0.0, jnp.where(unknown, jnp.nan, reward))
            happened = watch(state), reward, jnp.where(done, 0.0, action), ~done
            return (state, done | _as_scalar("a state's done", state.done).astype(bool)), happened

        state = self.env.reset(jax.random.key_data(key) if self._raw else key)
        begun = state, _as_scalar("a state's done", state.done).astype(bool)
        (_, done), happened = jax.lax.scan(advance, begun, length=self.steps)
        later, rewards, actions, living = happened
        length = living.sum()
        times = jnp.minimum(jnp.arange(self.steps + 1), length)  # after the end the last again

        def build_time_series(first: Any, others: Array) -> Array:
            return jnp.concatenate([jnp.asarray(first)[None], others])[times]

        seen = jax.tree.map(build_time_series, watch(state), later)
        return Episode(seen, rewards, actions, length, done)


class Unhashable:
    """An environment that cannot be hashed: what is compiled is for this very one."""

    def __init__(self, env: Any):
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # not yet there, while it is unpickled
            raise AttributeError(name)
        return getattr(self.env, name)


@part_to_json.register
def _unhashable_to_json(wrapper: Unhashable) -> Any:
    return part_to_json(wrapper.env)


def _detect_raw_key_and_state_shapes(reset: Callable[[Any], Any]) -> tuple[bool, Any]:
    """Whether `reset` takes a key's two words, as older code does, and the shapes of its state."""
    key = jax.random.key(0)
    try:
        return False, jax.eval_shape(reset, key)
    except Exception:
        with contextlib.suppress(Exception):
            return True, jax.eval_shape(reset, jax.random.key_data(key))
        raise


def _as_array(name: str, value: Any) -> Array:
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must give an array of numbers; got {value!r:.80}") from error


def _as_scalar(name: str, value: Any) -> Array:
    array = _as_array(name, value)
    if array.size != 1:
        raise ValueError(f"{name} must be one number for an episode; got shape {array.shape}")
    return array.reshape(())


def _count_values_of_discrete_actions(env: Any) -> Int[np.ndarray, " actions"]:
    """How many values each discrete action has; none of a continuous one."""
    num_values = getattr(env, "num_values", None)
    return np.array(() if num_values is None else num_values, int).ravel()


def _one_hot_of_each_group(
    outputs: Float[Array, " a"], num_values: Int[np.ndarray, " actions"]
) -> Float[Array, " a"]:
    """1 for the largest of each group, 0 for the others."""
    groups = jnp.split(outputs, np.cumsum(num_values)[:-1])
    return jnp.concatenate([jax.nn.one_hot(group.argmax(), len(group)) for group in groups])
