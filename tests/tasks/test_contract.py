"""What all tasks keep: the contract, their description, and what they refuse."""

import pickle
from functools import partial

import numpy as np
import pytest

import brns
from brns import AntMaze, DeceptiveMaze, LinearProjection, PlanarArm, RoomsMaze, Sharded
from brns.settings.description import part_from_json, part_to_json
from brns.tasks.chunked import Chunked

DIAGONAL = np.eye(40, k=20, dtype=bool)
TASKS = [
    LinearProjection,
    partial(PlanarArm, 3, "picture"),
    partial(brns.MountainCar, steps=20),
    partial(DeceptiveMaze, 7, start=(70.0, 450.0, 0.5), goal=(80.0, 60.0), goal_radius=30.0),
    partial(DeceptiveMaze, 6, bitmap=DIAGONAL, start=(30.0, 90.0, 0.0), positions=3),
    partial(AntMaze, "huge", steps=48, integrator="RK4", stuck_distance=0.5),
]


@pytest.mark.parametrize("make", TASKS)
def test_tasks_keep_the_contract(make):
    brns.check_task(make(), sizes=())


@pytest.mark.parametrize("make", [*TASKS, partial(RoomsMaze, steps=7, seed=2, rooms=2)])
def test_tasks_are_rebuilt_from_little(make):
    """The tables of a maze alone are above 1 MB at 40 x 40 pixels and 41 MB at 200 x 200."""
    task = make()
    pickled = pickle.dumps(task)
    assert len(pickled) < 3000
    for again in (part_from_json(part_to_json(task)), pickle.loads(pickled)):
        assert type(again) is type(task)
        assert part_to_json(again) == part_to_json(task)
        mine, its = (getattr(one, "wall_map", None) for one in (task, again))
        np.testing.assert_array_equal(its, mine)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PlanarArm(2, "tip", (1.0,)), "as many numbers above 0 as joints, 2"),
        (lambda: LinearProjection(7), "a divisor of genes=7; got 2"),
        (lambda: DeceptiveMaze(start=(174.0, 300.0, 0.0)), "touches a wall"),
        (lambda: DeceptiveMaze(start=(-30.0, 300.0, 0.0)), "touches a wall"),
        (lambda: DeceptiveMaze(start=(60.0, 450.0, 45.0)), "radians"),
        (lambda: DeceptiveMaze(bitmap=np.zeros((100, 90), bool)), "k rows"),
        (lambda: RoomsMaze(bitmap=np.zeros((50, 50), bool)), "its seed"),
        (lambda: PlanarArm(0), "greater than 0; got 0"),
        (lambda: AntMaze(stuck_distance=-1.0), "greater than or equal to 0; got -1.0"),
        (lambda: AntMaze(steps=0), "at least 16, the positions"),
        (lambda: DeceptiveMaze(steps=60, positions=7), "a divisor of the maze's 60 steps"),
        (lambda: Sharded(DeceptiveMaze(), devices=1000), "devices must be 1 to"),
        (lambda: Sharded(Chunked(DeceptiveMaze())), "Processes"),
        (lambda: Chunked(PlanarArm), r"write PlanarArm\(...\); got the class"),
    ],
)
def test_what_makes_no_task_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
