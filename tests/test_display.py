"""States and records show themselves in a line, runs and populations as frames."""

import sys

import numpy as np
import pytest

from brns import frame
from brns.core import Generation
from brns.runs.progress import read


def test_a_state_a_generation_and_a_record_are_a_line_without_arrays(finished):
    state = finished.state(2)
    assert repr(state).startswith("SearchState(generation=2, population=Population(genotype=float32[8, 5], ")
    generation = Generation(state.population, state.population, state.population)
    assert "offspring=Population(genotype=float32[8, 5]" in repr(generation)
    assert "\n" not in repr(state) + repr(generation)
    assert repr(finished) == f"Record('{finished.path}', seed=0, generations=4 of 4)"


def test_the_frame_has_the_coverage_of_the_progress_file(finished):
    pytest.importorskip("pandas")
    assert finished.frame()["coverage"].tolist() == pytest.approx([row.coverage for row in read(finished.path)])


def test_without_pandas_a_frame_says_what_to_install(finished, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"brns\[frame\]"):
        frame(finished.population())


def test_the_population_of_a_generation_has_its_genotypes(finished):
    for mine, its in zip(finished.population(2), finished.state(2).population, strict=True):
        np.testing.assert_array_equal(mine, its)
