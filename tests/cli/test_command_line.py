"""The command line, as a person uses it."""

import csv
import json
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from shell import SHORT, begin, call

import brns
from brns import Record
from brns.cli import screen
from brns.cli.place import default_place
from brns.experiments import changes, configured, named
from brns.metrics.summary import summary
from brns.runs.record import records
from brns.settings import describe
from brns.settings import value as read

RUN = "runs/maze-exact-seed0"
BEFORE = Path(__file__).parent.parent / "runs" / "made_before"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one finished run in the default place."""
    folder = tmp_path_factory.mktemp("shell")
    several = ("--generations", 4, "--keep-every", 1, "--watch-cycling", 3, "--out", RUN)
    done = call("run", "maze", *several, *SHORT, folder=folder)
    assert done.returncode == 0, done.stderr
    (folder / "run.txt").write_text(done.stdout)
    return folder


def test_a_run_ends_with_a_table_what_it_means_and_a_picture(folder):
    record = Record(folder / RUN)
    assert record.generations == [0, 1, 2, 3, 4]
    assert record.experiment["task"]["steps"] == 50
    assert record.experiment["population_size"] == 20
    assert (record.path / "overview.png").read_bytes()[:4] == b"\x89PNG"
    text = (folder / "run.txt").read_text()
    assert "100" in text.split("evaluations")[1].split("\n")[0]  # 20 founders and 4 x 20 offspring
    assert "overview.png" in text
    assert "Generation 3, seed 0: eta" in text
    assert "eta: below 1 where what was visited became less novel" in text


def test_the_default_place_tells_changed_settings_apart():
    assert default_place("maze", None, [], 0) == Path("runs/maze-exact-seed0")
    assert default_place("my.task:search", None, [], range(3)) == Path("runs/my.task-search-seeds0-2")
    changes = ["task.steps=50", "estimator.depths=[3, 5]"]
    place = default_place("maze", "archive", changes, 7)
    assert place == Path("runs/maze-archive-depths=3_5-steps=50-seed7")
    assert place == default_place("maze", "archive", changes[::-1], 7)
    walls = default_place("maze", None, [f"task.walls={'x' * 500}/../y"], 0)
    assert len(walls.parts) == 2
    assert len(walls.name) < 130
    assert walls != default_place("maze", None, [f"task.walls={'x' * 500}"], 0)


def test_an_existing_run_is_refused_before_anything_is_built_and_left_alone(folder, monkeypatch):
    before = sorted((folder / "runs").rglob("*"))
    monkeypatch.setattr("brns.cli.commands._chosen", None)  # which would be called to build the search
    done = call("run", "maze", folder=folder)
    assert done.returncode == 2
    assert "exists already; resume it (brns resume" in done.stderr
    assert sorted((folder / "runs").rglob("*")) == before


def test_resume_makes_a_run_longer_to_the_bits_of_a_run_that_was_never_stopped(folder):
    whole = call("run", "maze", "--generations", 6, "--out", "whole", *SHORT, folder=folder)
    assert whole.returncode == 0, whole.stderr
    first = call("run", "maze", "--generations", 3, "--out", "longer", *SHORT, folder=folder)
    assert first.returncode == 0, first.stderr
    longer = call("resume", "longer", "--generations", 6, folder=folder)
    assert longer.returncode == 0, longer.stderr
    for name in ("offspring.genotype", "offspring.novelty", "survivors.descriptor"):
        np.testing.assert_array_equal(Record(folder / "whole").column(name), Record(folder / "longer").column(name))
    again = call("resume", "longer", folder=folder)
    assert again.returncode == 0
    assert "has its 6 generations already" in again.stdout


PLAIN = """
from brns import GridCounts, NoveltySearch, PlanarArm

search = NoveltySearch(PlanarArm(), GridCounts(), population_size=8, offspring_size=8)
"""


@pytest.mark.slow
def test_several_seeds_end_with_their_spread(folder):
    (folder / "plain_search.py").write_text(PLAIN)
    done = call("run", "plain_search:search", "--seeds", 3, "--generations", 2, "--out", "several", folder=folder)
    assert done.returncode == 0, done.stderr
    ages = [record.column("survivors.born") for record in records(folder / "several")]
    values = [np.mean(np.arange(3)[1:, None] - born[1:]) for born in ages]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(" age ")]
    expected = [np.mean(values), np.std(values, ddof=1), min(values), max(values), 3]
    np.testing.assert_allclose([float(word) for word in line.split()[1:]], expected, rtol=0.01)
    assert "several/*/overview.png" in done.stdout
    assert len(list(folder.glob("several/*/overview.png"))) == 3


def test_ctrl_c_finishes_the_generation_and_says_how_to_go_on(folder):
    child = begin("run", "maze", "--generations", 100_000, "--out", "stopped", *SHORT, folder=folder)
    deadline = time.monotonic() + 300
    while not (folder / "stopped/generations/000003.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    text, _ = child.communicate(timeout=120)
    assert child.returncode == 130
    record = Record(folder / "stopped")
    last = record.generations[-1]
    assert f"Stopped after generation {last}" in text
    assert "brns resume stopped" in text
    assert record.snapshots[-1] == last


def test_wrong_names_and_values_are_told_at_once_with_what_exists(folder):
    done = call(
        *(
            "run",
            "maze",
            "--estimator",
            "recognition",
            "--out",
            "no",
            "--set",
            "estimator.epoch=5",
            "--set",
            "estimator.batch=many",
        ),
        *("--set", "task.step=3", "--set", "nonsense"),
        folder=folder,
    )
    assert done.returncode == 2
    assert not (folder / "no").exists()
    for told in ("did you mean epochs?", "BehaviorRecognition.batch", "'many'", "did you mean steps?", "NAME=VALUE"):
        assert told in done.stderr
    for arguments, names in [
        (("run", "labyrinth"), "maze, ant"),
        (
            ("run", "maze", "--estimator", "k-nn"),
            "exact, recognition, paper, archive",
        ),
    ]:
        done = call(*arguments, folder=folder)
        assert done.returncode == 2
        assert names in done.stderr


@pytest.mark.parametrize("arguments", [("resume", "nowhere"), ("show", "nowhere"), ("movie", "."), ("report", ".")])
def test_what_is_no_run_is_an_error_that_says_so(folder, arguments, tmp_path):
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert "is not a run" in done.stderr


def test_the_list_names_every_setting_with_its_default_and_meaning(folder):
    text = call("list", folder=folder).stdout
    for line in ("estimator.learning_rate=0.01", "estimator.k=15", "task.steps=2000", "mutate.eta=10.0"):
        assert line in text
    for meaning in ("with none the paper's 3 d, section 5", "crowding degree", "steps of an evaluation"):
        assert meaning in text


def test_the_list_of_one_experiment(folder):
    text = call("list", "maze", folder=folder).stdout
    assert "brns run maze" in text
    assert "brns run ant" not in text
    unknown = call("list", "labyrinth", folder=folder)
    assert unknown.returncode == 2
    assert "one of maze, ant" in unknown.stderr


def test_the_version(folder):
    assert call("--version", folder=folder).stdout.split() == ["brns", brns.__version__]


def test_fewer_generations_than_there_are_is_said_as_it_is(folder):
    done = call("resume", "runs/maze-exact-seed0", "--generations", 2, folder=folder)
    assert done.returncode == 0
    assert "has 4 generations, more than the 2" in done.stdout


def test_a_list_of_runs_names_changed_settings(folder):
    told = call("runs", folder=folder).stdout
    changed = "task.steps=50, population_size=20, offspring_size=20"
    assert changed in " ".join(told.split())


def test_changed_settings_are_those_that_are_not_the_experiments_own():
    assert changes(describe(named("maze", "paper"))) == {}
    changed = configured("maze", "paper", ["estimator.epochs=5", "task.steps=9", "mutate=gaussian"])
    assert changes(describe(changed)) == {"task.steps": 9, "estimator.epochs": 5, "mutate": "GaussianMutation"}
    assert changes({**describe(changed), "task": {"name": "Mine"}}) == {}


@pytest.mark.slow
def test_runs_of_different_methods_have_a_table_each(tmp_path):
    shutil.copytree(BEFORE, tmp_path / "before")
    shown = call("show", "before", folder=tmp_path).stdout
    titles = [line.strip() for line in shown.splitlines() if line.startswith("before: ")]
    assert titles == ["before: DeceptiveMaze, archive k-NN", "before: DeceptiveMaze, BR-NS"]
    assert "deviation" not in shown  # one seed each: no mean over methods


@pytest.mark.parametrize("form", ["json", "csv"])
def test_numbers_for_other_programs_are_the_summarys(form, folder):
    path = "runs/maze-exact-seed0"
    text = call("show", path, f"--{form}", folder=folder).stdout
    (row,) = json.loads(text) if form == "json" else csv.DictReader(text.splitlines())
    expected = summary(Record(folder / path))
    assert {name: float(row[name]) for name in expected} == expected
    assert (row["method"], int(row["seed"])) == ("DeceptiveMaze, exact recognition", 0)


def test_a_truth_value_is_no_number(folder):
    done = call(
        *("run", "maze", "--estimator", "recognition", "--out", "no"),
        *("--set", "task.steps=true", "--set", "estimator.epochs=1.5"),
        folder=folder,
    )
    assert done.returncode == 2
    assert "DeceptiveMaze.steps" in done.stderr
    assert "valid integer; got True" in done.stderr
    assert "BehaviorRecognition.epochs" in done.stderr
    assert not (folder / "no").exists()


def test_figure_movie_and_show(folder):
    run = "runs/maze-exact-seed0"
    for name in ("coverage", "3b"):
        done = call("figure", name, run, "--out", f"{name}.png", folder=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / f"{name}.png").stat().st_size > 5000
    done = call("movie", run, folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / run / "movie.gif").read_bytes()[:3] == b"GIF"
    assert "coverage evaluated" in call("show", run, folder=folder).stdout
    unknown = call("figure", "9z", run, folder=folder)
    assert unknown.returncode == 2
    assert "coverage" in unknown.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1e-3", 1e-3),
        ("true", True),
        ("False", False),
        (".5", 0.5),
        ("1.5.2", "1.5.2"),
        ("none", None),
        ("[3, 5]", [3, 5]),
        ("raw", "raw"),
        ('"raw"', "raw"),
    ],
)
def test_values_are_read_as_toml_and_bare_words_are_strings(text, value):
    assert read(text) == value


def test_counting_hands_on_what_there_is():
    assert list(screen.track(iter("abc"), "letters", 3)) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="no more"):
        list(screen.track(failing(), "failures", 3))


def failing():
    yield 1
    raise ValueError("no more")
