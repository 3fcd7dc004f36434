"""How a run ended and when: what run.json and its record say."""

import contextlib
import datetime
import json
import os

import pytest
from files import rewrite
from searches import HOST

import brns
from brns import Record
from brns.cli.listing import summarize_runs


def test_a_service_without_output_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    (record,) = brns.run(HOST, 1, out=tmp_path / "run")
    assert record.status == "finished"


def ends_at(number):
    return lambda saved: saved.number == number


def raises(error):
    def until(saved):
        raise error

    return until


@pytest.mark.parametrize(
    ("until", "status", "reason", "last"),
    [
        (None, "finished", "", 3),
        (brns.saturated, "saturated", "", 0),
        (ends_at(2), "stopped", "", 2),
        (ends_at(3), "finished", "", 3),
        (raises(ZeroDivisionError("no floor")), "failed", "ZeroDivisionError: no floor", 0),
        (raises(KeyboardInterrupt), "interrupted", "", 0),
    ],
)
def test_a_run_tells_why_it_ended(until, status, reason, last, tmp_path, monkeypatch):
    monkeypatch.setattr("brns.metrics.saturation.SATURATED", 2.0)
    monkeypatch.setattr("brns.metrics.saturation.LEAST", 0)
    before = datetime.datetime.now(datetime.UTC)
    with contextlib.suppress(ZeroDivisionError, KeyboardInterrupt):
        brns.run(HOST, 3, out=tmp_path / "run", until=until)
    after = datetime.datetime.now(datetime.UTC)
    record = Record(tmp_path / "run")
    assert (record.status, record.error, record.last_generation) == (status, reason, last)
    assert before <= record.began <= record.ended <= after
    assert record.seconds == (record.ended - record.began).total_seconds()
    (line,) = summarize_runs(record.path)
    assert (line.state, line.note, line.ended) == (status, reason, record.ended)
    began, ended = record.began, record.ended
    (record,) = brns.resume(record, 4, search=HOST)
    assert (record.status, record.error, record.last_generation) == ("finished", "", 4)
    assert record.began == began <= ended < record.ended
    first, second = record.metadata.sessions
    assert (first.after, second.after) == (0, last)
    assert second.provenance["versions"] == record.versions


def test_a_fork_has_not_run(tmp_path):
    (record,) = brns.run(HOST, 1, out=tmp_path / "run")
    copy = brns.fork(record, 0, HOST, out=tmp_path / "fork")
    assert (copy.status, copy.began, copy.ended, copy.seconds) == ("stopped", None, None, 0.0)
    assert summarize_runs(copy.path)[0].began is None


def test_a_killed_run_is_interrupted_and_ended_when_its_last_generation_was_saved(tmp_path):
    (record,) = brns.run(HOST, 3, out=tmp_path / "run", checkpoint_every=1)
    began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    facts = json.loads(record.metadata.model_dump_json())
    facts["sessions"][0] |= {"began": began.isoformat(), "ended": None, "status": "running"}
    rewrite(record.path, facts)
    for after in (-60, 60):  # it may be killed before it saves one
        os.utime(record.store.get_file_path("generations", 3), (began.timestamp() + after,) * 2)
        assert record.seconds == pytest.approx(max(after, 0), abs=1e-3)
    earlier = (began - datetime.timedelta(hours=1)).isoformat()  # by a clock that was set back
    assert record.store.parse_session_times(began.isoformat(), earlier) == (began, began)
    record.store.remove("states", 3)  # so that generation 3 is written again
    assert record.status == summarize_runs(record.path)[0].state == "interrupted"
    (record,) = brns.resume(record, 4, search=HOST)
    first, second = record.metadata.sessions
    assert (first.status, second.after, second.status) == ("interrupted", 2, "finished")
    again = datetime.datetime.fromisoformat(second.ended)
    again -= datetime.datetime.fromisoformat(second.began)
    assert record.seconds == pytest.approx(60 + again.total_seconds(), abs=1e-3)
    assert summarize_runs(record.path)[0].seconds == pytest.approx(record.seconds)
