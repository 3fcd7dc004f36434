"""Q, eta and kappa: by hand, by their definition on real runs, and what they refuse."""

import io
import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from fake_record import Additive, FakeRecord, population
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console
from scipy.spatial.distance import pdist
from searches import search
from small_tasks import HostIdentity
from stores import run_in_memory

from brns import ArchiveKNN, progress
from brns.core.novelty import score_novelty_jit
from brns.metrics import cycling
from brns.metrics.cycling import rank_among_probes
from brns.metrics.measures import summarize_run

# Below the diagonal there is anything at all: it must not be read.
Q = np.array(
    [[4.0, 2.0, 1.0, 3.0], [-9.0, 2.0, 4.0, 2.0], [np.nan, -9.0, 1.0, 1.0], [0.0, 0.0, np.inf, 5.0]]
)


class Embedding(Additive):
    """Measures in a space half as large as the state."""

    def embed(self, state, descriptors):
        return state / 2 * descriptors


def line(values, ids, **arguments):
    return population(ids, [[v, 0.0] for v in values], **arguments)


def three_generations(estimator, states=None):
    """P_0 = {1, 3}, P_1 = {3, 5}, P_2 = {5, 6}, where 3 and 5 live on."""
    survivors = [line([1, 3], [0, 1]), line([3, 5], [1, 2]), line([6, 5], [3, 2])]
    states = {0: 0.0, 1: 10.0, 2: 20.0} if states is None else states
    return FakeRecord(
        [(p, p) for p in survivors], {g: jnp.float32(s) for g, s in states.items()}, estimator
    )


def test_eta_by_hand():
    assert_allclose(cycling.compute_eta(Q), [(0.5 + 0.25 + 0.75) / 3, (2 + 1) / 2, 1.0])
    with np.errstate(all="raise"):  # of populations that were not novel at all
        assert cycling.compute_eta(np.array([[0.0, 1.0], [0.0, 1.0]]))[0] == np.inf
        for now in (0.0, -1.0):
            assert np.isnan(cycling.compute_eta(np.array([[now, 0.0], [0.0, 1.0]]))[0])


def test_ranks_and_novelty_regained_by_hand():
    # Row 0 falls to 0.2 and comes back to 0.85 and 0.95, within 0.1 of 0.9; row 1 falls late;
    # row 2 moves by 0.05.
    r = np.array([[0.9, 0.2, 0.85, 0.95], [9, 0.9, 0.85, 0.2], [9, 9, 0.5, 0.55], [9, 9, 9, 0.5]])
    assert_allclose(cycling.compute_regain_share(r), [2 / 3, 0, 0])
    # Novelty that becomes equal everywhere has ranks of one half, which is not where row 0 was.
    equal = np.array([[0.9, 0.2, 0.5], [9, 0.9, 0.5], [9, 9, 0.5]])
    assert_allclose(cycling.compute_regain_share(equal), [0, 0])
    # A rank that was low when the population lived, and is again, is not novel again:
    # 0.3 is below one half less 0.1.
    low = np.array([[0.2, 0.1, 0.3], [9, 0.5, 0.5], [9, 9, 0.5]])
    assert_allclose(cycling.compute_regain_share(low), [0, 0])
    found = rank_among_probes(np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 3.0, 2.0]))
    assert_allclose(found, [0.125, 0.5, 1.0])


class Remembered(eqx.Module):
    """Novelty = distance to the place that the state tells, to some power."""

    power: int

    def score(self, state, descriptors, population):
        return jnp.abs(descriptors[:, 0] - state) ** self.power


def near_0(remembered, power):
    """All live near 0 in a box from 0 to 6."""
    alive = line([0.1, 0.2], [0, 1])
    states = {g: jnp.float32(s) for g, s in enumerate(remembered)}
    return FakeRecord([(alive, alive)] * 3, states, Remembered(power))


def test_a_novelty_that_forgets_regains_whatever_its_power():
    once, squared = (cycling.cycling_of_record(near_0([6, 0, 6], power)) for power in (1, 2))
    assert_allclose(once.regained, [1 / 2, 1])
    assert_allclose(once.r[0], [1, 0, 1], atol=0.05)
    assert np.isnan(once.r[1, 0])
    assert_array_equal(squared.r, once.r)
    assert_allclose(cycling.cycling_of_record(near_0([6, 0, 0], 2)).regained, [0, 0])


def test_what_is_far_below_all_points_of_the_box_is_told_nothing_by_ranks():
    record = near_0([0, 0, 0], 1)
    assert np.nanmax(cycling.cycling_of_record(record).r) < 0.1
    assert "regained" not in summarize_run(record)
    assert summarize_run(near_0([6, 0, 6], 1))["regained"] == 3 / 4  # the mean of 1/2 and 1


def test_kappa_by_hand():
    # row 0: i* = 2, 3 > 2.5; row 1: i* = 1, the first of two minima, 4 > 3.5; row 2: 1 < 2.5
    assert_array_equal(cycling.compute_kappa(Q, 1.5), [1, 1, 0])
    # 3 > 1 + 2 and 4 > 2 + 2 do not hold: the inequality is strict
    assert_array_equal(cycling.compute_kappa(Q, 2.0), [0, 0, 0])


def test_epsilon_by_hand_and_of_many_points_close_to_that_of_all_pairs(monkeypatch):
    """Of 0, 1 and 3 the distances are 1, 2 and 3."""
    three = cycling.compute_epsilon_from_median_distance(np.array([[0.0], [1.0], [3.0]]))
    assert three == pytest.approx(0.2)
    points = np.random.default_rng(0).normal(size=(600, 3))
    every = cycling.compute_epsilon_from_median_distance(points)
    monkeypatch.setattr(cycling, "PAIRS", 20000)
    some = cycling.compute_epsilon_from_median_distance(points)
    assert some == cycling.compute_epsilon_from_median_distance(points) != every
    assert some == pytest.approx(0.1 * np.median(pdist(points)), rel=0.02)


def test_epsilon_is_measured_where_novelty_is():
    """Distances between 1, 3, 3, 5, 6, 5 sort to 0 0 1 1 2 2 2 2 2 2 3 3 4 4 5: the median is 2,
    embedded 20.

    Novelty that is not embedded was 4, -14 and 27.5 when they lived."""
    assert cycling.cycling_of_record(three_generations(Embedding())).epsilon == pytest.approx(2.0)
    below = three_generations(Additive(), {0: 0.0, 1: -20.0, 2: 20.0})
    assert cycling.cycling_of_record(below).epsilon == pytest.approx(1.4)


def test_q_of_more_individuals_than_a_block():
    """700 individuals of whom none lives on: behavior 0 ... 699, so P_i has mean 100 i + 49.5.

    Those of generation 1 were born after those of generation 2."""
    order = (0, 2, 1, 3, 4, 5, 6)
    hundred = np.arange(100)
    rows = [line(hundred + 100 * g, hundred + 100 * order[g]) for g in range(7)]
    states = {g: jnp.float32(1000 * g) for g in range(7)}
    record = FakeRecord([(p, p) for p in rows], states, Additive())
    i, j = np.indices((7, 7))
    expected = np.where(j >= i, 100 * i + 49.5 + 1000 * j + 100, np.nan)
    assert_allclose(cycling.cycling_of_record(record).q, expected)


def test_q_of_a_run_is_its_definition_whatever_the_stride_of_its_states():
    mine = search(HostIdentity(), ArchiveKNN(k=2, additions=2, capacity=16))
    (record,) = run_in_memory(mine, 4, [0])
    states = [record.state(g, mine) for g in (0, 2, 4)]
    expected = np.full((3, 3), np.nan)
    for i, j in zip(*np.triu_indices(3), strict=True):
        there = jnp.asarray(states[i].population.descriptor)
        seen = mine.estimator, states[j].estimator, there, states[j].population
        expected[i, j] = score_novelty_jit(*seen).mean()
    found = cycling.cycling_of_record(record, [0, 2, 4], mine)
    assert_allclose(found.q, expected, rtol=1e-4)
    assert_array_equal(found.generations, [0, 2, 4])
    assert_array_equal(found.kappa, cycling.compute_kappa(found.q, found.epsilon))
    assert_allclose(found.eta, cycling.compute_eta(found.q))
    assert cycling.cycling_of_record(record, [0, 2, 4], mine) is found
    assert cycling.cycling_of_record(record, [0, 4], mine) is not found


def test_many_states_are_scored_with_a_bar_below_the_one_around_it(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "CONSOLE", console)
    cycling.cycling_of_record(three_generations(Additive(), dict.fromkeys(range(3), 0.0)))
    assert screen.getvalue() == ""
    monkeypatch.setattr(cycling, "MANY", 3)
    record = three_generations(Additive(), dict.fromkeys(range(3), 0.0))
    for _ in progress.show_progress_of([record], "measuring", 1):
        cycling.cycling_of_record(record)
    lines = re.sub(r"\x1b\[\d*[mK]", "", screen.getvalue()).splitlines()
    assert any(line.startswith("scoring 3/3") for line in lines)
    assert any(line.startswith("measuring 1/1") for line in lines)


@pytest.mark.parametrize(("states", "generations"), [([2], None), ([0, 1, 2], [2, 0])])
def test_states_that_are_not_kept_or_not_in_order_are_refused(states, generations):
    record = three_generations(Additive(), dict.fromkeys(states, 0.0))
    with pytest.raises(ValueError, match="--checkpoint-every 1"):
        cycling.cycling_of_record(record, generations)


def test_bad_matrices_are_refused():
    for q in (np.ones((1, 1)), np.array([[1.0, np.nan], [0.0, 1.0]])):
        with pytest.raises(ValueError, match="2 generations"):
            cycling.compute_eta(q)
