"""What records and states say they are: a line without arrays; and a run as a frame."""

import sys

import jax
import numpy as np
import pytest
from worlds import Identity

import brns
from brns.runs.progress import Progress

SEARCH = brns.NoveltySearch(Identity(), brns.ArchiveKNN(k=3, capacity=50), 8, 6)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return brns.run(SEARCH, 3, out=tmp_path_factory.mktemp("shown") / "run", until=lambda saved: saved.number == 2)[0]


def test_a_state_a_generation_and_a_record_are_a_line_and_dump_no_array(record):
    state = record.state(2)
    assert repr(state).startswith("SearchState(generation=2, population=Population(genotype=float32[8, 5], ")
    assert repr(state).endswith("estimator=Archive)")
    _, generation = SEARCH.step(state, jax.random.key(0))
    assert "offspring=Population(genotype=float32[6, 5]" in repr(generation)
    assert "\n" not in repr(state) + repr(generation)
    assert repr(record) == f"Record('{record.path}', seed=0, generations=2 of 3)"


def test_the_frame_has_the_coverage_of_the_progress_file(record):
    pytest.importorskip("pandas")
    expected = [row.coverage for row in Progress(record, record.behavior_space).rows(record.last)]
    assert record.frame()["coverage"].tolist() == pytest.approx(expected)


def test_without_pandas_a_frame_says_what_to_install(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'brns\[frame\]'"):
        record.frame()


def test_the_population_of_a_generation_has_its_genotypes(record):
    last, state = record.population(), record.state(2).population
    for mine, its in zip(last, state, strict=True):
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(record.population(0).genotype, record.column("offspring.genotype", [0])[0])
