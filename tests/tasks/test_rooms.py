"""Mazes of rooms, by flood fill; and the maze whose behavior is the path."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.ndimage import label

from brns import DeceptiveMaze, MazePath, RoomsMaze, check_task
from brns.settings import build, describe
from brns.tasks.maze.map import PIXEL
from brns.tasks.maze.rooms import rooms
from brns.tasks.maze.rules import POLICY

KEY = jax.random.key(0)
HALL = tuple("#" * 40 if row in (0, 39) else "#" + "." * 38 + "#" for row in range(40))


def hall(steps: int) -> DeceptiveMaze:
    """A small maze, which is quickly made: a hall of 40 x 40 pixels."""
    return DeceptiveMaze(steps=steps, bitmap=HALL, start=(60.0, 60.0, 0.0), goal=(90.0, 90.0))


@pytest.mark.parametrize("side", [2, 7])
def test_a_robot_of_its_size_can_go_from_the_start_into_every_room_and_to_the_goal(side):
    maze = RoomsMaze(seed=side, rooms=side)
    middle = 300 / side
    assert maze.start[:2] == pytest.approx((middle, 600 - middle))
    assert maze.goal == pytest.approx((600 - middle, middle))
    wall = maze.obstacles
    assert wall[[0, -1]].all()
    assert wall[:, [0, -1]].all()
    pieces, number = label(np.asarray(maze.tables.touched) == 0)
    assert number == 1
    middles = ((np.arange(side) * 2 + 1) * middle / PIXEL).astype(int)
    assert (pieces[np.ix_(middles, middles)] == 1).all()


def test_it_keeps_the_contract_and_is_rebuilt_from_its_seed():
    maze = RoomsMaze(steps=20, seed=5)
    check_task(maze, n=4)
    again = build(describe(maze))
    assert isinstance(again, RoomsMaze)
    assert_array_equal(again.obstacles, rooms(5, 4))
    assert (rooms(5, 4) != rooms(4, 4)).any()
    with pytest.raises(ValueError, match="its seed"):
        RoomsMaze(bitmap=np.zeros((50, 50), bool))
    with pytest.raises(ValueError, match="2 to 8"):
        RoomsMaze(rooms=9)


def test_the_path_is_the_mazes_trajectory_and_ends_where_the_maze_says():
    maze = hall(60)
    genotypes = jax.random.uniform(KEY, (8, POLICY.genotype_length), minval=-1, maxval=1)
    found = MazePath(maze, positions=3).evaluate(genotypes, KEY)
    walked = maze.trajectory(genotypes, every=20)[:, 1:, :2]
    assert_array_equal(found.descriptor, walked.reshape(8, 6))
    assert_array_equal(found.descriptor[:, -2:], maze.evaluate(genotypes, KEY).descriptor)


def test_the_path_keeps_the_contract_and_refuses_positions_between_steps():
    task = MazePath(hall(40), positions=4)
    check_task(task)
    assert describe(build(describe(task))) == describe(task)
    with pytest.raises(ValueError, match="must divide the maze's 40 steps"):
        MazePath(hall(40), positions=7)
