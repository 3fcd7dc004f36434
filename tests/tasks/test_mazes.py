"""Mazes of other maps and sizes; mazes on disk and in other processes; and what makes no maze."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from policies import genotypes

from brns.settings import build, describe
from brns.tasks.maze.rules import DeceptiveMaze


def test_a_maze_of_another_size_has_its_own_world():
    maze = DeceptiveMaze(steps=50, bitmap=("." * 60,) * 60, start=(90.0, 90.0, 1.0), goal=(20.0, 20.0))
    np.testing.assert_array_equal(maze.behavior_space.high, (180, 180))
    last = maze.evaluate(genotypes(40), jax.random.key(0)).descriptor
    assert ((last > 9) & (last < 171)).all()  # the world's border is wall


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 7, "start": (70.0, 450.0, 0.5), "goal": (80.0, 60.0), "goal_radius": 30.0},
        {"bitmap": np.eye(40, k=20, dtype=bool), "start": (30.0, 90.0, 0.0)},
    ],
)
def test_a_maze_written_down_or_pickled_is_small_and_the_same_maze(settings):
    """Its tables alone are above 1 MB at 40 x 40 pixels and 41 MB at 200 x 200."""
    maze = DeceptiveMaze(**settings)
    pickled = pickle.dumps(maze)
    assert len(pickled) < 3000
    for again in (build(describe(maze)), pickle.loads(pickled)):
        assert describe(again) == describe(maze)
        np.testing.assert_array_equal(again.obstacles, maze.obstacles)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps >= 1"),
        ({"start": (174.0, 300.0, 0.0)}, "touches a wall"),
        ({"start": (-30.0, 300.0, 0.0)}, "touches a wall"),
        ({"start": (60.0, 450.0, 45.0)}, "radians"),
        ({"bitmap": np.zeros((100, 90), bool)}, "100 rows"),
        ({"bitmap": ("..", ".x")}, "'#' for wall"),
    ],
)
def test_settings_that_make_no_maze(settings, message):
    with pytest.raises(ValueError, match=message):
        DeceptiveMaze(**settings)


def test_a_genotype_that_is_not_finite_harms_no_other():
    maze, some = DeceptiveMaze(steps=50), genotypes(6)
    places = maze.evaluate(some, jax.random.key(0)).descriptor
    spoilt = maze.evaluate(some.at[3].set(jnp.nan), jax.random.key(0)).descriptor
    others = np.array([0, 1, 2, 4, 5])
    np.testing.assert_array_equal(spoilt[others], places[others])
