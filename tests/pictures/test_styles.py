"""Figures under a user's own style, in print and in a notebook."""

import itertools
import re

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

from brns import pictures
from brns.pictures import notebook
from brns.pictures.lines import label_line_ends, move_apart
from brns.pictures.style import new_figure
from brns.runs.record import Records


def contrast(*colors):
    """Of WCAG."""
    shares = np.array([to_rgb(color) for color in colors])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["dark_background", "Solarize_Light2"])
def test_text_is_legible_whatever_the_users_style(style, near):
    with matplotlib.style.context(style):
        figures = [pictures.overview(near[0]), pictures.draw("age", near)]
        theirs = matplotlib.rcParams["axes.labelcolor"]
        own = Figure().subplots()  # of the user's own axes text keeps the user's colours
        pictures.draw("age", near, ax=own)
    for figure in figures:
        ground = figure.get_facecolor()
        for ax in figure.axes:
            for text in (ax.xaxis.label, ax.title, *ax.texts, *ax.get_xticklabels()):
                assert contrast(text.get_color(), ground) > 4.5
    assert own.xaxis.label.get_color() == theirs
    for line in own.lines:
        assert contrast(line.get_color(), own.get_facecolor()) > 2  # lines have a light ground


@pytest.mark.parametrize(
    ("width", "inches", "name"),
    [("column", 3.5, "q"), ("column", 3.5, "novelty-map"), ("page", 7.2, "behaviors")],
)
def test_for_print_a_figure_has_its_width_and_type_that_can_be_read(width, inches, name, near):
    figure = pictures.draw(name, near, width=width)
    assert figure.get_figwidth() == inches
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert all(label.get_fontsize() >= 7.0 for label in ax.get_xticklabels())
        box = ax.get_tightbbox()
        assert box.x0 > -1
        assert box.x1 < figure.bbox.width + 1


def test_files_have_fonts_that_publishers_take_and_the_users_settings_stay(near, tmp_path):
    with matplotlib.rc_context({"font.size": 17.0, "pdf.fonttype": 3}):
        before = dict(matplotlib.rcParams)
        figure = pictures.draw("age", near, width="column")
        for name in ("age.pdf", "age.svg", "again.svg"):
            pictures.save(figure, tmp_path / name)
        assert dict(matplotlib.rcParams) == before
    content = (tmp_path / "age.pdf").read_bytes()
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content
    text = (tmp_path / "age.svg").read_text()
    assert ">generation</text>" in text
    assert (tmp_path / "again.svg").read_text() == text  # the same figure, the same bytes


@pytest.mark.slow
def test_figure_6_times_the_estimators_of_the_runs(near, archived, monkeypatch):
    monkeypatch.setattr("brns.pictures.gather_curves.DIMENSIONS", (2, 3))
    runs = [near[0], archived[0]]
    rows = pictures.data("6", runs)
    timed = [(row["method"], row["d"]) for row in rows]
    assert timed == list(itertools.product(pictures.methods(runs), (2, 3)))
    assert all(row["ms"] > 0 for row in rows)


def test_x_can_be_evaluations(near, ax):
    pictures.draw("age", near, ax=ax, over="evaluations")
    assert_array_equal(ax.lines[0].get_xdata(), 8 + 6 * np.arange(7))
    assert ax.get_xlabel() == "evaluations"
    pictures.draw("eta", near, ax=ax, over="evaluations")
    assert ax.get_xlabel() == "evaluations until generation i"
    with pytest.raises(ValueError, match="archive has no option over"):
        pictures.draw("archive", near, over="evaluations")


def test_cells_are_chosen_or_finer_where_those_of_the_paper_are_full(near, ax, monkeypatch):
    def shown(name="coverage", **options):
        ax.clear()
        pictures.draw(name, near, ax=ax, **options)
        return re.search(r"(\d+) × (\d+) cells", " ".join(ax.get_ylabel().split())).groups()

    assert shown() == ("6", "6")
    assert shown(shape=(5, 4)) == ("5", "4")
    with pytest.raises(ValueError, match="age has no option shape"):
        shown("age", shape=(3, 3))
    with pytest.raises(ValueError, match="from 1 on"):
        shown(shape=(0, 3))
    monkeypatch.setattr("brns.pictures.gather_curves.SATURATED", 0.0)  # never fine enough
    assert (shown(), shown("3a")) == (("48", "48"), ("6", "6"))


def test_names_stand_at_the_ends_of_lines_apart_and_in_order():
    assert move_apart([0.5, 0.5, 0.1], 0.2) == pytest.approx([0.5, 0.7, 0.1])
    assert move_apart([0.98, 1.0, 0.0], 0.1) == pytest.approx([0.9, 1.0, 0.0])
    figure = new_figure(5.6, 3.5)
    ax = figure.subplots()
    for label, end in (("low", 0.1), ("high", 0.9), ("higher", 0.91)):
        ax.plot([0, 5], [0, end], label=label)
    ax.set_ylim(0, 1)
    assert label_line_ends(ax)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["low"] == pytest.approx(0.1)
    assert heights["higher"] - heights["high"] > 0.05
    ax.plot([0, 3], [0, 1], label="ended earlier")
    assert not label_line_ends(ax)


def test_a_notebook_shows_a_record_and_records(near, archived, monkeypatch):
    alone, both = near[0]._repr_html_(), Records([*near, *archived])._repr_html_()
    assert alone.count("<img") == 1
    assert both.count("<tr>") == 1 + 4
    assert "population" in alone
    assert "Solutions" in alone
    monkeypatch.setattr(notebook, "method", lambda record: "<script>")
    many = Records(near * 10)._repr_html_()
    assert "<img" not in many
    assert many.count("<tr>") == 1 + 20
    assert "<script>" not in many  # no text of a record is markup


def test_an_overview_of_records_has_a_row_for_each(near):
    figure = pictures.overview(near)
    assert figure.axes[0].get_subplotspec().get_gridspec().nrows == 2
    with pytest.raises(ValueError, match="got none"):
        pictures.overview([])
