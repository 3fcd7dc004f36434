"""No random key is used for two things: operators, estimators, checks and the search."""

import jax
import jax.numpy as jnp
from keys import recorded_keys, reused_keys
from worlds import HostIdentity, Identity

import brns
from brns import Box
from brns.checks import estimators

BOX = Box([-1.0] * 5, [1.0] * 5)
EVALUATED = []
OPERATORS = [
    *brns.MixedMutation().operators,
    brns.GaussianMutation(),
    brns.UniformResampling(),
    brns.MixedMutation(),
    brns.MixedMutation((brns.GaussianMutation(),)),
]
FOUNDERS = [brns.UniformFounders(), brns.LayerFounders((4, 1))]
ESTIMATORS = [
    brns.VisitCounts(grids=4, rows=16),
    brns.ExactRecognition(size=4),
    brns.ArchiveKNN(k=2, capacity=8),
    brns.PopulationKNN(k=2),
    brns.BehaviorRecognition(width=4, divergence_steps=2, initialisation="he-biased", batch=4),
]


def test_the_record_of_keys_sees_each_kind_of_reuse():
    key = jax.random.key(0)
    with recorded_keys() as uses:
        jax.random.normal(key)
    assert len(uses) == 1
    assert not reused_keys(uses)
    with recorded_keys() as uses:
        jax.jit(lambda k: jax.random.normal(k) + jax.random.uniform(k))(key)
    assert reused_keys(uses)
    with recorded_keys() as uses:
        jax.random.normal(jax.random.fold_in(key, 0))
        jax.random.normal(jax.random.split(key)[0])
    assert reused_keys(uses)


def check_each_used_once(uses, part):
    """None of a part's keys was used twice; the next part's uses are recorded anew."""
    jax.effects_barrier()
    assert uses, part
    assert not reused_keys(uses), part
    uses.clear()


def test_mutations_and_founders_use_each_key_once():
    with recorded_keys() as uses:
        for mutate in OPERATORS:
            jax.jit(mutate)(jax.random.key(3), jnp.zeros((6, 5)), BOX)
            check_each_used_once(uses, mutate)
        for founders in FOUNDERS:
            founders(jax.random.key(3), 6, BOX)
            check_each_used_once(uses, founders)


def test_a_search_uses_each_key_once():
    """From the founders to the second generation, drawn, evaluated, scored and learned."""
    sizes = {"population_size": 6, "offspring_size": 6, "mutate": brns.UniformResampling()}
    key = jax.random.key(0)
    with recorded_keys() as uses:
        for estimator in ESTIMATORS:
            search = brns.NoveltySearch(Identity(), estimator, **sizes)
            state = search.init(key)
            for _ in range(2):
                state, _ = search.step(state, key)
            jax.block_until_ready(state.population)
            check_each_used_once(uses, estimator)


class Shaken(HostIdentity):
    """A world whose chance is drawn with the key itself."""

    def evaluate(self, genotypes, key):
        EVALUATED.append(tuple(jax.random.key_data(key).tolist()))
        jax.random.uniform(key, (1,))
        return super().evaluate(genotypes, key)


def test_a_task_is_checked_with_a_key_that_draws_no_genotypes():
    """The key of the evaluations is one and the same, as the check demands."""
    EVALUATED.clear()
    with recorded_keys() as uses:
        brns.check_task(Shaken())
    (key,) = set(EVALUATED)
    assert [use[1:] for use in uses].count(key) == len(EVALUATED)
    assert reused_keys(uses) == {key}


def test_an_estimator_is_checked_with_a_key_for_each_purpose():
    with recorded_keys() as uses:
        estimators._run_three_generations(ESTIMATORS[0], 2, 6)
    assert uses
    assert not reused_keys(uses)
