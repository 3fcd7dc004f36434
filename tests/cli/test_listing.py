"""Listing runs: what each line says, whatever state the other runs are in."""

import dataclasses
import itertools
import json
import re
import shutil

import pandas
import pytest
from rich.console import Console
from searches import HOST, search
from shell import call
from worlds import Identity

import brns
from brns import ArchiveKNN, NoveltySearch, Record, generations
from brns.cli.listing import batches_below, list_runs, print_runs
from brns.experiments import make_search
from brns.experiments.names import cli_name
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
    for last, name in ((7, "interrupted"), (-1, "group/deep/new")):
        for number in range(last + 1, 11):
            (folder / name / f"generations/{number:06d}.npz").unlink()
    (folder / "damaged/gap/generations/000003.npz").unlink()
    (folder / "damaged/last/generations/000010.npz").write_bytes(b"PK")
    (folder / "damaged/json/run.json").write_text("{")
    (folder / "damaged/odd/run.json").write_text(
        '{"format": 1, "experiment": [], "seed": 0, "generations": "x"}'
    )
    return folder


def test_states_progress_and_results(runs):
    found = {str(one.path.relative_to(runs)): one for one in list_runs(runs)}
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
    record = Record(runs / "finished")
    one = found["finished"]
    assert (one.state, one.began, one.ended) == ("finished", record.began, record.ended)
    assert one.seconds == pytest.approx(record.seconds)
    assert one.machine.endswith(f"{record.metadata.machine['cores']} cores")
    assert found["group/deep/new"].generations is None
    damaged = {name: one.note for name, one in found.items() if one.state == "damaged"}
    assert set(damaged) == {f"damaged/{name}" for name in ("gap", "last", "json", "odd")}
    assert "a generation before 000010 is missing" in damaged["damaged/gap"]
    assert "000010.npz" in damaged["damaged/last"]


def test_how_a_run_ended_is_its_state(tmp_path):
    brns.run(HOST, 3, out=tmp_path / "stopped", until=lambda saved: saved.number == 2)
    with pytest.raises(ZeroDivisionError):
        brns.run(HOST, 3, out=tmp_path / "failed", until=lambda saved: 1 // (saved.number - 1) > 5)
    facts = json.loads((tmp_path / "stopped/run.json").read_text())
    (session,) = facts["sessions"]
    for name, sessions in {
        "saturated": [session | {"status": "saturated"}],
        "killed": [session | {"status": "running", "ended": None}],
        "forked": [],
    }.items():
        run = shutil.copytree(tmp_path / "stopped", tmp_path / name)
        (run / "run.json").write_text(json.dumps(facts | {"sessions": sessions}))
    found = {one.path.name: one for one in list_runs(tmp_path)}
    assert {name: one.state_text for name, one in found.items()} == {
        "failed": "failed",
        "forked": "stopped",
        "killed": "interrupted",
        "saturated": "saturated at 2",
        "stopped": "stopped",
    }
    assert "ZeroDivisionError" in found["failed"].note
    assert found["killed"].ended is not None
    assert found["forked"].began is None


def test_runs_are_filtered_and_sorted_and_told_to_programs(runs, tmp_path):
    shutil.copytree(runs / "finished", tmp_path / "b")
    shutil.copytree(runs / "interrupted", tmp_path / "a")
    shutil.copytree(runs / "damaged/gap", tmp_path / "c")
    by = ("--sort", "generations", "--reverse")
    rows = json.loads(call("runs", ".", *by, "--json", folder=tmp_path).stdout)
    assert [row["path"] for row in rows] == ["b", "a", "c"]
    assert [row["generations"] for row in rows] == [10, 7, None]
    assert rows[0]["coverage_evaluated"] > 0
    only = ("--filter", "generations=7", "--filter", "task=Identity")
    (row,) = json.loads(call("runs", ".", *only, "--json", folder=tmp_path).stdout)
    assert row["path"] == "a"
    wrong = call("runs", ".", "--sort", "coverage_evaluate", folder=tmp_path, status=2)
    assert "did you mean coverage_evaluated?" in wrong.stderr
    assert "COLUMN=VALUE" in call("runs", ".", "--filter", "task", folder=tmp_path, status=2).stderr


def test_at_a_terminal_no_line_is_wider(runs, monkeypatch, capsys):
    screen = Console(width=80, force_terminal=True, highlight=False, markup=False, no_color=True)
    monkeypatch.setattr("brns.cli.listing.console", screen)
    print_runs(runs, list_runs(runs))
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    at = lines.index(next(line for line in lines if line.startswith("finished")))
    assert any("10/10" in line for line in lines[at : at + 4])


def test_a_folder_of_runs_is_runs_and_batches(runs, tmp_path):
    for name in ("alone", "deep/batch/seed0000", "deep/batch/seed0001"):
        shutil.copytree(runs / "finished", tmp_path / name)
    assert batches_below(tmp_path) == [tmp_path / "alone", tmp_path / "deep/batch"]
    assert batches_below(tmp_path / "alone") == [tmp_path / "alone"]


def test_a_search_and_its_settings_are_called_what_was_typed():
    for typed in itertools.product(parts("world"), parts("estimator", "preset")):
        assert cli_name(make_search(*typed)) == (*typed, {})
    typed = {"estimator.epochs": 2, "population_size": 8, "mutate": "gaussian", "mutate.sigma": 0.3}
    changes = [f"{name}={value}" for name, value in typed.items()]
    search = apply_overrides(make_search("arm", "paper"), changes)
    assert cli_name(search, "paper") == ("arm", "paper", typed)
    chunked = dataclasses.replace(search, task=Chunked(search.task))
    assert cli_name(chunked, "paper") == cli_name(search, "paper")
    own = NoveltySearch(Identity(), ArchiveKNN(additions=200))
    assert cli_name(own) == ("Identity", "archive", {"estimator.additions": 200})


def test_a_list_of_runs_writes_nothing_and_follows_a_link_to_a_run(runs, tmp_path):
    """The times of the folders stay. One run has lost its lock and its progress.csv."""
    run = shutil.copytree(runs / "finished", tmp_path / "elsewhere/run")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/moved").symlink_to(run)
    for name in ("lock", "progress.csv"):
        (run / name).unlink(missing_ok=True)
    before = {file: file.stat().st_mtime_ns for file in (run, *run.rglob("*"))}
    (moved,) = list_runs(tmp_path / "runs")
    assert (moved.path.name, moved.state) == ("moved", "finished")
    assert {file: file.stat().st_mtime_ns for file in (run, *run.rglob("*"))} == before


def test_a_run_is_running_until_it_is_left(tmp_path):
    steps = generations(search(), 3, out=tmp_path / "run")
    next(steps)
    assert list_runs(tmp_path)[0].state == "running"
    steps.close()
    assert list_runs(tmp_path)[0].state == "stopped"
    with pytest.raises(SettingsError, match="is not a run and holds none"):
        list_runs(tmp_path / "run/states")


def test_the_command_prints_one_line_a_run_and_no_control_characters(runs, tmp_path):
    name = "a-[long]-name/" + 20 * "of-a-run-"
    run = shutil.copytree(runs / "finished", tmp_path / name)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"world": "\x1b[2JMaze\r"}))
    shutil.copytree(runs / "damaged/gap", tmp_path / "gap")
    _, head, first, gap = call("runs", ".", folder=tmp_path).stdout.splitlines()
    assert head.split() == [
        *("run", "state", "done", "solved", "first", "coverage_evaluated", "took", "task"),
        *("estimator", "seed", "coverage_survivors", "began", "ended", "machine", "changed"),
    ]
    words = first.split()
    assert words[:3] == [name, "finished", "10/10"]
    assert words[7:10] == [r"\x1b[2JMaze\r", "recognition", "7"]
    assert first.rstrip().endswith(CHANGED)
    assert gap.split()[:2] == ["gap", "damaged"]
    assert gap.rstrip().endswith("a generation before 000010 is missing")
