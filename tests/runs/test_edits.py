"""Edits of the user's own code: a run goes on with other code only if it is told to."""

import sys

import pytest
from modules import Own, loaded
from shell import call

import brns
from brns import Record, RecordError
from brns.metrics.measures import summarize_run
from brns.tasks import worker


def test_an_edited_task_does_not_go_on_unless_it_is_told_to(written, tmp_path, keep_compiled):
    """Settings and genotypes of the record can be read with the new code all the same."""
    out = tmp_path / "run"
    brns.run(written().made(), 2, out=out)
    edited = written("* self.scale", "- self.scale").made()
    before = (out / "run.json").read_bytes()
    for go_on in (
        lambda: brns.run(edited, 2, out=out, exist="resume"),
        lambda: brns.resume(out, 4, search=edited),
    ):
        with pytest.raises(RecordError, match=r"Base.moved \(.*own.py\)") as refused:
            go_on()
        assert "-    return helper(genotypes) * self.scale" in str(refused.value)
        assert "+    return helper(genotypes) - self.scale" in str(refused.value)
        assert "accept_edits=True (--accept-edits)" in str(refused.value)
    assert (out / "run.json").read_bytes() == before
    record = Record(out, edited)
    assert summarize_run(record)["generations"] == 2
    assert record.column("offspring.genotype").shape == (2, 6, 5)
    copy = brns.fork(out, 2, edited, out=tmp_path / "fork", generations=3)
    assert list(copy.metadata.forked.changed) == ["the code of own.Base.moved"]
    brns.resume(copy, search=edited)
    (record,) = brns.resume(out, 4, search=edited, accept_edits=True)
    (edit,) = record.metadata.edits
    assert (record.last_generation, edit.after, list(edit.before)) == (4, 2, ["own.Base.moved"])
    brns.resume(out, 5, search=edited)  # that is its code now


@pytest.mark.slow
def test_the_command_line_goes_on_with_edited_code_if_it_is_told_to(written, tmp_path):
    written()
    call("run", "own:made", "--generations", 1, "--out", "run", folder=tmp_path)
    written("* self.scale", "- self.scale")
    again = ["resume", "run", "--generations", 2, "--search", "own:made"]
    assert "--accept-edits" in call(*again, folder=tmp_path, status=2).stderr
    call(*again, "--accept-edits", folder=tmp_path)
    assert Record(tmp_path / "run").last_generation == 2


@pytest.mark.parametrize("edit", [("GAIN = 0.5", "GAIN = 0.4"), ("* self.scale", "- self.scale")])
def test_a_worker_that_imports_another_file_is_refused(written, edit):
    """One that starts late, say; state that the search's process has is no edit."""
    task = written().made().task
    sent = brns.Chunked(task)._pickle_task()
    sys.modules["own"].SEEN.clear()
    sys.modules["own"].counted = 9
    worker.cache_task_and_list_digests(*sent)
    written("return points * factor", "return  points * factor  # by a factor")
    worker.cache_task_and_list_digests(*sent)
    written(*edit)
    with pytest.raises(worker.WorkerError, match=r"here own.*(GAIN|moved) is other code"):
        worker.cache_task_and_list_digests(*sent)


@pytest.mark.parametrize("name", ["GAIN", "LEG"])
def test_a_constant_that_a_program_sets_is_not_another_one_in_workers(name, tmp_path, monkeypatch):
    """Workers import modules anew. Counters that functions of the module change do not matter."""
    text = """
GAIN = 1.0
LEG = {"length": 1.0, "steps": 0}
count = 0
def use(x):
    global count
    count += 1
    return x * GAIN * LEG["length"]
"""
    module = loaded(tmp_path, "own", text, monkeypatch)
    task = Own(module.use)
    module.count = 7
    worker.cache_task_and_list_digests(*brns.Chunked(task)._pickle_task())
    if name == "GAIN":
        module.GAIN = 9.0
    else:
        module.LEG["length"] = 9.0
    sent = brns.Chunked(task)._pickle_task()
    with_initializer = module
    loaded(tmp_path, "own", text, monkeypatch)
    with pytest.raises(
        worker.WorkerError, match=rf"here own.{name}.* the search has set a value since"
    ):
        worker.cache_task_and_list_digests(*sent)
    monkeypatch.setitem(sys.modules, "own", with_initializer)
    worker.cache_task_and_list_digests(*sent)


@pytest.mark.parametrize("edits", [pytest.param(True, marks=pytest.mark.slow), False])
def test_generations_of_other_code_are_gone_when_a_killed_run_goes_on(written, tmp_path, edits):
    """Those of the same code are the same again, and stay readable until they are."""
    out = tmp_path / "run"
    brns.run(written().made(), 6, out=out, checkpoint_every=100)
    (out / "states/000006.npz").unlink()  # as if it had been killed before
    again = (written("* self.scale", "- self.scale") if edits else written()).made()
    asked = {"accept_edits": edits, "until": lambda saved: saved.number == 2}
    (record,) = brns.resume(out, search=again, **asked)
    assert record.last_generation == (2 if edits else 6)
    assert record.generations_with_states == [0, 2]
