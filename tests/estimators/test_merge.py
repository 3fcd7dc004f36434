"""Islands that merge what they have seen."""

import dataclasses

import jax
import numpy as np
import pytest
from learning import SEARCH, SMALL, learned, novelty, uniform
from square import KEY, SQUARE


def test_merged_islands_have_seen_what_one_search_of_all_has_seen_in_whatever_order():
    batches, points = uniform(0, 9, 10), uniform(1, 50)
    first = learned(SMALL, batches[:1])
    everything = novelty(SMALL, learned(SMALL, batches[1:], first), points)
    mine, yours = learned(SMALL, batches[1:5], first), learned(SMALL, batches[5:], SMALL.island(first))
    for both in (SMALL.merge([mine, yours]), SMALL.merge([yours, mine])):
        assert both.seen == 90
        np.testing.assert_allclose(novelty(SMALL, both, points), everything, rtol=1e-4)


def test_an_island_of_a_search_under_way_does_not_learn_its_population_again():
    """A search goes on with an island's state; merged with what it had seen before, everybody counts once."""
    state = SEARCH.init(KEY)
    for _ in range(3):
        state, _ = SEARCH.step(state, KEY)
    before = state.estimator
    island = state._replace(estimator=SMALL.island(before))
    for _ in range(2):
        state, _ = SEARCH.step(state, KEY)
        island, _ = SEARCH.step(island, KEY)
    assert island.estimator.seen == 2 * 6
    assert SMALL.merge([before, island.estimator]).seen == state.estimator.seen == 8 + 5 * 6
    new, _ = SEARCH.step(SEARCH.init(KEY)._replace(estimator=SMALL.island(before)), KEY)
    assert new.estimator.seen == 8 + 6  # a search that begins learns its founders


def test_what_islands_had_in_common_counts_once_and_novelty_never_rises():
    """Merged, all is at most as novel as to each; and 40 at once with 32 features only lower it."""
    batches, points = uniform(0, 7, 10), uniform(1, 50)
    common = learned(SMALL, batches[:3])
    mine, yours = (learned(SMALL, part, common) for part in (batches[3:5], batches[5:]))
    both = SMALL.merge([mine, yours], since=common)
    before = novelty(SMALL, both, points)
    np.testing.assert_allclose(before, novelty(SMALL, learned(SMALL, batches), points), rtol=1e-4)
    for island in (common, mine, yours):
        assert (before <= novelty(SMALL, island, points) * (1 + 1e-5)).all()
    for batch in uniform(2, 3, 40):
        both = learned(SMALL, [batch], both)
        after = novelty(SMALL, both, points)
        assert (after <= before * (1 + 1e-5)).all()
        before = after
    assert both.seen == 70 + 3 * 40


def test_what_cannot_be_merged():
    state = learned(SMALL, uniform(0, 1, 20))
    other = learned(SMALL, uniform(0, 1, 20), SMALL.init(SQUARE, jax.random.key(1)))
    with pytest.raises(ValueError, match="the first and number 2"):
        SMALL.merge([state, other])
    with pytest.raises(ValueError, match="the first and number 3"):
        SMALL.merge([state, state, learned(SMALL, uniform(1, 1, 20))])
    with pytest.raises(ValueError, match="fades"):
        dataclasses.replace(SMALL, forgetting=0.8).merge([state, state], since=state)
