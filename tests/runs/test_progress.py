"""progress.csv: what its rows say, and that it never contradicts or harms the record."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from test_loop import bits, cut, search
from worlds import HostIdentity

import brns
from brns import pictures
from brns.metrics import coverage
from brns.metrics.summary import summary
from brns.runs.loop import resume, run
from brns.runs.progress import Row, read


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    run(search(), 10, out=folder / "one", seeds=5, keep_every=3)
    run(search(), 10, out=folder / "batch", seeds=[1, 0], keep_every=3)
    return folder


@pytest.fixture
def runs(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "runs"))


def lines(path):
    """The file's lines without their seconds and the check of them, which no two runs share."""
    return [line.rsplit(",", 2)[0] for line in (path / "progress.csv").read_text().splitlines()]


def test_the_rows_are_those_of_the_record_s_columns(whole):
    record = brns.Record(whole / "one")
    header, *_ = lines(whole / "one")
    assert header.split(",") == list(Row._fields[:-1])
    rows = read(record)
    frame = record.frame()
    for name in ("generation", "evaluations", "solutions", "survivors_new"):
        assert [getattr(row, name) for row in rows] == frame[name].tolist()
    for name in ("novelty_mean", "novelty_max", "fitness_max", "age_mean"):
        np.testing.assert_allclose([getattr(row, name) for row in rows], frame[name], rtol=1e-8)
    expected = coverage.of_record(record, (6, 6), "evaluated", search())
    np.testing.assert_allclose([row.coverage for row in rows], expected, rtol=1e-8)
    seconds = [row.seconds for row in rows]
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] <= seconds[-1] < 600


def test_coverage_is_of_36_cells_of_a_line_6_a_side_of_three_dimensions_and_blank_beyond(tmp_path):
    class Other(HostIdentity):
        behavior_space: brns.Box = brns.Box([-1.0] * 3, [1.0] * 3)

        def evaluate(self, genotypes, key):
            evaluation = super().evaluate(genotypes, key)
            return evaluation._replace(descriptor=np.asarray(genotypes)[:, :3])

    boxes = [brns.Box([0.0] * d, [1.0] * d) for d in range(1, 5)]
    assert [coverage.grid(box) for box in boxes] == [(36,), (6, 6), (6, 6, 6), None]
    with pytest.raises(ValueError, match="a behavior space of 4 dimensions has no cells of its own: give them"):
        coverage.cells_of(boxes[3], None)
    (record,) = run(search(Other()), 3, out=tmp_path / "run", seeds=0, keep_every=2)
    expected = coverage.of_record(record, (6, 6, 6), "evaluated")
    np.testing.assert_allclose([row.coverage for row in read(record)], expected, rtol=1e-8)
    np.testing.assert_array_equal(record.frame()["coverage"], expected)
    assert summary(record)["coverage_evaluated"] == expected[-1]
    populations = coverage.of_record(record, (6, 6, 6))
    np.testing.assert_array_equal(pictures.coverage([record], Figure().subplots()).lines[0].get_ydata(), populations)


@pytest.mark.parametrize(
    ("generation", "state"), [(10, 9), (8, 3), *(pytest.param(*b, marks=pytest.mark.slow) for b in [(7, 6), (0, 0)])]
)
def test_a_run_cut_anywhere_has_each_row_once_after_resuming(whole, runs, generation, state):
    """The rows of generations that the crash took, or that were not yet written, among them."""
    for kept in (11, 8, 4, 0):
        cut(runs / "one", generation, state)
        text = (whole / "one" / "progress.csv").read_text().splitlines(keepends=True)
        (runs / "one" / "progress.csv").write_text("".join(text[: kept + 1]))
        resume(runs / "one", search=search())
        assert lines(runs / "one") == lines(whole / "one")
        seconds = [row.seconds for row in read(brns.Record(runs / "one"))]
        known = [row.seconds for row in read(brns.Record(whole / "one"))]
        assert seconds[: min(state + 1, kept)] == known[: min(state + 1, kept)]
        assert seconds[kept : state + 1] == [None] * (state + 1 - kept)
        assert None not in seconds[state + 1 :]


def test_a_batch_keeps_one_file_a_seed(whole, runs):
    cut(runs / "batch" / "seed0000", 8, 6)
    cut(runs / "batch" / "seed0001", 7, 6)
    resume(runs / "batch", search=search())
    for seed in ("seed0000", "seed0001"):
        assert lines(runs / "batch" / seed) == lines(whole / "batch" / seed)


SPOILED = {
    "missing": lambda lines: None,
    "empty": lambda lines: "",
    "of something else": lambda lines: "a,b\n1,2\n",
    "a row twice": lambda lines: "".join([*lines[:3], lines[2], *lines[3:]]),
    "cut in a row": lambda lines: "".join(lines[:5]) + lines[5][:12],
    "a word for a number": lambda lines: "".join(lines).replace("\n4,", "\nfour,"),
    "no text": lambda lines: "\udcff\udcfe",
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_spoiled_file_is_made_again(whole, runs, how):
    file = runs / "one" / "progress.csv"
    spoiled = SPOILED[how](file.read_text().splitlines(keepends=True))
    file.unlink()
    if spoiled is not None:
        file.write_text(spoiled, errors="surrogateescape")
    cut(runs / "one", 7, 6)
    resume(runs / "one", search=search())
    assert lines(runs / "one") == lines(whole / "one")
    assert bits(runs / "one") == bits(whole / "one")


def test_a_place_that_cannot_be_written_costs_a_warning_and_no_run(whole, tmp_path, monkeypatch, caplog):
    at_work = []

    def refuses(file, mode="r", *rest, **named):
        if str(file).endswith("progress.csv") and mode == "a":
            at_work.append(file)
            raise OSError(28, "No space left on device")
        return open(file, mode, *rest, **named)

    monkeypatch.setattr("brns.runs.progress.open", refuses, raising=False)
    run(search(), 10, out=tmp_path / "run", seeds=5, keep_every=3)
    assert len(at_work) == 1
    assert "No space left on device); the run is safe" in caplog.text
    assert bits(tmp_path / "run") == bits(whole / "one")
    monkeypatch.undo()
    resume(tmp_path / "run", search=search())
    assert lines(tmp_path / "run") == lines(whole / "one")
    os.remove(tmp_path / "run" / "progress.csv")
    (tmp_path / "run" / "progress.csv").mkdir()
    resume(tmp_path / "run", 11, search=search())
    assert brns.Record(tmp_path / "run").generations[-1] == 11


def test_a_damaged_generation_costs_a_warning_and_no_run(runs, caplog):
    file = runs / "one" / "generations" / "000001.npz"
    file.write_bytes(file.read_bytes()[:-40])
    handed = []
    resume(runs / "one", 11, search=search(), until=lambda saved: handed.append(saved.row))
    assert brns.Record(runs / "one").generations[-1] == 11
    assert "is damaged" in caplog.text
    assert "without that generation" in caplog.text
    assert handed[-1].evaluations == 8 + 10 * 6  # all but the damaged one's
