"""The figure of the time per novelty computation, of tables by hand."""

import pytest
from matplotlib.figure import Figure

from brns import pictures as drawn


def test_times_are_medians_per_method_and_entries(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("method,d,entries,ms,machine\nBR-NS,2,0,1.0,a\nBR-NS,2,0,3.0,a\nBR-NS,2,0,9.0,b\nk-NN,8,100,4,a\n")
    ax = Figure().subplots()
    drawn.time(drawn.read_times(file), ax)
    assert ax.lines[0].get_ydata() == [3.0]
    assert [line.get_label() for line in ax.lines] == ["BR-NS", "k-NN, 100 entries"]
    file.write_text("method,d,ms\nBR-NS,2,1.0\n")
    with pytest.raises(ValueError, match="lacks entries"):
        drawn.read_times(file)
    file.write_text("method,d,entries,ms\nBR-NS,2,0,fast\n")
    with pytest.raises(ValueError, match="line 2"):
        drawn.read_times(file)
    file.write_text("method,d,entries,ms\n")
    with pytest.raises(ValueError, match="no timings"):
        drawn.read_times(file)
    for none in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(ValueError, match=f"drawn of CSV files of timings, .*; {none} is none"):
            drawn.read_times(none)


def test_of_timings_for_several_sizes_the_largest_is_drawn(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text(
        "method,d,entries,individuals,ms\ntree,2,10,50,1\ntree,4,10,50,1\ntree,2,10,200,3\ntree,4,10,200,5\n"
    )
    (ax,) = drawn.draw("6", drawn.read_times(path)).axes
    assert ax.lines[0].get_ydata().tolist() == [3.0, 5.0]
