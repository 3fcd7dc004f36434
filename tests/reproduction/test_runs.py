"""The runs: which methods there are, and searches that go on where they were stopped."""

from searches import HOST

from brns import Record, run
from brns.pictures import label_method
from brns.runs import metadata
from brns.runs.store import Store
from brns.settings.description import part_from_json, part_to_json
from reproduction import runs
from reproduction.plan import Runs, make_ant_methods, make_variants

ALONE = {"paper", "recognition", "exact", "counts", "random"}
PLAN = Runs(seeds=2, generations=6, checkpoint_every=2)


def test_a_record_can_rebuild_every_method_and_every_variant(tmp_path):
    # those that fill
    assert set(make_ant_methods(1500, 201)) == {*ALONE, "archive-2000", "archive-6000"}
    ants = make_ant_methods(1500, 1000)
    assert set(ants) == {*ALONE, "archive-2000", "archive-4000", "archive-6000"}
    assert ants["random"].estimator == ants["archive-6000"].estimator
    maze = [part_to_json(variant.search) for variant in make_variants().values()]
    assert all(a != b for i, a in enumerate(maze) for b in maze[:i])
    described = [*maze, *map(part_to_json, ants.values())]
    assert [part_to_json(part_from_json(one)) for one in described] == described
    store = Store(tmp_path / "random")
    store.make_folder()
    metadata.write_metadata(
        store, metadata.make_metadata_of_each_seed(ants["random"], [0], 1, 1)[0]
    )
    assert label_method(Record(tmp_path / "random")) == "random search"


def test_a_run_goes_on_where_it_was_stopped_and_is_then_only_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(
        runs, "summarize_run_for_claims", lambda record: {"last": float(record.last_generation)}
    )
    todo = runs.make_jobs({"a": HOST, "b": HOST}, PLAN, tmp_path)
    assert [(job.name, job.seed) for job in todo] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    job = todo[2]
    assert job.folder == tmp_path / "a" / "seed0001"
    run(HOST, 4, out=job.folder, seed=1, checkpoint_every=2)
    assert job() == {"last": 6}
    files = {file: file.stat().st_mtime_ns for file in job.folder.glob("generations/*.npz")}
    assert job() == {"last": 6}
    assert {file: file.stat().st_mtime_ns for file in files} == files
