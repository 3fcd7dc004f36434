"""Runs made at a85941b, before settings and files got their names of today: read, rebuilt and gone on with."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from worlds import Identity

from brns import ArchiveKNN, BehaviorRecognition, DeceptiveMaze, NoveltySearch, Record, resume
from brns.experiments import has_paper_settings, paper_recognition
from brns.runs.earlier import today
from brns.runs.storage import Seal, read_arrays
from brns.settings import build, describe

pytestmark = pytest.mark.usefixtures("users_compiler")
BEFORE = Path(__file__).parent / "made_before"
MADE = {
    "recognition": BehaviorRecognition(),
    "archive": ArchiveKNN(k=5, capacity=40),
}
"""the estimators, by the names of the runs' folders"""


@pytest.mark.parametrize("name", MADE)
def test_they_are_read_and_rebuilt(name):
    record = Record(BEFORE / name)
    expected = NoveltySearch(DeceptiveMaze(steps=60), MADE[name], population_size=12, offspring_size=12)
    assert record.experiment == describe(expected)
    assert describe(record.search) == describe(expected)
    assert record.generations == [0, 1, 2, 3, 4, 5, 6]
    assert record.column("survivors.novelty").shape == (7, 12)
    assert int(record.state(3).generation) == 3


@pytest.mark.parametrize("name", MADE)
def test_they_are_gone_on_with_to_the_same_numbers(name, tmp_path):
    """Up to the last bit, which another processor than that of the fixtures rounds otherwise."""
    path = tmp_path / name
    shutil.copytree(BEFORE / name, path)
    for late in (*(f"generations/00000{g}.npz" for g in (4, 5, 6)), "states/000006.npz"):
        (path / late).unlink()
    (record,) = resume(path, 6)
    for g in (4, 5, 6):
        before = read_arrays(BEFORE / name / "generations" / f"00000{g}.npz", Seal(None, g))
        after = record.read(g, list(before))
        for column in before:
            np.testing.assert_allclose(after[column], before[column], 1e-5, 1e-7, err_msg=f"{g} {column}")
    before, after = (read_arrays(at / "states" / "000006.npz", Seal(None, 6)) for at in (BEFORE / name, path))
    assert set(before) <= set(after)
    for leaf in before:
        np.testing.assert_allclose(after[leaf], before[leaf], 1e-5, 1e-7, err_msg=leaf)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"width": 3, "fixed_width": 64, "embedding": 2, "fixed_embedding": 32}, {"width": 64, "embedding": 32}),
        ({"width": 8, "fixed_width": 64, "embedding": 5, "fixed_embedding": 7}, {"width": 64, "embedding": 7}),
        (
            {"width": 3, "fixed_width": None, "embedding": 2, "fixed_embedding": None},
            {"width": None, "embedding": None},
        ),
        ({"width": 5, "fixed_width": None, "embedding": 1, "fixed_embedding": None}, {"width": 10, "embedding": 2}),
    ],
)
@pytest.mark.parametrize("task", [DeceptiveMaze(), Identity()])
def test_two_settings_of_one_number_became_one(before, now, task):
    """In worlds whose d is 2: 5 neurons a dimension are 10, and 3, the paper's, are none said."""
    old = describe(NoveltySearch(task, BehaviorRecognition()))
    old["estimator"] |= before
    read = today(json.loads(json.dumps(old)))
    assert read == describe(NoveltySearch(task, BehaviorRecognition(**now)))
    assert build(read["estimator"]) == BehaviorRecognition(**now)
    assert today(read) == read


def test_the_papers_settings_are_still_known_by_their_name():
    old = {**describe(paper_recognition()), "width": 3, "fixed_width": None, "embedding": 2, "fixed_embedding": None}
    assert has_paper_settings(today({"estimator": old})["estimator"])
