"""What records, searches and states say they are: a line without arrays, and a small table."""

import re
import sys

import jax
import numpy as np
import pytest
from brns.display import line, table
from worlds import Identity

import brns
from brns.runs.progress import Progress

SEARCH = brns.NoveltySearch(Identity(), brns.ArchiveKNN(k=3, capacity=50), 8, 6)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return brns.run(SEARCH, 3, out=tmp_path_factory.mktemp("shown") / "run", until=lambda saved: saved.number == 2)[0]


def test_a_part_names_the_settings_that_are_not_its_defaults():
    assert line(brns.ArchiveKNN(k=10)) == "ArchiveKNN(k=10)"
    assert line(brns.DeceptiveMaze()) == "DeceptiveMaze()"
    search = brns.NoveltySearch(
        brns.DeceptiveMaze(steps=50), brns.ArchiveKNN(), mutate=brns.GaussianMutation(sigma=0.2)
    )
    assert repr(search) == (
        "NoveltySearch(task=DeceptiveMaze(steps=50), estimator=ArchiveKNN(), mutate=GaussianMutation(sigma=0.2))"
    )


def test_a_state_is_a_line_and_dumps_no_array():
    state = SEARCH.init(jax.random.key(0))
    assert repr(state).startswith("SearchState(generation=0, population=Population(genotype=float32[8, 5], ")
    assert repr(state).endswith("estimator=Archive)")
    assert "\n" not in repr(state)
    _, generation = SEARCH.step(state, jax.random.key(0))
    assert "offspring=Population(genotype=float32[6, 5]" in repr(generation)
    assert "\n" not in repr(generation) + repr(SEARCH.task.evaluate(state.population.genotype, None))


def test_a_record_counts_generations_as_they_were_asked_for(record):
    assert repr(record) == f"Record('{record.path}', seed=0, generations=2 of 3)"
    rows = dict(re.findall(r"<th[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", record._repr_html_()))
    assert rows["generations"] == "2 of 3"
    assert (rows["task"], rows["estimator"], rows["seed"]) == ("Identity", "ArchiveKNN", "0")
    assert "Identity()" in SEARCH._repr_html_()


def test_text_in_a_table_is_text():
    assert "<b>" not in table("<b>", {"<b>": "<b>"})


def test_the_frame_has_the_coverage_of_the_progress_file(record):
    pytest.importorskip("pandas")
    expected = [row.coverage for row in Progress(record, record.behavior_space).rows(record.last)]
    assert record.frame()["coverage"].tolist() == pytest.approx(expected)


def test_without_pandas_a_frame_says_what_to_install(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'brns\[frame\]'"):
        record.frame()


def test_the_population_of_a_generation_has_its_genotypes(record):
    last, state = record.population(), record.state(2).population
    for mine, its in zip(last, state, strict=True):
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(record.population(0).genotype, record.column("offspring.genotype", [0])[0])


def test_rooms_are_reached_by_name():
    assert brns.pictures.draw
    assert brns.experiments.maze
    assert not hasattr(brns, "picture")
    assert all(name in dir(brns) for name in ("pictures", "generations", "records"))
