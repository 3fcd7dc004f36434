"""Policies: from flattened observations to actions of an environment."""

import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces
from jaxtyping import Float

from brns.core import Box
from brns.tasks.behaviors import UNBOUNDED
from brns.tasks.gymnasium.numbers import count_observation_numbers
from brns.tasks.policy import FeedForward, act_on_host, make_or_check_policy

GENES = 100_000  # of a default policy, beyond which a word is said


@runtime_checkable
class Policy(Protocol):
    """A policy of your own, such as one with a memory or another library's network."""

    @property
    def genotype_space(self) -> Box: ...

    def actor(
        self, genotypes: Float[np.ndarray, "n p"]
    ) -> Callable[[Float[np.ndarray, "n o"]], Any]:
        """A function from n flattened observations to n actions as `gymnasium.vector` takes them.

        It is made anew for each batch of episodes, of at most 16 unless the environment has a
        vector form.

        Args:
            genotypes: `(n, p)`; row i acts in environment i.

        Returns:
            Called at each step with observations `(n, o)`.
        """


def _count_outputs(space: spaces.Space) -> int:
    """How many outputs a network needs."""
    sizes = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)
    if not isinstance(space, sizes):
        raise ValueError(
            "a FeedForward takes Discrete, MultiDiscrete, MultiBinary or Box actions, not "
            f"{space}: give a policy of your own"
        )
    return spaces.flatdim(space)


def default_policy(observed: spaces.Space, acted: spaces.Space) -> FeedForward:
    policy = make_or_check_policy(None, count_observation_numbers(observed), _count_outputs(acted))
    if policy.genotype_length > GENES:
        warnings.warn(
            f"observations of {count_observation_numbers(observed):,} numbers make a policy of "
            f"{policy.genotype_length:,} genes: shrink images in make_env, by gymnasium.wrappers."
            "ResizeObservation and GrayscaleObservation, or give a policy of your own",
            stacklevel=4,
        )
    return policy


def make_actor(
    space: spaces.Space, policy: FeedForward | Policy, inputs: int, genotypes: np.ndarray
) -> Callable[[np.ndarray, Any], Any]:
    """From rows of observations, and which of them live, to actions."""
    if not isinstance(policy, FeedForward):
        act = policy.actor(genotypes)
        return lambda rows, living: act(rows)
    make_or_check_policy(policy, inputs, _count_outputs(space))
    layers, squashed = policy.layers(genotypes), policy.squash_output
    choose = _make_chooser(space, squashed)

    def choose_actions(rows: Float[np.ndarray, "n o"], living: Any) -> np.ndarray:
        outputs = act_on_host(layers, rows, squashed)
        if np.any(np.isnan(outputs), axis=1)[living].any():  # of which all would act alike
            raise ValueError(
                "an observation has NaN or infinite numbers, of which a FeedForward makes no "
                "action: let make_env replace them, as by gymnasium.wrappers.TransformObservation, "
                "or give a policy of your own"
            )
        return choose(outputs)

    return choose_actions


def _make_chooser(space: Any, squashed: bool) -> Callable[[Float[np.ndarray, "n a"]], np.ndarray]:
    """From a network's outputs to actions."""
    if isinstance(space, spaces.Discrete):
        return lambda outputs: space.start + outputs.argmax(axis=1)
    if isinstance(space, spaces.MultiBinary):
        return lambda outputs: (outputs > 0).astype(space.dtype).reshape(-1, *space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        ends = np.cumsum(space.nvec.ravel())[:-1]

        def largest(outputs: Float[np.ndarray, "n a"]) -> np.ndarray:
            indices = [group.argmax(axis=1) for group in np.split(outputs, ends, axis=1)]
            rows = np.stack(indices, axis=1).reshape(-1, *space.shape) + space.start
            return rows.astype(space.dtype)

        return largest
    low, high = space.low.ravel().astype(float), space.high.ravel().astype(float)
    discrete = not np.issubdtype(space.dtype, np.floating)  # bools too
    from_below, from_above = low > -UNBOUNDED, high < UNBOUNDED  # whether there is a bound
    if discrete and space.dtype.itemsize >= 4:  # the extreme numbers of the type say that none is
        wide = np.iinfo(space.dtype)
        from_below, from_above = (low > wide.min) | (wide.min == 0), high < wide.max
    margin = discrete / 2  # so that each integer has an equal share
    least = np.where(from_below, low, np.where(from_above, high - 2, -1.0)) - margin
    half = np.where(from_below & from_above, high - low, 2.0) / 2 + margin
    middle = least + half

    def scaled(outputs: Float[np.ndarray, "n a"]) -> np.ndarray:
        actions = middle + half * outputs if squashed else outputs
        actions = np.rint(actions) if discrete else actions
        return np.clip(actions, low, high).astype(space.dtype).reshape(-1, *space.shape)

    return scaled
