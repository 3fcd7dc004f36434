"""Listing runs: what each line says, from little and whatever state the others are in."""

import json
import shutil
from pathlib import Path

import pytest
from shell import call

from brns import Record, generations, run
from brns.cli.listing import listing
from brns.experiments import configured
from brns.runs.progress import read
from brns.settings import SettingsError

CHANGES = ["population_size=8", "offspring_size=6", "estimator.epochs=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run, an interrupted one, one that two levels down is not yet begun, and several damaged ones."""
    folder = tmp_path_factory.mktemp("runs")
    (record,) = run(configured("arm", "paper", CHANGES), 10, out=folder / "finished", seeds=7)
    for name in ("interrupted", "group/deep/new", "damaged/gap", "damaged/last", "damaged/json", "damaged/odd"):
        shutil.copytree(record.path, folder / name)
    for last, name in ((7, "interrupted"), (-1, "group/deep/new")):
        for number in range(last + 1, 11):
            (folder / name / f"generations/{number:06d}.npz").unlink()
    (folder / "damaged/gap/generations/000003.npz").unlink()
    (folder / "damaged/last/generations/000010.npz").write_bytes(b"PK")
    (folder / "damaged/json/run.json").write_text("{")
    (folder / "damaged/odd/run.json").write_text('{"format": 1, "experiment": [], "seed": 0, "generations": "x"}')
    return folder


def test_states_progress_and_results(runs):
    found = {str(one.path.relative_to(runs)): one for one in listing(runs)}
    assert list(found) == sorted(found)
    states = {name: (one.state, one.generation, one.planned) for name, one in found.items() if one.planned}
    assert states == {
        "finished": ("finished", 10, 10),
        "interrupted": ("interrupted", 7, 10),
        "group/deep/new": ("interrupted", None, 10),
    }
    rows = read(Record(runs / "finished"))
    one = found["finished"]
    assert (one.task, one.estimator, one.seed) == ("arm", "paper", 7)
    assert one.changed == "estimator.epochs=2, population_size=8, offspring_size=6"
    assert (one.solutions, one.first_solved) == (rows[-1].solutions, None)
    assert one.coverage == pytest.approx(rows[-1].coverage)
    # progress.csv had come further than the record: what is not in the record does not count.
    assert found["interrupted"].coverage == pytest.approx(rows[7].coverage)
    assert found["group/deep/new"].solutions is None


def test_damaged_runs_are_told_with_the_reason(runs):
    found = listing(runs / "damaged")
    assert {one.state for one in found} == {"damaged"}
    reasons = {one.path.name: one.reason for one in found}
    assert "a generation before 000010 is missing" in reasons["gap"]
    assert "000010.npz" in reasons["last"]
    assert set(reasons) == {"gap", "last", "json", "odd"}


def test_a_run_that_was_moved_and_linked_to_is_listed(runs, tmp_path):
    shutil.copytree(runs / "finished", tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "moved").symlink_to(tmp_path / "elsewhere")
    assert [(one.path.name, one.state) for one in listing(tmp_path / "runs")] == [("moved", "finished")]


def test_a_list_of_runs_writes_nothing(runs, tmp_path):
    """Nor for a moment: the times of the folders stay too. One run has lost its lock and its progress.csv."""
    folder = Path(shutil.copytree(runs, tmp_path / "runs"))
    for name in ("lock", "progress.csv"):
        (folder / "finished" / name).unlink(missing_ok=True)

    def there():
        return {file: (file.stat().st_mtime_ns, file.is_file() and file.read_bytes()) for file in folder.rglob("*")}

    before = there()
    assert {one.path.name: one.state for one in listing(folder)}["finished"] == "finished"
    assert there() == before


def test_a_run_is_running_until_it_is_left(tmp_path):
    steps = generations(configured("arm", "paper", CHANGES), 3, out=tmp_path / "run")
    next(steps)
    assert listing(tmp_path)[0].state == "running"
    steps.close()
    assert listing(tmp_path)[0].state == "interrupted"


def test_a_name_cannot_speak_to_the_terminal(runs, tmp_path):
    run = Path(shutil.copytree(runs / "finished", tmp_path / "run"))
    facts = json.loads((run / "run.json").read_text())
    facts["experiment"]["task"]["name"] = "\x1b[2JMaze\r"
    (run / "run.json").write_text(json.dumps(facts))
    done = call("runs", ".", folder=tmp_path)
    assert "\x1b" not in done.stdout
    assert r"\x1b[2JMaze\r" in done.stdout


def test_where_there_is_no_run_it_says_so(tmp_path):
    with pytest.raises(SettingsError, match="is not a run and holds none"):
        listing(tmp_path)


def test_the_command_prints_one_line_a_run_and_the_reasons_below(runs, folder, tmp_path):
    name = "a-[long]-name/" + 20 * "of-a-run-"
    shutil.copytree(folder / "runs/maze-exact-seed0", tmp_path / name)
    shutil.copytree(runs / "damaged/gap", tmp_path / "gap")
    done = call("runs", ".", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    _, head, maze, *changed, gap, reason = done.stdout.splitlines()
    assert head.split() == ["run", "state", "done", "task", "novelty", "seed", "solved", "first", "cover"]
    assert maze.split()[:6] == [name, "finished", "4/4", "maze", "exact", "0"]
    assert " ".join(" ".join(changed).split()) == "task.steps=50, population_size=20, offspring_size=20"
    assert gap.split() == ["gap", "damaged"]
    assert reason.startswith("damaged: gap: a generation before")
