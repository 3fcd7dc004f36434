"""No random key is used for two things: operators, estimators, checks and the search."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax._src import random as jax_random
from searches import Distance
from small_tasks import HostIdentity

import brns
from brns import Box
from brns.checks import estimators

BOX = Box([-1.0] * 5, [1.0] * 5)
KEY = jax.random.key(3)
EVALUATED = []
MIXTURES = [
    brns.MixedMutation(),
    brns.MixedMutation(
        (brns.GaussianMutation(), brns.DifferentialEvolution(), brns.UniformResampling())
    ),
]
"""of all operators"""
FOUNDERS = [brns.UniformFounders(), brns.LayerFounders((4, 1))]
ESTIMATORS = [
    brns.VisitCounts(grids=4, rows=16),
    brns.ExactRecognition(size=4),
    brns.ArchiveKNN(k=2, capacity=64),
    brns.PopulationKNN(k=2),
    brns.BehaviorRecognition(width=4, divergence_steps=2, initialisation="he-biased", batch=4),
]


@pytest.fixture(scope="module")
def uses():
    """What is done with keys meanwhile: drawn from, split, or folded with a number."""
    jax.clear_caches()  # what was traced before records nothing
    uses, names = [], ("random_bits", "random_split", "random_fold_in")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(jax_random.prng, name, recording(name, uses))
        yield uses
        jax.effects_barrier()
    jax.clear_caches()


def recording(name, uses):
    """A function of JAX's, whose uses are noted whenever the compiled program runs."""
    original = getattr(jax_random.prng, name)

    def use(key, *arguments, **settings):
        number = arguments if name == "random_fold_in" else ()
        jax.debug.callback(
            lambda words, *number: uses.append((name, *map(int, (*words, *number)))),
            jax.random.key_data(key),
            *number,
        )
        return original(key, *arguments, **settings)

    return use


def reused_keys(uses):
    """The keys that were drawn from or split twice, both, or one of them beside folding;
    the next uses are noted anew."""
    jax.effects_barrier()
    assert uses
    consumed = [use[1:3] for use in uses if use[0] != "random_fold_in"]
    folded = [use[1:] for use in uses if use[0] == "random_fold_in"]
    uses.clear()
    twice = {key for key in consumed if consumed.count(key) > 1}
    twice |= {use[:2] for use in folded if folded.count(use) > 1}
    return twice | ({use[:2] for use in folded} & set(consumed))


def test_the_record_of_keys_sees_each_kind_of_reuse(uses):
    jax.random.normal(KEY)
    assert not reused_keys(uses)
    jax.jit(lambda k: jax.random.normal(k) + jax.random.uniform(k))(KEY)
    assert reused_keys(uses)
    jax.random.normal(jax.random.fold_in(KEY, 0))
    jax.random.normal(jax.random.split(KEY)[0])
    assert reused_keys(uses)


class Drawing(Distance):
    """It draws with the very keys that it is given."""

    def init(self, space, key):
        return jax.random.uniform(key, (2,))

    def update(self, state, generation, key):
        return jax.random.uniform(key, (2,))


class Shaken(HostIdentity):
    """A task whose chance is drawn with the key itself."""

    def evaluate(self, genotypes, key):
        EVALUATED.append(tuple(jax.random.key_data(key).tolist()))
        jax.random.uniform(key, (1,))
        return super().evaluate(genotypes, key)


def test_each_part_uses_each_key_once(uses):
    for mutate in MIXTURES:
        jax.jit(mutate)(KEY, jnp.zeros((6, 5)), BOX)
        assert not reused_keys(uses), mutate
    for founders in FOUNDERS:
        founders(KEY, 6, BOX)
        assert not reused_keys(uses), founders
    learned = brns.Generation.from_descriptors(jnp.linspace(-1.0, 1.0, 30).reshape(6, 5), 1)
    for estimator in ESTIMATORS:
        if isinstance(estimator, brns.PopulationKNN):
            continue  # draws nothing
        state = eqx.filter_jit(estimator.init)(BOX, KEY)
        eqx.filter_jit(estimator.update)(state, learned, jax.random.key(4))
        assert not reused_keys(uses), estimator
    estimators._run_and_check_three_generations(Drawing(), 2, 6)
    assert not reused_keys(uses), "check_estimator"


def test_a_search_uses_each_key_once(uses):
    """From the founders to the second generation: drawn, evaluated, selected and learned."""
    search = brns.NoveltySearch(Shaken(), Drawing(), 6, 6, brns.UniformResampling())
    state = search.init(KEY)
    for _ in range(2):
        state, _ = search.step(state, KEY)
    assert not reused_keys(uses)


def test_a_task_is_checked_with_a_key_that_draws_no_genotypes(uses):
    """The key of the evaluations is one and the same, as the check demands."""
    EVALUATED.clear()
    brns.check_task(Shaken())
    (key,) = set(EVALUATED)
    assert [use[1:] for use in uses].count(key) == len(EVALUATED)
    assert reused_keys(uses) == {key}
