"""The ant maze against its numbers, its laws and MuJoCo itself."""

import sys

import jax
import numpy as np
import pytest

from brns import AntMaze
from brns.tasks.ant import physics as module
from brns.tasks.ant.model import ARENAS, make_ant_xml
from brns.tasks.ant.rules import POLICY, mask_areas_of_each_position

mujoco = pytest.importorskip("mujoco")
KEY = jax.random.key(0)


def genotypes(n, seed=1):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (n, POLICY.genotype_length)).astype(np.float32)


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(make_ant_xml("large", "implicitfast"))


def test_the_ant_has_the_original_s_mass_joints_and_motors(model):
    assert model.body_mass.sum() == pytest.approx(41.449, rel=1e-6)
    assert (model.nq, model.nv, model.nu) == (15, 14, 8)
    motors = [model.joint(model.actuator(i).trnid[0]).name for i in range(8)]
    assert motors == [f"{joint}_{leg}" for leg in (4, 1, 2, 3) for joint in ("hip", "ankle")]
    assert (model.actuator_gear[:, 0] == 150).all()
    assert (model.dof_armature[6:] == 1).all()
    assert (model.dof_damping[6:] == 1).all()
    assert np.degrees(model.joint("ankle_2").range) == pytest.approx([-70, -30])
    assert np.array_equal(model.joint("ankle_4").axis, np.array([1, 1, 0]) / np.sqrt(2))
    assert model.qpos0.tolist() == [0, -24, 0.6, 1, 0, 0, 0] + [0] * 8
    assert model.opt.timestep == 0.005


def test_head_is_a_five_hundredth_as_dense_as_the_torso(model):
    torso = model.body("torso").mass[0]
    ball = 4 / 3 * np.pi * 0.25**3
    lengths = np.sqrt([0.08, 0.08, 0.32])
    limbs = sum(4 * (np.pi * 0.08**2 * length + 4 / 3 * np.pi * 0.08**3) for length in lengths)
    density = 41.449 / (ball + ball / 500 + limbs)
    assert torso == pytest.approx(density * ball * (1 + 1 / 500))


@pytest.mark.parametrize(("arena", "walls", "areas"), [("large", 7, 3), ("huge", 13, 4)])
def test_arena_has_its_walls_and_areas(arena, walls, areas):
    model = mujoco.MjModel.from_xml_string(make_ant_xml(arena, "RK4"))
    box, still = mujoco.mjtGeom.mjGEOM_BOX, model.body_weldid[model.geom_bodyid] == 0
    assert (model.geom_type[still] == box).sum() == walls
    assert (model.geom_type == box).sum() == walls
    assert len(ARENAS[arena].areas) == areas
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert (model.geom_pos[still & (model.geom_type == box), 2] == 2).all()
    assert (model.geom_margin == 0.005).all()
    assert ((model.geom_conaffinity == 1) == still).all()  # the ant's parts do not touch each other


def test_descriptor_samples_the_path_evenly_forward_and_ends_with_the_last_position():
    steps = np.arange(33.0)
    descriptor = AntMaze(steps=32).descriptor(np.stack([steps, -steps], axis=1)[None])
    assert descriptor.tolist() == [[sign * step for step in range(2, 33, 2) for sign in (1, -1)]]
    long = AntMaze(steps=1500).descriptor(np.arange(1501.0).repeat(2).reshape(1, -1, 2))
    assert long[0, :6:2].tolist() == [93, 187, 281]
    assert long[0, -1] == 1500


def test_observations_and_areas_by_hand():
    state = np.arange(30.0)[None]  # time, 15 positions, 14 velocities
    assert module.compute_observation(state)[0, :4].tolist() == [(1 - 5) / 70, (2 - 5) / 70, 3, 4]
    assert module.compute_observation(state)[0, -1] == 29
    assert module.read_position(state).tolist() == [[1, 2]]
    areas = np.array(list(ARENAS["large"].areas.values()))
    here = np.array([[34.0, -20.0], [34.0, -19.99], [-21.0, 29.0], [15.0, 15.0]])
    inside = mask_areas_of_each_position(here, areas).astype(int)
    assert inside.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_same_genotype_gives_the_same_bits_whatever_the_batch_and_the_threads():
    task, rows = AntMaze(steps=60), genotypes(25)
    together = task.episodes(rows, threads=1).path
    assert np.linalg.norm(together[:, -1] - together[:, 0], axis=1).max() > 0.1  # they do move
    order = np.random.default_rng(0).permutation(25)
    assert np.array_equal(task.episodes(rows[order], threads=2).path, together[order])
    for some in ([7], [24, 3, 11]):
        assert np.array_equal(task.episodes(rows[some], threads=2).path, together[some])
    assert np.array_equal(task.episodes(rows, threads=2).path, together)


def test_a_control_step_is_mujoco_s_own_with_a_cleared_warm_start():
    model = mujoco.MjModel.from_xml_string(make_ant_xml("large", "implicitfast"))
    physics, data = module.Physics("large", "implicitfast", 2), mujoco.MjData(model)
    action = np.random.default_rng(0).uniform(-1, 1, (10, 8))
    state = physics.start[None]
    for row in action:
        state, sound = physics.advance_and_mask_stable(state, row[None], 5)
        data.qacc_warmstart[:], data.ctrl[:] = 0, row
        mujoco.mj_step(model, data, nstep=5)
        assert sound.all()
    assert np.array_equal(state[0], np.concatenate([[data.time], data.qpos, data.qvel]))


def test_visits_are_rewarded_once_and_the_last_one_ends_the_episode(monkeypatch):
    # The ant is put on a path by hand.
    places = [[0, -24], [34, -25], [34, -25], [-24, 33], [0, 0], [15, 15], [20, 20], [30, 30.0]]
    task = AntMaze(steps=16)
    physics = module.Physics("large", "implicitfast", 1)
    taken = iter(range(1, 99))

    def advance(state, action, physics_steps):
        state = state.copy()
        state[:, 1:3] = places[min(next(taken), 7)]
        return state, np.ones(len(state), bool)

    monkeypatch.setattr(physics, "advance_and_mask_stable", advance)
    monkeypatch.setattr(module, "shared", lambda *_: physics)
    episodes = task.episodes(genotypes(1))
    assert episodes.visited.tolist() == [[True, True, True]]
    assert episodes.length.tolist() == [5]
    assert episodes.path[0, :6].tolist() == places[:6]
    assert (episodes.path[0, 5:] == [15, 15]).all()


def test_unstable_physics_ends_at_the_last_sound_position_and_is_counted(monkeypatch, caplog):
    task, rows = AntMaze(steps=40), genotypes(4)
    calm = task.episodes(rows)
    physics = module.Physics("large", "implicitfast", 1)
    advance = physics.advance_and_mask_stable

    def with_a_kick(state, action, physics_steps):
        state = state.copy()
        if np.isclose(state[0, 0], 0.25):  # after ten steps
            state[2, 18] = 1e9  # m/s upwards
        return advance(state, action, physics_steps)

    monkeypatch.setattr(physics, "advance_and_mask_stable", with_a_kick)
    monkeypatch.setattr(module, "shared", lambda *_: physics)
    episodes = task.episodes(rows, threads=1)
    assert episodes.unstable.tolist() == [False, False, True, False]
    assert episodes.length.tolist() == [40, 40, 11, 40]
    assert np.array_equal(episodes.path[[0, 1, 3]], calm.path[[0, 1, 3]])
    assert (episodes.path[2, 10:] == calm.path[2, 10]).all()
    assert "1 of 4" in caplog.text
    monkeypatch.undo()
    calmly = task.descriptor(calm.path).astype(np.float32)
    assert np.array_equal(task.evaluate(rows, KEY).descriptor, calmly)
    assert np.array_equal(task.trajectory(rows, every=16), calm.path[:, [0, 16, 32, 40]])


def test_stuck_ants_end_after_a_whole_window_in_one_place():
    rows = genotypes(4)
    rows[0] = 0  # motors off: it drops and rests
    free = AntMaze(steps=60).episodes(rows)
    task = AntMaze(steps=60, stuck_distance=0.05, stuck_window=20)
    episodes = task.episodes(rows)
    first = np.full(4, 60)
    for t in (60, 40, 20):
        extent = np.ptp(free.path[:, t - 20 : t + 1], axis=1).max(axis=1)
        first[extent < 0.05] = t
    assert episodes.length.tolist() == first.tolist()
    assert episodes.length[0] < 60
    assert not episodes.stuck.all()
    for path, held, end in zip(free.path, episodes.path, episodes.length, strict=True):
        assert np.array_equal(held[: end + 1], path[: end + 1])
        assert (held[end:] == path[end]).all()


def test_genotypes_that_are_no_policies_are_refused():
    task, broken = AntMaze(steps=16), genotypes(3)
    with pytest.raises(ValueError, match="length 608"):
        task.evaluate(np.zeros((2, 5), np.float32), KEY)
    broken[1, 5] = np.nan
    with pytest.raises(ValueError, match="finite"):
        task.evaluate(broken, KEY)


def test_missing_or_old_mujoco_names_the_cure(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.4.2")
    with pytest.raises(ImportError, match=r"found 3.4.2.*brns\[ant\]"):
        module.Physics("large", "RK4", 1)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match="found none"):
        module.Physics("large", "RK4", 1)


@pytest.mark.slow
def test_a_film_shows_the_arena():
    film = AntMaze(steps=16).film(genotypes(1)[0])
    try:
        frames = list(film.pictures)
    except RuntimeError as error:
        pytest.skip(str(error))
    assert film.most == len(frames) == 3
    simulator = module.shared("large", "implicitfast", 1)
    (above,) = module.iterate_pictures_of_states(simulator.model, [simulator.start], camera="above")
    assert {frame.shape for frame in (above, *frames)} == {(360, 480, 3)}
    red = (above[..., 0] > 150) & (above[..., 1:] < 110).all(axis=2)
    assert red[:180, :240].sum() > 450  # the red area, upper left; below it the ant alone is as red
    assert red[180:].sum() < 50


def test_no_renderer_says_what_to_install(monkeypatch):
    monkeypatch.setattr("brns.tasks.ant.physics.ctypes.util.find_library", lambda _: None)
    with pytest.raises(RuntimeError, match="apt-get install"):
        next(AntMaze(steps=16).film(genotypes(1)[0]).pictures)
