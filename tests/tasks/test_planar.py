"""The planar arm, the linear projection and a loose box: by hand and against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from brns import LinearProjection, PlanarArm
from brns.comparison.worlds import WidenedBehaviorSpace

KEY = jax.random.key(0)
STRAIGHT, LEFT_TURN = 0.5, 0.75  # genes of the angles 0 and 90 degrees


def does(arm, genotype):
    return np.asarray(arm.evaluate(jnp.asarray([genotype], jnp.float32), KEY).descriptor)[0]


def test_all_link_ends_are_those_of_forward_kinematics_in_numpy():
    lengths = (3.0, 1.0, 0.5, 2.0, 1.5)
    genotypes = np.random.default_rng(0).random((50, 5)).astype(np.float32)
    heading, place = np.zeros(50), np.zeros((50, 2))
    expected = []
    for link in range(5):
        heading = heading + np.pi * (2 * genotypes[:, link].astype(float) - 1)
        place = place + lengths[link] / 8 * np.stack([np.cos(heading), np.sin(heading)], axis=1)
        expected.append((place + 1) / 2)
    joints, tip = PlanarArm(5, "joints", lengths), PlanarArm(5, "tip", lengths)
    found = joints.evaluate(jnp.asarray(genotypes), KEY).descriptor
    assert_allclose(found, np.concatenate(expected, axis=1), atol=1e-5)
    assert_allclose(tip.evaluate(jnp.asarray(genotypes), KEY).descriptor, expected[-1], atol=1e-5)


def test_arms_look_like_bars():
    picture = does(PlanarArm(descriptor="picture"), [STRAIGHT] * 7).reshape(16, 16)
    # It lies between the rows 7 and 8, whose centres are half a pixel away from it,
    # from the middle to the right edge.
    assert_allclose(picture[7:9, 8:], 0.5, atol=1e-4)
    assert picture[:7].max() == picture[9:].max() == picture[:, :7].max() == 0
    # One link to the right, one up from there: y counts rows, from the lowest.
    bent = does(PlanarArm(2, "picture"), [STRAIGHT, LEFT_TURN]).reshape(16, 16)
    assert_allclose(bent[7:9, 8:12], 0.5, atol=1e-4)
    assert_allclose(bent[8:12, 11:13], 0.5, atol=1e-4)
    assert bent[:7].max() == bent[13:].max() == bent[9:, :11].max() == bent[:, 13:].max() == 0


def test_fitness_is_minus_the_variance_of_the_angles():
    genotypes = np.array([[0.5, 0.5], [0.5, 1.0]], np.float32)
    fitness = PlanarArm(2).evaluate(jnp.asarray(genotypes), KEY).fitness
    assert_allclose(fitness, [0, -((np.pi / 2) ** 2)], rtol=1e-5)


def test_genes_are_summed_by_halves_and_clipped_beyond_the_bound():
    rows = [[1, 2, -3, 5.12], [10.24, 0, -10.24, -10.24], [2.048] * 4, [5.12] * 4]
    genotypes, task = jnp.array(rows, jnp.float32), LinearProjection(4)
    found = task.evaluate(genotypes, KEY)
    expected = [[3, 2.12], [0.5, -1], [4.096, 4.096], task.behavior_space.high]
    assert_allclose(found.descriptor, expected, rtol=1e-5)
    assert float(found.fitness[2]) == 0
    assert_allclose(LinearProjection().genotype_space.high, [10.24] * 100)
    fine = LinearProjection(4, 4).evaluate(genotypes, KEY).descriptor[1]
    assert_allclose(fine, [0.5, 0, -0.5, -0.5], rtol=1e-5)
    assert_allclose(found.fitness[0], -(1.048**2 + 0.048**2 + 5.048**2 + 3.072**2), rtol=1e-5)


def test_a_loose_box_is_wider_about_the_same_middle_and_changes_no_behavior():
    arm, genotypes = PlanarArm(), jax.random.uniform(KEY, (5, 7))
    loose = WidenedBehaviorSpace(arm, 10.0)
    assert_allclose(loose.behavior_space.low, [-4.5, -4.5])
    assert_allclose(loose.behavior_space.high, [5.5, 5.5])
    mine, its = (task.evaluate(genotypes, KEY).descriptor for task in (loose, arm))
    assert_allclose(mine, its)
