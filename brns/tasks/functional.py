"""An environment in JAX as a task, such as one of MuJoCo Playground or Brax: a policy acts in it, time is scanned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from brns.core import Box, Evaluation
from brns.tasks.behaviors import Waypoints
from brns.tasks.policy import FeedForward, fitted


class Episode(NamedTuple):
    """What was seen in an episode of `steps` steps, or fewer: after its end nothing changes and rewards are 0."""

    observations: PyTree[Array, "times ..."]
    """what `watch` gave of each state; the first is that of the reset, and there is one more than steps"""
    rewards: Float[Array, " steps"]
    length: Int[Array, ""]
    """steps until the end"""
    done: Bool[Array, ""]
    """whether the environment ended the episode, not `steps`"""


def flat(state: Any) -> Float[Array, " o"]:
    """A state's observation; one of several arrays, such as a dict, becomes one vector, in the order of their names."""
    return ravel_pytree(state.obs)[0]


class FunctionalTask(eqx.Module):
    """An environment in JAX in which policies live one episode each: MuJoCo Playground's, Brax's, or your own.

    It has `reset(key) -> state`, `step(state, action) -> state` and `action_size`; a state has `obs`, `reward` and
    `done`. The output of the policy is the action, by default squashed into [-1, 1]. Fitness is the sum of the rewards.
    """

    env: Any
    """the environment, without wrappers that reset it or batch it"""
    steps: int
    """most steps of an episode"""
    behavior_space: Box
    """where behaviors lie"""
    describe: Callable[[Episode], Any] = Waypoints()
    """the behavior `(d,)` of an episode; by default its last observation"""
    policy: FeedForward = None  # ty: ignore[invalid-assignment]
    """from observations to actions; by default two hidden layers of 10 neurons and a squashed output"""
    observe: Callable[[Any], Array] = flat
    """what a policy sees of a state, `(o,)`; by default all of `state.obs`"""
    watch: Callable[[Any], Any] | None = None
    """what `describe` sees of a state; by default what a policy sees"""
    success: Callable[[Episode], Array] | None = None
    """whether an episode solves the task; by default none does"""
    seed: int | None = 0
    """every episode resets with this seed; None draws one for each generation"""

    traceable = True

    def __post_init__(self):
        if getattr(self.env, "action_size", None) is None:
            raise ValueError(
                "FunctionalTask.env must be an environment in JAX, with reset(key), step(state, action), action_size; "
                f"got {type(self.env).__name__}. Gymnasium's are for brns.GymnasiumTask"
            )
        state = jax.eval_shape(self.env.reset, jax.random.key(0))
        (observations,) = jax.eval_shape(self.observe, state).shape
        self.policy = fitted(self.policy, observations, self.env.action_size)

    @property
    def genotype_space(self) -> Box:
        """The policy's."""
        return self.policy.genotype_space

    @eqx.filter_jit
    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> Evaluation:
        if self.seed is not None:
            key = jax.random.key(self.seed)
        # A key for each: simulators that batch by themselves need the whole state batched.
        episodes = jax.vmap(self.episode)(genotypes, jnp.broadcast_to(key, len(genotypes)))
        evaluation = Evaluation(jax.vmap(self.describe)(episodes), episodes.rewards.sum(axis=1))
        return (
            evaluation._replace(solved=jax.vmap(self.success)(episodes))
            if self.success
            else evaluation
        )

    def episode(self, genotype: Float[Array, " p"], key: Key[Array, ""]) -> Episode:
        """One episode from the reset with this key."""
        watch, layers = self.watch or self.observe, self.policy.layers(genotype[None])

        def advance(carry: tuple[Any, Array], _: None) -> tuple[tuple[Any, Array], Any]:
            state, done = carry
            state = self.env.step(
                state, self.policy.act(layers, self.observe(state)[:, None])[:, 0]
            )
            reward = jnp.where(done, 0.0, state.reward)
            return (state, done | jnp.asarray(state.done, bool)), (watch(state), reward, ~done)

        state = self.env.reset(key)
        begun = state, jnp.asarray(state.done, bool)
        (_, done), (later, rewards, living) = jax.lax.scan(advance, begun, length=self.steps)
        times = jnp.minimum(
            jnp.arange(self.steps + 1), living.sum()
        )  # after the end the last again
        seen = jax.tree.map(
            lambda one, many: jnp.concatenate([one[None], many])[times], watch(state), later
        )
        return Episode(seen, rewards, living.sum(), done)
