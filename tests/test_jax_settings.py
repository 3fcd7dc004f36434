"""JAX's own settings: in double precision and without compiling a search runs like any other."""

import contextlib
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from searches import search
from small_tasks import HostIdentity, Identity, altered
from test_keys import ESTIMATORS

import brns
from brns.core.population import copy_to_host
from brns.runs.seeds import count_parallel_batches

KEY = jax.random.key(0)
SIZES = {"population_size": 6, "offspring_size": 6}
REDRAW = brns.UniformResampling()


SELECTIONS = itertools.cycle([brns.Elitist(), brns.NSGA2(), brns.Generational()])
MUTATIONS = itertools.chain([brns.MixedMutation()], itertools.repeat(REDRAW))
EACH = [*zip(ESTIMATORS, SELECTIONS, MUTATIONS, strict=False)]


@pytest.mark.parametrize(("estimator", "select", "mutate"), EACH)
def test_what_is_remembered_is_the_same_in_double_precision(estimator, select, mutate):
    def remembered():
        search = brns.NoveltySearch(Identity(), estimator, select=select, mutate=mutate, **SIZES)
        state = eqx.filter_eval_shape(search.init, KEY)
        after = eqx.filter_eval_shape(search.step, state, KEY)
        return jax.tree.map(lambda a: (a.shape, a.dtype), (state, after))

    single = remembered()
    with jax.enable_x64(True):
        assert remembered() == single


TASKS = [brns.PlanarArm, brns.DeceptiveMaze, brns.RoomsMaze]
TASKS += [brns.MountainCar, brns.LinearProjection]


@pytest.mark.parametrize("kind", TASKS)
def test_tasks_can_be_evaluated_in_double_precision(kind):
    task = kind()
    with jax.enable_x64(True):
        for precision in (jnp.float32, jnp.float64):
            genotypes = jax.ShapeDtypeStruct((3, task.genotype_space.dimension), precision)
            evaluation = eqx.filter_eval_shape(task.evaluate, genotypes, KEY)
            assert evaluation.descriptor.shape == (3, task.behavior_space.dimension)


@contextlib.contextmanager
def configured(name, value):
    """JAX's setting, of all threads."""
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        yield
    finally:
        jax.config.update(name, before)


@pytest.mark.slow
def test_a_task_is_in_double_precision_and_the_rest_as_ever(tmp_path):
    with configured("jax_enable_x64", True):

        def nearly(evaluation, genotypes, key):
            return evaluation._replace(solved=1 + 1e-12 * jnp.ones(len(genotypes)) > 1)

        fine = search(altered(nearly, Identity), brns.PopulationKNN(k=2))
        (record,) = brns.run(fine, 2, out=tmp_path / "run")
        assert record.population(2).solved.all()
        assert record.population(2).novelty.dtype == np.float32


@pytest.mark.parametrize(
    ("task", "mode", "usual", "other"),
    [
        (Identity(), "jax_enable_x64", False, True),
        (HostIdentity(), "jax_enable_x64", False, True),
        (HostIdentity(), "jax_random_seed_offset", 0, 7),
    ],
)
def test_what_draws_numbers_is_not_switched_while_a_search_runs(task, mode, usual, other, tmp_path):
    """Nor between a run and its resume: other random numbers would be drawn."""
    drawn = search(task, brns.PopulationKNN(k=2))
    run = brns.generations(drawn, 9, seeds=2, out=tmp_path / "run")
    next(run)
    with configured(mode, other):
        with pytest.raises(ValueError, match=f"had {mode}={usual} when the search was made"):
            list(run)
        with pytest.raises(brns.RecordError, match=f"here are {mode}={other}: other random"):
            brns.resume(tmp_path / "run", search=drawn)


def test_seeds_are_no_batch_with_another_generator_nor_resumed(monkeypatch, tmp_path):
    monkeypatch.setattr("brns.runs.seeds.count_cores", lambda: 1)
    assert count_parallel_batches(Identity(), 3) == 1
    drawn = search(HostIdentity(), brns.PopulationKNN(k=2))
    (record,) = brns.run(drawn, 1, out=tmp_path / "run")
    with configured("jax_default_prng_impl", "unsafe_rbg"):
        assert count_parallel_batches(Identity(), 3) == 3
        with pytest.raises(brns.RecordError, match="are jax_default_prng_impl=unsafe_rbg: other"):
            brns.resume(record, 2, search=drawn)


@pytest.mark.slow
def test_a_search_runs_without_compiling():
    """Arrays on the host, such as those of a record, are NumPy's then."""
    search = brns.NoveltySearch(
        HostIdentity(), brns.VisitCounts(grids=2, rows=4), mutate=REDRAW, **SIZES
    )
    state = copy_to_host(search.init(KEY))
    with jax.disable_jit():
        after, _ = search.step(state, KEY)
    expected, _ = search.step(state, KEY)
    np.testing.assert_array_equal(after.estimator.visits, expected.estimator.visits)


@pytest.mark.parametrize(
    ("name", "value"),
    [("jax_numpy_rank_promotion", "raise"), ("jax_numpy_dtype_promotion", "strict")],
)
def test_a_project_may_forbid_promotion_in_its_own_code(name, value):
    estimator = brns.VisitCounts(grids=2, rows=4)
    search = brns.NoveltySearch(HostIdentity(), estimator, **SIZES)
    with configured(name, value):
        novelty = brns.Novelty(estimator, brns.Box([0.0, 0.0], [1.0, 1.0]))
        novelty.learn([[0.5, 0.5]] * 3)
        assert novelty.score([[0.5, 0.5]]) == 0.25  # three visits in every grid
        after, _ = search.step(search.init(KEY), KEY)
        brns.check_task(brns.PlanarArm())  # whose code promotes ranks
        brns.check_mutation(brns.PolynomialMutation(), brns.Box([0.0, 0.0], [1.0, 1.0]))
    assert after.estimator.seen == 12
