"""Ready behaviors, by hand, for episodes of Gymnasium and of JAX."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from brns import FeedForward, Joined, Statistic, Waypoints, check_task
from brns.tasks.behaviors import Bounds
from brns.tasks.functional import Episode

# Four steps, then the end; in JAX the series goes on with the last again and zeros.
PLACES = np.array([[0.0, 9], [1, 8], [3, 7], [4, 7], [8, 2]])
ACTIONS = np.array([[1.0, 0], [0, 1], [1, 0], [1, 0]])


class Lived(NamedTuple):
    observations: np.ndarray
    rewards: np.ndarray
    actions: np.ndarray
    length: int


def lived(length=4):
    return Lived(PLACES[: length + 1], np.zeros(length), ACTIONS[:length], length)


def scanned(length=4):
    """The same of six steps, its places as a dict."""
    times = np.minimum(np.arange(7), length)
    x, y = jnp.asarray(PLACES, jnp.float32)[times].T
    actions = jnp.zeros((6, 2)).at[:length].set(ACTIONS[:length])
    done = jnp.array(True)
    return Episode({"x": x, "y": y[:, None]}, jnp.zeros(6), actions, jnp.array(length), done)


CASES = [
    (Waypoints(), 4, [8, 2]),
    (Waypoints(2), 4, [3, 7, 8, 2]),
    (Waypoints(2, select=(0,)), 1, [0, 1]),
    (Waypoints(3, select=(0,)), 4, [1, 4, 8]),
    (Statistic("mean"), 4, [4, 6]),
    (Statistic("min"), 2, [1, 7]),
    (Statistic("max"), 3, [4, 8]),
    (Statistic("std", select=(1,)), 4, [np.sqrt((4 + 1 + 1 + 16) / 4)]),
    (Statistic("mean", of="actions"), 4, [0.75, 0.25]),
    (Statistic("max", of="actions", select=(1,)), 1, [0]),
    (Joined((Waypoints(select=(0,)), Statistic("mean", "actions"))), 2, [3, 0.5, 0.5]),
]


@pytest.mark.parametrize(("describe", "length", "expected"), CASES)
def test_behaviors_by_hand(describe, length, expected):
    assert describe(lived(length)) == pytest.approx(expected)
    assert jax.jit(describe)(scanned(length)) == pytest.approx(expected)


def test_where_behaviors_lie():
    observations = Bounds(np.array([0.0, -4]), np.array([8.0, np.inf]))
    actions = Bounds(np.zeros(2), np.ones(2))

    def bounds(describe):
        return [bound.tolist() for bound in describe.bounds(observations, actions)]

    assert bounds(Waypoints(2, select=(0,))) == [[0, 0], [8, 8]]
    assert bounds(Statistic("max", select=(1,))) == [[-4], [np.inf]]
    assert bounds(Statistic("std", select=(0,))) == [[0], [4]]
    assert bounds(Statistic("std", of="actions")) == [[0, 0], [0.5, 0.5]]
    both = Joined((Waypoints(select=(0,)), Statistic(of="actions")))
    assert bounds(both) == [[0, 0, 0], [8, 1, 1]]
    assert bounds(Joined((lambda episode: 0,))) == [[-np.inf], [np.inf]]
    with pytest.raises(ValueError, match=r"from 0 to 1, .*got \(0, 2\)"):
        Waypoints(select=(0, 2)).bounds(observations, actions)
    with pytest.raises(ValueError, match=r"moments: .* greater than 0; got 0"):
        Waypoints(0)


def test_they_serve_gymnasiums_environments():
    pytest.importorskip("gymnasium")
    from brns import GymnasiumTask

    describe = Joined((Waypoints(3, select=(0,)), Statistic("std"), Statistic("mean", "actions")))
    task = GymnasiumTask("Pendulum-v1", FeedForward((3, 1), True), describe, steps=4)
    assert task.behavior_space.dimension == len(describe(task.episodes(np.zeros((1, 4)))[0]))
    check_task(task, n=2, sizes=())
