"""Arrays that are handed out are the caller's own."""

import jax
import numpy as np
from searches import search

import brns


def test_individuals_of_a_record_and_of_a_loop_can_be_written(tmp_path):
    saved = list(brns.generations(search(), 1, out=tmp_path / "run", progress=False))
    for handed in (
        saved[0].generation,
        saved[1].generation,
        saved[1].record.population(),
        saved[1].record.solutions(),
    ):
        for array in jax.tree.leaves(handed):
            array[...] = 0
    population = brns.Record(tmp_path / "run", search()).population()
    assert population.id.max() > 0
    again = saved[1].record.population()
    np.testing.assert_array_equal(again.id, population.id)
