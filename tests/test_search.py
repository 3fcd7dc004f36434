"""The loop: what a generation's facts obey, whatever the task and the novelty."""

import contextlib
import ctypes
import itertools
import os
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import same
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from searches import ESTIMATOR, HOST, Distance
from searches import search as make
from small_tasks import HostIdentity, Identity, altered

import brns
from brns.checks.generations import check_ids_and_lineage
from brns.core import Population
from brns.core.population import concatenate_populations, make_initial_generation, take_rows
from brns.runs.seeds import stack_trees
from brns.search import derive_keys

KEY = jax.random.key(0)


# Every gene mutates: a clone ties with its parent,
# and a tie may fall either way where the compiler rounds anew.
search = partial(make, estimator=Distance(), mutate=brns.PolynomialMutation(rate=1.0))


def history(search, generations, key=KEY):
    """The states and the facts of generations 0, 1, ..."""
    states = [search.init(key)]
    facts = [make_initial_generation(states[0].population)]
    for _ in range(generations):
        state, generation = search.step(states[-1], key)
        states.append(state)
        facts.append(generation)
    return states, facts


@pytest.fixture(scope="module")
def run():
    return history(search(), 12)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("founders", lambda key, n, box: np.random.uniform(size=(n, box.dimension))),
        ("mutate", lambda key, rows, box: rows * np.random.uniform(size=rows.shape)),
        ("select", lambda union, n: jnp.array(np.random.permutation(len(union.id))[:n])),
    ],
)
def test_operators_that_draw_by_numpy_are_refused(name, part):
    """They would draw the same numbers in every generation, and no seed's founders again."""
    with pytest.raises(ValueError, match=f"{name} must draw by jax.random and its key alone"):
        search(**{name: part}).init(KEY)
    search(mutate=lambda key, rows, box: rows * jax.random.uniform(key, rows.shape)).init(KEY)


class Weighting:
    """An estimator, a mutation and a selection with constants of the sizes that they meet first."""

    def __init__(self):
        self.weights = {}

    def weigh(self, name, rows):
        weights = np.linspace(0.5, 1, len(rows), dtype=np.float32)[:, None]
        return rows * self.weights.setdefault(name, weights)

    def init(self, space, key):
        return jnp.zeros(space.dimension)

    def score(self, state, descriptors, population):
        return jnp.linalg.norm(descriptors - state, axis=1)

    def update(self, state, generation, key):
        parents = self.weigh("parents", generation.parents.descriptor)
        return (parents.sum(axis=0) + self.weigh("born", generation.offspring.descriptor))[0]

    def mutate(self, key, genotypes, box):
        return self.weigh("genotypes", genotypes)

    def select(self, union, n):
        return jnp.argsort(self.weigh("union", union.novelty[:, None])[:, 0])[-n:]


def test_parts_may_keep_constants_of_the_sizes_that_they_meet_first():
    part = Weighting()
    history(search(estimator=part, mutate=part.mutate, select=part.select, offspring_size=5), 2)
    assert len(part.weights["parents"]) != len(part.weights["born"]) == 5


def test_parts_are_checked_once_whatever_the_number_of_seeds():
    calls = []
    counting = search(mutate=lambda key, rows, box: calls.append(rows) or rows)
    counting.init(KEY)
    checked = len(calls)
    counting.init(jax.random.key(1))
    assert len(calls) == checked > 0


class Remembering:
    """It appends to a list of its own, which is no state."""

    def __init__(self):
        self.batches = []

    def init(self, space, key):
        return jnp.zeros((1, space.dimension))

    def score(self, state, descriptors, population):
        seen = jnp.concatenate([state, *self.batches])
        return jnp.linalg.norm(descriptors[:, None] - seen, axis=2).min(axis=1)

    def update(self, state, generation, key):
        self.batches.append(generation.offspring.descriptor)
        return state


class Annealed:
    """It counts in an attribute, which is no state."""

    def __init__(self):
        self.passed = 0

    def init(self, space, key):
        return jnp.zeros(space.dimension)

    def score(self, state, descriptors, population):
        return jnp.linalg.norm(descriptors - state, axis=1) * 0.9**self.passed

    def update(self, state, generation, key):
        self.passed += 1
        return state


def test_an_array_of_jax_that_a_cache_keeps_is_refused():
    """Where it is first made while a program is compiled, it is of that program alone."""
    places = lru_cache(jnp.arange)
    with pytest.raises(ValueError, match=r"select must .* keeps .* or a cache"):
        search(select=lambda union, n: places(n)).init(KEY)


@pytest.mark.parametrize("kind", [Remembering, Annealed])
def test_an_estimator_that_keeps_what_it_learns_in_itself_is_refused(kind):
    """It would learn when it is compiled, and never again."""
    with pytest.raises(ValueError, match=r"estimator must .* keeps .* in an attribute"):
        search(estimator=kind()).init(KEY)
    with pytest.raises(ValueError, match="estimator must"):
        brns.check_estimator(kind())


class Aging(Distance):
    """Its state is the mean, and numbers of Python."""

    def init(self, space, key):
        return {"mean": Distance.init(self, space, key), "age": 0, "scale": 1.0}

    def score(self, state, descriptors, population):
        return state["scale"] * Distance.score(self, state["mean"], descriptors, population)

    def update(self, state, generation, key):
        mean = Distance.update(self, state["mean"], generation, key)
        return {"mean": mean, "age": state["age"] + 1, "scale": 0.5}


def test_numbers_of_python_in_a_state_are_arrays_and_resume(tmp_path):
    aging = search(HostIdentity(), estimator=Aging())
    states, _ = history(aging, 3)
    assert all(eqx.is_array(leaf) for state in states for leaf in jax.tree.leaves(state))
    assert [int(state.estimator["age"]) for state in states] == [0, 1, 2, 3]
    brns.run(aging, 2, out=tmp_path / "run")
    (record,) = brns.resume(tmp_path / "run", 3, search=aging)
    assert same(record.state(3, aging).estimator, states[3].estimator)


def test_generation_0_holds_founders_of_the_genotype_space(run):
    states, facts = run
    founders = states[0].population
    assert founders.id.tolist() == list(range(8))
    assert founders.parent.tolist() == [-1] * 8
    assert founders.born.tolist() == [0] * 8
    assert int(states[0].generation) == 0
    assert (abs(founders.genotype) <= 1).all()
    assert_allclose(founders.descriptor, 300 + 300 * founders.genotype[:, :2], rtol=1e-5)
    assert_allclose(founders.novelty, np.linalg.norm(founders.descriptor, axis=1), rtol=1e-5)
    assert facts[0].parents.id.shape == (0,)
    assert same(facts[0].offspring, founders)
    assert same(facts[0].survivors, founders)


def test_ids_follow_the_order_of_birth_and_name_the_parents(run):
    ids = np.concatenate([facts.offspring.id for facts in run[1]])
    assert_array_equal(ids, np.arange(8 + 12 * 6))
    for g, (state, facts) in enumerate(zip(*run, strict=True)):
        assert int(state.generation) == g
        assert facts.offspring.born.tolist() == [g] * len(facts.offspring.id)
    for before, facts in itertools.pairwise(run[1]):
        assert_array_equal(facts.parents.id, before.survivors.id)
        assert np.isin(facts.offspring.parent, facts.parents.id).all()


def test_survivors_are_the_most_novel_rows_of_the_union(run):
    for state, facts in zip(run[0][1:], run[1][1:], strict=True):
        union = concatenate_populations(facts.parents, facts.offspring)
        assert same(facts.survivors, take_rows(union, jnp.argsort(-union.novelty, stable=True)[:8]))
        assert same(facts.survivors, state.population)


def test_novelty_is_that_of_the_state_before_the_generation(run):
    for state, facts in zip(run[0], run[1][1:], strict=False):
        for individuals in (facts.parents, facts.offspring):
            expected = np.linalg.norm(individuals.descriptor - state.estimator, axis=1)
            assert_allclose(individuals.novelty, expected, rtol=1e-5)
    for state, facts in zip(run[0][1:], run[1][1:], strict=True):
        assert_allclose(state.estimator, facts.offspring.descriptor.mean(axis=0), rtol=1e-5)
    _, facts = HOST.step(HOST.init(KEY), KEY)  # among parents and offspring
    union = concatenate_populations(facts.parents, facts.offspring)
    distances = np.sort(cdist(union.descriptor, union.descriptor), axis=1)
    assert_allclose(union.novelty, distances[:, 1:3].mean(axis=1), rtol=1e-4)


def test_parents_keep_their_old_novelty_in_algorithm_1_as_printed(run):
    _, facts = history(search(HostIdentity(), rescore_parents=False), 4)
    for before, after in itertools.pairwise(facts):
        assert_array_equal(after.parents.novelty, before.survivors.novelty)
    pairs = itertools.pairwise(run[1])
    assert any((a.parents.novelty != b.survivors.novelty).any() for b, a in pairs)


def test_ask_evaluate_tell_is_step(run):
    experiment, state = search(), run[0][0]
    ask, evaluate, tell = jax.random.split(jax.random.fold_in(KEY, 1), 3)
    offspring = experiment.ask(state, ask)
    evaluation = experiment.task.evaluate(offspring.genotype, evaluate)
    told = experiment.tell(state, offspring, evaluation, tell)
    for a, b in zip(jax.tree.leaves(told), jax.tree.leaves((run[0][1], run[1][1])), strict=True):
        assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_task_may_write_into_the_genotypes_that_it_is_given():
    """As PyTorch does by `torch.from_dlpack(genotypes).mul_(0.5)`; JAX takes them for constant."""

    def halve(evaluation, genotypes, key):
        evaluation = jax.tree.map(np.array, evaluation)
        floats = ctypes.c_float * genotypes.size
        memory = np.frombuffer(floats.from_address(genotypes.unsafe_buffer_pointer()), np.float32)
        memory *= 0.5
        return evaluation

    key = jax.random.key(0)
    pair = make(HostIdentity()), make(altered(halve))
    plain, written = (each.step(each.init(key), key)[1] for each in pair)
    assert same(plain, written)


def test_seeds_in_a_batch_equal_seeds_alone():
    experiment, keys = search(), jax.random.split(KEY, 3)
    alone = [history(experiment, 4, key)[0] for key in keys]
    founders, *later = (stack_trees(states) for states in zip(*alone, strict=True))
    batch = jax.jit(jax.vmap(experiment.init))(keys)
    for a, b in zip(jax.tree.leaves(batch), jax.tree.leaves(founders), strict=True):
        assert_allclose(a, b, rtol=2e-3, atol=1e-3)
    step = eqx.filter_jit(lambda states, keys: jax.vmap(experiment.step)(states, keys))
    for expected in later:
        batch, _ = step(batch, keys)
        assert_array_equal(batch.population.id, expected.population.id)
        for a, b in zip(jax.tree.leaves(batch), jax.tree.leaves(expected), strict=True):
            assert_allclose(a, b, rtol=2e-3, atol=1e-3)


def test_where_founders_fail_in_a_batch_others_stand_once_more():
    def fail(evaluation, genotypes, key):
        return evaluation._replace(failed=genotypes[:, 0] > 0)

    experiment = search(altered(fail, Identity), estimator=ESTIMATOR)
    batch = jax.jit(jax.vmap(experiment.init))(jax.random.split(KEY, 2)).population
    assert (batch.genotype[..., 0] <= 0).all()
    assert not batch.failed.any()
    assert np.isfinite(batch.novelty).all()
    for seed, key in enumerate(jax.random.split(KEY, 2)):
        drawn = experiment.founders(derive_keys(key, 0)[0], 8, experiment.task.genotype_space)
        living = drawn[drawn[:, 0] <= 0]
        assert 1 < len(living) < 8
        assert_array_equal(np.unique(batch.genotype[seed], axis=0), np.unique(living, axis=0))


def test_given_founders_begin_a_compiled_loop():
    experiment = search(brns.PlanarArm(2), founders=brns.GivenFounders(np.full((8, 2), 0.25)))
    compiled = jax.jit(lambda key: experiment.init(key))(KEY)
    assert_array_equal(compiled.population.genotype, experiment.init(KEY).population.genotype)


@pytest.fixture(scope="module")
def mixed():
    """Of two operators; without mutation each gene of a crossover is a parent's. Some fail."""
    fragile = altered(lambda e, g, key: e._replace(solved=True, failed=1e4 * g.sum(1) % 3 > 2))
    operators = (brns.Crossover(mutated=0.0), brns.PolynomialMutation(rate=1.0))
    mutate = brns.MixedMutation(operators, credit_rate=0.5, rewarded=0.25)
    return history(search(fragile, mutate=mutate), 6)


def test_credit_is_the_operators_shares_of_the_most_novel_offspring(mixed):
    """At a rate of 1/2 it goes half of the way; of six offspring the two most novel count."""
    states, facts = mixed
    for before, after, generation in zip(states, states[1:], facts[1:], strict=False):
        best = np.argsort(-generation.offspring.novelty)[:2]
        assert_array_equal(generation.offspring.solved, ~generation.offspring.failed)
        share = np.bincount(generation.offspring.operator[best], minlength=2) / 2
        assert_allclose(after.credit, (before.credit + share) / 2, rtol=1e-6)


def test_offspring_have_their_operator_and_the_genes_of_both_parents(mixed):
    states, (founders, *later) = mixed
    assert founders.offspring.operator.tolist() == founders.offspring.mate.tolist() == [-1] * 8
    assert {int(operator) for facts in later for operator in facts.offspring.operator} == {0, 1}
    for state, facts in zip(states, later, strict=False):
        genes_of = dict(zip(state.population.id.tolist(), state.population.genotype, strict=True))
        for row, operator in enumerate(facts.offspring.operator):
            child = take_rows(facts.offspring, row)
            if operator == 1:
                assert child.mate == -1
                continue
            mother, father = genes_of[int(child.parent)], genes_of[int(child.mate)]
            assert ((child.genotype == mother) | (child.genotype == father)).all()


def test_parents_are_drawn_uniformly_or_by_tournament(run):
    """Of eight with novelty 0 to 7 the best of two is k or less with
    probability ((k + 1) / 8)^2; of one, uniform."""
    for tournament in (1, 2):
        many = search(offspring_size=4000, tournament=tournament)
        state = run[0][0]
        state = state._replace(population=state.population._replace(novelty=jnp.arange(8.0)))
        parents = np.asarray(many.ask(state, KEY).parent)
        below = [np.mean(parents <= k) for k in range(8)]
        assert_allclose(below, ((np.arange(8) + 1) / 8) ** tournament, atol=0.03)


def test_one_compilation_serves_every_generation():
    """The founders are evaluated as they are, all later generations by one trace."""
    traces = []

    class Traced(Identity):
        def evaluate(self, genotypes, key):
            traces.append(genotypes.shape)
            return super().evaluate(genotypes, key)

    history(search(Traced()), 5)
    assert traces == [(8, 5), (6, 5)]


def test_tell_takes_what_a_host_says_and_names_the_task_where_it_is_wrong():
    experiment = search(HostIdentity())
    state = experiment.init(KEY)
    offspring = experiment.ask(state, KEY)
    said = HostIdentity().evaluate(offspring.genotype, KEY)
    listed = said._replace(solved=said.solved.tolist(), fitness=said.fitness.tolist())
    told, again = (experiment.tell(state, offspring, each, KEY) for each in (listed, said))
    assert same(told, again)
    with pytest.raises(ValueError, match=r"HostIdentity.evaluate .*\(6,\); got \(5,\)"):
        experiment.tell(state, offspring, said._replace(fitness=said.fitness[:5]), KEY)
    wrong = said._replace(fitness=jnp.asarray(said.fitness).at[2].set(jnp.nan))
    with pytest.raises(ValueError, match=r"not finite for 1 of 6 .*float32, which ends at 3.4e38"):
        experiment.tell(state, offspring, wrong, KEY)
    moved = offspring._replace(genotype=offspring.genotype.at[1, 0].set(99))
    with pytest.raises(ValueError, match=r"inside the genotype space.* gene 0 = 99 in row 1"):
        experiment.tell(state, moved, said, KEY)


ALL = jnp.arange(6)


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        (ALL[1:], {}, r"tell needs all 6 offspring .* got \(5, 5\) \(genotype"),
        (jnp.append(ALL, 0), {}, r"tell needs all 6 offspring .* got \(7, 5\) \(genotype"),
        (ALL[::-1], {}, "in the order in which ask gave them"),
        (0 * ALL, {}, "one twice"),
        (ALL, {"parent": jnp.zeros(5, int)}, r"needs all 6 offspring .* got \(5,\) \(parent\)"),
        (ALL, {"parent": jnp.zeros(6)}, "whose parent is of integers; got float32"),
        (
            ALL,
            {"parent": ALL.at[3].set(999)},
            "of this very state; a parent of theirs does not live",
        ),
        (ALL, {"mate": ALL.at[3].set(999)}, "a second parent of the offspring does not live in"),
    ],
)
def test_tell_takes_what_ask_gave_of_this_state(run, rows, changes, message):
    """All of it: ids are numbered by `offspring_size`, and fewer would get those of others."""
    experiment, state = search(), run[0][0]
    offspring = experiment.ask(state, KEY)
    evaluation = experiment.task.evaluate(offspring.genotype, KEY)
    wrong = take_rows(offspring, rows)._replace(**changes)
    with pytest.raises(ValueError, match=message):
        experiment.tell(state, wrong, evaluation, KEY)


def test_offspring_are_told_to_no_older_state_or_one_of_another_seed(run):
    """The number of a generation may be of any kind."""
    experiment, (old, state, after, *_) = search(), run[0]
    offspring = experiment.ask(state, KEY)
    evaluation = experiment.task.evaluate(offspring.genotype, KEY)
    numbered = experiment.tell(state._replace(generation=1), offspring, evaluation, KEY)
    assert same(numbered, experiment.tell(state, offspring, evaluation, KEY))
    seed, _ = experiment.step(experiment.init(jax.random.key(7)), jax.random.key(7))
    late = state._replace(generation=jnp.int32(5))  # as where nobody of the last ones survived
    for other, number in ((old, 0), (after, 2), (seed, 1), (late, 5)):
        with pytest.raises(
            ValueError, match=rf"of this very state, of generation {number}, each once"
        ):
            experiment.tell(other, offspring, evaluation, KEY)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda it, state: it.init(0), r"key must be .*jax.random.key\(0\); got 0"),
        (lambda it, state: it.step(KEY, state), "key must be .* got SearchState"),
        (lambda it, state: it.ask(None, KEY), "state must be what init, step or tell gave; got No"),
        (lambda it, state: it.tell((state, 1), None, None, KEY), r"state must be .*got \(Search"),
        (lambda it, state: it.tell(state, np.ones((6, 5)), None, KEY), "offspring that ask gave"),
    ],
)
def test_what_is_no_key_state_or_offspring_is_named(run, call, message, unchecked):
    with pytest.raises(ValueError, match=message):
        call(search(), run[0][0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population_size": 9}, r"population.genotype has shape \(9, 5\); got \(8, 5\)"),
        ({"estimator": brns.ArchiveKNN(capacity=7)}, r"estimator.descriptor .*\(7, 2\); got none"),
        ({"mutate": brns.MixedMutation()}, r"credit has shape \(7,\); got \(1,\)"),
    ],
)
def test_a_state_of_another_search_is_refused(run, changes, message, unchecked):
    other, state = search(**changes), run[0][1]
    for call in (
        lambda: other.ask(state, KEY),
        lambda: other.step(state, KEY),
        lambda: other.tell(state, None, None, KEY),
    ):
        with pytest.raises(ValueError, match=f"state must be one of this search.*{message}"):
            call()


def test_a_state_of_a_search_with_more_offspring_is_refused(run):
    """Ids are numbered by `offspring_size`: they would be those of who lives."""
    other = search(HostIdentity(), offspring_size=2)
    with pytest.raises(ValueError, match=r"offspring must have new ids.* another offspring_size"):
        other.step(run[0][3], KEY)
    parents, born = (Population.from_descriptors(np.zeros((2, 2)), first=first) for first in (7, 8))
    with pytest.raises(ValueError, match="from 9 on; got 8"):
        check_ids_and_lineage(make_initial_generation(born)._replace(parents=parents))


def test_a_fork_of_the_process_that_made_a_search_is_told_to_spawn(tmp_path):
    """There JAX would wait for ever."""
    search = make()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            try:
                search.init(jax.random.key(0))
            except RuntimeError as error:
                (tmp_path / "said").write_text(str(error))
        os._exit(0)
    os.waitpid(child, 0)
    assert "spawn" in (tmp_path / "said").read_text()
