"""Islands that merge what they have seen."""

import dataclasses

import jax
import pytest
from learning import COUNTS, KEY, LEARNERS, SEARCH, SMALL, init, learned, novelty, uniform
from numpy.testing import assert_allclose


@LEARNERS
def test_merged_islands_have_seen_what_one_search_has_seen(estimator, rounding):
    """What they share counts once; all is at most as novel as to each, and goes on falling."""
    batches, points = uniform(0, 9, 10), uniform(1, 40)
    common = learned(estimator, batches[:1])
    everything = novelty(estimator, learned(estimator, batches[1:], common), points)
    parts = (batches[1:4], batches[4:6], batches[6:])
    islands = [learned(estimator, part, common) for part in parts]
    apart = learned(estimator, batches[1:], estimator.start_empty_island(common))
    for order, since in [
        (islands, common),
        (islands[::-1], common),
        ([common, apart], None),
        ([apart, common], None),
    ]:
        merged = estimator.merge(order, since)[0]
        assert merged.seen == 90
        before = novelty(estimator, merged, points)
        assert_allclose(before, everything, rtol=10 * rounding)
    for one in (common, *islands):
        assert (before <= novelty(estimator, one, points) * (1 + rounding)).all()
    for batch in uniform(2, 3, 20):
        merged = learned(estimator, [batch], merged)
        after = novelty(estimator, merged, points)
        assert (after <= before * (1 + rounding)).all()
        before = after
    assert merged.seen == 90 + 3 * 20


def test_an_island_of_a_search_under_way_does_not_learn_its_population_again():
    """Merged with what it had seen before, everybody counts once."""
    state = SEARCH.init(KEY)
    for _ in range(3):
        state, _ = SEARCH.step(state, KEY)
    before = state.estimator
    island = state._replace(estimator=COUNTS.start_empty_island(before))
    for _ in range(2):
        state, _ = SEARCH.step(state, KEY)
        island, _ = SEARCH.step(island, KEY)
    assert island.estimator.seen == 2 * 6
    assert COUNTS.merge([before, island.estimator])[1].seen == state.estimator.seen == 8 + 5 * 6
    new, _ = SEARCH.step(
        SEARCH.init(KEY)._replace(estimator=COUNTS.start_empty_island(before)), KEY
    )
    assert new.estimator.seen == 8 + 6  # a search that begins learns its founders


@LEARNERS
def test_islands_of_unequal_ages_go_on_where_they_were(estimator, rounding):
    """An island at generation 2 and one at 5 each learn their next generation, and nobody twice."""
    common = learned(estimator, uniform(0, 1, 10))
    old = learned(estimator, uniform(1, 4, 10), estimator.start_empty_island(common))
    young = learned(estimator, uniform(2, 1, 10), estimator.start_empty_island(common))
    for state, age in zip(estimator.merge([old, young]), (5, 2), strict=True):
        assert (state.seen, state.newest) == (50, age)
        assert learned(estimator, uniform(3, 1, 10), state).seen == 60


def test_what_cannot_be_merged(unchecked):
    batches = uniform(0, 1, 20)
    for estimator in (SMALL, COUNTS):
        state = learned(estimator, batches)
        other_key = learned(estimator, batches, init(estimator, key=jax.random.key(1)))
        other_founders = learned(estimator, uniform(1, 1, 20))
        for states, message in [
            ([state, other_key], "the first and number 2"),
            ([state, state, other_founders], "the first and number 3"),
            ([], "learned something; got none"),
            ([state, estimator.start_empty_island(state)], "number 2 has not: leave it out"),
        ]:
            with pytest.raises(ValueError, match=message):
                estimator.merge(states)
        later = learned(estimator, uniform(2, 1, 20), state)
        with pytest.raises(ValueError, match="from which all went on; number 1 has seen 20 "):
            estimator.merge([state, later], ancestor=later)
        with pytest.raises(ValueError, match="the first and number 2"):
            estimator.merge([state], ancestor=other_key)
    elsewhere = learned(COUNTS, uniform(3, 1, 20), COUNTS.start_empty_island(state))
    with pytest.raises(ValueError, match="from which all went on; one lacks its visits"):
        COUNTS.merge([later], ancestor=elsewhere)
    fewer = state._replace(visits=state.visits[::2])
    with pytest.raises(ValueError, match="the first and number 2"):
        COUNTS.merge([state, fewer])
    state = learned(SMALL, batches)
    with pytest.raises(ValueError, match="fades"):
        dataclasses.replace(SMALL, forgetting=0.8).merge([state, state], ancestor=state)
