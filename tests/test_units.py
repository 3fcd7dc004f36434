"""The unit of genes and behaviors changes nothing:
in boxes 2^66 times as wide or as narrow all is the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_keys import ESTIMATORS, OPERATORS

import brns
from brns import Box
from brns.core import Generation, Population
from brns.core.novelty import score_novelty, update_estimator
from brns.operators.selection import crowding_distance

UNITS = [2.0**-66, 2.0**66]
SCALED = [each for each in ESTIMATORS if not isinstance(each, brns.ArchiveKNN | brns.PopulationKNN)]


@pytest.mark.parametrize("mutate", OPERATORS, ids=lambda each: type(each).__name__)
def test_mutants_are_the_same_in_another_unit(mutate):
    low, high = np.array([-1.0, 0.0, 0.5]), np.array([1.0, 2.0, 8.0])
    genotypes = Box(low, high).uniform(jax.random.key(0), 60)  # ten of each operator of a mixture
    usual = mutate(jax.random.key(3), genotypes, Box(low, high))
    for unit in UNITS:
        scaled = mutate(jax.random.key(3), unit * genotypes, Box(unit * low, unit * high))
        assert_array_equal(scaled / unit, usual)


BEHAVIORS = np.random.default_rng(0).uniform(size=(12, 2)).astype(np.float32)
BEHAVIORS[3] = 40.0  # far outside the box


@eqx.filter_jit
def scores(estimator, box, behaviors):
    """The novelty of behaviors after some of them were learned."""
    state = estimator.init(box, jax.random.key(0))
    learned = Generation.from_descriptors(behaviors[:6], 1)
    state = update_estimator(estimator, state, learned, jax.random.key(1))
    living = Population.from_descriptors(behaviors[6:], 2, 6)
    return score_novelty(estimator, state, behaviors, living)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_novelty_is_the_same_in_another_unit_or_follows_it(estimator):
    usual, *scaled = (
        scores(estimator, Box([0.0, 0.0], [unit, unit]), jnp.asarray(unit * BEHAVIORS, jnp.float32))
        for unit in (1.0, *UNITS)
    )
    for unit, found in zip(UNITS, scaled, strict=True):
        assert_array_equal(found / (1.0 if estimator in SCALED else unit), usual)


def test_crowding_is_that_of_the_largest_numbers_too():
    objectives = jnp.array([[-3e38, 3e38], [0.0, 0.0], [3e38, -3e38]])
    assert_array_equal(crowding_distance(objectives, jnp.zeros(3, int)), [np.inf, 2, np.inf])


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1e-31), (0, 1e-42), (-1e31, 0), (1e30, 3e30), (1, np.nan), (2**24, 2**24 + 10)],
)
def test_a_box_that_arithmetic_cannot_use_is_refused_with_its_limits(low, high):
    with pytest.raises(ValueError, match=r"within 1e\+30 of 0 and at least 1e-30, "):
        Box([0.0, low], [1.0, high])


def test_behaviors_beyond_float32_end_a_run_with_their_size(tmp_path):
    class Far(brns.LinearProjection):
        def evaluate(self, genotypes, key):
            evaluation = super().evaluate(genotypes, key)
            return evaluation._replace(descriptor=1e25 * evaluation.descriptor)

    raw = brns.BehaviorRecognition(width=4, divergence_steps=0, inputs="raw")
    search = brns.NoveltySearch(Far(), raw, 4, 4, brns.UniformResampling())
    with pytest.raises(ValueError, match=r"estimator gave a novelty .* descriptors reach \d.*e\+2"):
        brns.run(search, 1, out=tmp_path / "run")
