"""progress.csv: what its rows say, and that it never contradicts or harms the record."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from searches import search
from worlds import HostIdentity

import brns
from brns import pictures
from brns.metrics import coverage
from brns.metrics.summary import summary
from brns.runs.loop import run
from brns.runs.progress import Row, read


def test_the_rows_are_those_of_the_record_s_columns(whole):
    record = brns.Record(whole)
    header, *_ = (record.path / "progress.csv").read_text().splitlines()
    assert header.split(",") == list(Row._fields)
    rows = read(record.path)
    frame = record.frame()
    for name in frame.columns.drop(["seed", "coverage"]):
        np.testing.assert_allclose([getattr(row, name) for row in rows], frame[name], rtol=1e-8)
    expected = coverage.of_record(record, (6, 6), "evaluated")
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
    (record,) = run(search(Other(), brns.PopulationKNN(k=2)), 3, out=tmp_path / "run", seed=0, checkpoint_every=2)
    expected = coverage.of_record(record, (6, 6, 6), "evaluated")
    np.testing.assert_allclose([row.coverage for row in read(record.path)], expected, rtol=1e-8)
    np.testing.assert_array_equal(record.frame()["coverage"], expected)
    assert summary(record)["coverage_evaluated"] == expected[-1]
    populations = coverage.of_record(record, (6, 6, 6))
    np.testing.assert_array_equal(pictures.coverage([record], Figure().subplots()).lines[0].get_ydata(), populations)
