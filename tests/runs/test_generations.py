"""The loop as a user has it: by generation, stopped early, shown, run again."""

import contextlib
import io
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from files import bits, contents, same
from rich.console import Console
from searches import HOST, search
from shell import finished, python
from small_tasks import HostIdentity

import brns
from brns import progress
from brns.cli.listing import summarize_runs
from brns.runs import loop


def test_generations_are_handed_out_seed_by_seed_and_each_is_on_disk(tmp_path):
    order = []
    for saved in brns.generations(HOST, 2, out=tmp_path / "run", seeds=[4, 1]):
        assert saved.record.last_generation == saved.number
        on_disk = saved.record.column("survivors.id", [saved.number])[0]
        np.testing.assert_array_equal(on_disk, saved.generation.survivors.id)
        order.append((saved.number, saved.record.seed))
    assert order == [(0, 1), (0, 4), (1, 1), (1, 4), (2, 1), (2, 4)]
    brns.run(HOST, 2, out=tmp_path / "same", seeds=[1, 4])
    assert bits(tmp_path / "run") == bits(tmp_path / "same")


def test_a_loop_that_is_left_frees_the_run_and_goes_on_to_the_same_bits(tmp_path):
    """Nobody holds its lock then."""
    for saved in brns.generations(HOST, 4, out=tmp_path / "run"):
        assert saved.record.status == summarize_runs(tmp_path)[0].state == "running"
        if saved.number == 2:
            break
    record = saved.record
    assert (record.last_generation, record.status) == (2, "stopped")
    brns.run(HOST, 2, out=record, exist="resume")
    assert len(record.metadata.sessions) == 1  # nothing was to do
    with contextlib.suppress(ZeroDivisionError):
        for saved in brns.generations(HOST, 6, out=record, exist="resume"):
            1 / (saved.number - 5)
    assert record.last_generation == 5
    brns.resume(record, search=HOST)
    brns.run(HOST, 6, out=tmp_path / "whole")
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


def test_a_loop_that_is_left_open_says_so_and_is_closed_at_the_end(tmp_path):
    steps = brns.generations(HOST, 4, out=tmp_path / "run")
    next(steps)
    with pytest.raises(brns.RecordError, match=r"by a loop of this process.*loop\.close\(\)"):
        brns.resume(tmp_path / "run", search=HOST)
    loop._close_loops()  # as at the end of the program
    (record,) = brns.resume(tmp_path / "run", search=HOST)
    assert [session.status for session in record.metadata.sessions] == ["stopped", "finished"]


@pytest.mark.slow
def test_a_program_ends_quietly_though_a_loop_is_open_and_a_thread_waits_for_its_environment(
    tmp_path,
):
    (tmp_path / "own.py").write_text(OPEN)
    ended = finished(python("-W", "ignore", "own.py", folder=tmp_path))
    assert (ended.returncode, ended.stdout) == (0, "left\n")
    assert "Exception" not in ended.stderr
    (record,) = brns.records(tmp_path / "run")
    assert (record.status, record.generations_with_states[-1]) == ("stopped", 3)


OPEN = """
import threading
import gymnasium
import numpy as np
import brns

class Bridge(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-5, 5, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.stop = threading.Event()
        threading.Thread(target=self.stop.wait).start()

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.full(2, action, np.float32), 0.0, False, False, {}

    def close(self):
        self.stop.set()

search = brns.NoveltySearch(brns.GymnasiumTask(Bridge, steps=2), brns.PopulationKNN(k=2))
loop = brns.generations(search, 30, out="run", progress=False)
for saved in loop:
    if saved.number == 3:
        break
print("left")
"""


def test_arrays_that_are_handed_out_are_the_callers_own(tmp_path):
    founders, last = brns.generations(search(), 1, out=tmp_path / "run", progress=False)
    record, before = last.record, last.record.population()
    for handed in (founders.generation, last.generation, record.population(), record.solutions()):
        for array in jax.tree.leaves(handed):
            array[...] = 0
    assert same(record.population(), before)
    assert same(brns.Record(tmp_path / "run", search()).population(), before)


@pytest.mark.parametrize(("seeds", "saved"), [([0], [0, 1, 2]), ([0, 1], [0])])
def test_ctrl_c_in_the_middle_of_a_generation_keeps_what_was_saved(
    seeds, saved, tmp_path, monkeypatch
):
    """It comes in the fourth evaluation: of one seed generation 3,
    of two the second's of generation 1."""
    evaluate, calls = HostIdentity.evaluate, []

    def interrupted(self, genotypes, key):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return evaluate(self, genotypes, key)

    settings = {"seeds": seeds, "checkpoint_every": 2}
    monkeypatch.setattr(HostIdentity, "evaluate", interrupted)
    # As a notebook keeps it, and with it every frame.
    with pytest.raises(KeyboardInterrupt, match=r"saved\. Go on with: brns\.resume") as kept:
        brns.run(HOST, 4, out=tmp_path / "run", **settings)
    (shown,) = kept.value._render_traceback_()  # what IPython asks for
    command = f"brns.resume({str(tmp_path / 'run')!r}, search=search)"
    assert shown == f"Stopped. All finished generations are saved. Go on with: {command}"
    for record in brns.records(tmp_path / "run", HOST):
        assert record.generations == saved
    brns.resume(tmp_path / "run", search=HOST)  # nobody holds its lock
    brns.run(HOST, 4, out=tmp_path / "whole", **settings)
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")
    assert kept.traceback


def test_until_ends_a_run_when_it_is_true_of_every_seed(tmp_path):
    asked = []

    def until(saved):
        asked.append((saved.number, saved.record.seed))
        return saved.number >= 2 + saved.record.seed

    several = brns.run(HOST, 9, out=tmp_path / "run", seeds=[0, 1], until=until)
    assert asked == [(g, seed) for g in range(4) for seed in (0, 1)]
    assert [record.last_generation for record in several] == [3, 3]
    assert [record.planned_generations for record in several] == [9, 9]
    (longer, _) = brns.resume(tmp_path / "run", search=HOST, until=lambda saved: saved.number == 5)
    assert longer.last_generation == 5


def test_a_run_without_a_place_is_kept_in_a_folder_that_is_told(capsys):
    (record,) = brns.run(HOST, 1)
    assert str(record.path) in capsys.readouterr().err
    assert record.column("survivors.id").shape == (2, 8)
    (other,) = brns.run(HOST, 1, progress=False)
    assert other.path != record.path
    assert capsys.readouterr().err == ""


def test_a_cell_that_was_changed_is_refused_and_nothing_is_written(tmp_path):
    brns.run(HOST, 1, out=tmp_path / "run", seeds=[0, 1])
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"holds seeds \[0, 1\] .*; seeds \[0, 2\]"):
        brns.run(HOST, 2, out=tmp_path / "run", seeds=[0, 2], exist="resume")
    with pytest.raises(ValueError, match=r"checkpoint_every=3, .* were asked for"):
        brns.run(HOST, 2, out=tmp_path / "run", seeds=2, checkpoint_every=3, exist="resume")
    assert contents(tmp_path) == before


def test_a_terminal_shows_where_a_run_is_and_what_is_no_terminal_nothing(
    tmp_path, monkeypatch, capsys
):
    brns.run(HOST, 1, out=tmp_path / "silent")
    assert capsys.readouterr() == ("", "")
    screen = io.StringIO()
    shown = Console(file=screen, force_terminal=True, force_interactive=True, width=150)
    monkeypatch.setattr(progress, "CONSOLE", shown)
    brns.run(HOST, 3, out=tmp_path / "off", progress=False)
    assert screen.getvalue() == ""
    (record,) = brns.run(HOST, 3, out=tmp_path / "run")
    assert "3/3" in screen.getvalue()
    row = record.to_dataframe().iloc[-1]
    coverage = f"coverage {row.coverage_evaluated:.0%} (evaluated), {row.new:.0%} new"
    assert f"{coverage}, solutions {row.solutions:.0f}" in screen.getvalue()
    brns.resume(record, 5, search=HOST)
    assert "5/5" in screen.getvalue()


def test_another_total_is_told_with_what_it_does(tmp_path, caplog):
    caplog.set_level("WARNING", "brns")
    for total, words in (
        (3, ""),
        (5, "was begun for 3 generations and 5 are asked for; it goes on from 3 to 5"),
        (5, ""),
        (2, "was begun for 5 generations and 2 are asked for; it has 5 already, and nothing is"),
        (5, ""),
    ):
        caplog.clear()
        brns.run(HOST, total, out=tmp_path / "run", exist="resume")
        assert words in caplog.text
        assert bool(words) == bool(caplog.text)


def test_a_line_every_half_minute_goes_to_the_logger(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(progress, "LOGGED_EVERY", 0.0)
    caplog.set_level("INFO", "brns")
    (record,) = brns.run(HOST, 3, out=tmp_path / "run")
    row = record.to_dataframe().iloc[2]
    founders, first, second, third = [one.message for one in caplog.records]
    assert founders == f"{tmp_path}/run: compiling, and evaluating 8 founders"
    assert first.startswith("generation 1 of 3: ")
    assert "left" not in first  # compiling says nothing of what is left
    assert f"generation 2 of 3: coverage {row.coverage_evaluated:.0%} (evaluated), " in second
    assert third.endswith("/s, 0:00:00 left")
    brns.run(HOST, 9, out=tmp_path / "fewer", until=lambda saved: saved.number == 1)
    brns.run(HOST, 2, out=tmp_path / "fewer", exist="resume")
    assert caplog.messages[-1].startswith("generation 2 of 2: ")
    monkeypatch.setattr(progress, "LOGGED_EVERY", 60.0)
    caplog.clear()
    brns.run(HOST, 3, out=tmp_path / "short")
    assert len(caplog.records) == 1  # founders alone


def test_a_notebook_shows_it_in_one_output_without_widgets(tmp_path, monkeypatch):
    """A `display` like IPython's makes an output, which its handle replaces."""
    outputs = []

    def replace(what):
        outputs[-1] = what._repr_mimebundle_((), ())

    def display(what, display_id):
        outputs.append(what._repr_mimebundle_((), ()))
        return SimpleNamespace(update=replace)

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    notebook = Console(file=io.StringIO(), force_jupyter=True)
    monkeypatch.setattr(progress, "CONSOLE", notebook)
    brns.run(HOST, 3, out=tmp_path / "run")
    (last,) = outputs
    assert "3/3" in last["text/plain"]
    assert "<pre" in last["text/html"]
    with pytest.raises(brns.RecordError):
        brns.run(HOST, 3, out=tmp_path / "run")
    assert len(outputs) == 1  # no bar where nothing is begun
