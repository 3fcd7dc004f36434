"""Listing runs: what each line says, from little and whatever state the others are in."""

import json
import shutil
import time
from pathlib import Path

import pytest
from brns.runs.listing import listing
from files import reseal, seal
from shell import SHORT, call
from test_lock import locked_elsewhere
from test_loop import cut, search

from brns import DeceptiveMaze, NoveltySearch, PopulationKNN, Processes, Record, RecordError
from brns.runs.loop import run
from brns.runs.progress import read
from brns.runs.storage import read_arrays


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run, an interrupted one, one that two levels down is not yet begun, and several damaged ones."""
    folder = tmp_path_factory.mktemp("runs")
    (record,) = run(search(), 10, out=folder / "finished", seeds=7)
    for name in ("interrupted", "group/deep/new", "damaged/gap", "damaged/last", "damaged/json", "damaged/odd"):
        shutil.copytree(record.path, folder / name)
    cut(folder / "interrupted", 7, 7)
    cut(folder / "group/deep/new", -1, -1)
    (folder / "damaged/gap/generations/000003.npz").unlink()
    (folder / "damaged/last/generations/000010.npz").write_bytes(b"PK")
    (folder / "damaged/json/run.json").write_text("{")
    (folder / "damaged/odd/run.json").write_text(
        '{"format": 1, "experiment": [], "seed": 0, "seeds": 1, "generations": "x", "keep_every": 1, "versions": 2}'
    )
    return folder


def test_states_progress_and_results(runs):
    found = {str(one.path.relative_to(runs)): one for one in listing(runs)}
    assert list(found) == sorted(found)
    assert {
        name: (one.state, one.generation, one.planned) for name, one in found.items() if one.state != "damaged"
    } == {
        "finished": ("finished", 10, 10),
        "interrupted": ("interrupted", 7, 10),
        "group/deep/new": ("interrupted", None, 10),
    }
    rows = read(Record(runs / "finished"))
    first = next(row.generation for row in rows if row.solutions)
    one = found["finished"]
    assert (one.task, one.estimator, one.seed) == ("Identity", "recognition", 7)
    assert (one.solutions, one.first_solved, one.coverage) == (rows[-1].solutions, first, rows[-1].coverage)
    # progress.csv had come further than the record: what is not in the record does not count.
    assert found["interrupted"].solutions == rows[7].solutions
    assert found["group/deep/new"].solutions is None


def test_damaged_runs_are_told_with_the_reason(runs):
    reasons = {one.path.name: one.reason for one in listing(runs / "damaged") if one.state == "damaged"}
    assert "lacks generation 3 though it has 10" in reasons["gap"]
    assert "000010.npz is damaged" in reasons["last"]
    assert "run.json is not JSON" in reasons["json"]
    assert "run.json was edited" in reasons["odd"]


def test_a_run_that_was_moved_and_linked_to_is_listed(runs, tmp_path):
    shutil.copytree(runs / "finished", tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "moved").symlink_to(tmp_path / "elsewhere")
    assert [(one.path.name, one.state) for one in listing(tmp_path / "runs")] == [("moved", "finished")]


def test_a_list_of_runs_writes_nothing(runs, tmp_path):
    """Nor for a moment: the times of the folders stay too. One run has lost its lock and its progress.csv."""
    folder = Path(shutil.copytree(runs, tmp_path / "runs"))
    for name in ("lock", "progress.csv"):
        (folder / "finished" / name).unlink()

    def there():
        return {file: (file.stat().st_mtime_ns, file.is_file() and file.read_bytes()) for file in folder.rglob("*")}

    before = there()
    listing(folder)
    assert there() == before


def test_a_run_is_running_while_its_lock_is_held(runs):
    with locked_elsewhere(runs / "interrupted") as holder:
        assert {one.path.name: one.state for one in listing(runs)}["interrupted"] == "running"
        holder.kill()
    assert listing(runs / "interrupted")[0].state == "interrupted"


@pytest.mark.slow
def test_without_progress_csv_the_record_is_read(tmp_path):
    task = Processes(DeceptiveMaze(steps=20), workers=1)
    maze = NoveltySearch(task, PopulationKNN(k=3), population_size=6, offspring_size=5)
    with task:
        (record,) = run(maze, 3, out=tmp_path / "maze")
    rows = read(record)
    (record.path / "progress.csv").unlink()
    (one,) = listing(tmp_path)
    assert (one.task, one.estimator, one.generation) == ("maze", "population", 3)
    assert one.solutions == rows[-1].solutions
    assert one.coverage == pytest.approx(rows[-1].coverage, rel=1e-8)
    assert not (record.path / "progress.csv").exists()  # listing writes nothing


def rewritten(run, **changes):
    """Change what a run.json says."""
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | changes))


def test_one_bad_run_does_not_end_the_listing_of_the_others(runs, tmp_path):
    for name in ("flat", "copied", "unnamed", "sound"):
        shutil.copytree(runs / "finished", tmp_path / name)
    file = tmp_path / "flat" / "generations" / "000010.npz"
    arrays = read_arrays(file, seal(file))
    reseal(file, {**arrays, "offspring.descriptor": arrays["offspring.descriptor"][:, 0]})
    (tmp_path / "flat" / "progress.csv").unlink()
    generations = tmp_path / "copied" / "generations"
    shutil.copy(generations / "000003.npz", generations / "000003 (1).npz")
    rewritten(tmp_path / "unnamed", experiment={"task": [], "estimator": {"name": ["a"]}})
    found = {one.path.name: one for one in listing(tmp_path)}
    assert {name: one.state for name, one in found.items()} == {
        "flat": "damaged",
        "copied": "finished",
        "unnamed": "damaged",
        "sound": "finished",
    }
    assert "000010.npz was edited: offspring.descriptor has shape (6,)" in found["flat"].reason
    assert "run.json was edited: no run has experiment=" in found["unnamed"].reason


def test_a_name_cannot_speak_to_the_terminal(runs, tmp_path):
    run = Path(shutil.copytree(runs / "finished", tmp_path / "run"))
    experiment = Record(run).experiment
    rewritten(run, experiment=experiment | {"task": {"name": "\x1b[2JMaze\r"}})
    assert [one.task for one in listing(tmp_path)] == [r"\x1b[2JMaze\r"]
    done = call("runs", ".", folder=tmp_path)
    assert "\x1b" not in done.stdout
    assert r"\x1b[2JMaze\r" in done.stdout
    assert str(RecordError("a\x1b[2Jb\x07")) == r"a\x1b[2Jb\x07"


def test_of_a_run_of_ones_own_parts_the_line_is_made_from_the_record_too(runs, tmp_path):
    """Its box is in its run.json, so that a spoiled progress.csv costs nothing."""
    run = Path(shutil.copytree(runs / "finished", tmp_path / "run"))
    (expected,) = listing(run)
    (run / "progress.csv").write_text("")
    (found,) = listing(run)
    assert found.coverage == pytest.approx(expected.coverage, rel=1e-8)
    assert found._replace(coverage=expected.coverage) == expected


def test_where_there_is_no_run_it_says_so(tmp_path):
    with pytest.raises(RecordError, match="is not a run and holds none"):
        listing(tmp_path)


@pytest.mark.slow
def test_forty_runs_of_400_generations_take_little(tmp_path):
    (record,) = run(search(population_size=4, offspring_size=3), 400, out=tmp_path / "run00")
    for i in range(1, 40):
        shutil.copytree(record.path, tmp_path / f"run{i:02d}")
    began = time.process_time()
    assert [one.state for one in listing(tmp_path)] == ["finished"] * 40
    assert time.process_time() - began < 3


def test_the_command_prints_one_line_a_run_and_the_reasons_below(runs, tmp_path):
    name = "a-[long]-name/" + 20 * "of-a-run-"
    done = call("run", "maze", "--generations", 2, "--out", name, *SHORT, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shutil.copytree(runs / "damaged/gap", tmp_path / "gap")
    done = call("runs", ".", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    _, head, maze, *changed, gap, reason = done.stdout.splitlines()
    assert head.split() == ["run", "state", "done", "task", "novelty", "seed", "solved", "first", "cover"]
    assert maze.split()[:6] == [name, "finished", "2/2", "maze", "exact", "0"]
    assert " ".join(" ".join(changed).split()) == "task.steps=50, population_size=20, offspring_size=20"
    assert gap.split() == ["gap", "damaged"]
    assert reason.startswith("damaged: gap lacks generation 3")
