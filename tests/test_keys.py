"""No random key is used for two things: operators, estimators, checks and the search."""

import equinox as eqx
import jax
import jax.numpy as jnp
from keys import recorded_keys, reused_keys
from searches import Distance
from worlds import HostIdentity

import brns
from brns import Box
from brns.checks import estimators

BOX = Box([-1.0] * 5, [1.0] * 5)
KEY = jax.random.key(3)
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
    with recorded_keys() as uses:
        jax.random.normal(KEY)
        jax.effects_barrier()
        assert len(uses) == 1
        assert not reused_keys(uses)
        uses.clear()
        jax.jit(lambda k: jax.random.normal(k) + jax.random.uniform(k))(KEY)
        jax.effects_barrier()
        assert reused_keys(uses)
        uses.clear()
        jax.random.normal(jax.random.fold_in(KEY, 0))
        jax.random.normal(jax.random.split(KEY)[0])
    assert reused_keys(uses)


def check_each_used_once(uses, part):
    """None of a part's keys was used twice; the next part's uses are recorded anew."""
    jax.effects_barrier()
    assert uses, part
    assert not reused_keys(uses), part
    uses.clear()


class Drawing(Distance):
    """It draws with the very keys that it is given."""

    def init(self, space, key):
        return jax.random.uniform(key, (2,))

    def update(self, state, generation, key):
        return jax.random.uniform(key, (2,))


class Shaken(HostIdentity):
    """A world whose chance is drawn with the key itself."""

    def evaluate(self, genotypes, key):
        EVALUATED.append(tuple(jax.random.key_data(key).tolist()))
        jax.random.uniform(key, (1,))
        return super().evaluate(genotypes, key)


def test_each_part_uses_each_key_once():
    behaviors = BOX.uniform(jax.random.key(9), 6)
    with recorded_keys() as uses:
        for mutate in OPERATORS[6:]:  # the mixture has those before
            jax.jit(mutate)(KEY, jnp.zeros((6, 5)), BOX)
            check_each_used_once(uses, mutate)
        for founders in FOUNDERS:
            founders(KEY, 6, BOX)
            check_each_used_once(uses, founders)
        for estimator in ESTIMATORS:
            if isinstance(estimator, brns.PopulationKNN):
                continue  # draws nothing
            state = eqx.filter_jit(estimator.init)(BOX, KEY)
            learned = brns.Generation.from_descriptors(behaviors, 1)
            eqx.filter_jit(estimator.update)(state, learned, jax.random.key(4))
            check_each_used_once(uses, estimator)
        estimators._run_three_generations(Drawing(), 2, 6)
        check_each_used_once(uses, "check_estimator")


def test_a_search_uses_each_key_once():
    """From the founders to the second generation: drawn, evaluated, selected and learned."""
    with recorded_keys() as uses:
        search = brns.NoveltySearch(Shaken(), Drawing(), 6, 6, brns.UniformResampling())
        state = search.init(KEY)
        for _ in range(2):
            state, _ = search.step(state, KEY)
        check_each_used_once(uses, search)


def test_a_task_is_checked_with_a_key_that_draws_no_genotypes():
    """The key of the evaluations is one and the same, as the check demands."""
    EVALUATED.clear()
    with recorded_keys() as uses:
        brns.check_task(Shaken())
    (key,) = set(EVALUATED)
    assert [use[1:] for use in uses].count(key) == len(EVALUATED)
    assert reused_keys(uses) == {key}
