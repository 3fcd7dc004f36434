"""What no run holds is refused by name and never believed: objects, other runs' files, other formats."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from files import reseal
from small import SEARCH

from brns import Record, RecordError
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


@pytest.mark.parametrize("name", FILES)
def test_objects_are_never_unpickled(path, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with np.load(path / name, allow_pickle=False) as arrays:
        objects = {name: np.array([Bomb()], object) for name in arrays}
        belongs = {name: arrays[name] for name in ("run.id", "run.generation")}
    np.savez(path / name, **(objects | belongs))
    with pytest.raises(RecordError, match="is damaged"):
        FILES[name](path)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_or_generation_is_refused(path, name):
    (path / name).write_bytes((path / name).with_name("000009.npz").read_bytes())
    with pytest.raises(RecordError, match="belongs to generation 9"):
        FILES[name](path)
    facts = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(facts | {"id": "0" * 16}))
    with pytest.raises(RecordError, match="belongs to generation"):
        FILES[name](path)


def test_columns_of_two_lengths_are_refused(path):
    file = path / "generations" / "000002.npz"
    with np.load(file, allow_pickle=False) as arrays:
        reseal(file, {**arrays, "offspring.fitness": np.zeros(5)})
    with pytest.raises(RecordError, match="was edited"):
        Record(path).column("offspring.id")


@pytest.mark.parametrize("change", [{"format": 2}, {"seed": -1}, {"id": "x"}, {"versions": None}, {"more": 1}])
def test_a_run_of_another_format_is_refused(path, change):
    facts = json.loads((path / "run.json").read_text()) | change
    (path / "run.json").write_text(json.dumps(facts))
    with pytest.raises(RecordError, match=rf"format 3: {next(iter(change))}"):
        Record(path)
