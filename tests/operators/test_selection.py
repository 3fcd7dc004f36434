"""Survivor selection: by hand, and against DEAP."""

import jax
import jax.numpy as jnp
import numpy as np
from deap import base
from deap.tools import selNSGA2, sortNondominated
from deap.tools.emo import assignCrowdingDist
from numpy.testing import assert_allclose, assert_array_equal

from brns.core import Population
from brns.operators import selection
from brns.operators.selection import NSGA2, Elitist, Generational, LocalCompetition


def population(novelty, fitness=None):
    rows = Population.from_descriptors(np.zeros((len(novelty), 2)))
    fitness = rows.fitness if fitness is None else jnp.asarray(fitness, jnp.float32)
    return rows._replace(novelty=jnp.asarray(novelty, jnp.float32), fitness=fitness)


fronts = jax.jit(selection.assign_fronts)
crowding_distance = jax.jit(selection.compute_crowding_distance)
select = jax.jit(NSGA2(), static_argnums=1)
nearest, everyone = (jax.jit(LocalCompetition(k=k), static_argnums=1) for k in (1, 9))


class Maximised(base.Fitness):
    weights = (1.0, 1.0)


class Point:
    """An individual of DEAP that remembers its row."""

    def __init__(self, row, values):
        self.row, self.fitness = row, Maximised(tuple(float(v) for v in values))


def points(objectives):
    return [Point(row, values) for row, values in enumerate(np.asarray(objectives))]


RANDOM = np.random.default_rng(0)
SMOOTH = [RANDOM.normal(size=(60, 2)).astype(np.float32) for _ in range(20)]
GRIDDED = [RANDOM.integers(0, 8, size=(60, 2)).astype(np.float32) for _ in range(20)]
"""pairs of objectives; on a grid points are duplicated and share values"""


def test_elitist_keeps_the_most_novel_and_of_ties_the_first():
    assert Elitist()(population([0.1, 5.0, 3.0, 4.0, 0.2]), 3).tolist() == [1, 3, 2]
    assert Elitist()(population([1.0, 2.0, 1.0, 2.0, 1.0]), 4).tolist() == [1, 3, 0, 2]


def test_the_latest_are_those_born_last_whatever_their_novelty():
    born = jnp.array([1, 0, 2, 2, 1], jnp.int32)
    those = population([9.0, 8.0, 0.1, 0.2, 0.3])._replace(born=born)
    assert Generational()(those, 3).tolist() == [2, 3, 0]
    assert Generational()(those, 4).tolist() == [2, 3, 0, 4]


def test_fronts_and_crowding_distance_agree_with_deap():
    """With ties, one objective constant, all alike, and every point on its own front. DEAP divides
    crowding by the number of objectives."""
    line = np.arange(60.0)
    pairs = ((line, line), (line, -line), (line, 0 * line), (0 * line, line), (0 * line, 0 * line))
    odd = [np.stack(both, axis=1) for both in pairs] + [np.ones((1, 2))]
    for objectives in [*SMOOTH, *GRIDDED, *odd]:
        individuals, expected = points(objectives), np.empty(len(objectives), int)
        for number, front in enumerate(sortNondominated(individuals, len(objectives))):
            assignCrowdingDist(front)
            expected[[p.row for p in front]] = number
        assert_array_equal(fronts(jnp.asarray(objectives, jnp.float32)), expected)
        if any(objectives is each for each in SMOOTH):  # which of duplicates is crowded is open
            crowding = [2 * p.fitness.crowding_dist for p in individuals]
            assert_allclose(crowding_distance(objectives, expected), crowding, rtol=1e-5)


def test_nsga2_selects_what_deap_selects_ties_aside():
    """Whole fronts are the same; of the last one none left out is less crowded."""
    for objectives in SMOOTH + GRIDDED:
        rows = np.asarray(select(population(*objectives.T), 20))
        front = np.asarray(fronts(objectives))
        theirs = np.array([p.row for p in selNSGA2(points(objectives), 20)])
        last = front[rows].max()
        assert set(rows[front[rows] < last]) == set(theirs[front[theirs] < last])
        assert len(set(rows)) == len(rows) == len(theirs)
        crowding = np.asarray(crowding_distance(objectives, front))
        left_out = (front == last) & ~np.isin(np.arange(len(front)), rows)
        assert (crowding[left_out] <= crowding[rows[front[rows] == last]].min(initial=np.inf)).all()


def test_local_competition_by_hand():
    """The nearest of each is 1, 0, 1 and 2, as the crow flies: 0 and 2 beat theirs."""
    four = population([1.0, 1.0, 1.0, 2.0], [5.0, 1.0, 3.0, 0.0])
    points = jnp.array([[0.0, 5.0], [3.0, 3.0], [0.0, 0.0], [-10.0, -1.0]])
    four = four._replace(descriptor=points)
    assert set(nearest(four, 3).tolist()) == {0, 2, 3}
    assert set(everyone(four, 2).tolist()) == {0, 3}  # 0 beats all three, 2 two


def test_nsga2_by_hand():
    """The best of both objectives; of one constant objective what is elitist."""
    assert set(select(population([1.0, 9.0, 2.0, 0.0], [1.0, 0.0, 0.5, 9.0]), 2).tolist()) == {1, 3}
    novelty = np.random.default_rng(1).normal(size=60).astype(np.float32)
    assert select(population(novelty), 20).tolist() == Elitist()(population(novelty), 20).tolist()


def test_who_failed_is_nobodys_rival():
    """A failed row has a parent's place and the least fitness; it changes nothing."""
    random = np.random.default_rng(0)
    sound = Population.from_descriptors(random.normal(size=(12, 2)))._replace(
        novelty=jnp.asarray(random.random(12), jnp.float32),
        fitness=jnp.asarray(random.random(12), jnp.float32),
    )
    failed = jax.tree.map(lambda x: jnp.concatenate([x, x[:5]]), sound)._replace(
        failed=jnp.arange(17) >= 12,
        fitness=jnp.concatenate([sound.fitness, jnp.full(5, -9.0)]),
        novelty=jnp.concatenate([sound.novelty, jnp.full(5, -9.0)]),
    )
    select = jax.jit(LocalCompetition(k=3), static_argnums=1)  # op by op it takes six times as long
    assert_array_equal(select(failed, 6), select(sound, 6))
