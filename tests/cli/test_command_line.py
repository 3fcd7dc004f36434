"""The command line, as a person uses it."""

import contextlib
import itertools
import json
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from shell import RUN, SHORT, call, finished, python

import brns
from brns import Record
from brns.cli.conclusion import (
    _make_statistics_table,
    explain_measures_in_words,
    format_error_counts,
)
from brns.cli.user_code import add_resume_command_to_errors, make_default_out
from brns.metrics.measures import summarize_run
from brns.settings.parts import PARTS


def test_a_run_ends_with_a_table_what_it_means_and_a_picture(folder):
    record = Record(folder / RUN)
    assert record.generations == [0, 1, 2, 3, 4]
    assert (record.experiment["task"]["steps"], record.experiment["population_size"]) == (50, 20)
    assert (record.path / "overview.png").read_bytes()[:4] == b"\x89PNG"
    text = (folder / "run.txt").read_text()
    assert "100" in text.split("evaluations")[1].split("\n")[0]  # 20 founders and 4 x 20 offspring
    for told in ("overview.png", "maze, counts, ", "mixed mutation", "of 6 x 6 cells"):
        assert told in text
    assert re.search(r"^kappa 0: forgot nothing$", text, re.M)
    assert re.search(r"Finished after 4 of 4 generations, \d+:\d\d", text)


def test_a_verdict_says_what_the_numbers_mean():
    bad = {"generations": 20, "new": 0.003, "eta": 1.2, "kappa": 2.0, "regained": 0.3}
    assert explain_measures_in_words([bad]) == [
        "new 0.003: saturated, hardly any new places",
        "eta 1.2: what was visited stayed novel",
        "kappa 2: forgot: what was known became novel again",
        "regained 0.3: old places ranked as novel again",
    ]
    good = {"generations": 20, "new": 0.3, "eta": 0.5, "kappa": 0.0, "regained": 0.01}
    assert explain_measures_in_words([good, good])[2] == "kappa 0: forgot nothing"
    assert explain_measures_in_words([good, bad, good])[2] == (
        "kappa 0.667: forgot nothing in 2 of 3 seeds; forgot: what was known became novel again in "
        "1 of 3 seeds"
    )
    short = {"generations": 19, "new": 0.0, "regained": 1.0}
    assert explain_measures_in_words([{"age": 3.0}, short]) == []


def test_failures_are_counted_by_error():
    where = "Ball.evaluate of individuals 3 to 3 of 26 (rows from 0)"
    lost = f"{where} raised {{}}\nIn the worker:\nTraceback\n  ball()\nsecond line\n"
    texts = [
        f"{where} took more than timeout=2.0 seconds, and was killed",
        *(lost.format(f"RuntimeError: lost at {number}.5") for number in range(4)),
        *[lost.format("ZeroDivisionError")] * 3,
        "a descriptor that is not finite: [nan 1.0]",
        "a descriptor that is not finite: [nan 2.25]",
    ]
    assert format_error_counts(texts) == (
        "4 such as RuntimeError: lost at 0.5, 3 ZeroDivisionError, "
        "2 such as a descriptor that is not finite: [nan 1.0], and 1 more"
    )
    assert format_error_counts(texts[:1]) == "1 took more than timeout=2.0 seconds, and was killed"


def test_a_seed_without_failures_counts_as_none_in_the_mean(folder):
    runs = [Record(folder / RUN)] * 4
    table = _make_statistics_table(runs, [{"failed": 1.0}, {}, {}, {}])
    cells = [*itertools.chain.from_iterable(column.cells for column in table.columns[1:])]
    assert cells == ["0.25", "0.5", "0", "1", "4"]


def test_several_runs_and_a_folder_of_runs_are_shown(folder, tmp_path):
    for name in ("a", "below/b"):
        shutil.copytree(folder / RUN, tmp_path / name)
    for places in (["a", "below/b"], ["."]):
        shown = call("show", *places, folder=tmp_path).stdout
        assert [shown.count(f"{name}: maze, counts") for name in ("a", "below/b")] == [1, 1]


def test_the_default_place_tells_changed_settings_apart():
    assert make_default_out("maze", "exact", [], 0, 1) == Path("runs/maze-exact-seed0")
    assert make_default_out("my.task:search", "", [], 0, 3) == Path("runs/my.task-search-seeds0-2")
    changes = ["task.steps=50", "estimator.depths=[3, 5]", "task.walls=../y"]
    place = make_default_out("maze", "archive", changes, 7, 1)
    assert place == Path("runs/maze-archive-depths=3_5-steps=50-walls=.._y-seed7")
    assert place == make_default_out("maze", "archive", changes[::-1], 7, 1)


def test_resume_makes_a_run_longer(folder):
    shutil.copytree(folder / RUN, folder / "longer")
    (folder / "longer/overview.png").unlink()
    call("resume", "longer", "--generations", 6, folder=folder)
    assert Record(folder / "longer").last_generation == 6
    assert (folder / "longer/overview.png").exists()
    again = call("resume", "longer", "--generations", 2, folder=folder)
    assert "has 6 generations already" in again.stdout
    spread = call("resume", "longer", "--generations", 9, "--workers", 2, folder=folder, status=2)
    assert "started without workers" in spread.stderr


def test_several_seeds_are_shown_with_their_spread(finished, whole, tmp_path):
    runs = [Record(path) for path in (finished.path, whole)]
    for run in runs:
        shutil.copytree(run.path, tmp_path / "both" / f"seed{run.seed}")
    shown = call("show", "both", folder=tmp_path).stdout
    assert "both: Identity, recognition" in shown
    values = [run.to_dataframe().coverage_evaluated.iloc[-1] for run in runs]
    (line,) = re.findall("^ coverage evaluated (.*)$", shown, re.M)
    expected = [np.mean(values), np.std(values, ddof=1), min(values), max(values), 2]
    np.testing.assert_allclose([float(word) for word in line.split()], expected, rtol=0.01)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("a simulator's")])
def test_ctrl_c_says_how_to_go_on_and_an_error_too(folder, error):
    with (
        pytest.raises(type(error)) as ended,
        add_resume_command_to_errors(folder / RUN, ["my_task:search"]),
    ):
        raise error
    words = [*ended.value.args, *getattr(ended.value, "__notes__", ())]
    assert words[-1].endswith(f"brns resume {folder / RUN} --search my_task:search")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("show .", ["is not a run"]),
        ("run maze --set estimator=archive", ["--estimator NAME"]),
        ("compare arm --estimator cuonts", ["did you mean counts?"]),
        ("run maze --estimator archive --set k=5", ["did you mean estimator.k=5?"]),
        ("run maze --set k=5", ["--estimator population (estimator.k)"]),
        ("list learning_rat", ["did you mean learning_rate?"]),
        ("list maez", ["did you mean maze?"]),
        ("run maze --until foo", ["'foo' is not one of 'saturated'.", "brns run -h"]),
        ("run maze --workers two", ["a number of processes, or the address"]),
        ("run maze --timeout 5", ["--timeout goes with --workers"]),
        ("run maz", ["did you mean maze?"]),
        ("run maze --estimator cuonts", ["did you mean counts?"]),
        ("run maze --set k=5 --set mutate=gausian", ["estimator.k", "mean gaussian?"]),
        (
            "run maze --set estimator.grid=3 --set estimator.rows=3",
            ["did you mean grids?", "rows must be a power of two"],
        ),
    ],
)
def test_all_that_is_wrong_is_told_at_once_with_what_there_is(tmp_path, words, told):
    said = call(*words.split(), folder=tmp_path, status=2).stderr
    assert [word for word in told if word not in said] == []
    assert not list(tmp_path.iterdir())


CHEAP = """
import os, sys
before = dict(os.environ)
import brns
assert dict(os.environ) == before
from shell import call
for words in ("--help", "run --help", "list", "list mutate", "runs ."):
    call(*words.split(), folder=".")
assert "did you mean maze?" in call("run", "maez", folder=".", status=2).stderr
call("run", "nowhere:task", folder=".", status=2)
assert not {"jax", "numpy", "equinox"} & set(sys.modules)
"""


def test_help_and_words_about_names_and_runs_need_no_jax(tmp_path):
    """Importing JAX takes seconds."""
    (tmp_path / "run.json").write_text("{}")
    ended = finished(python("-c", CHEAP, folder=tmp_path))
    assert ended.returncode == 0, ended.stderr
    assert call("--version", folder=tmp_path).stdout.split() == ["brns", brns.__version__]


def test_the_list_has_all_names_and_the_settings_of_one(tmp_path):
    def listed(*name):
        return call("list", *name, folder=tmp_path).stdout

    assert len(listed().splitlines()) == len(PARTS)
    assert max(map(len, listed().splitlines())) <= 80
    assert listed().endswith(listed("founders"))
    assert "\n--set mutate=gaussian" in listed()
    assert "founders.sizes=[5,10,10,10,2]" in listed("layers")
    assert "task.steps" in listed("maze")
    assert listed("k").count("--set estimator.k=15") == 3
    assert "--estimator population" in listed("k")
    assert "--set mutate.sigma=0.05" in listed("mutate.sigma")
    assert "every experiment" in listed("population_size")


def test_numbers_for_other_programs_are_the_summarys(folder, tmp_path):
    copy = shutil.copytree(folder / RUN, tmp_path / "copy")
    row, same = json.loads(call("show", RUN, copy, "--json", folder=folder).stdout)
    assert {**same, "path": row["path"]} == row
    expected = summarize_run(Record(folder / RUN))
    assert {name: float(row[name]) for name in expected} == expected
    assert row["task"] == "maze"
    assert (row["method"], int(row["seed"])) == ("counts, population_size=20, offspring_size=20", 0)


def test_figure_movie_and_show(folder, monkeypatch):
    monkeypatch.setattr("brns.pictures.movie.MOST_FRAMES", 2)
    call("figure", "3b", RUN, "--out", "3b.png", "--data", "3b.csv", folder=folder)
    assert (folder / "3b.png").stat().st_size > 5000
    head = "method,seed,generation,evaluations,quantity,value"
    assert (folder / "3b.csv").read_text().splitlines()[0] == head
    options = ("--width", "column", "--over", "evaluations", "--cells", "5,4", "--out", "c.pdf")
    call("figure", "coverage", RUN, *options, folder=folder)
    wrong = call("figure", "coverage", RUN, "--cells", "5x4", folder=folder, status=2)
    assert "such as 12,12" in wrong.stderr
    assert "coverage" in call("figure", "9z", RUN, folder=folder, status=2).stderr
    wrong = call("figure", "3b", RUN, "--data", "3b.png", folder=folder, status=2)
    assert "ends in .csv" in wrong.stderr
    call("movie", RUN, folder=folder)
    assert (folder / RUN / "movie.gif").read_bytes()[:3] == b"GIF"
    assert "epsilon" not in call("show", RUN, folder=folder).stdout
    assert "epsilon" in call("show", RUN, "--all", folder=folder).stdout


ANT = ("ant", "--set", "task.steps=32", "--set", "population_size=6", "--set", "offspring_size=5")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "dask"])
def test_a_run_of_workers_goes_on_with_and_without_and_is_forked(where, folder):
    pytest.importorskip("mujoco")
    with contextlib.ExitStack() as stack:
        address = 1
        if where == "dask":
            local = pytest.importorskip("distributed").LocalCluster
            one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
            address = stack.enter_context(local(**one)).scheduler_address
        workers = ["--workers", address, "--timeout", 300]
        call("run", *ANT, "--generations", 1, "--out", where, *workers, folder=folder)
        call("resume", where, "--generations", 2, *workers, folder=folder)
    call("resume", where, "--generations", 3, folder=folder)
    out = f"{where}-forked"
    wilder = ("--at", 3, "--set", "task.stuck_window=200", "--out", out)
    call("fork", where, *wilder, "--generations", 4, folder=folder)
    task = Record(folder / out).experiment["task"]
    assert (task["name"], task["task"]["stuck_window"]) == ("Chunked", 200)


@pytest.mark.slow
def test_a_wrong_dask_address_is_told_soon(folder):
    pytest.importorskip("distributed")
    begun = time.monotonic()
    nobody = ("--workers", "tcp://127.0.0.1:1", "--out", "nobody")
    done = call("run", "maze", *SHORT, *nobody, folder=folder, status=2)
    assert time.monotonic() - begun < 10  # 4 of them are the wait for an answer
    assert "tcp://127.0.0.1:1" in done.stderr
