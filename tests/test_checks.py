"""The checks of users' own parts: what is sound passes, each fault is named."""

import dataclasses
import re
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from modules import Own
from searches import Distance, search
from small_tasks import Counting, HostIdentity, Identity, Windy, altered

import brns
from brns import Box, check_estimator, check_founders, check_mutation, check_selection, check_task
from brns.checks.parts import check_part
from brns.core import Mutation, Task


class Even(HostIdentity):
    def evaluate(self, genotypes, key):
        return brns.Evaluation(np.tile([[3.0, 4.0]], (len(genotypes), 1)), 2.5, True)


def test_a_sound_task_passes_and_what_it_gave_is_told(capsys):
    check_task(Windy())  # with chance
    check_task(Even())
    assert capsys.readouterr().out.endswith(
        "Even is sound. Of 8 random genotypes of 5 genes:\n"
        "behaviors from [3. 4.] to [3. 4.], in a box from [0. 0.] to [600. 600.]\n"
        "fitness from 2.5 to 2.5, 8 solved, 0 failed\n"
    )


# Tasks. Each is the sound task with one fault.


def moved(change):
    """The fault is in the descriptor: `change(descriptor, genotypes)`, inside the box."""
    return altered(lambda e, g, key: e._replace(descriptor=change(e.descriptor, g).clip(0, 600)))


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
KEY = jax.random.key(0)


def alternate(descriptor, genotypes):
    """The fourth is in one corner of the box, then in the other."""
    descriptor[3] = 600.0 * (next(COUNT) % 2)
    return descriptor


OTHERS = r"row i of Altered\.evaluate"
TASKS = [
    (moved(lambda d, g: d + 9 * np.roll(g, 1, axis=0)[:, :2]), OTHERS),  # of the row before
    (moved(lambda d, g: 300 + 100 * (d - d.mean(0)) / (d.std(0) + 1)), OTHERS),
    (moved(lambda d, g: d * len(d) / 20), OTHERS),
    (altered(lambda e, g, k: e._replace(fitness=e.fitness - g[:, 0].min())), OTHERS),
    (altered(lambda e, g, key: e._replace(solved=np.arange(len(g)) == 3)), OTHERS),
    (altered(lambda e, g, key: e._replace(failed=np.arange(len(g)) == 3)), OTHERS),
    (altered(lambda e, g, k: e, behavior_space=(0, 1)), r"Box; got \(0, 1\)"),
    (altered(lambda e, g, k: tuple(e)), r"must return a brns\.Evaluation; got tuple"),
    (altered(lambda e, g, k: e._replace(fitness=e.fitness[:3])), r"shape \(8,\).*got \(3,\)"),
    (altered(lambda e, g, k: e._replace(fitness=e.fitness * np.nan)), "not finite"),
    (
        altered(lambda e, g, k: e._replace(descriptor=e.descriptor + np.array([0, 700]))),
        "8 of 8 .* outside .* in dimension 2 of 2, from 0 to 600",
    ),
    (
        altered(
            lambda e, g, k: e._replace(descriptor=e.descriptor - np.array([0, 700])),
            behavior_space=Box([-9.0, 0.0], [900.0, 600.0]),
        ),
        r"8 of 8 .* outside .* one with -\d+\.\d+ in dimension 2 of 2, from 0 to 600",
    ),
    (altered(lambda e, g, k: e._replace(fitness=e.fitness + next(COUNT))), "result.* 8 of 8"),
    (moved(alternate), "1 of 8 genotypes .* up to 1 of the box away and 0 in fitness"),
    (Untraceable(), "evaluate is not JAX code"),
    (Baked(), "must give compiled"),
]


def test_a_task_that_changes_its_genotypes_is_told_to_take_a_copy(tmp_path):
    def halve(genotypes):
        genotypes = np.asarray(genotypes)
        genotypes *= 0.5
        return genotypes

    for call in (brns.check_task, lambda task: brns.run(search(task), 1, out=tmp_path / "run")):
        with pytest.raises(ValueError, match="read-only") as raised:
            call(Own(halve))
        assert "takes a copy, np.array(genotypes)" in "".join(raised.value.__notes__)


def test_a_simulator_with_a_fixed_number_of_environments_is_checked_with_so_many():
    def in_eight_environments(evaluation, genotypes, key):
        if len(genotypes) != 8:
            raise RuntimeError("eight environments")
        return evaluation

    with pytest.raises(RuntimeError):
        check_task(altered(in_eight_environments), n=8)
    check_task(altered(in_eight_environments), n=8, sizes=())


def test_a_simulator_that_adds_in_any_order_is_sound_within_a_tolerance():
    noise = np.random.default_rng(0).uniform

    def rounded(evaluation, genotypes, key):
        nearly = 1 + noise(-1e-6, 1e-6, len(genotypes))
        return evaluation._replace(
            descriptor=evaluation.descriptor * nearly[:, None],
            fitness=1e-4 * evaluation.fitness + nearly - 1,
        )

    check_task(altered(rounded), tolerance=1e-5)
    with pytest.raises(ValueError, match=r"the same result .* tolerance"):
        check_task(altered(rounded), tolerance=1e-8)


# Estimators. Each is the sound one with one fault.


def distance(descriptors, state):
    return jnp.linalg.norm(descriptors - state, axis=1)


def host_number():
    """A number that comes from elsewhere than a key."""
    number = jax.ShapeDtypeStruct((), jnp.float32)
    return io_callback(lambda: np.float32(next(COUNT) % 2), number)


class AsksItsOwnArray(Distance):
    """Its scale is an argument where the search compiles it, and has no value then."""

    scale: jax.Array = eqx.field(default_factory=lambda: jnp.ones(()))

    def score(self, state, descriptors, population):
        return distance(descriptors, state) * (2.0 if self.scale > 0 else 1.0)


FAULTS = [
    ("score", lambda _, s, d, p: jnp.asarray(np.asarray(d))[:, 0], "must be JAX code"),
    ("score", lambda _, s, d, p: jnp.arange(len(d)) * 1.0, "must permute"),
    ("score", lambda _, s, d, p: distance(d, s) / distance(d, s).max(), "asked about"),
    ("score", lambda _, s, d, p: distance(d, s) * (1 + 1e-4 * len(d)), "asked about"),
    ("score", lambda _, s, d, p: jnp.log(distance(d, s) - 10), "not finite in generation 1"),
    ("score", lambda _, s, d, p: distance(d, s)[1:], r"\(32,\); .* gave \(31,\)"),
    ("score", lambda _, s, d, p: 1j * distance(d, s), r"Faulty.* real numbers; got complex"),
    ("init", lambda _, space, key: jnp.asarray(np.asarray(space.low)), "must be JAX code"),
    ("init", lambda _, space, key: key, r"Faulty.init must give a tree.*got key<fry>"),
    ("init", lambda _, space, key: {"unit": "m"}, r"Faulty.init must give a tree.*got str"),
    ("update", lambda _, s, g, key: jnp.concatenate([s, s]), "same structure"),
    ("update", lambda _, s, g, key: s + host_number(), "same state and the same novelty"),
]


def faulty(method, fault):
    return type(Distance)("Faulty", (Distance,), {method: fault, "__annotations__": {}})()


ESTIMATORS = [(faulty(method, fault), message) for method, fault, message in FAULTS]
ESTIMATORS += [(AsksItsOwnArray(), "must be JAX code that compiles")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: brns.VisitCounts(rows=64.0), r"rows: Input should be a valid integer; got 64\.0"),
        (lambda: brns.VisitCounts(cell_sizes=0.1), "Input should be a valid tuple; got 0.1"),
        (lambda: brns.ArchiveKNN(entry="best"), "entry: Input should be .*; got 'best'"),
        (lambda: brns.MixedMutation(brns.Crossover()), "must be a tuple of 1 to 127 mutation"),
        (lambda: brns.MixedMutation((brns.Crossover,)), "got the class Crossover"),
        (lambda: brns.MixedMutation((brns.MixedMutation(),)), "holds no other mixture: list its"),
        (lambda: brns.FeedForward((2.0, 1)), "sizes: Input should be a valid integer"),
        (lambda: brns.Joined((None,)), "parts: Input should be callable"),
        (lambda: brns.Joined(()), "parts: Tuple should have at least 1 item"),
        (lambda: brns.GivenFounders([[1, 2], [1]]), "GivenFounders needs genotypes as one array"),
        (lambda: brns.NoveltySearch(Identity(), rescore_parents="no"), "be a valid boolean"),
        (lambda: search(population_size=0), "population_size: .* or equal to 2; got 0"),
        (lambda: search(offspring_size=0), "offspring_size: .* greater than 0; got 0"),
        (lambda: search(altered(None, behavior_space=1)), r"Altered\.behavior_space must be a br"),
        (lambda: check_mutation(brns.GaussianMutation(), Identity()), r"box must be a brns\.Box"),
        (lambda: check_mutation(brns.GaussianMutation(), FIVE, n=0), "n must be a whole number fr"),
        (lambda: check_founders(brns.UniformFounders(), FIVE, 2.5), "a whole number from 1 on"),
        (lambda: check_selection(brns.Elitist(), size=0), "must be a whole number from 1 on; got"),
        (lambda: check_part("part", Identity, Task), r"write Identity\(\.\.\.\); got the class Id"),
        (lambda: check_part("part", FIVE, Task), "got Box.* without genotype_space.*, evaluate$"),
        (lambda: check_part("part", 0.5, Mutation), r"must have __call__, as brns\.core\.Mutat"),
    ],
)
def test_a_setting_of_another_type_is_refused_by_name(make, message, unchecked):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (brns.ArchiveKNN, {"additions": 7, "capacity": 6}),
        (brns.ExactRecognition, {"size": 33}),
        (brns.ExactRecognition, {"frequencies": (2.0, 1.0)}),
        (brns.ExactRecognition, {"frequencies": (0.0, 1.0)}),
        (brns.ExactRecognition, {"regularization": 9e-5}),
        (brns.VisitCounts, {"rows": 1000}),
        (brns.VisitCounts, {"cell_sizes": (2.0, 1.0)}),
        (brns.VisitCounts, {"rows": 2**12, "grids": 2**20}),
        (brns.VisitCounts, {"cell_sizes": (1e-7, 1.0)}),
        (brns.BehaviorRecognition, {"learning_rate": 1.0}),
        (brns.PolynomialMutation, {"eta": float("nan")}),
        (brns.IsoLineDD, {"sigma_iso": 0.0, "sigma_line": 0.0}),
        (brns.LocalCompetition, {"k": 0}),
    ],
)
def test_settings_out_of_range_are_refused_with_their_value(make, wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(ValueError, match=rf"{name}(=|(:| must) .* got ){re.escape(str(value))}"):
        make(**wrong)


def test_numbers_of_numpy_and_jax_are_settings(unchecked):
    assert brns.VisitCounts(rows=np.int64(64), cell_sizes=[0.1, 6]).rows == 64
    assert brns.GaussianMutation(sigma=jnp.float32(0.5)).sigma == 0.5
    four = np.int64(4)
    estimator = brns.ArchiveKNN(k=np.int32(3), capacity=np.int64(100))
    numbers = search(brns.PlanarArm(four), estimator, population_size=four, offspring_size=four)
    state = eqx.filter_eval_shape(numbers.init, KEY)
    after, _ = eqx.filter_eval_shape(numbers.step, state, KEY)
    assert after.population.genotype.shape == (4, 4)


# Operators. Each is a sound one with one fault.


def leaves(key, genotypes, box):
    return genotypes.at[0, 3].set(29.9)


def mutates_on_the_host(key, genotypes, box):
    return np.clip(np.asarray(genotypes), box.low, box.high)


def baked(key, genotypes, box):
    """Its noise is drawn while it is compiled, and then for ever the same."""
    return jnp.clip(genotypes + 1e-3 * next(COUNT), box.low, box.high)


FIVE = Box([-1.0] * 5, [1.0] * 5)


MUTATIONS = [
    (leaves, r"leaves gave 1 of 8 outside it, such as gene 3 = 29\.9 in row 0, .* -1 and 1"),
    (lambda key, genes, box: genes.at[-1].set(jnp.nan), "inside the .* gave 1 of 8 outside"),
    (mutates_on_the_host, "must be JAX code that compiles.*; mutates_on_the_host gave Tracer"),
    (baked, "same genotypes and key, compiled anew; baked did not"),
    (lambda key, genes, box: genes * host_number(), "for the same genotypes and key;"),
    (brns.UniformResampling, r"must be made: write UniformResampling"),
    (lambda key, genotypes, box: 1j * genotypes, "mutate .* real numbers; got complex"),
    (lambda key, genotypes, box: list(genotypes), "must give one array of JAX; .* gave a list"),
    (lambda key, genes, box: genes[: 4 * (len(genes) // 2)], r"\(1, 5\); .* gave \(0, 5\)"),
    (lambda key, genes, box: jnp.where(genes < box.high, genes, 2), "= 2 in row 1, whose"),
]


class Recombines(eqx.Module):
    """Gives what it was made of, whatever the genotypes; `__call__` gives the genotypes."""

    make: Any

    def __call__(self, key, genotypes, box):
        return genotypes

    def recombine(self, key, genotypes, box):
        return self.make(genotypes)


def beyond_all(genotypes):
    return genotypes, jnp.full(len(genotypes), 77)


SECOND = [
    (beyond_all, "recombine must .* rows from 0 to 7, or"),
    (lambda genes: (genes, jnp.full(len(genes), -2)), "recombine must .* rows from 0 to 7, or"),
    (lambda genes: (genes, jnp.zeros(len(genes))), "rows as an array of integers; .* float32"),
    (lambda genes: genes, "the mutants and the rows of .*; Recombines gave"),
    (lambda genes: (genes, jnp.zeros(1, int)), r"recombine must .* shape \(8,\)"),
    (lambda genes: (-genes, jnp.zeros(len(genes), int)), "same for __call__ and recombine"),
]
MUTATIONS += [(Recombines(make), message) for make, message in SECOND]


def test_founders_are_compared_with_their_box_in_float32_as_a_run_does():
    check_founders(lambda key, n, box: np.full((n, 5), 1 + 1e-12), FIVE)


def beyond(population, size):
    return len(population.id) - size // 2 + jnp.arange(size)


def before(population, size):
    return jnp.arange(size) - 1


def selects_on_the_host(population, size):
    return np.argsort(-np.asarray(population.novelty))[:size]


SELECTIONS = [
    (lambda everybody, size: jnp.arange(size) // 2, r"4 individuals .* twice \(ids 1000, "),
    (beyond, "rows from 0 to 15 of a population of 16; beyond gave 16"),
    (before, "rows from 0 to 15 of a population of 16; before gave -1"),
    (lambda everybody, size: jnp.arange(size) + 99 * everybody.novelty.any(), "gave 99"),
    (lambda everybody, size: jnp.arange(size) + 99 * ~everybody.novelty.any(), "gave 99"),
    (lambda everybody, size: jnp.arange(size) * 1.0, "integers; <lambda> gave float32"),
    (lambda everybody, size: list(range(size)), "integers; <lambda> gave list"),
    (lambda everybody, size: everybody.id[:size], "rows from 0 to 15 .* gave 1000"),
    (lambda everybody, size: jnp.arange(size + 1), r"shape \(8,\); <lambda> gave \(9,\)"),
    (lambda everybody, size: jnp.arange(size) + host_number().astype(int), "the same for"),
]
FOUNDERS = [
    (lambda key, n, box: 2 * box.uniform(key, n), "outside it, such as gene"),
    (lambda key, n, box: box.uniform(key, n)[1:], r"shape \(8, 5\); <lambda> gave \(7, 5\)"),
    (lambda key, n, box: np.full((n, 5), 1e-3 * next(COUNT)), "the same for the same key"),
    (lambda key, n, box: jax.random.split(key, n), r"as real numbers; got key<fry>"),
]
FAULTY = [(check_task, *row) for row in TASKS] + [(check_estimator, *row) for row in ESTIMATORS]
FAULTY += [(partial(check_mutation, box=FIVE), *row) for row in MUTATIONS]
FAULTY += [
    (partial(check_estimator, dimension=FIVE), brns.VisitCounts(), "dimension must be a whole"),
    (partial(check_task, n=0), Identity(), "n must be a whole number from 1 on; got 0"),
]
FAULTY += [(check_selection, *row) for row in SELECTIONS]
FAULTY += [(partial(check_founders, box=FIVE), *row) for row in FOUNDERS]


@dataclasses.dataclass
class Unhashable:
    """Each part in one. As its fields can be assigned, Python gives it no hash."""

    genotype_space: Box = FIVE
    behavior_space: Box = FIVE
    traceable: bool = True

    def __call__(self, *arrays):
        raise NotImplementedError

    evaluate = init = score = update = __call__


FAULTY += [
    (check_task, Unhashable(), "task must have a hash"),
    (check_estimator, Unhashable(), "estimator must have a hash"),
    (partial(check_mutation, box=FIVE), Unhashable(), "mutate must have a hash"),
    (check_selection, Unhashable(), "select must have a hash"),
    (partial(check_founders, box=FIVE), Unhashable(), "founders must have a hash"),
    (lambda part: search(Identity(), mutate=part), Unhashable(), "write a frozen dataclass"),
]


def test_what_is_not_compiled_needs_no_hash():
    founders = Unhashable()
    assert search(HostIdentity(), founders=founders).founders is founders
    with pytest.raises(ValueError, match="founders must have a hash"):
        search(Identity(), founders=founders)


@pytest.mark.parametrize(("check", "part", "message"), FAULTY)
def test_a_faulty_part_is_refused(check, part, message):
    with pytest.raises(ValueError, match=message):
        check(part)


def test_a_setting_that_evaluations_change_is_told():
    with pytest.warns(UserWarning, match="evaluate changed calls of Counting, .* begin such names"):
        check_task(Counting())


def test_our_operators_keep_their_contracts():
    check_selection(brns.Elitist())
    check_mutation(brns.GaussianMutation(), FIVE)
    check_mutation(Recombines(lambda genes: (genes, jnp.full(len(genes), -1))), FIVE)
    check_founders(brns.UniformFounders(), FIVE)


@pytest.mark.slow
def test_our_other_operators_keep_their_contracts():
    for select in (brns.NSGA2(), brns.LocalCompetition(), brns.Generational()):
        check_selection(select)
    for mutate in (brns.IsoLineDD(), brns.DifferentialEvolution(), brns.Crossover()):
        check_mutation(mutate, Box([-1.0, 0.0, 10.0], [1.0, 5.0, 11.0]))


class Growing(Distance):
    def update(self, state, generation, key):
        return jnp.concatenate([state, state])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"task": altered(lambda e, g, k: e._replace(descriptor=g))}, r"\(8, 2\); got \(8, 5\)"),
        ({"estimator": Growing()}, r"(?s)Growing.update must return .*\(4,\).*\(2,\)"),
        ({"select": lambda p, n: jnp.arange(2)}, r"select .*\(8,\); <lambda> gave \(2,\)"),
        ({"mutate": lambda key, g, box: g[:, :4]}, r"mutate .*\(6, 5\); <lambda> gave \(6, 4\)"),
        ({"mutate": leaves}, "leaves gave 1 of 6 outside it"),
        ({"mutate": mutates_on_the_host}, "mutate must be JAX code .* gave Tracer"),
        ({"select": selects_on_the_host}, "select must be JAX code .* gave Tracer"),
        ({"mutate": Recombines(beyond_all)}, "a second parent of the offspring does not live in"),
        ({"select": before}, "rows, from 0 .* before let 1 individuals live on twice"),
        ({"select": lambda p, n: np.argsort(p.novelty)[:n]}, "and select must be JAX code"),
        ({"mutate": lambda key, g, box: (g, g)}, r"must give an array as one array.*got \(Jit"),
        ({"founders": lambda key, n: n}, r"founders, called with \(key, n, box\), raised"),
    ],
)
def test_a_search_ends_where_an_operator_breaks_its_contract(part, message):
    faulty = search(**{"task": HostIdentity(), "estimator": Distance(), **part})
    with pytest.raises(ValueError, match=message):
        faulty.step(faulty.init(KEY), KEY)


def test_a_run_of_a_compiled_task_ends_there_before_anything_is_saved(tmp_path):
    broken = search(Identity(), Distance(), select=before)
    with pytest.raises(ValueError, match="before let 1 individuals live on twice"):
        brns.run(broken, 2, out=tmp_path / "run")
    assert brns.Record(tmp_path / "run", broken).last_generation == 0
