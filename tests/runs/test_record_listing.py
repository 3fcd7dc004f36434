"""A record of a run that goes on while it is read."""

import brns
from brns.runs.store import Store


def test_a_generation_saved_while_the_folder_is_listed_is_not_missing(tmp_path, monkeypatch):
    search = brns.NoveltySearch(brns.PlanarArm(), population_size=4, offspring_size=4)
    (record,) = brns.run(search, 3, out=tmp_path / "run", progress=False)
    lists = iter([{0, 1, 3}, {0, 1, 2, 3, 5}])  # as a folder is read while files are added
    monkeypatch.setattr(Store, "_list_folder", lambda self, kind: next(lists))
    assert record.generations == [0, 1, 2, 3]
