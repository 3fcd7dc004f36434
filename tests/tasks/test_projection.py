"""The linear projection and the loose box, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from brns import LinearProjection, PlanarArm
from brns.comparison.worlds import RescaledBehaviorSpace

KEY = jax.random.key(0)


def test_genes_are_summed_by_halves_and_clipped_beyond_the_bound():
    genotypes = np.array([[1, 2, -3, 5.12], [10.24, 0, -10.24, -10.24], [2.048] * 4, [5.12] * 4], np.float32)
    task = LinearProjection(4)
    found = task.evaluate(jnp.asarray(genotypes), KEY)
    assert_allclose(found.descriptor, [[3, 2.12], [0.5, -1], [4.096, 4.096], task.behavior_space.high], rtol=1e-5)
    assert float(found.fitness[2]) == 0
    assert_allclose(LinearProjection(4, 4).evaluate(genotypes, KEY).descriptor[1], [0.5, 0, -0.5, -0.5], rtol=1e-5)
    assert_allclose(found.fitness[0], -(1.048**2 + 0.048**2 + 5.048**2 + 3.072**2), rtol=1e-5)


def test_a_loose_box_is_wider_about_the_same_middle_and_changes_no_behavior():
    arm, genotypes = PlanarArm(), jax.random.uniform(KEY, (5, 7))
    loose = RescaledBehaviorSpace(arm, 10.0)
    assert_allclose(loose.behavior_space.low, [-4.5, -4.5])
    assert_allclose(loose.behavior_space.high, [5.5, 5.5])
    assert_allclose(loose.evaluate(genotypes, KEY).descriptor, arm.evaluate(genotypes, KEY).descriptor)
