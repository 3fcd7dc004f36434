"""The deceptive maze held against recordings of the original, and its rules told literally.

`reference.npz` holds rollouts and 10,000 single steps of libfastsim. Single steps are the sharp
test; over 2000 steps chaos multiplies differences in the last bit, and the original's own two
implementations of a rollout agree on 90 % of the final positions within 1 unit."""

import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import binary_erosion

from brns.tasks.maze import rules as module
from brns.tasks.maze.rules import POLICY, DeceptiveMaze

pytestmark = pytest.mark.usefixtures("users_compiler")

HERE = Path(__file__).parent
RECORDED = np.load(HERE / "reference.npz")
START = np.array([60, 450, math.pi / 4], np.float32)


@pytest.fixture(scope="module")
def literal():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE.parents[1] / "benchmarks")
        import maze_reference

        yield maze_reference


@pytest.fixture(scope="module")
def hard() -> DeceptiveMaze:
    return DeceptiveMaze()


@pytest.fixture(scope="module")
def path(hard):
    """The paths of the recorded policies."""
    return np.asarray(hard.trajectory(jnp.asarray(RECORDED["weights"])))


def genotypes(n):
    return POLICY.genotype_space.uniform(jax.random.key(0), n)


def away(a, b):
    """Distance between poses; headings that differ by a whole turn are equal."""
    difference = np.abs(np.asarray(a, float) - np.asarray(b, float))
    difference[:, 2] = np.minimum(difference[:, 2], 2 * math.pi - difference[:, 2])
    return difference.max(axis=1)


def free_poses(maze: DeceptiveMaze, n: int):
    """Random poses of a robot that touches nothing, half of them right beside a wall."""
    random, free = np.random.default_rng(0), np.asarray(maze.tables.touched) == 0
    inner = binary_erosion(free)
    anywhere, beside = np.flatnonzero(free), np.flatnonzero(free & ~inner)
    at = np.concatenate([random.choice(anywhere, n - n // 2), random.choice(beside, n // 2)])
    j, i = np.divmod(at, len(free))
    position = np.stack([i, j], axis=1) * 3 + random.uniform(-1.49, 1.49, (n, 2))
    return np.column_stack([position, random.uniform(-math.pi, math.pi, n)]).astype(np.float32)


def test_the_hard_maze_has_the_original_s_pixels_and_goal(hard):
    wall_map = hard.wall_map
    assert wall_map.shape == (200, 200)
    assert wall_map.sum() == 5208
    # The recorded geometry's rows: 25 holds the tip of the roof, 46 the left ledge and the roof,
    # 117 three walls.
    assert np.flatnonzero(wall_map[25, 3:197]).tolist() == list(range(126 - 3, 132 - 3 + 1))
    assert np.flatnonzero(wall_map[46, 3:197]).tolist() == list(range(76 - 3))
    runs = [*range(56, 61), *range(82, 91), *range(142, 152)]
    assert np.flatnonzero(wall_map[117, 3:197]).tolist() == [i - 3 for i in runs]
    assert (np.asarray(hard.tables.touched) == 0).sum() == 29353
    places = jnp.array([[60.0, 102.0], [60.0, 102.1], [90.0, 89.0]])
    assert hard.solved(places).tolist() == [True, False, True]


def test_single_steps_are_those_of_the_original(hard):
    before = [jnp.asarray(RECORDED[f"transition_{name}"]) for name in ("pose", "action")]
    pose, observation = hard.step(*before)
    assert (away(pose, RECORDED["transition_next_pose"]) < 1e-3).mean() >= 0.999
    assert (np.abs(observation - RECORDED["transition_sensors"]) < 1e-3).mean() >= 0.9995


def test_the_first_steps_of_an_episode_are_those_of_the_original(hard):
    """From the recorded poses, not from our own:
    thirty steps in a closed loop are enough to feel the last bit."""
    observation, action, pose = RECORDED["observation"], RECORDED["action"], RECORDED["pose"]
    assert_array_equal(pose[:, 0], np.broadcast_to(START, (100, 3)))
    # The first episode alone began with nothing seen:
    # the original passed the last readings on to the next robot.
    assert_array_equal(observation[0, 0], np.array(module.NOTHING_SEEN, np.float32))
    for t in range(30):
        acted = POLICY(jnp.asarray(RECORDED["weights"]), jnp.asarray(observation[:, t]))
        assert_allclose(np.clip(acted, -4, 4), action[:, t], atol=1e-4)


def test_final_positions_are_those_of_the_original(path):
    last = path[:, -1, :2]
    distance = np.hypot(*(last - RECORDED["final"][:, :2]).T)
    same_cell = (last // 100 == RECORDED["final"][:, :2] // 100).all(axis=1)
    # 0.91 was measured; the original's own two implementations agree on 0.90.
    assert (distance < 1).mean() >= 0.80
    assert same_cell.mean() >= 0.97


def scattered() -> DeceptiveMaze:
    """No border: what lies outside is wall. Single pixels try every corner of the lasers' walk."""
    bitmap = np.random.default_rng(3).random((80, 80)) < 0.02
    bitmap[35:46, 35:46] = False
    return DeceptiveMaze(bitmap=bitmap, start=(120.0, 120.0, 0.0), goal=(30.0, 30.0))


@pytest.mark.parametrize("make", [DeceptiveMaze, scattered])
def test_agrees_with_the_literal_rules_step_by_step(make, literal):
    maze = make()
    poses = free_poses(maze, 10_000)
    actions = np.random.default_rng(0).uniform(-5, 5, (len(poses), 2)).astype(np.float32)
    next_poses, observations = literal.steps(maze.wall_map, poses, actions)
    ours, seen = maze.step(jnp.asarray(poses), jnp.asarray(actions))
    assert (observations[:, 3:].sum(axis=0) > 200).all()  # both bumpers are well tried
    assert np.hypot(*(np.asarray(ours) - poses)[:, :2].T).max() <= 4 + 1e-3  # the fastest wheel
    assert (away(ours, next_poses) < 1e-3).mean() >= 0.999
    assert (np.abs(seen - observations) < 1e-3).all(axis=1).mean() >= 0.998


def test_cosine_and_sine_are_those_of_numpy_up_to_rounding():
    angles = np.linspace(-math.pi, math.pi, 10_001, dtype=np.float32)
    exact = np.cos(angles.astype(float)), np.sin(angles.astype(float))
    assert_allclose(module._cos_sin(jnp.asarray(angles)), exact, atol=8e-7)


def one_step(maze: DeceptiveMaze, pose, action):
    pose, observation = maze.step(jnp.array([pose], jnp.float32), jnp.array([action], jnp.float32))
    return np.asarray(pose)[0], np.asarray(observation)[0]


@pytest.fixture(scope="module")
def maze():
    """A wall one pixel thick, its centre at x = 330."""
    bitmap = np.zeros((200, 200), bool)
    bitmap[:, 110] = True
    return DeceptiveMaze(bitmap=bitmap, start=(300.0, 300.0, 0.0))


def test_collision_and_lasers_by_hand(maze):
    pose, observation = one_step(maze, (300, 300, 0), (0, 0))
    aslant = math.hypot(30, 30)
    assert_allclose(observation, (aslant, 30, aslant, 0, 0), atol=1e-3)
    # At x = 318 the centre is on pixel 106, four from the wall; at 321 on 107, three from it:
    # that collides.
    assert one_step(maze, (316, 300, 0), (2, 2))[0][0] == 318
    pose, observation = one_step(maze, (318, 300, 0.1), (3, 3.2))
    # back to where it was, but the turn is kept
    assert_allclose(pose, (318, 300, 0.11), atol=1e-6)
    # Only the pixel three to the right collides, at 0 degrees: to the left of a heading of 0.11.
    assert_array_equal(observation[3:], (1, 0))
    assert one_step(maze, (318, 300, -0.1), (3, 3))[1][3:].tolist() == [0, 1]
    # Exactly ahead or behind is on neither side.
    assert one_step(maze, (318, 300, 0), (3, 3))[1][3:].tolist() == [0, 0]
    assert one_step(maze, (318, 300, math.pi), (-3, -3))[1][3:].tolist() == [0, 0]


def test_every_bumper_at_every_bearing(literal):
    """One obstacle pixel in each of eight places of the disc, headings just below and just above
    every bearing."""
    bearings = sorted({math.atan2(j, i) for i in range(-2, 3) for j in range(-2, 3)})
    headings = np.add.outer(bearings, (-1e-3, 1e-3)).ravel().astype(np.float32)
    headings = headings[headings <= math.pi]
    places = [(3, 0), (2, 2), (2, 1), (-1, 2), (-3, 0), (-2, -2), (0, -3), (1, -1)]
    bitmap = np.zeros((90, 90), bool)
    for column, (i, j) in enumerate(places, 1):
        bitmap[40 + j, 10 * column + i] = True
    maze = DeceptiveMaze(bitmap=bitmap, start=(60.0, 60.0, 0.0))
    poses = np.array([(30 * k, 120, h) for k in range(1, 9) for h in headings], np.float32)
    actions = np.zeros((len(poses), 2), np.float32)
    _, expected = literal.steps(bitmap, poses, actions)
    _, seen = maze.step(jnp.asarray(poses), jnp.asarray(actions))
    assert_array_equal(np.asarray(seen)[:, 3:], expected[:, 3:])
    bumped = expected[:, 3:].reshape(8, len(headings), 2).mean(axis=1)
    assert ((bumped > 0.2) & (bumped < 0.3)).all()  # each bumper covers a quarter of all headings


def test_a_genotype_ends_where_it_ends_in_any_batch(hard, path):
    last, some, key = path[:, -1, :2], jnp.asarray(RECORDED["weights"]), jax.random.key(0)
    assert_array_equal(hard.evaluate(some[:1], key).descriptor, last[:1])
    batched = jax.vmap(hard.evaluate)(some[:50].reshape(2, 25, -1), jax.random.split(key, 2))
    assert_array_equal(batched.descriptor.reshape(50, 2), last[:50])


def test_equal_mazes_share_one_program_and_their_tables(monkeypatch):
    traces, step = [], module._step
    monkeypatch.setattr(module, "_step", lambda *arguments: traces.append(1) or step(*arguments))
    for _ in range(2):
        jax.eval_shape(lambda some: DeceptiveMaze(steps=7).trajectory(some), genotypes(11))
    assert len(traces) == 1
    assert DeceptiveMaze().tables.stops is DeceptiveMaze(steps=5).tables.stops
