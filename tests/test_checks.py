"""The checks of users' own parts: what is sound passes, each fault is named."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from searches import Distance
from worlds import HostIdentity, Identity, Windy

from brns import Box, Evaluation, check_estimator, check_task
from brns.checks import refuse_wrong
from brns.core import Mutation, Task, conform


def test_what_is_sound_passes():
    check_task(Identity())
    check_task(Windy())
    check_estimator(Distance())


# Tasks. Each is the sound world with one fault.


def broken(change, **fields):
    """The sound world on the host with its evaluation changed."""

    class Broken:
        genotype_space = Box([-1.0] * 5, [1.0] * 5)
        behavior_space = Box([0.0, 0.0], [600.0, 600.0])
        traceable = False

        def evaluate(self, genotypes, key):
            genotypes = np.asarray(genotypes)
            return change(HostIdentity().evaluate(genotypes, key), genotypes, key)

    for name, value in fields.items():
        setattr(Broken, name, value)
    return Broken()


def descriptor(change):
    """The fault is in the descriptor: `change(descriptor, genotypes)`, inside the box."""
    return broken(
        lambda e, g, key: e._replace(
            descriptor=np.clip(change(e.descriptor, g), 0, 600).astype(np.float32)
        )
    )


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(
            descriptor(lambda d, g: d + 9 * np.roll(g, 1, axis=0)[:, :2]), id="the row before"
        ),
        pytest.param(
            descriptor(lambda d, g: d + 9 * (np.roll(g, 2, 0) + np.roll(g, -2, 0))[:, :2]),
            id="two away",
        ),
        pytest.param(
            descriptor(lambda d, g: 300 + 100 * (d - d.mean(0)) / (d.std(0) + 1)), id="standardised"
        ),
        pytest.param(descriptor(lambda d, g: d * len(d) / 20), id="the size of the batch"),
        pytest.param(
            broken(lambda e, g, k: e._replace(solved=np.arange(len(g)) == 3)), id="solved by number"
        ),
    ],
)
def test_a_row_that_depends_on_more_than_its_genotype_is_refused(task):
    with pytest.raises(ValueError, match=r"row i of Broken\.evaluate"):
        check_task(task)


class Untraceable(Identity):
    """It says that it is JAX code, and asks for a value."""

    def evaluate(self, genotypes, key):
        return HostIdentity().evaluate(np.asarray(genotypes), key)


class Baked(Identity):
    """Compiled, it says what it said when it was compiled."""

    def evaluate(self, genotypes, key):
        shift = 0.0 if isinstance(genotypes, jax.core.Tracer) else 30.0
        evaluation = super().evaluate(genotypes, key)
        return evaluation._replace(descriptor=0.9 * evaluation.descriptor + shift)


COUNT = iter(range(100))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (broken(lambda e, g, k: e, behavior_space=(0, 1)), r"Box; got \(0, 1\)"),
        (broken(lambda e, g, k: tuple(e)), r"must return a brns\.Evaluation; got tuple"),
        (
            broken(lambda e, g, k: e._replace(fitness=e.fitness[:3])),
            r"fitness of shape \(8,\).*got \(3,\)",
        ),
        (broken(lambda e, g, k: e._replace(fitness=e.fitness * np.nan)), "not finite"),
        (broken(lambda e, g, k: e._replace(descriptor=e.descriptor * np.nan)), "not finite"),
        (broken(lambda e, g, k: e._replace(descriptor=e.descriptor + 700)), "8 of 8 .* outside"),
        (broken(lambda e, g, k: e._replace(fitness=e.fitness + next(COUNT))), "same result"),
        (broken(lambda e, g, k: e._replace(descriptor=e.descriptor + 0j)), "real numbers.*complex"),
        (broken(lambda e, g, k: e._replace(solved=np.zeros(len(g)))), "solved as bools"),
        (Untraceable(), "evaluate is not JAX code"),
        (Baked(), "must give compiled"),
    ],
)
def test_a_faulty_task_is_refused(task, message):
    with pytest.raises(ValueError, match=message):
        check_task(task)


def test_a_simulator_with_a_fixed_number_of_worlds_is_checked_with_so_many():
    def in_six_worlds(evaluation, genotypes, key):
        if len(genotypes) != 6:
            raise RuntimeError("six worlds")
        return evaluation

    with pytest.raises(RuntimeError):
        check_task(broken(in_six_worlds), n=6)
    check_task(broken(in_six_worlds), n=6, sizes=())


def test_a_simulator_that_adds_in_any_order_is_sound_within_a_tolerance():
    noise = np.random.default_rng(0).uniform

    def rounded(evaluation, genotypes, key):
        nearly = 1 + noise(-1e-6, 1e-6, len(genotypes))
        return evaluation._replace(
            descriptor=evaluation.descriptor * nearly[:, None],
            fitness=1e-4 * evaluation.fitness + nearly - 1,
        )

    check_task(broken(rounded), tolerance=1e-5)
    with pytest.raises(ValueError, match=r"the same result .* tolerance"):
        check_task(broken(rounded), tolerance=1e-8)


def test_a_descriptor_alone_is_an_evaluation():
    evaluation = conform(Evaluation(jnp.ones((2, 2))), 2, Identity())
    np.testing.assert_array_equal(evaluation.fitness, [0.0, 0.0])
    np.testing.assert_array_equal(evaluation.solved, [False, False])
    check_task(broken(lambda e, g, k: Evaluation(e.descriptor)))


# Estimators. Each is the sound one with one fault.


def distance(descriptors, state):
    return jnp.linalg.norm(descriptors - state, axis=1)


def on_the_host(self, state, descriptors, population):
    return jnp.asarray(np.linalg.norm(np.asarray(descriptors) - np.asarray(state), axis=1))


def tied_to_the_population(self, state, descriptors, population):
    return distance(descriptors, population.descriptor.mean(0)) + 0 * population.novelty


def tied_to_the_place(self, state, descriptors, population):
    return jnp.arange(len(descriptors), dtype=jnp.float32)


def ranks_what_is_asked(self, state, descriptors, population):
    """Permutes as it should, and still depends on what else is asked about."""
    return distance(descriptors, state) / distance(descriptors, state).max()


def not_a_number(self, state, descriptors, population):
    return jnp.log(distance(descriptors, state) - 10)


def one_too_few(self, state, descriptors, population):
    return distance(descriptors, state)[1:]


def begins_on_the_host(self, space, key):
    return jnp.asarray(np.asarray(space.low) + 0.5)


def grows(self, state, generation, key):
    return jnp.concatenate([state, state])


def asks_the_host(self, state, generation, key):
    """Its chance does not come from the key."""
    return state + io_callback(
        lambda: np.float32(next(COUNT)), jax.ShapeDtypeStruct((), jnp.float32)
    )


class AsksItsOwnArray(Distance):
    """Its scale is an argument where the search compiles it, and has no value then."""

    scale: jax.Array = eqx.field(default_factory=lambda: jnp.ones(()))

    def score(self, state, descriptors, population):
        return distance(descriptors, state) * (2.0 if self.scale > 0 else 1.0)


@pytest.mark.parametrize(
    ("method", "fault", "message"),
    [
        ("score", on_the_host, "must be JAX code"),
        ("score", tied_to_the_population, "shapes"),
        ("score", tied_to_the_place, "must permute"),
        ("score", ranks_what_is_asked, "what else is asked about"),
        ("score", not_a_number, "not finite in generation 1"),
        ("score", one_too_few, r"\(64,\); .* gave \(63,\)"),
        ("init", begins_on_the_host, "must be JAX code"),
        ("update", grows, "same structure"),
        ("update", asks_the_host, "same state and the same novelty"),
    ],
)
def test_a_faulty_estimator_is_refused(method, fault, message):
    faulty = type(Distance)("Faulty", (Distance,), {method: fault, "__annotations__": {}})
    with pytest.raises(ValueError, match=message):
        check_estimator(faulty())


def test_an_estimator_compiles_with_its_arrays_as_arguments():
    with pytest.raises(ValueError, match="compiles with the estimator as an argument"):
        check_estimator(AsksItsOwnArray())


@pytest.mark.parametrize(
    ("part", "contract", "message"),
    [
        (Identity, Task, r"write Identity\(\.\.\.\); got the class Identity"),
        ("maze", Task, "part must have genotype_space.*; got 'maze'"),
        (
            Box([0.0], [1.0]),
            Task,
            "got Box.* without genotype_space, behavior_space, traceable, evaluate$",
        ),
        (0.5, Mutation, r"part must have __call__, as brns\.core\.Mutation says; got 0\.5"),
    ],
)
def test_a_wrong_part_is_refused_by_name(part, contract, message):
    with pytest.raises(ValueError, match=message):
        refuse_wrong("part", part, contract)
