"""The timing: what is recorded is what was, and a second call measures only what is missing."""

import json
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from brns.core.population import concatenate_populations
from brns.estimators.archive import ArchiveKNN, PopulationKNN
from brns.formatting import read_csv
from brns.pictures.cost import NoveltyStep, measure_cpu_and_wall_milliseconds
from reproduction import timing
from reproduction.costs import BRUTE, KNN, TREE
from reproduction.page import _format_timing_provenance
from reproduction.plan import Timing
from reproduction.timing import Exact, search_by_brute_force, search_by_kd_tree


@pytest.fixture
def small(monkeypatch):
    """One cheap estimator, 16 + 16 individuals."""
    monkeypatch.setattr(timing, "ESTIMATORS", {"near": PopulationKNN(k=1)})
    monkeypatch.setattr(timing, "SIZES", (32,))
    monkeypatch.setattr(timing, "DIMENSION", 2)
    monkeypatch.setattr(timing, "K", 1)  # compiles sooner


@pytest.mark.slow
def test_an_archive_grows_by_ten_a_generation(small, tmp_path):
    timing.time_over_generations(timing.Session(tmp_path), 40)
    found = [row for row in read_csv(tmp_path / "cost-over-time.csv") if row["method"] == KNN]
    assert [int(row["entries"]) for row in found] == [0, 200]
    # 400 rows of 2 coordinates, id, novelty, birth and entry, of 4 bytes each
    assert {int(row["bytes"]) for row in found} == {400 * 6 * 4}
    (tree,) = [row for row in read_csv(tmp_path / "cost-over-time.csv") if row["method"] == TREE]
    assert (tree["entries"], tree["bytes"]) == ("0", "0")


def test_a_call_scores_as_the_archive_does():
    search = NoveltyStep(ArchiveKNN(k=1, additions=10, capacity=400), 2, 32, 0)
    everyone = concatenate_populations(*search.given[0])
    _, novelty = search.step(search.state, *search.given)
    assert_allclose(novelty, search_by_kd_tree(np.asarray(everyone.descriptor), 32, 1), rtol=1e-5)
    for _ in range(30):  # more than 16 batches of 32 individuals would allow
        search.make_next_inputs()
        search()
    there = np.asarray(search.state.id)[np.asarray(search.state.id) >= 0]
    assert search.entries == len(np.unique(there)) == 300
    assert len(np.unique(np.asarray(search.state.descriptor)[:300], axis=0)) == 300


HEAD = "method,d,entries,individuals,repeat,ms,wall_ms,bytes,session\n"


def test_what_is_lacking_is_added_and_what_is_there_stays(small, tmp_path):
    held = (("near", 0), (KNN, 64), (BRUTE, 64), (TREE, 64))
    text = HEAD + "".join(f"{name},2,{n},32,0,1,1,8,0\n" for name, n in held)
    (tmp_path / "timing.csv").write_text(text)
    timing.time_methods(timing.Session(tmp_path), Timing((2,), (64,), 1, 0))
    assert (tmp_path / "timing.csv").read_text() == text
    assert not (tmp_path / "sessions.json").exists()
    timing.time_methods(timing.Session(tmp_path), Timing((2,), (64, 1000), 1, 0))
    rows = read_csv(tmp_path / "timing.csv")
    found = [(row["method"], row["entries"], row["repeat"]) for row in rows]
    assert found[4:] == [(name, "1000", "0") for name in (KNN, BRUTE, TREE)]


def test_rows_keep_the_stamp_of_the_call_that_made_them(small, tmp_path):
    timing.time_methods(timing.Session(tmp_path), Timing((1,), (), 1, 0))
    timing.time_methods(timing.Session(tmp_path), Timing((2,), (), 1, 0))
    assert [row["session"] for row in read_csv(tmp_path / "timing.csv")] == ["0", "1"]
    sessions = json.loads((tmp_path / "sessions.json").read_text())
    assert [len(made["load"]["before"]) for made in sessions] == [3, 3]
    text = _format_timing_provenance({"scale": "Small."}, tmp_path)
    assert text.count("1 rows: `") == text.count("load") == 2


def test_only_the_call_is_timed():
    class Prepared(Exact):
        def make_next_inputs(self):
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass

    cpu, _ = measure_cpu_and_wall_milliseconds(
        Prepared(lambda *_: None, np.zeros((1, 1)), 1), min_seconds=0.0
    )
    assert cpu < 25


def test_exact_searches_agree_and_keep_their_entries():
    references = np.random.default_rng(0).random((500, 8), dtype=np.float32)
    assert_allclose(
        search_by_brute_force(references, 20, 15), search_by_kd_tree(references, 20, 15), rtol=1e-5
    )
    search = Exact(search_by_kd_tree, references, 20)
    assert (search.entries, search.state_bytes) == (480, 480 * 8 * 4)
