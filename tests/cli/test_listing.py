"""Listing runs: what each line says, whatever state the other runs are in."""

import dataclasses
import itertools
import json
import re
import shutil

import pandas
import pytest
from rich.console import Console
from shell import call
from small_tasks import Identity

from brns import ArchiveKNN, NoveltySearch
from brns.cli.listing import print_runs, summarize_runs
from brns.experiments import make_search
from brns.experiments.names import find_names_and_changed_settings
from brns.experiments.overrides import apply_overrides
from brns.settings.parts import SettingsError, parts
from brns.tasks.chunked import Chunked

CHANGED = (
    "estimator.depths=[0, 1], population_size=8, offspring_size=6, "
    "mutate=polynomial, mutate.eta=2.0, mutate.rate=0.5"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, whole):
    """Runs that are finished, interrupted, not begun two levels down, and damaged."""
    folder = tmp_path_factory.mktemp("runs")
    damaged = ("damaged/gap", "damaged/last", "damaged/json", "damaged/odd")
    for name in ("finished", "interrupted", "group/deep/new", *damaged):
        shutil.copytree(whole, folder / name)
    for file in (folder / "group/deep/new/generations").iterdir():
        file.unlink()
    for number in (8, 9, 10):
        (folder / f"interrupted/generations/{number:06d}.npz").unlink()
    (folder / "damaged/gap/generations/000003.npz").unlink()
    (folder / "damaged/last/generations/000010.npz").write_bytes(b"PK")
    (folder / "damaged/json/run.json").write_text("{")
    (folder / "damaged/odd/run.json").write_text('{"format": 1, "experiment": [], "seed": 0}')
    return folder


def test_states_progress_and_results(runs):
    found = {str(one.path.relative_to(runs)): one for one in summarize_runs(runs)}
    assert list(found) == sorted(found)
    rows = pandas.read_csv(runs / "finished/progress.csv")
    first = next((row.generation for row in rows.itertuples() if row.solutions), None)
    for name, last in (("finished", 10), ("interrupted", 7)):
        # progress.csv is further than the record: what is not in the record does not count.
        row, one = rows.iloc[last], found[name]
        assert (one.generations, one.planned, one.seed) == (last, 10, 7)
        assert (one.task, one.estimator, one.changed) == ("Identity", "recognition", CHANGED)
        assert (one.solutions, one.first_solved) == (row.solutions, first)
        assert one.coverage_evaluated == pytest.approx(row.coverage_evaluated)
        assert one.coverage_survivors == pytest.approx(row.coverage_survivors)
    assert re.search(r"\d cores$", found["finished"].machine)
    assert found["group/deep/new"].generations is None
    damaged = {name: one.note for name, one in found.items() if one.state == "damaged"}
    assert set(damaged) == {f"damaged/{name}" for name in ("gap", "last", "json", "odd")}
    assert "a generation before 000010 is missing" in damaged["damaged/gap"]
    for name in ("json", "odd"):
        assert "run.json is damaged, or of something else" in damaged[f"damaged/{name}"]
    assert "000010.npz" in damaged["damaged/last"]


def test_runs_are_filtered_and_sorted_and_told_to_programs(runs, tmp_path):
    for name, source in (("b", "finished"), ("a", "interrupted"), ("c", "damaged/gap")):
        shutil.copytree(runs / source, tmp_path / name)

    def told(*options):
        return json.loads(call("runs", ".", *options, "--json", folder=tmp_path).stdout)

    rows = told("--sort", "generations", "--reverse")
    assert [(row["path"], row["generations"]) for row in rows] == [("b", 10), ("a", 7), ("c", None)]
    assert rows[0]["coverage_evaluated"] > 0
    (row,) = told("--filter", "generations=7", "--filter", "task=Identity")
    assert row["path"] == "a"
    wrong = call("runs", ".", "--sort", "coverage_evaluate", folder=tmp_path, status=2)
    assert "did you mean coverage_evaluated?" in wrong.stderr
    assert "COLUMN=VALUE" in call("runs", ".", "--filter", "task", folder=tmp_path, status=2).stderr


def test_at_a_terminal_no_line_is_wider(runs, monkeypatch, capsys):
    screen = Console(width=80, force_terminal=True, highlight=False, markup=False, no_color=True)
    monkeypatch.setattr("brns.cli.listing.console", screen)
    print_runs(runs, summarize_runs(runs))
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    at = lines.index(next(line for line in lines if line.startswith("finished")))
    assert any("10/10" in line for line in lines[at : at + 4])


def test_a_search_and_its_settings_are_called_what_was_typed():
    for typed in itertools.product(parts("task"), parts("estimator", "preset")):
        assert find_names_and_changed_settings(make_search(*typed)) == (*typed, {})
    typed = {"estimator.epochs": 2, "population_size": 8, "mutate": "gaussian", "mutate.sigma": 0.3}
    changes = [f"{name}={value}" for name, value in typed.items()]
    search = apply_overrides(make_search("arm", "paper"), changes)
    assert find_names_and_changed_settings(search, "paper") == ("arm", "paper", typed)
    chunked = dataclasses.replace(search, task=Chunked(search.task))
    assert find_names_and_changed_settings(chunked, "paper") == ("arm", "paper", typed)
    own = NoveltySearch(Identity(), ArchiveKNN(additions=200))
    told = ("Identity", "archive", {"estimator.additions": 200})
    assert find_names_and_changed_settings(own) == told


def test_a_list_of_runs_writes_nothing_and_follows_a_link_to_a_run(runs, tmp_path):
    """The times of the folders stay. One run has lost its lock and its progress.csv."""
    run = shutil.copytree(runs / "finished", tmp_path / "elsewhere/run")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/moved").symlink_to(run)
    (tmp_path / "runs/here").symlink_to(tmp_path)  # leads back: the run would be there many times
    for name in ("lock", "progress.csv"):
        (run / name).unlink(missing_ok=True)
    before = {file: file.stat().st_mtime_ns for file in (run, *run.rglob("*"))}
    (moved,) = summarize_runs(tmp_path / "runs")
    assert (moved.path.name, moved.state) == ("moved", "finished")
    assert {file: file.stat().st_mtime_ns for file in (run, *run.rglob("*"))} == before
    with pytest.raises(SettingsError, match="is not a run and holds none"):
        summarize_runs(run / "states")


def test_through_a_pipe_no_line_is_broken_and_no_control_character_is_printed(runs, tmp_path):
    name = "a-[long]-name/" + 20 * "of-a-run-"
    run = shutil.copytree(runs / "finished", tmp_path / name)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"task": "\x1b[2JMaze\r"}))
    shutil.copytree(runs / "damaged/gap", tmp_path / "gap")
    listed = call("runs", ".", folder=tmp_path).stdout.splitlines()
    assert rf"{name}  \x1b[2JMaze\r, recognition, seed 7, {CHANGED}" in listed
    assert "gap  a generation before 000010 is missing" in listed
    assert listed[3].split()[:2] == ["finished", "10/10"]
