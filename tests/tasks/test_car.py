"""The mountain car against Gymnasium's, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from brns import MountainCar
from brns.tasks.car import POLICY, START, scale_position, step


@pytest.fixture(scope="module")
def theirs():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("MountainCarContinuous-v0").unwrapped
    env.reset(seed=0)
    return env


def test_every_step_is_gymnasiums(theirs):
    random = np.random.default_rng(0)
    n = 500
    position, speed = random.uniform(-1.2, 0.6, n), random.uniform(-0.07, 0.07, n)
    position[:20] = -1.2  # at the left end, where the car stops
    push = random.uniform(-1, 1, n)
    further, faster = step(*(jnp.asarray(x, jnp.float32) for x in (position, speed, push)))
    for i in range(n):
        theirs.state = np.array([position[i], speed[i]])
        expected = theirs.step(np.array([push[i]]))[0]
        assert_allclose([further[i], faster[i]], expected, atol=1e-6)


def test_whole_episodes_come_as_far_as_gymnasiums(theirs):
    random = np.random.default_rng(1)
    genotypes = random.uniform(-1, 1, (20, POLICY.genotype_length)).astype(np.float32)
    genotypes[0] = [*[0, 1] * 8, *[0] * 8, *[1] * 8, 0]  # pushes where the car goes, up to the top
    found = MountainCar(steps=150).evaluate(jnp.asarray(genotypes), jax.random.key(0))
    for i in range(20):
        layers = POLICY.layers(genotypes[i : i + 1].astype(float))
        theirs.state = np.array([START, 0.0])
        places, ended = [START], False
        while len(places) <= 150 and not ended:
            position, speed = theirs.state
            push = POLICY.act(layers, np.array([[scale_position(position)], [speed / 0.07]]))[:, 0]
            state, _, ended, _, _ = theirs.step(push)
            places.append(state[0])
        ends = [scale_position(min(places)), scale_position(max(places))]
        assert_allclose(found.descriptor[i], ends, atol=1e-3)
        assert bool(found.solved[i]) == ended
    assert found.solved[0]
