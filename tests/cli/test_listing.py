"""Listing runs: what each line says, whatever state the other runs are in."""

import dataclasses
import itertools
import json
import shutil
from pathlib import Path

import pandas
import pytest
from searches import search
from shell import call
from worlds import Identity

from brns import ArchiveKNN, NoveltySearch, generations
from brns.cli.listing import listing
from brns.experiments import called, changed, named
from brns.settings import SettingsError, parts
from brns.tasks.workers import Chunked

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
    found = {str(one.path.relative_to(runs)): one for one in listing(runs)}
    assert list(found) == sorted(found)
    rows = pandas.read_csv(runs / "finished/progress.csv")
    first = next((f"{row.generation}" for row in rows.itertuples() if row.solutions), "–")
    for name, last in (("finished", 10), ("interrupted", 7)):
        # progress.csv is further than the record: what is not in the record does not count.
        row = rows.iloc[last]
        cells = (
            f"{last}/10",
            "Identity",
            "recognition",
            "7",
            f"{row.solutions:g}",
            first,
            f"{row.coverage_evaluated:.0%}",
        )
        assert found[name][1:] == (CHANGED, name, cells)
    assert found["group/deep/new"].cells[0] == "–/10"
    assert {found[name].state for name in ("interrupted", "group/deep/new")} == {"interrupted"}
    damaged = {name: one.note for name, one in found.items() if one.state == "damaged"}
    assert set(damaged) == {f"damaged/{name}" for name in ("gap", "last", "json", "odd")}
    assert "a generation before 000010 is missing" in damaged["damaged/gap"]
    assert "000010.npz" in damaged["damaged/last"]


def test_a_search_and_its_settings_are_called_what_was_typed():
    for typed in itertools.product(parts("world"), parts("estimator", "preset")):
        assert called(named(*typed)) == (*typed, {})
    typed = {"estimator.epochs": 2, "population_size": 8, "mutate": "gaussian", "mutate.sigma": 0.3}
    search = changed(named("arm", "paper"), [f"{name}={value}" for name, value in typed.items()])
    assert called(search) == ("arm", "paper", typed)
    assert called(dataclasses.replace(search, task=Chunked(search.task))) == called(search)
    own = NoveltySearch(Identity(), ArchiveKNN(additions=200))
    assert called(own) == ("Identity", "archive", {"estimator.additions": 200})


def test_a_list_of_runs_writes_nothing_and_follows_a_link_to_a_run(runs, tmp_path):
    """The times of the folders stay. One run has lost its lock and its progress.csv."""
    folder = Path(shutil.copytree(runs / "finished", tmp_path / "elsewhere/run")).parent
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/moved").symlink_to(folder / "run")
    for name in ("lock", "progress.csv"):
        (folder / "run" / name).unlink(missing_ok=True)

    def there():
        return {
            file: (file.stat().st_mtime_ns, file.is_file() and file.read_bytes())
            for file in folder.rglob("*")
        }

    before = there()
    assert [(one.path.name, one.state) for one in listing(tmp_path / "runs")] == [
        ("moved", "finished")
    ]
    assert there() == before


def test_a_run_is_running_until_it_is_left(tmp_path):
    steps = generations(search(), 3, out=tmp_path / "run")
    next(steps)
    assert listing(tmp_path)[0].state == "running"
    steps.close()
    assert listing(tmp_path)[0].state == "interrupted"
    with pytest.raises(SettingsError, match="is not a run and holds none"):
        listing(tmp_path / "run/states")


def test_the_command_prints_one_line_a_run_and_no_control_characters(runs, tmp_path):
    name = "a-[long]-name/" + 20 * "of-a-run-"
    run = Path(shutil.copytree(runs / "finished", tmp_path / name))
    facts = json.loads((run / "run.json").read_text())
    facts["world"] = "\x1b[2JMaze\r"
    (run / "run.json").write_text(json.dumps(facts))
    shutil.copytree(runs / "damaged/gap", tmp_path / "gap")
    done = call("runs", ".", folder=tmp_path)
    _, head, first, gap = done.stdout.splitlines()
    assert head.split() == [
        "run",
        "state",
        "done",
        "task",
        "estimator",
        "seed",
        "solved",
        "first",
        "cover",
        "changed",
    ]
    assert first.split()[:6] == [name, "finished", "10/10", r"\x1b[2JMaze\r", "recognition", "7"]
    assert first.rstrip().endswith(CHANGED)
    assert gap.split()[:5] == ["gap", "damaged", "a", "generation", "before"]
