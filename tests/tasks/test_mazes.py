"""Mazes of other maps, walls and sizes; mazes on disk and in other processes; and what makes no maze."""

import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from policies import genotypes

from brns.settings import build, describe
from brns.tasks.maze.rules import DeceptiveMaze


def test_walls_are_capsules_of_pixels():
    obstacles = DeceptiveMaze(walls=((90.0, 150.0, 120.0, 150.0, 6.0),)).obstacles
    # From pixel (30, 50) to (40, 50), radius 2 pixels: the box of 11 x 5 and round caps of (0, 2, 1, 1, 0) and more.
    assert obstacles[50].nonzero()[0].tolist() == list(range(28, 43))
    assert obstacles[51].nonzero()[0].tolist() == list(range(29, 42))
    assert obstacles[52].nonzero()[0].tolist() == list(range(30, 41))
    assert obstacles.sum() == 15 + 2 * 13 + 2 * 11


def test_the_recorded_capsules_are_nearly_the_hard_maze():
    walls = (
        (10.79, 133.42, 166.07, 145.23, 9.15),
        (172.42, 145.28, 277.71, 113.42, 8.55),
        (263.30, 117.53, 389.67, 79.49, 7.80),
        (174.24, 145.62, 173.93, 451.16, 7.79),
        (11.00, 223.96, 101.44, 340.95, 7.90),
        (179.83, 307.61, 455.86, 461.91, 6.85),
        (262.30, 258.81, 593.49, 431.74, 6.77),
        (220.64, 589.61, 318.59, 476.19, 7.33),
    )
    rebuilt = DeceptiveMaze(walls=walls).obstacles
    inside = slice(3, 197)
    assert (
        rebuilt[inside, inside] != DeceptiveMaze().obstacles[inside, inside]
    ).sum() == 19  # as the geometry's authors count


def test_a_maze_of_another_size_has_its_own_world():
    maze = DeceptiveMaze(steps=50, bitmap=("." * 60,) * 60, start=(90.0, 90.0, 1.0), goal=(20.0, 20.0))
    np.testing.assert_array_equal(maze.behavior_space.high, (180, 180))
    last = maze.evaluate(genotypes(40), jax.random.key(0)).descriptor
    assert ((last > 9) & (last < 171)).all()  # the world's border is wall


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 7, "start": (70.0, 450.0, 0.5), "goal": (80.0, 60.0), "goal_radius": 30.0},
        {"walls": ((0.0, 300.0, 300.0, 300.0, 12.0),)},
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
        ({"steps": 0}, "steps=0"),
        ({"start": (174.0, 300.0, 0.0)}, "touches a wall"),
        ({"start": (-30.0, 300.0, 0.0)}, "touches a wall"),
        ({"start": (60.0, 450.0, 45.0)}, "radians"),
        ({"goal": (math.nan, 0.0)}, "finite goal"),
        ({"bitmap": np.zeros((100, 90), bool)}, "100 rows"),
        ({"bitmap": ("..", ".x")}, "'#' for wall"),
        ({"walls": ((0.0, 0.0, 9.0, 9.0, -1.0),)}, "radius > 0"),
        ({"walls": (), "bitmap": ("." * 50,) * 50}, "got both"),
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
