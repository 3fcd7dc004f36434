"""Ready functions for a task's `describe`, for episodes of Gymnasium and of JAX alike."""

from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import MinLen
from jaxtyping import Array, Float
from pydantic import PositiveInt

from brns.checks.parts import check_setting_types

UNBOUNDED = 1e9
"""a bound beyond it says that there is none, as NumPy's finfo.max and iinfo.max do"""


class Bounds(NamedTuple):
    """The lower and upper bound of each number; infinite if unknown."""

    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]


class Waypoints(eqx.Module):
    """A behavior: observations, such as the agent's position, at k equally spaced steps of an
    episode.

    The last one is the end.

    The k-th of K is after step `round(k t / K)` of t. One is the last observation.
    """

    moments: PositiveInt = 1
    """number of times; each adds the selected numbers to the behavior"""
    select: tuple[int, ...] | None = None
    """which numbers of a flattened observation, such as `(0, 1)`; by default all"""

    __check_init__ = check_setting_types

    def __call__(self, episode: Any) -> Float[Array | np.ndarray, " d"]:
        """The selected numbers of an episode, one moment after another."""
        xp, observations = _get_namespace_and_array(episode.observations)
        shares = np.arange(1, self.moments + 1) / self.moments
        times = xp.rint(shares * episode.length).astype(int)
        return _check_and_select_columns(observations[times], self.select).ravel()

    def bounds(self, observations: Bounds, actions: Bounds) -> Bounds:
        """Where the behaviors lie, so that a task needs no `behavior_space`.

        Args:
            observations: the bounds of a flattened observation.
            actions: the bounds of a flattened action.

        Returns:
            Those of the observations, for each moment; infinite where that is not known.
        """
        low, high = (_check_and_select_columns(bound, self.select) for bound in observations)
        return Bounds(np.tile(low, self.moments), np.tile(high, self.moments))


class Statistic(eqx.Module):
    """A behavior: a statistic, such as the mean, of each observation or action over an episode.

    Observations are those after a step. The mean of a foot's contact is the share of time on the
    ground; the mean of a discrete action, its frequency.
    """

    statistic: Literal["mean", "std", "min", "max"] = "mean"
    """of each number over time"""
    of: Literal["observations", "actions"] = "observations"
    """of a discrete action, a one for what was chosen and zeros for the others"""
    select: tuple[int, ...] | None = None
    """which numbers of a flattened observation or action, such as `(0, 1)`; by default all"""

    __check_init__ = check_setting_types

    def __call__(self, episode: Any) -> Float[Array | np.ndarray, " d"]:
        """The statistic of each selected number in an episode."""
        xp, series = _get_namespace_and_array(getattr(episode, self.of))
        if xp is np:
            series = series.astype(float)
        series = series[1:] if self.of == "observations" else series
        series = _check_and_select_columns(series, self.select)
        count = xp.maximum(episode.length, 1)
        within = (np.arange(len(series)) < count)[:, None]
        if self.statistic == "min":
            return xp.where(within, series, np.inf).min(axis=0)
        if self.statistic == "max":
            return xp.where(within, series, -np.inf).max(axis=0)
        mean = xp.where(within, series, 0).sum(axis=0) / count
        if self.statistic == "mean":
            return mean
        return xp.sqrt((xp.where(within, series - mean, 0) ** 2).sum(axis=0) / count)

    def bounds(self, observations: Bounds, actions: Bounds) -> Bounds:
        """As `Waypoints.bounds`; of a standard deviation 0 and half of the numbers' range."""
        of = observations if self.of == "observations" else actions
        low, high = (_check_and_select_columns(bound, self.select) for bound in of)
        if self.statistic == "std":
            low, high = np.zeros_like(low), (high - low) / 2
        return Bounds(low, high)


class Joined(eqx.Module):
    """Several behaviors concatenated to one: `Joined((Waypoints(), Statistic(of="actions")))`."""

    parts: Annotated[tuple[Callable[[Any], Any], ...], MinLen(1)]
    """functions of an episode"""

    __check_init__ = check_setting_types

    def __call__(self, episode: Any) -> Float[Array | np.ndarray, " d"]:
        """What the parts give of an episode, end to end."""
        xp, _ = _get_namespace_and_array(episode.rewards)
        return xp.concatenate([xp.ravel(part(episode)) for part in self.parts])

    def bounds(self, observations: Bounds, actions: Bounds) -> Bounds:
        """Those of the parts, end to end, unknown where one is; see `Waypoints.bounds`."""
        unknown = Bounds(np.array([-np.inf]), np.array([np.inf]))
        functions = [getattr(part, "bounds", lambda *_: unknown) for part in self.parts]
        each = [bounds(observations, actions) for bounds in functions]
        return Bounds(*map(np.concatenate, zip(*each, strict=True)))


def _check_and_select_columns(rows: Any, select: tuple[int, ...] | None) -> Any:
    if select is None:
        return rows
    if not all(0 <= i < rows.shape[-1] for i in select):
        raise ValueError(
            f"select must be numbers from 0 to {rows.shape[-1] - 1}, of those that there are; got "
            f"{select}"
        )
    return rows[..., list(select)]


def _get_namespace_and_array(series: Any) -> tuple[ModuleType | Any, Any]:
    """NumPy or JAX, and floats `(times, d)`, also of several arrays, such as those of a dict."""
    if isinstance(series, np.ndarray):
        return np, series
    flat = [jnp.reshape(leaf, (len(leaf), -1)) for leaf in jax.tree.leaves(series)]
    return jnp, jnp.concatenate(flat, axis=1).astype(float)
