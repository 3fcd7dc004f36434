"""Where a run is stored is one object's affair."""

import jax.numpy as jnp
import numpy as np
import pytest
from files import same
from searches import HOST
from stores import Memory, run_in_memory

import brns
from brns.metrics.measures import summarize_run
from brns.runs.arrays import read_arrays, restore_tree, write_arrays
from brns.runs.files import RecordError
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


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"sum": np.zeros(3, np.float32)}, r"sum is float32\[3\], not float32\[2\]"),
        ({"sum": np.zeros(2, np.int32)}, r"sum is int32\[2\], not float32\[2\]"),
        ({"sum": np.zeros(2, np.float32), "count": np.zeros(2)}, "differs in count"),
    ],
)
def test_a_state_of_another_estimator_is_refused(arrays, message):
    with pytest.raises(RecordError, match=f"file does not fit these settings: .*{message}"):
        restore_tree({"sum": jnp.zeros(2)}, arrays, "file")


def test_a_state_of_a_type_that_numpy_does_not_name_comes_back(tmp_path):
    state = {"sum": jnp.arange(3, dtype=jnp.bfloat16)}
    write_arrays(tmp_path / "state.npz", state, "seal")
    again = restore_tree(state, read_arrays(tmp_path / "state.npz", "seal"), "file")
    assert again["sum"].dtype == jnp.bfloat16
    assert same(again, state)
