"""Observations, actions and rewards as flat arrays of numbers."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from jaxtyping import Float

from brns.tasks.behaviors import UNBOUNDED, Bounds


def as_numbers_of_environments(name: str, values: Any, n: int) -> Float[np.ndarray, " n"]:
    """What n environments gave, such as rewards, which may be arrays of one number."""
    with contextlib.suppress(TypeError, ValueError):
        return as_real_numbers(name, values).astype(float).reshape(n)
    raise ValueError(f"a {name} must be one number for each environment; got {values!r:.80}")


def as_real_numbers(name: str, values: Any) -> np.ndarray:
    """A copy of what a user's function gave."""
    with contextlib.suppress(ValueError):  # rows of several lengths
        array = np.array(values)
        if array.dtype.kind in "biuf":
            return array
    raise ValueError(f"{name} must give an array of real numbers; got {values!r:.80}")


def count_observation_numbers(space: spaces.Space) -> int:
    """How many numbers a flattened observation has."""
    if (width := _count_flat_numbers(space)) is not None:
        return width
    parts = dict(space.items()) if isinstance(space, spaces.Dict) else {}
    numeric = [name for name, part in parts.items() if _count_flat_numbers(part) is not None]
    filter_ = f"FilterObservation(env, {numeric})"
    wrapper = filter_ if numeric else "TransformObservation(env, function, box)"
    raise ValueError(
        f"observations must be a fixed number of numbers; got {space}. Let make_env leave the "
        f"others out by a wrapper, such as gymnasium.wrappers.{wrapper}"
    )


def _count_flat_numbers(space: spaces.Space) -> int | None:
    with contextlib.suppress(NotImplementedError, ValueError):
        return spaces.flatdim(space)
    return None  # of a space of a user's own, too


def make_flattener(space: spaces.Space, n: int = 1) -> Callable[[Any], Float[np.ndarray, " o"]]:
    """A function that copies an observation, of a Box n at once, as floats, which do not wrap."""
    plain, size = isinstance(space, spaces.Box), n * count_observation_numbers(space)
    dtype = np.result_type(space.dtype, np.float32) if plain else float

    def flatten_to_one_dimension(observation: Any) -> Float[np.ndarray, " o"]:
        try:
            values = observation if plain else spaces.flatten(space, observation)
            numbers = None if values is None else np.array(values, dtype).reshape(-1)
        except (TypeError, ValueError, LookupError):
            numbers = None
        if numbers is None or numbers.size != size:
            raise ValueError(
                f"an observation must be one of observation_space, {space}; got {observation!r:.80}"
            )
        return numbers

    return flatten_to_one_dimension


def flatten_actions(space: spaces.Space, actions: list[Any]) -> Float[np.ndarray, "t a"]:
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n))[np.asarray(actions, int).ravel() - int(space.start)]
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return np.array(actions, float).reshape(len(actions), -1)
    return np.array([spaces.flatten(space, action) for action in actions], float)


def get_flat_bounds(space: spaces.Space) -> Bounds:
    """The bounds of the flattened values, infinite where there are none."""
    count_observation_numbers(space)
    flat: Any = spaces.flatten_space(space)
    low, high = flat.low.astype(float).ravel(), flat.high.astype(float).ravel()
    low = np.where(low > -UNBOUNDED, low, -np.inf)
    return Bounds(low, np.where(high < UNBOUNDED, high, np.inf))
