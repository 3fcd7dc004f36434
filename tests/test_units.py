"""What changes no novelty: the unit of genes and behaviors, in boxes 2^40 times as wide or narrow,
and what stands in the row of who failed."""

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_tasks import Identity
from test_keys import ESTIMATORS, MIXTURES

import brns
from brns import Box
from brns.core import Generation, Population
from brns.core.novelty import score_novelty, update_estimator
from brns.core.population import concatenate_populations

UNITS = [2.0**-40, 2.0**40]
SCALED = [each for each in ESTIMATORS if not isinstance(each, brns.ArchiveKNN | brns.PopulationKNN)]


@pytest.mark.parametrize("mutate", MIXTURES, ids=["default", "others"])
def test_mutants_are_the_same_in_another_unit(mutate):
    low, high = np.array([-1.0, 0.0, 0.5]), np.array([1.0, 2.0, 8.0])
    genotypes = np.linspace(low, high, 60, dtype=np.float32)  # ten of each operator of a mixture
    mutate = eqx.filter_jit(mutate)
    usual = mutate(jax.random.key(3), genotypes, Box(low, high))
    for unit in UNITS:
        scaled = mutate(jax.random.key(3), unit * genotypes, Box(unit * low, unit * high))
        assert_array_equal(scaled / unit, usual)


@eqx.filter_jit
def learn_and_score(estimator, box, parents, offspring):
    """The state after a generation was learned, and the novelty of all of it then."""
    state = estimator.init(box, jax.random.key(0))
    generation = Generation(parents, offspring, parents)
    state = update_estimator(estimator, state, generation, jax.random.key(1))
    union = concatenate_populations(parents, offspring)
    return state, score_novelty(estimator, state, union.descriptor, union)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_novelty_is_the_same_in_another_unit_or_follows_it(estimator):
    behaviors = np.random.default_rng(0).uniform(size=(12, 2)).astype(np.float32)
    behaviors[3] = 40.0  # far outside the box

    def novelty(unit):
        parents = Population.from_descriptors(unit * behaviors[6:], 0)
        offspring = Population.from_descriptors(unit * behaviors[:6], 1, 6)
        return learn_and_score(estimator, Box([0.0, 0.0], [unit, unit]), parents, offspring)[1]

    for unit in UNITS:
        assert_array_equal(novelty(unit) / (1.0 if estimator in SCALED else unit), novelty(1.0))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_what_stands_in_the_row_of_who_failed_changes_no_bit_of_any_other(estimator):
    """Wherever such a row is put, novelty of the others and the state are the same."""
    box, failed = Identity().behavior_space, np.array([False, True, True] + [False] * 3)
    parents = Population.from_descriptors(box.uniform(jax.random.key(0), 6), 0)
    others = box.uniform(jax.random.key(1), 6)

    def state_and_novelty(place):
        descriptors = np.where(failed[:, None], place, others).astype(np.float32)
        offspring = Population.from_descriptors(descriptors, 1, 6)._replace(failed=failed)
        state, novelty = learn_and_score(estimator, box, parents, offspring)
        return state, novelty[:6], novelty[6:][~failed]

    assert eqx.tree_equal(state_and_novelty(10.0), state_and_novelty(500.0))
