"""Where a run is stored is one object's affair."""

import numpy as np
from files import same
from searches import HOST
from stores import Memory, run_in_memory

import brns
from brns.metrics.measures import summarize_run
from brns.runs.store import Store


def test_a_run_in_dictionaries_is_the_run_on_disk(tmp_path):
    on_disk = brns.run(HOST, 6, out=tmp_path / "run", seeds=2, checkpoint_every=2)
    in_memory = run_in_memory(HOST, 6, [0, 1], checkpoint_every=2)
    for there, here in zip(on_disk, in_memory, strict=True):
        assert isinstance(here.store, Memory)
        assert (here.last_generation, here.status) == (6, "finished")
        assert here.generations_with_states == [0, 2, 4, 6]
        assert same(here.state(4), there.state(4))
        assert summarize_run(here) == summarize_run(there)
        for name in ("survivors.novelty", "offspring.genotype"):
            np.testing.assert_array_equal(here.column(name), there.column(name))
        assert same(here.solutions(), there.solutions())
        lines = (there.path / "progress.csv").read_text().splitlines()
        assert len(here.store.rows) == len(lines) == 8


def test_a_generation_saved_while_the_folder_is_listed_is_not_missing(tmp_path, monkeypatch):
    search = brns.NoveltySearch(brns.PlanarArm(), population_size=4, offspring_size=4)
    (record,) = brns.run(search, 3, out=tmp_path / "run", progress=False)
    lists = iter([{0, 1, 3}, {0, 1, 2, 3, 5}])  # as a folder is read while files are added
    monkeypatch.setattr(Store, "_list_folder", lambda self, kind: next(lists))
    assert record.generations == [0, 1, 2, 3]
