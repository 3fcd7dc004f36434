"""The ant and its arenas as MuJoCo has them: their numbers."""

import numpy as np
import pytest

from brns.tasks.ant.model import ARENAS, ant_xml

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(ant_xml("large", "implicitfast"))


def test_the_ant_has_the_original_s_mass_joints_and_motors(model):
    assert model.body_mass.sum() == pytest.approx(41.449, rel=1e-6)
    assert (model.nq, model.nv, model.nu) == (15, 14, 8)
    motors = [model.joint(model.actuator(i).trnid[0]).name for i in range(8)]
    assert motors == ["hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"]
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
    limbs = sum(4 * (np.pi * 0.08**2 * length + 4 / 3 * np.pi * 0.08**3) for length in np.sqrt([0.08, 0.08, 0.32]))
    density = 41.449 / (ball + ball / 500 + limbs)
    assert torso == pytest.approx(density * ball * (1 + 1 / 500))


@pytest.mark.parametrize(("arena", "walls", "areas"), [("large", 7, 3), ("huge", 13, 4)])
def test_arena_has_its_walls_and_areas(arena, walls, areas):
    model = mujoco.MjModel.from_xml_string(ant_xml(arena, "RK4"))
    box, still = mujoco.mjtGeom.mjGEOM_BOX, model.body_weldid[model.geom_bodyid] == 0
    assert (model.geom_type[still] == box).sum() == walls
    assert (model.geom_type == box).sum() == walls
    assert len(ARENAS[arena].areas) == areas
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert (model.geom_pos[still & (model.geom_type == box), 2] == 2).all()
    assert (model.geom_margin == 0.005).all()
    assert ((model.geom_conaffinity == 1) == still).all()  # the ant's parts do not touch each other
