"""Objects, other runs' files and other formats are refused by name."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from files import rewrite
from small import SEARCH

from brns import Novelty, Record, RecordError, VisitCounts
from brns.runs.loop import resume


@pytest.fixture
def path(whole, tmp_path):
    """A copy of a run of 10 generations, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


class Bomb:
    """Unpickling it would leave a file behind."""

    def __reduce__(self):
        return Path("exploded").touch, ()


FILES = {
    "generations/000002.npz": lambda path: Record(path).column("offspring.id"),
    "states/000010.npz": lambda path: resume(path, 12, search=SEARCH),
}


@pytest.mark.parametrize("name", [*FILES, "novelty.npz"])
def test_objects_are_never_unpickled(path, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    read = FILES.get(name, Novelty.load)
    bomb = np.array([Bomb()], object)
    Novelty(VisitCounts(grids=8), SEARCH.task.behavior_space).save("novelty.npz")
    file = path / name if name in FILES else Path(name)
    with np.load(file, allow_pickle=False) as arrays:
        np.savez(file, **{key: array if key == "seal" else bomb for key, array in arrays.items()})
    with pytest.raises(ValueError, match=r"is damaged|allow_pickle"):
        read(path if name in FILES else Path(name))
    assert not Path("exploded").exists()


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_or_generation_is_refused(path, name):
    (path / name).write_bytes((path / name).with_name("000009.npz").read_bytes())
    with pytest.raises(RecordError, match="belongs to 'generation 9 of"):
        FILES[name](path)
    facts = json.loads((path / "run.json").read_text())
    rewrite(path, facts | {"id": "0" * 16})
    with pytest.raises(RecordError, match="belongs to 'generation"):
        FILES[name](path)


@pytest.mark.parametrize("change", [{"format": 4}, {"seed": "x"}, {"versions": None}, {"more": 1}])
def test_a_run_of_another_format_is_refused(path, change):
    facts = json.loads((path / "run.json").read_text()) | change
    (path / "run.json").write_text(json.dumps(facts))
    with pytest.raises(RecordError, match=rf"reads: {next(iter(change))}"):
        Record(path)
