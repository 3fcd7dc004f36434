"""A folder holds one run or one batch, whoever comes second, at once or later; and a start that was ended is none."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_loop import bits, search

from brns import Record, RecordError
from brns.runs.loop import resume, run, start
from brns.runs.places import unfinished


def made(path):
    """All files below, with their content."""
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


SECOND = {
    "a batch where a run is": (0, [1, 2], ".", r"run exists already; resume it \(brns resume"),
    "a batch where another is": (
        [0, 1],
        [2, 3],
        ".",
        r"run holds a run already, .*seed0000; a folder holds",
    ),
    "a batch that shares a seed": ([0, 1], [1, 2], ".", r"seed0001 exists already"),
    "a run where a batch is": ([0, 1], 2, ".", "run holds a run already"),
    "a run within a run": (0, 1, "deeper/still", "deeper/still lies within a run, .*run; choose another place"),
    "a batch within a run": (0, [1, 2], "deeper", "deeper lies within a run"),
    "a run within a batch": ([0, 1], 2, "third", "third lies within a batch of seeds, of which .*seed000[01] is one"),
    "a run that would be a seed of a batch": ([0, 1], 2, "seed0002", "seed0002 lies within a batch of seeds"),
}


@pytest.mark.parametrize("case", SECOND)
def test_a_second_run_or_batch_is_refused_by_name_and_nothing_is_written(case, tmp_path):
    first, second, below, message = SECOND[case]
    run(search(), 1, out=tmp_path / "run", seeds=first)
    before = made(tmp_path)
    with pytest.raises(RecordError, match=message):
        run(search(), 1, out=tmp_path / "run" / below, seeds=second)
    assert made(tmp_path) == before


def test_runs_of_one_seed_may_stand_side_by_side(tmp_path):
    for seed in (3, 4):
        run(search(), 1, out=tmp_path / f"seed{seed:04d}", seeds=seed)
    assert [record.seed for record in resume(tmp_path / "seed0004", 2, search=search())] == [4]


@pytest.mark.parametrize("seeds", [5, [5, 6]])
def test_of_two_starts_the_second_is_refused_though_it_had_its_founders_first(seeds, tmp_path, monkeypatch):
    """It looked when nobody was there, and made its founders while the other began."""
    late, inits = start(search(), 3, out=tmp_path / "run", seeds=seeds, keep_every=1), []
    init = type(search()).init

    def slow(*arguments):
        inits.append(1)
        if len(inits) == 1:
            run(search(), 2, out=tmp_path / "run", seeds=seeds)
        return init(*arguments)

    monkeypatch.setattr(type(search()), "init", slow)
    with pytest.raises(RecordError, match="exists already"):
        next(late)
    assert {record.planned for record in resume(tmp_path / "run", search=search())} == {2}


TWICE = """
import sys
sys.path[:0] = sys.argv[1:3]
from test_loop import search
from brns import RecordError
from brns.runs.loop import start
steps = start(search(), int(sys.argv[4]), out=sys.argv[3], seeds=int(sys.argv[4]))
input()
try:
    next(steps), next(steps)
except RecordError:
    print("refused")
else:
    print("started")
    input()
"""


@pytest.mark.slow
def test_of_two_processes_that_start_at_once_one_is_refused_and_the_files_are_the_other_s(tmp_path):
    here = Path(__file__).parent
    for race in range(10):
        out = tmp_path / f"run{race}"
        begun = [
            subprocess.Popen(
                [sys.executable, "-c", TWICE, str(here), str(here.parent), str(out), str(seed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in (3, 4)
        ]
        for one in begun:
            one.stdin.write("\n")
            one.stdin.flush()
        said = [one.stdout.readline().strip() for one in begun]
        for one in begun:
            one.communicate("\n")
        assert sorted(said) == ["refused", "started"]
        record = Record(out)
        assert record.seed == record.planned == (3, 4)[said.index("started")]


@pytest.mark.parametrize("seeds", [5, [5, 6]])
def test_a_batch_or_run_ended_before_its_founders_can_be_started_again(seeds, tmp_path):
    """Each of its last files is missing in turn; what other seeds had saved of their founders is made anew."""
    whole = run(search(), 2, out=tmp_path / "whole", seeds=seeds)
    folders = [record.path.relative_to(tmp_path / "whole") for record in whole]
    for name in ("run.json", "states/000000.npz", "generations/000000.npz"):
        out = tmp_path / "ended" / name.replace("/", "-").replace(".", "-")
        next(start(search(), 2, out=out, seeds=seeds))
        assert unfinished(out) == []
        for folder in folders:
            (out / folder / "progress.csv").unlink()
        (out / folders[-1] / name).unlink()
        assert unfinished(out)
        with pytest.raises(RecordError, match=r"is not a run|start anew|no state to go on from"):
            resume(out, search=search())
        run(search(), 2, out=out, seeds=seeds)
        assert bits(out) == bits(tmp_path / "whole")


def test_a_start_that_was_ended_is_no_excuse_to_remove_anything_else(tmp_path):
    """A seed's folder was removed from a batch that went on; or a folder of the start is a link."""
    run(search(), 2, out=tmp_path / "run", seeds=[5, 6])
    for file in [*(tmp_path / "run" / "seed0006").rglob("*.npz"), tmp_path / "run" / "seed0006" / "run.json"]:
        file.unlink()
    assert unfinished(tmp_path / "run") == []
    with pytest.raises(RecordError, match="exists already"):
        run(search(), 2, out=tmp_path / "run", seeds=[5, 6])
    (tmp_path / "other").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "other" / "000000.npz").write_bytes(b"PK")
    (tmp_path / "linked" / "states").symlink_to(tmp_path / "other")
    with pytest.raises(RecordError, match="exists already"):
        run(search(), 2, out=tmp_path / "linked")
    assert (tmp_path / "other" / "000000.npz").exists()


@pytest.mark.parametrize("folder", ["generations", "states"])
def test_a_folder_that_is_a_link_is_not_written_through(folder, tmp_path):
    (record,) = run(search(), 3, out=tmp_path / "run")
    (tmp_path / "run" / folder).rename(tmp_path / "other")
    (tmp_path / "other" / "000001.npz").write_bytes(b"somebody else's")
    (tmp_path / "run" / folder).symlink_to(tmp_path / "other")
    before = made(tmp_path)
    with pytest.raises(RecordError, match=rf"{folder} is a link, and files where it leads to"):
        resume(tmp_path / "run", 5, search=search())
    assert made(tmp_path) == before
    assert record.planned == 3
