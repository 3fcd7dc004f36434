"""progress.csv: what its rows say."""

import numpy as np
import pandas
import pytest
from matplotlib.figure import Figure

import brns
from brns import pictures
from brns.core import founding, individuals
from brns.metrics import coverage
from brns.runs.progress import Progress, Row
from brns.runs.seeds import on_host


def test_the_rows_are_those_of_the_record_s_columns(whole):
    record = brns.Record(whole)
    rows, frame = pandas.read_csv(record.path / "progress.csv"), record.frame()
    assert list(rows.columns) == list(Row._fields)
    np.testing.assert_allclose(rows, frame.drop(columns="seed"), rtol=1e-8)
    expected = coverage.of_record(record, (6, 6), "evaluated")
    np.testing.assert_allclose(frame["coverage"], expected, rtol=1e-8)
    populations = coverage.of_record(record)
    (line,) = pictures.coverage([record], Figure().subplots()).lines
    np.testing.assert_array_equal(line.get_ydata(), populations)


def test_coverage_is_of_36_cells_of_a_line_6_a_side_of_three_dimensions_and_blank_beyond(tmp_path):
    """Of three at 0, 0.1 and 0.5 in every dimension two share a cell, but on the line; then comes one at 0.99."""
    boxes = [brns.Box([0.0] * d, [1.0] * d) for d in range(1, 5)]
    assert [coverage.grid(box) for box in boxes] == [(36,), (6, 6), (6, 6, 6), None]
    with pytest.raises(ValueError, match="a behavior space of 4 dimensions has no cells of its own: give them"):
        coverage.cells_of(boxes[3], None)
    shares = [[3 / 36, 4 / 36], [2 / 36, 3 / 36], [2 / 216, 3 / 216], [np.nan, np.nan]]
    for box, expected in zip(boxes, shares, strict=True):
        founders = on_host(individuals(np.tile([[0.0], [0.1], [0.5]], box.dimension)))
        tables = {"offspring": founders._asdict(), "survivors": founders._asdict()}
        progress = Progress(tmp_path, box, [tables])
        last = on_host(individuals([[0.99] * box.dimension], 1, 3))
        progress.add(1, founding(last))
        found = pandas.read_csv(tmp_path / "progress.csv")
        np.testing.assert_allclose(found.coverage, expected)
