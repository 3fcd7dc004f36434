"""Novelty by nearest neighbours: by hand, by law, and against scikit-learn and SciPy in float64."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from brns.core import Box, Generation, Population, take
from brns.estimators import neighbours
from brns.estimators.archive import Archive, ArchiveKNN, PopulationKNN

score = eqx.filter_jit(lambda estimator, *args: estimator.score(*args))
update = eqx.filter_jit(lambda estimator, *args: estimator.update(*args))


def population(descriptor, first=0, novelty=None, born=0) -> Population:
    descriptor = jnp.asarray(descriptor, jnp.float32)
    n = descriptor.shape[0]
    zeros, number = jnp.zeros(n, jnp.float32), jnp.arange(n, dtype=jnp.int32)
    return Population(
        genotype=zeros[:, None],
        descriptor=descriptor,
        fitness=zeros,
        solved=zeros > 0,
        novelty=zeros if novelty is None else jnp.asarray(novelty, jnp.float32),
        id=first + number,
        parent=jnp.full(n, -1, jnp.int32),
        born=jnp.full(n, born, jnp.int32),
    )


def archive(estimator, descriptor, ids, novelty=None, entered=None) -> Archive:
    """An archive of the estimator's capacity whose first rows are these."""
    descriptor = np.asarray(descriptor, np.float32)
    d, n = descriptor.shape[1], len(ids)
    empty = estimator.init(Box(np.zeros(d), np.ones(d)), jax.random.key(0))
    return empty._replace(
        descriptor=empty.descriptor.at[:n].set(descriptor),
        id=empty.id.at[:n].set(jnp.asarray(ids, jnp.int32)),
        novelty=empty.novelty.at[:n].set(0.0 if novelty is None else jnp.asarray(novelty, jnp.float32)),
        entered=empty.entered.at[:n].set(0 if entered is None else jnp.asarray(entered, jnp.int32)),
    )


def generation(g, size=10, d=2, novelty=None) -> Generation:
    """Offspring g * size, g * size + 1, ... of the offspring of the generation before."""
    rng = np.random.default_rng(g)
    novelty = rng.random((2, size)) if novelty is None else np.reshape(novelty, (2, size))
    parents = population(rng.random((size, d)), (g - 1) * size, novelty[0], g - 1)
    offspring = population(rng.random((size, d)), g * size, novelty[1], g)
    return Generation(parents, offspring, offspring)


def ids(state: Archive) -> list[int]:
    return [int(i) for i in state.id if i >= 0]


# By hand


def test_mean_distance_to_the_two_nearest_others():
    living = population([[0.0], [1.0], [3.0], [7.0]])
    # 0: 1, 3.  1: 1, 2.  3: 2, 3.  7: 4, 6.
    np.testing.assert_allclose(PopulationKNN(k=2).score((), living.descriptor, living), [2, 1.5, 2.5, 5])


def test_archive_entries_are_references():
    living = population([[0.0, 0.0], [6.0, 8.0], [0.0, 20.0]])
    estimator = ArchiveKNN(k=1, growth=1, capacity=4)
    state = archive(estimator, [[3.0, 4.0]], [77])
    np.testing.assert_allclose(estimator.score(state, living.descriptor, living), [5, 5, np.hypot(6, 12)])


def test_an_individual_in_both_archive_and_population_counts_once():
    living = population([[0.0], [1.0], [3.0]])
    estimator = ArchiveKNN(k=1, growth=1, capacity=4)
    state = archive(estimator, [[0.0], [2.5]], [0, 77])
    # Were entry 0 counted beside individual 0, individual 0 would have a neighbour at distance 0.
    np.testing.assert_allclose(estimator.score(state, living.descriptor, living), [1, 1, 0.5])


def test_a_duplicate_behavior_of_another_individual_is_a_neighbour():
    living = population([[5.0], [5.0], [7.0]])
    np.testing.assert_allclose(PopulationKNN(k=2).score((), living.descriptor, living), [1, 1, 2])


def test_nothing_is_left_out_for_a_stranger():
    living = population([[0.0], [1.0], [3.0]])
    stranger = jnp.array([[2.0], [1.0]])  # the second one stands where an individual stands
    np.testing.assert_allclose(PopulationKNN(k=2).score((), stranger, living), [1, 1.5])


def test_empty_rows_are_no_references():
    living = population([[10.0], [11.0], [13.0]])
    estimator = ArchiveKNN(k=1, growth=1, capacity=4)  # empty rows hold the descriptor 0
    state = archive(estimator, np.zeros((0, 1)), [])
    np.testing.assert_allclose(estimator.score(state, jnp.zeros((1, 1)), living), [10])


def test_a_descriptor_that_is_not_finite_is_nobodys_neighbour():
    living = population([[0.0], [np.nan], [1.0], [np.inf], [3.0]])
    expected = [1, np.nan, 1, np.nan, 2]
    np.testing.assert_allclose(PopulationKNN(k=1).score((), living.descriptor, living), expected)


# Errors


def test_too_few_references():
    living = population(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="k=15 nearest neighbours need more than 15 reference descriptors; got 5"):
        PopulationKNN().score((), living.descriptor, living)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k >= 1"),
        ({"growth": 0}, "growth=0"),
        ({"growth": 7, "capacity": 6}, "growth=7 and capacity=6"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        ArchiveKNN(**settings)


@pytest.mark.parametrize(("setting", "value"), [("entry", "best"), ("removal", "newest")])
def test_rules_that_do_not_exist(setting, value):
    settings = {"k": 15, "growth": 6, "capacity": 10, "entry": "random", "removal": "random", setting: value}
    with pytest.raises(ValueError, match=f"ArchiveKNN.{setting} must be .* got '{value}'"):
        ArchiveKNN.__check_init__(SimpleNamespace(**settings))  # past the shape checks, which would object first


# Agreement with float64

LAYOUTS = {
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "maze, near duplicates": lambda rng, n, d: (
        rng.integers(0, 600, (n // 8 + 1, d)).repeat(8, 0)[:n] + 1e-3 * rng.random((n, d))
    ),
    "far from the origin": lambda rng, n, d: 1e6 + rng.random((n, d)),
    "badly scaled": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 6, d),
    "one far cluster": lambda rng, n, d: np.where(rng.random((n, 1)) < 0.1, 1e5, 0) + 1e-2 * rng.random((n, d)),
    "few behaviors": lambda rng, n, d: rng.integers(0, 3, (n, d)),
    "one behavior": lambda rng, n, d: np.full((n, d), 3.7),
    "heavy tails": lambda rng, n, d: rng.standard_cauchy((n, d)),
    "a sorted line": lambda rng, n, d: np.linspace(0, 1, n)[:, None] * np.ones(d),
}


def case(layout, seed, estimator, entries, size, d):
    """Archive, population and all references as float64 (population first), 3 individuals being in both."""
    rng = np.random.default_rng(seed)
    points = LAYOUTS[layout](rng, entries + size, d).astype(np.float32)
    points = rng.permuted(points, axis=0) if layout == "few behaviors" else points
    living, archived = population(points[:size]), points[size:].copy()
    archived[:3] = points[:3]
    state = archive(estimator, archived, [0, 1, 2, *range(10_000, 10_000 + entries - 3)])
    return state, living, np.concatenate([points[:size], archived[3:]]).astype(np.float64)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_agrees_with_scikit_learn(layout):
    estimator = ArchiveKNN(capacity=600)
    for seed in range(8):
        entries = int(np.random.default_rng(seed).integers(3, 600))
        state, living, references = case(layout, seed, estimator, entries, 50, 3)
        search = NearestNeighbors(n_neighbors=15, algorithm="brute").fit(references)
        # Without an argument, scikit-learn's points are the queries and are not their own neighbours.
        expected = search.kneighbors()[0][:50].mean(axis=1)
        np.testing.assert_allclose(score(estimator, state, living.descriptor, living), expected, rtol=3e-6)


def test_agrees_with_scipy_over_many_blocks_and_chunks():
    d = neighbours.UNROLLED + 2
    estimator = ArchiveKNN(capacity=2 * neighbours.BLOCK + 900)
    entries, size = 2 * neighbours.BLOCK + 600, neighbours.CHUNK + 20
    for layout in ("uniform", "maze, near duplicates", "few behaviors"):
        state, living, references = case(layout, 1, estimator, entries, size, d)
        expected = cKDTree(references).query(references[:size], 16)[0][:, 1:].mean(axis=1)
        np.testing.assert_allclose(score(estimator, state, living.descriptor, living), expected, rtol=3e-6)


# Laws


@pytest.fixture(scope="module")
def crowd():
    estimator = ArchiveKNN(capacity=600)
    state, living, _ = case("maze, near duplicates", 5, estimator, 400, 50, 3)
    return estimator, state, living, score(estimator, state, living.descriptor, living)


def test_permuting_descriptors_permutes_novelty(crowd):
    estimator, state, living, novelty = crowd
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_array_equal(score(estimator, state, living.descriptor[order], living), novelty[order])


def test_the_order_of_references_does_not_matter(crowd):
    estimator, state, living, novelty = crowd
    rng = np.random.default_rng(1)
    mixed = take(state, jnp.asarray(np.concatenate([rng.permutation(400), np.arange(400, 600)])))
    permuted = take(living, jnp.asarray(rng.permutation(50)))
    np.testing.assert_array_equal(score(estimator, mixed, living.descriptor, permuted), novelty)


def test_novelty_scales_with_the_space(crowd):
    estimator, state, living, novelty = crowd
    grown = state._replace(descriptor=state.descriptor * 8), living._replace(descriptor=living.descriptor * 8)
    np.testing.assert_array_equal(score(estimator, grown[0], grown[1].descriptor, grown[1]), novelty * 8)


def test_more_references_never_add_novelty(crowd):
    estimator, state, living, novelty = crowd
    fewer = state._replace(id=jnp.where(jnp.arange(600) < 200, state.id, -1))
    assert np.all(score(estimator, fewer, living.descriptor, living) >= novelty)


def test_without_an_archive_it_is_the_population_alone(crowd):
    estimator, state, living, _ = crowd
    nobody = state._replace(id=jnp.full(600, -1, jnp.int32))
    alone = score(PopulationKNN(), (), living.descriptor, living)
    np.testing.assert_array_equal(score(estimator, nobody, living.descriptor, living), alone)


def test_batched_over_seeds_equals_one_by_one():
    estimator = ArchiveKNN(capacity=600)
    cases = [case("uniform", seed, estimator, entries, 50, 3)[:2] for seed, entries in enumerate((3, 150, 580))]
    states, livings = jax.tree.map(lambda *columns: jnp.stack(columns), *cases)
    together = jax.jit(jax.vmap(lambda s, p: estimator.score(s, p.descriptor, p)))(states, livings)
    for row, (state, living) in zip(together, cases, strict=True):
        np.testing.assert_allclose(row, score(estimator, state, living.descriptor, living), rtol=1e-6)


# The archive


def test_growth_is_constant_and_everyone_enters_at_most_once():
    estimator = ArchiveKNN(k=3, growth=4, capacity=50)
    state = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0))
    everyone: dict[int, np.ndarray] = {}
    for g in range(1, 31):
        facts = generation(g)
        for part in (facts.parents, facts.offspring):
            everyone |= {int(i): x for i, x in zip(part.id, np.asarray(part.descriptor), strict=True)}
        before = ids(state)
        state = update(estimator, state, facts, jax.random.key(g))
        entrants = set(ids(state)) - set(before)
        assert len(ids(state)) == len(set(ids(state))) == min(4 * g, 50)
        assert len(entrants) == 4
        assert entrants <= {int(i) for i in (*facts.parents.id, *facts.offspring.id)}
        np.testing.assert_array_equal(state.id >= 0, np.arange(50) < 4 * g)  # no gaps
        for row, number in enumerate(ids(state)):
            if number in entrants:
                np.testing.assert_array_equal(state.descriptor[row], everyone[number])
                assert int(state.entered[row]) == g
                assert int(state.born[row]) == number // 10


def test_who_is_in_the_archive_does_not_enter_again():
    estimator = ArchiveKNN(k=3, growth=6, capacity=50)
    facts = generation(1)  # 20 individuals
    state = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0))
    sizes = []
    for g in range(5):
        state = update(estimator, state, facts, jax.random.key(g))
        sizes.append(len(ids(state)))
    assert sizes == [6, 12, 18, 20, 20]
    assert sorted(ids(state)) == list(range(20))


def test_random_entry_draws_everyone_equally():
    estimator = ArchiveKNN(k=3, growth=5, capacity=5)
    empty, facts = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0)), generation(1)
    drawn = jax.jit(jax.vmap(lambda key: estimator.update(empty, facts, key).id))(
        jax.random.split(jax.random.key(3), 4000)
    )
    counts = np.bincount(np.asarray(drawn).ravel(), minlength=20)
    # Each of 20 enters with probability 1/4: 1000 times, standard deviation 27.
    assert np.all(abs(counts - 1000) < 5 * 27.4)


def test_the_most_novel_enter():
    estimator = ArchiveKNN(k=3, growth=3, capacity=50, entry="most_novel")
    novelty = np.arange(20) % 7 + np.arange(20) / 100  # largest: 6.13 (id 13), 6.06 (6), 5.19 (19), 5.12 (12)
    state = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0))
    state = update(estimator, state, generation(1, novelty=novelty), jax.random.key(1))
    assert ids(state) == [13, 6, 19]
    np.testing.assert_allclose(state.novelty[:3], [6.13, 6.06, 5.19])
    state = update(estimator, state, generation(1, novelty=novelty), jax.random.key(2))
    assert ids(state)[3] == 12


@pytest.mark.parametrize("entry", ["random", "most_novel"])
def test_only_novelty_above_the_threshold_enters(entry):
    estimator = ArchiveKNN(k=3, growth=6, capacity=50, entry=entry, threshold=1.0)
    novelty = np.zeros(20)
    novelty[[2, 5, 11]] = [3, 1, 2]  # 1 is not above 1
    state = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0))
    state = update(estimator, state, generation(1, novelty=novelty), jax.random.key(1))
    assert sorted(ids(state)) == [2, 11]


def test_a_descriptor_that_is_not_finite_does_not_enter():
    estimator = ArchiveKNN(k=3, growth=20, capacity=50)
    facts = generation(1)
    broken = facts.offspring.descriptor.at[4, 1].set(jnp.nan)
    facts = facts._replace(offspring=facts.offspring._replace(descriptor=broken))
    state = update(estimator, estimator.init(Box([0, 0], [1, 1]), jax.random.key(0)), facts, jax.random.key(1))
    assert sorted(set(range(20)) - set(ids(state))) == [14]


def full_archive(**settings):
    """Six entries, ids 100 to 105, with novelty and generation of entry in different orders."""
    estimator = ArchiveKNN(k=3, growth=2, capacity=6, **settings)
    points = np.zeros((6, 2))
    return estimator, archive(estimator, points, range(100, 106), [5, 1, 4, 2, 6, 3], [3, 6, 2, 5, 1, 4])


@pytest.mark.parametrize(("removal", "gone"), [("oldest", {104, 102}), ("least_novel", {101, 103})])
def test_removal_from_a_full_archive(removal, gone):
    estimator, state = full_archive(removal=removal)
    after = update(estimator, state, generation(7), jax.random.key(0))
    assert set(range(100, 106)) - set(ids(after)) == gone
    assert len(ids(after)) == 6


def test_random_removal_takes_every_entry_equally():
    estimator, state = full_archive()
    keys = jax.random.split(jax.random.key(4), 3000)
    after = jax.jit(jax.vmap(lambda key: estimator.update(state, generation(7), key).id))(keys)
    left = (after[:, :, None] == jnp.arange(100, 106)).any(axis=1).sum(axis=0)
    # Each of 6 stays with probability 2/3: 2000 times, standard deviation 26.
    assert np.all(abs(np.asarray(left) - 2000) < 5 * 25.8)


def test_the_last_empty_rows_are_filled_before_anyone_is_removed():
    estimator = ArchiveKNN(k=3, growth=3, capacity=5, removal="oldest")
    state = archive(estimator, np.zeros((3, 2)), [100, 101, 102], entered=[2, 1, 3])
    after = update(estimator, state, generation(7), jax.random.key(0))
    assert set(ids(after)) & {100, 101, 102} == {100, 102}
    assert len(ids(after)) == 5


@pytest.mark.parametrize("estimator", [ArchiveKNN(k=3, growth=2, capacity=6), PopulationKNN(k=3)])
def test_compiles_once_over_generations(estimator):
    traces = []

    @jax.jit
    def step(state, facts, key):
        traces.append(None)
        living = facts.offspring
        return estimator.score(state, living.descriptor, living), estimator.update(state, facts, key)

    state = estimator.init(Box([0, 0], [1, 1]), jax.random.key(0))
    for g in range(1, 6):
        _, state = step(state, generation(g), jax.random.key(g))
    assert len(traces) == 1
