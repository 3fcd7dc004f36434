"""Novelty by nearest neighbours, and their search: by hand and against scikit-learn."""

import jax.numpy as jnp
import numpy as np
import pytest
from archives import archive, population
from learning import score
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from brns.estimators.archive import ArchiveKNN, PopulationKNN
from brns.estimators.neighbours import UNROLLED, References, nearest_squared_distances


@pytest.mark.parametrize(
    ("k", "behaviors", "entries", "expected"),
    [
        # 0: 1, 3.  1: 1, 2.  3: 2, 3.  7: 4, 6.
        (2, [0, 1, 3, 7], {}, [2, 1.5, 2.5, 5]),
        (4, [0, 1, 3, 7], {}, [11 / 3, 3, 3, 17 / 3]),  # of three neighbours, all that there are
        # Were entry 0 counted beside individual 0,
        # individual 0 would have a neighbour at distance 0.
        (1, [0, 1, 3], {0: 0.0, 77: 2.5}, [1, 1, 0.5]),
        # A duplicate behavior of another individual is a neighbour.
        (2, [5, 5, 7], {}, [1, 1, 2]),
        # A descriptor that is not finite is nobody's neighbour.
        (1, [0, np.nan, 1, np.inf, 3], {}, [1, np.nan, 1, np.nan, 2]),
    ],
)
def test_novelty_on_a_line_by_hand(k, behaviors, entries, expected):
    living = population(np.reshape(behaviors, (-1, 1)))
    estimator = ArchiveKNN(k=k, additions=1, capacity=4)
    state = archive(estimator, np.reshape([*entries.values()], (-1, 1)), [*entries])
    assert_allclose(score(estimator, state, living.descriptor, living), expected)


def test_nothing_is_left_out_for_a_stranger():
    """Of three strangers the second stands where an individual stands, the third close to it."""
    living = population([[0.0], [1.0], [3.0], [2.0]])
    living.failed[3] = True
    strangers = jnp.array([[2.0], [1.0], [1.0005]])
    assert_allclose(score(PopulationKNN(k=2), (), strangers, living), [1, 1.5, 0.5005], rtol=1e-5)
    living.failed[:] = True  # where nobody lives, an entry may be a query itself
    estimator = ArchiveKNN(k=1, additions=1, capacity=4)
    for entries, novelty in (([[3.5], [1.0]], [1, 0, 0.0005]), (np.zeros((0, 1)), [np.inf] * 3)):
        state = archive(estimator, entries, range(10, 10 + len(entries)))
        assert_allclose(score(estimator, state, strangers, living), novelty, rtol=1e-3)


def test_too_few_references():
    living = population(np.zeros((15, 2)))
    with pytest.raises(ValueError, match="population above 15; got 15"):
        score(PopulationKNN(), (), living.descriptor, living)


LAYOUTS = {
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "maze, near duplicates": lambda rng, n, d: (
        rng.integers(0, 600, (n // 8 + 1, d)).repeat(8, 0)[:n] + 1e-3 * rng.random((n, d))
    ),
    "far from the origin": lambda rng, n, d: 1e6 + rng.random((n, d)),
    "one far cluster": lambda rng, n, d: (
        np.where(rng.random((n, 1)) < 0.1, 1e5, 0) + 1e-2 * rng.random((n, d))
    ),
    "few behaviors": lambda rng, n, d: rng.integers(0, 3, (n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_cauchy((n, d)),
}


def case(layout, seed, estimator, entries, size, d):
    """Archive, population and all references as float64; 3 individuals are in both."""
    rng = np.random.default_rng(seed)
    points = LAYOUTS[layout](rng, entries + size, d).astype(np.float32)
    points = rng.permuted(points, axis=0) if layout == "few behaviors" else points
    living, archived = population(points[:size]), points[size:].copy()
    archived[:3] = points[:3]
    state = archive(estimator, archived, [0, 1, 2, *range(10_000, 10_000 + entries - 3)])
    return state, living, np.concatenate([points[:size], archived[3:]]).astype(np.float64)


@pytest.mark.parametrize(
    ("layout", "d"), [*((layout, 3) for layout in LAYOUTS), ("uniform", 2 * UNROLLED + 2)]
)
def test_agrees_with_scikit_learn(layout, d):
    estimator = ArchiveKNN(capacity=600)
    state, living, references = case(layout, 1, estimator, 300, 150, d)
    search = NearestNeighbors(n_neighbors=15, algorithm="brute").fit(references)
    # Without an argument, scikit-learn's points are the queries and are not their own neighbours.
    expected = search.kneighbors()[0][:150].mean(axis=1)
    found = score(estimator, state, living.descriptor, living)
    assert_allclose(found, expected, rtol=3e-6)


def test_the_nearest_may_each_stand_in_another_group():
    rows = np.arange(600, dtype=np.float32)  # row i is in group i modulo 38
    line = References(jnp.asarray(rows)[:, None], jnp.ones(600, bool))
    found = nearest_squared_distances(jnp.array([[0.0], [599.0]]), line, 16)
    assert_array_equal(found, np.tile(np.arange(16.0) ** 2, (2, 1)))
    assert nearest_squared_distances(jnp.zeros((0, 1)), line, 3).shape == (0, 3)  # of nobody
