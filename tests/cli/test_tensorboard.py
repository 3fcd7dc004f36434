"""TensorBoard's scalars are the rows of progress.csv, each once, after a resume too."""

import struct
import sys

import pytest
from shell import SHORT, call

from brns.cli.tensorboard import TensorBoard
from brns.runs.progress import Row, read


def scalars(path):
    """By name and generation, as TensorBoard reads them: without what a later file told to forget.

    A file holds for each event its length, a check of that, the event, and a check of the event.
    """
    from tensorboardX.proto.event_pb2 import Event

    found = {}
    for file in sorted(path.glob("tensorboard/events.*")):
        content, at = file.read_bytes(), 0
        while at < len(content):
            (length,) = struct.unpack_from("<Q", content, at)
            event = Event.FromString(content[at + 12 : at + 12 + length])
            at += 16 + length
            if event.HasField("session_log"):
                found = {key: value for key, value in found.items() if key[1] < event.step}
            for value in event.summary.value:
                assert (value.tag, event.step) not in found
                found[value.tag, event.step] = value.simple_value
    return found


def test_the_scalars_of_a_run_and_of_its_continuation_are_the_rows(tmp_path):
    pytest.importorskip("tensorboardX")
    for command in (["run", "maze", "--out", "run", "--generations", 2, *SHORT], ["resume", "run", "--generations", 4]):
        done = call(*command, "--tensorboard", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        rows = read(tmp_path / "run")
        expected = {(name, row.generation): getattr(row, name) for row in rows for name in Row._fields[1:]}
        assert scalars(tmp_path / "run") == pytest.approx(expected, rel=1e-6)
    assert len(rows) == 5


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"brns\[tensorboard\]"):
        TensorBoard()
