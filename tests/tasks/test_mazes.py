"""Mazes of other maps and sizes, of rooms, and with the path as behavior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.ndimage import label

from brns import DeceptiveMaze, RoomsMaze
from brns.tasks.maze.map import PIXEL, generate_rooms_map
from brns.tasks.maze.rules import POLICY

KEY = jax.random.key(0)
SPACE = POLICY.genotype_space


@pytest.mark.slow
def test_a_maze_of_another_size_has_its_own_border():
    maze = DeceptiveMaze(steps=50, bitmap=("." * 60,) * 60, start=(90.0, 90.0, 1.0))
    some = SPACE.uniform(KEY, 40)
    assert_array_equal(maze.behavior_space.high, (180, 180))
    last = maze.evaluate(some, KEY).descriptor
    assert ((last > 9) & (last < 171)).all()  # the maze's border is wall
    spoilt = maze.evaluate(some.at[3].set(jnp.nan), KEY).descriptor
    others = np.arange(40) != 3
    assert_array_equal(spoilt[others], last[others])


@pytest.mark.parametrize(("side", "doors"), [(2, 3), (7, 52)])  # a tree's are 3 and 48
def test_a_robot_of_its_size_can_go_into_every_room(side, doors):
    maze = RoomsMaze(seed=side, rooms=side)
    middle = 300 / side
    scene = maze.scene()
    assert scene.start == pytest.approx((middle, 600 - middle))
    assert scene.areas[0][:2] == pytest.approx((600 - middle, middle))
    assert maze.wall_map[[0, -1]].all()
    assert maze.wall_map[:, [0, -1]].all()
    pieces, number = label(np.asarray(maze.tables.touched) == 0)
    assert number == 1
    middles = ((np.arange(side) * 2 + 1) * middle / PIXEL).astype(int)
    assert (pieces[np.ix_(middles, middles)] == 1).all()
    assert (maze.wall_map != generate_rooms_map(1, side)).any()
    rows, columns = (maze.wall_map.mean(axis=axis) > 0.5 for axis in (1, 0))
    assert maze.wall_map[np.ix_(rows, columns)].all()
    pieces, _ = label((rows[:, None] | columns) & ~maze.wall_map)
    assert np.bincount(pieces.ravel())[1:].tolist() == [3 * 14] * doors


def test_a_door_may_be_anywhere_in_its_wall():
    """Of many maps nothing is always wall but the border and where walls meet."""
    always = np.all([generate_rooms_map(seed, 7) for seed in range(300)], axis=0)
    wall = np.add.outer([0, 28, 56, 84, 113, 141, 169, 197], range(3)).ravel()
    expected = np.zeros((200, 200), bool)
    expected[np.ix_(wall, wall)] = True
    expected[wall[[0, 1, 2, -3, -2, -1]]] = expected[:, wall[[0, 1, 2, -3, -2, -1]]] = True
    assert_array_equal(always, expected)


def test_the_path_is_the_mazes_trajectory():
    hall = np.ones((40, 40), bool)
    hall[1:-1, 1:-1] = False
    task = DeceptiveMaze(
        steps=60, bitmap=hall, start=(60.0, 60.0, 0.0), goal=(90.0, 90.0), positions=3
    )
    some = SPACE.uniform(KEY, 8)
    found = task.evaluate(some, KEY)
    assert_array_equal(found.descriptor, task.trajectory(some, every=20)[:, 1:, :2].reshape(8, 6))
    assert_array_equal(found.solved, task.solved(found.descriptor[:, -2:]))
