"""What holds of every novelty in the table of parts: memory stays flat."""

import gc
import os
import tracemalloc

import jax
import pytest
from searches import ESTIMATOR, search
from worlds import HostIdentity

import brns
from brns.settings import parts

ESTIMATORS = {
    "exact": brns.ExactRecognition(size=8),
    "recognition": ESTIMATOR,
    "archive": brns.ArchiveKNN(k=2, additions=3, capacity=20),
    "population": brns.PopulationKNN(k=2),
    "counts": brns.VisitCounts(grids=3),
}


def test_the_table_of_parts_has_no_other():
    assert set(ESTIMATORS) == set(parts("estimator"))


@pytest.mark.parametrize(
    "name", [n if n == "population" else pytest.param(n, marks=pytest.mark.slow) for n in ESTIMATORS]
)
def test_memory_is_flat_over_a_run(name, tmp_path, monkeypatch):
    """JAX's arrays, and what Python and NumPy hold, after generation 10 and 30 later."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # which is most of the time
    held, one = {}, search(HostIdentity(), ESTIMATORS[name])
    try:
        for saved in brns.generations(one, 40, out=tmp_path, progress=False):
            if saved.number == 5:
                tracemalloc.start()
            if saved.number in (10, 40):  # both keep a state
                gc.collect()
                held[saved.number] = len(jax.live_arrays()), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    arrays, memory = (last - first for first, last in zip(held[10], held[40], strict=True))
    assert arrays < 20
    assert memory < 110_000  # a generation that stays takes 5000
