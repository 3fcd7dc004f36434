"""What happened in an episode, as it is written down."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from jaxtyping import Float

from brns.tasks.gymnasium.numbers import flatten_actions


class Episode(NamedTuple):
    """What happened in t steps of an environment."""

    observations: Float[np.ndarray, "times o"]
    """what `watch` gave, by default the observations, flattened; the first is that of the reset"""
    rewards: Float[np.ndarray, " t"]
    actions: Float[np.ndarray, "t a"]
    """flattened; of a discrete action, a one for what was chosen and zeros for the others"""
    infos: list[dict[str, Any]]
    """the environment's own; the first is that of the reset"""
    terminated: bool
    """whether the environment ended the episode, not a limit of time"""

    @property
    def length(self) -> int:
        """Steps until the end."""
        return len(self.rewards)


@dataclasses.dataclass
class Diary:
    """What is written down of an episode."""

    observations: list[np.ndarray] = dataclasses.field(default_factory=list)
    rewards: list[float] = dataclasses.field(default_factory=list)
    actions: list[Any] = dataclasses.field(default_factory=list)
    infos: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    terminated: bool = False

    def add_step(self, observation: np.ndarray, info: dict[str, Any]) -> None:
        self.observations.append(observation)
        self.infos.append(copy_info(info))

    def make_episode(self, acted: spaces.Space) -> Episode:
        if len({seen.size for seen in self.observations}) > 1:
            sizes = [seen.size for seen in self.observations[:5]]
            raise ValueError(f"watch must give as many numbers after each step; got {sizes}")
        return Episode(
            np.concatenate(self.observations).reshape(len(self.observations), -1),
            np.array(self.rewards, float),
            flatten_actions(acted, self.actions),
            self.infos,
            self.terminated,
        )


def copy_info(info: Any) -> Any:
    """A copy of arrays, dicts, lists and tuples, which an environment may go on with."""
    if isinstance(info, np.ndarray):
        return info.copy()
    if isinstance(info, dict):
        return {key: copy_info(value) for key, value in info.items()}
    if type(info) in (list, tuple):
        return type(info)(map(copy_info, info))
    return info


def select_info(i: int, n: int, infos: dict[Any, Any]) -> dict[Any, Any]:
    """Environment i's part of a vector environment's infos.

    `_key` says who has `key`. What is not one value for each of the n environments,
    such as frames a second, is everyone's.
    """
    base = {}
    for key, value in infos.items():
        has: Any = infos.get(f"_{key}")
        if str(key).startswith("_") or (_has_value_for_each_environment(has, n) and not has[i]):
            continue
        if isinstance(value, dict):
            base[key] = select_info(i, n, value)
        else:
            base[key] = value[i] if _has_value_for_each_environment(value, n) else value
    return base


def _has_value_for_each_environment(value: Any, n: int) -> bool:
    rows = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
    return rows and len(value) == n
