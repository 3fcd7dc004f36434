"""Visits in random grids: by hand, against exact recognition, and the theorem bit by bit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learning import KEY, init, learned, newborn, novelty, people, uniform
from numpy.testing import assert_allclose, assert_array_equal

from brns import Box, VisitCounts
from brns.estimators.counts import _tabulate_rarity

FINE = VisitCounts(grids=16, rows=4096, grid_dims=2, cell_sizes=(5e-4, 1e-3))


@eqx.filter_jit
def visits(estimator, state, points):
    return estimator.effective_visits(state, jnp.asarray(points, jnp.float32))


def test_visits_by_hand():
    """Five at one place, one at another, and nobody at the third: 5 effective visits, 1 and 0;
    1/6 as novel, 1/2 and 1."""
    often, once, never = [100, 100], [500, 500], [300, 20]
    state = learned(FINE, [[often, once], [often, often], [often, often]])
    assert state.seen == 6
    assert_allclose(visits(FINE, state, [often, once, never]), [5, 1, 0], rtol=1e-5)
    assert_allclose(novelty(FINE, state, [often, once, never]), [1 / 6, 1 / 2, 1], rtol=1e-5)


def test_visits_are_counted_again_of_more_behaviors_than_fit_a_chunk():
    """And without those who failed."""
    born = np.split(np.random.default_rng(1).uniform(0, 600, (3 * 1700, 2)), 3)
    state = learned(FINE, born)
    failed = np.full((2, 2), np.nan)
    again = FINE.restore(FINE.compact(state), [born[0], failed, *born[1:]])
    assert_array_equal(again.visits, state.visits)
    more = FINE.restore(FINE.compact(state), born[1:], learned(FINE, born[:1]))
    assert_array_equal(more.visits, state.visits)


@pytest.mark.parametrize(
    ("cones", "d", "many", "away", "more"),
    [
        (None, 40, 3, 50, 6),
        (0.0, 40, 3, 50, 0),
        (0.25, 301, 301, 500, 0),  # wider than the box; directions have few coordinates each
        pytest.param(None, 40, 8, 50, 0, marks=pytest.mark.slow),
    ],
)
def test_each_grid_is_exact_recognition_with_its_cells_as_features(cones, d, many, away, more):
    """1 / (1 + N) is phi' A^-1 phi with one-hot features, in float64. Cells are tuples here, no
    hashes; founders spread in so many directions, by which cones become so many more boxes."""
    generator = np.random.default_rng(40)
    estimator = VisitCounts(16, 2**20, 3, cell_sizes=(0.01, 6.0), cones=cones)
    boxes = 16 - int(16 * (0.5 if cones is None else cones))
    box = Box(np.zeros(d), np.full(d, 600.0))
    spread_along = np.where(np.arange(d) < many, away, 0.1)
    seen = 250 + spread_along * generator.uniform(-1, 1, (60, d))
    probes = generator.uniform(0, 600, (40, d))
    state = learned(estimator, [seen], init(estimator, box))
    center, spread = seen.mean(0), np.sqrt(seen.var(0).mean()) / 300
    narrow = min(1, spread * np.sqrt(3))  # of a uniform box's
    points = (np.concatenate([seen, probes]) - center) / 300
    blocks = np.asarray(state.grids.direction, float)
    integers = np.zeros((d, *blocks.shape[::2]))
    for i, block in enumerate(blocks):
        integers[i :: len(blocks), i] = block[: len(integers[i :: len(blocks)])]
    integers = integers.reshape(d, -1)
    directions = np.concatenate([np.eye(d), integers / np.linalg.norm(integers, axis=0)], axis=1)
    cells = []
    for grids, number in ((state.grids.boxes, boxes), (state.grids.more_boxes, more)):
        pitch = np.geomspace(0.03, 6.0, 2 * number + 1)[1::2]  # the middles of equal parts
        sizes = np.repeat([1, 1, 1, 1, 1, np.sqrt(narrow), narrow], 2)
        assert (grids.axis[:number:2] < d).all()  # by turns coordinates and directions
        assert (grids.axis[1:number:2] >= d).all()
        for t in range(number):
            turned = directions[:, grids.axis[t]]
            assert_allclose(turned.T @ turned, np.eye(3), atol=0.03 if d < 256 else 0.5)
            along = points @ turned
            cells.append(np.floor(along / (pitch * np.resize(sizes, number))[t] + grids.shift[t]))
    for t in range(more, 16 - boxes):
        axes, tips = state.grids.cones.axis[t], state.grids.cones.shift[t]
        from_tip = (points @ directions)[:, axes] + narrow / np.sqrt(3) * np.asarray(tips)
        furthest = np.argmax(abs(from_tip), axis=2)[..., None]
        side = np.sign(np.take_along_axis(from_tip, furthest, axis=2))
        cone = np.concatenate([furthest, side], axis=2)[:, : 2 + t % 3]
        cells.append(cone.reshape(len(points), -1))
    assert len(cells) == 16
    remaining = []
    for cell in cells:
        row = np.unique(cell, axis=0, return_inverse=True)[1].ravel()
        phi = np.eye(row.max() + 1)[row]
        a = np.eye(len(phi[0])) + phi[:60].T @ phi[:60]
        remaining.append(np.sum(phi[60:] * np.linalg.solve(a, phi[60:].T).T, axis=1))
    expected = np.mean(np.sqrt(remaining), axis=0) ** 2
    assert_allclose(1 / (1 + visits(estimator, state, probes)), expected, rtol=1e-4)


place = eqx.filter_jit(VisitCounts._find_counter_indices)


def test_how_many_grids_there_are_and_how_many_of_them_have_cones():
    for d, grids, cones in ((1, 64, 0), (4, 256, 0), (5, 320, 160), (9, 512, 256)):
        state = jax.eval_shape(VisitCounts().init, Box([0.0] * d, [1.0] * d), KEY)
        assert len(state.visits) == 8192 * grids
        assert state.grids.cones.axis.shape == (cones, 4, 16)


def test_several_seeds_in_one_program_have_the_bits_of_each():
    """In five dimensions. JAX 0.12 took all memory where the cones of one needed others twice."""
    estimator, space = VisitCounts(grids=8), Box([-1.0] * 5, [1.0] * 5)
    points = np.random.default_rng(0).uniform(-1, 1, (2, 30, 5)).astype(np.float32)

    def learn_and_score(key, points):
        state = estimator.init(space, key)
        state = estimator.update(state, newborn(points, 1), key)
        return estimator.score(state, points, people(points[:0]))

    keys = jax.random.split(KEY, 2)
    together = jax.jit(jax.vmap(learn_and_score))(keys, points)
    alone = [jax.jit(learn_and_score)(*each) for each in zip(keys, points, strict=True)]
    assert_array_equal(together, alone)


def test_what_was_seen_is_told_from_what_was_not_in_many_dimensions():
    """Clusters on a sphere, half of them learned."""
    d, generator = 300, np.random.default_rng(0)
    centers = generator.normal(size=(20, d)) / np.sqrt(d)

    def draw(clusters, n):
        points = centers[generator.choice(clusters, n)]
        points = points + 0.75 / np.sqrt(d) * generator.normal(size=(n, d))
        return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)

    state = init(VisitCounts(), Box([-1.0] * d, [1.0] * d))
    state = learned(VisitCounts(), [draw(np.arange(10), 2000)], state)
    halves = [draw(clusters, 200) for clusters in (np.arange(10), np.arange(10, 20))]
    nobody = people(halves[0][:0])
    seen, unseen = (novelty(VisitCounts(), state, each, nobody) for each in halves)
    assert (unseen[:, None] > seen).mean() > 0.97


@pytest.mark.parametrize("d", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_behavior_has_one_place_in_every_batch(d):
    """Alone and beside others, in any order of a sum: products of the directions are exact."""
    points = np.random.default_rng(0).normal(0, d**-0.5, (200, d)).astype(np.float32)
    state = learned(VisitCounts(), [points], init(VisitCounts(), Box([-1.0] * d, [1.0] * d)))
    together = place(VisitCounts(), state, jnp.asarray(points))
    alone = [place(VisitCounts(), state, jnp.asarray(point[None])) for point in points]
    assert_array_equal(np.concatenate(alone, axis=1), together)
    integers = np.abs(np.asarray(state.grids.direction, int)).sum(axis=1)
    assert 0 < integers.min() <= integers.max() * 2048 < 2**24
    assert (state.grids.boxes.multiplier % 2 == 1).all()  # else cells would share rows
    assert_allclose(state.grids.cones.shift.std(), 0.7, rtol=0.05)


def test_novelty_of_every_number_of_visits():
    """Exact where few were counted, to a thousandth where many were, and never rising."""
    table = _tabulate_rarity(100) / _tabulate_rarity(100)[0]
    number = np.concatenate([np.arange(2000), np.geomspace(2000, 2e9, 500)]).astype(np.float32)
    bins = ((number + 1).view(np.int32) >> 13) - (127 << 10)
    assert_allclose(table[bins], 1 / np.sqrt(1 + number), rtol=6e-4, atol=1e-7)
    assert_allclose(table[bins][:2000], 1 / np.sqrt(1 + number[:2000]), rtol=1e-5)
    assert (np.diff(_tabulate_rarity(100)) <= 0).all()


def test_new_cells_share_rows_as_often_as_the_docstring_says():
    """4096 cells in 4096 rows: a new one shares its row with a probability of
    1 - (4095 / 4096)^4096."""
    state = learned(FINE, [uniform(0, 4096)])
    places = place(FINE, state, jnp.asarray(uniform(1, 4096), jnp.float32))
    shared = np.asarray(state.visits)[places] > 0
    assert_allclose(shared.mean(), 1 - (4095 / 4096) ** 4096, atol=0.01)
