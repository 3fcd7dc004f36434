"""How figures look: colours, titles, bands; under a user's style, in print and in a notebook."""

import io
import itertools
import pickle
import re

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from brns import Box, pictures
from brns.pictures import PAPER, draw, lines, notebook, style
from brns.pictures.lines import label_line_ends_if_room, move_apart
from brns.pictures.records import choose_looks
from brns.pictures.scenes import find_reachable_cells
from brns.pictures.style import make_figure
from brns.runs.record import Records
from brns.settings.parts import LOOKS, parts
from brns.tasks.ant import AntMaze
from brns.tasks.scene import COLOURS, Scene


def test_a_method_has_its_look_whatever_stands_beside_it():
    three = ["archive", "recognition", "paper"]
    assert choose_looks(three) == choose_looks(three[::-1])
    assert (
        choose_looks(["archive"])["archive"] == choose_looks(three)["archive"] == LOOKS["archive"]
    )
    labels = ["archive, capacity=8", "archive, capacity=64", "Mine", "recognition", "Yours"]
    looks = choose_looks(labels)
    assert len(set(looks.values())) == 5
    assert len({look.color for look in looks.values()}) == 5
    # what looks like a method is that method
    for label in ("archive, capacity=8", "Mine", "Yours"):
        assert looks[label] not in LOOKS.values()
    assert looks == choose_looks(labels[::-1])
    assert looks["archive, capacity=64"] == LOOKS["archive"]
    many = choose_looks(map(str, range(40)))
    assert len(set(many.values())) == 40


# Machado, Oliveira & Fernandes 2009, severity 1: what linear RGB becomes without one of the cones.
EYES = {
    "all": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def linear(colors):
    shares = np.array([to_rgb(color) for color in colors])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(linear):
    """CIE L*a*b* of linear sRGB, under D65."""
    to_xyz = np.array(TO_XYZ)
    ratio = linear @ to_xyz.T / to_xyz.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def closest(points):
    first, second = np.triu_indices(len(points), 1)
    return np.linalg.norm(points[first] - points[second], axis=1).min()


# A difference of 2.3 is just noticeable between patches side by side (Mahy, Van Eycken &
# Oosterlinck 1994); of thin lines apart from each other it takes about ten times that. In grey,
# eight steps between black and a lightness that still shows on white, 70, can be 8 apart at most;
# dashes and markers tell the lines apart there, too.
@pytest.mark.parametrize(("eye", "least"), [("all", 40), ("protanopia", 22), ("deuteranopia", 22)])
def test_colours_of_methods_stay_apart_to_every_eye(eye, least):
    methods = linear([look.color for look in LOOKS.values()])
    areas = linear(list(COLOURS.values())[:3])  # the ant's
    for colors in (methods, areas):
        assert closest(lab(np.clip(colors @ np.transpose(EYES[eye]), 0, 1))) > least
    assert closest(lab(methods)[:, :1]) > 7.5  # in grey
    assert lab(methods)[:, 0].max() < 71


def test_every_method_has_colour_dashes_and_marker_of_its_own():
    methods = parts("estimator", "preset")
    assert set(methods) | {"random search"} == set(LOOKS)
    for column in zip(*LOOKS.values(), strict=True):
        assert len(set(column)) == len(LOOKS)


WILD = [0.0, 0.0, 0.0, 9.0]  # mean 2.25, deviation 4.5
SHARES = [1.0, 1.0, 1.0, 0.2]  # mean 0.8, deviation 0.4
ROOT = np.sqrt(2)


@pytest.mark.parametrize(
    ("groups", "most", "bands", "words"),
    [
        ([WILD], None, [[0, 0, 2.25]], "median and quartiles, 4 seeds"),
        # what can be negative may reach below 0
        ([[4.0, 6.0], [-1.0, 1.0]], None, [[5, 5 - ROOT, 5 + ROOT], [0, -ROOT, ROOT]],
         "mean ± deviation, 2 seeds"),
        ([SHARES], 1.0, [[1.0, 0.8, 1.0]], "median and quartiles, 4 seeds"),
        ([SHARES], None, [[0.8, 0.4, 1.2]], "mean ± deviation, 4 seeds"),
        ([SHARES[:1]], 1.0, [[1.0, 1.0, 1.0]], ""),
    ],
)  # fmt: skip
def test_no_band_reaches_where_no_value_can(groups, most, bands, words):
    values = [np.array(group)[:, None] for group in groups]
    found, said = lines.compute_and_describe_bands(values, most=most)
    assert_allclose(np.squeeze(found, axis=2), bands)
    assert said == words


def test_all_lines_have_bands_of_one_kind():
    ax = Figure().subplots()
    wild, tame = np.array(WILD)[:, None], np.array([[1.0], [2.0], [9.0]])
    red, blue = LOOKS["counts"], LOOKS["archive"]
    words = lines.draw_lines_and_describe_bands(
        ax, [lines.Line("a", [0], wild, red), lines.Line("b", [0], tame, blue)]
    )
    assert words == "median and quartiles, over seeds"
    assert [line.get_ydata()[0] for line in ax.lines] == [0.0, 2.0]


def test_colours_of_novelty_are_ranks_and_the_bar_tells_values():
    scale = style.make_rank_norm(np.array([1.0, 2.0, 3.0, 4.0, 1000.0]))
    assert_allclose(scale([1, 2, 3, 4, 1000]), [0, 0.25, 0.5, 0.75, 1])
    figure = Figure(figsize=(5, 5))
    ax = figure.subplots()
    style.add_colorbar(ax, ax.imshow([[1.0, 1000.0]], norm=scale), "novelty")
    ticks = ax.child_axes[0].get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["1", "2", "3", "4", "1000"]
    assert style.make_rank_norm(np.zeros(3))(0.0) == 0.0  # nothing to rank


def test_cells_within_walls_and_cut_off_from_the_start_are_not_reached():
    walls = np.zeros((4, 4), bool)
    walls[:, 2] = True
    scene = Scene((0.0, 0.0), (4.0, 4.0), walls=walls, walls_extent=(0, 4, 0, 4))
    space = Box(scene.low, scene.high)
    assert find_reachable_cells(scene, space, 4).tolist() == [[True, True, False, True]] * 4
    begun = scene._replace(start=(0.5, 0.5))
    assert find_reachable_cells(begun, space, 4).tolist() == [[True, True, False, False]] * 4
    assert find_reachable_cells(scene._replace(walls=None), space, 4).all()


def test_the_ant_tells_its_start_walls_and_areas():
    scene = AntMaze().scene()
    assert (scene.paths, scene.start) == (True, (0, -24))
    assert [area.name for area in scene.areas] == ["green area", "red area", "blue area"]
    assert scene.walls[550, 900]  # the border at x = 40, in pixels of 0.1 m


def test_every_figure_of_the_paper_has_its_number():
    panels = {2: "abcd", 3: "abcdef", 4: "abcdef"}
    numbers = {f"{number}{letter}" for number, letters in panels.items() for letter in letters}
    assert set(PAPER) == numbers | {"5", "6"}


def test_a_notebook_shows_a_figure_by_itself():
    with Image.open(io.BytesIO(style.StyledFigure(figsize=(2, 1), dpi=50)._repr_png_())) as picture:
        assert picture.size == (100, 50)


def test_trackers_and_pickles_take_a_figure_for_one_of_matplotlib():
    """Weights & Biases looks at the name of the module; a pickle needs no brns."""
    figure = make_figure(2.0, 1.0)
    figure.subplots().set_title("novelty")
    assert type(figure).__module__ == "matplotlib.figure"
    again = pickle.loads(pickle.dumps(figure))
    assert type(again) is Figure
    assert again.axes[0].get_title() == "novelty"


def contrast(*colors):
    """Of WCAG."""
    low, high = sorted(linear(colors) @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["dark_background", "Solarize_Light2"])
def test_text_is_legible_whatever_the_users_style(style, near):
    with matplotlib.style.context(style):
        figures = [pictures.overview(near), draw("age", near)]
        theirs = matplotlib.rcParams["axes.labelcolor"]
        own = Figure().subplots()  # of the user's own axes text keeps the user's colours
        draw("age", near, ax=own)
    assert len(figures[0].axes) >= 2 * len(near)  # a row of two maps for each run
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
    figure = draw(name, near, width=width)
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
        figure = draw("age", near, width="column")
        for name in ("age.pdf", "age.svg", "again.svg", "age.png"):
            pictures.save(figure, tmp_path / name)
        assert dict(matplotlib.rcParams) == before
    content = (tmp_path / "age.pdf").read_bytes()
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content
    text = (tmp_path / "age.svg").read_text()
    assert ">generation</text>" in text
    assert (tmp_path / "again.svg").read_text() == text  # the same figure, the same bytes
    with Image.open(tmp_path / "age.png") as picture:
        assert picture.width == 3.5 * 300


def test_a_figure_of_the_users_is_saved_in_its_own_style(near, tmp_path):
    settings = {"font.family": "serif", "font.serif": ["STIXGeneral"], "pdf.fonttype": 3}
    with matplotlib.rc_context(settings):
        figure = draw("age", near, ax=Figure(figsize=(2, 1), dpi=200).subplots())
        pictures.save(figure, tmp_path / "own.png")
        pictures.save(figure, tmp_path / "own.pdf")
    with Image.open(tmp_path / "own.png") as picture:
        assert picture.size == (400, 200)
    content = (tmp_path / "own.pdf").read_bytes()
    assert b"STIXGeneral" in content
    assert b"/Type3" not in content


@pytest.mark.slow
def test_figure_6_times_the_estimators_of_the_runs(near, archived, monkeypatch):
    monkeypatch.setattr("brns.pictures.gather_curves.DIMENSIONS", (2, 3))
    runs = [near[0], archived[0]]
    rows = pictures.data("6", runs)
    timed = [(row["method"], row["d"]) for row in rows]
    assert timed == list(itertools.product(pictures.group_by_method(runs), (2, 3)))
    assert all(row["ms"] > 0 for row in rows)


def test_x_can_be_evaluations(near, ax):
    draw("age", near, ax=ax, over="evaluations")
    assert_array_equal(ax.lines[0].get_xdata(), 8 + 6 * np.arange(7))
    assert ax.get_xlabel() == "evaluations"
    draw("eta", near, ax=ax, over="evaluations")
    assert ax.get_xlabel() == "evaluations until generation i"
    with pytest.raises(ValueError, match="archive has no option over"):
        draw("archive", near, over="evaluations")


def test_cells_are_chosen_or_finer_where_those_of_the_paper_are_full(near, ax, monkeypatch):
    def shown(name="coverage", **options):
        ax.clear()
        draw(name, near, ax=ax, **options)
        return re.search(r"(\d+) × (\d+) cells", " ".join(ax.get_ylabel().split())).groups()

    assert shown() == ("6", "6")
    assert shown(cells=(5, 4)) == ("5", "4")
    with pytest.raises(ValueError, match="age has no option cells"):
        shown("age", cells=(3, 3))
    with pytest.raises(ValueError, match=r"as in \(20, 20\); got one"):
        shown(cells=20)
    with pytest.raises(ValueError, match="from 1 on"):
        shown(cells=(0, 3))
    monkeypatch.setattr("brns.pictures.gather_curves.SATURATED", 0.0)  # never fine enough
    assert (shown(), shown("3a")) == (("48", "48"), ("6", "6"))


def test_names_stand_at_the_ends_of_lines_apart_and_in_order():
    assert move_apart([0.5, 0.5, 0.1], 0.2) == pytest.approx([0.5, 0.7, 0.1])
    assert move_apart([0.98, 1.0, 0.0], 0.1) == pytest.approx([0.9, 1.0, 0.0])
    figure = make_figure(5.6, 3.5)
    ax = figure.subplots()
    for label, end in (("low", 0.1), ("high", 0.9), ("higher", 0.91)):
        ax.plot([0, 5], [0, end], label=label)
    ax.set_ylim(0, 1)
    assert label_line_ends_if_room(ax)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["low"] == pytest.approx(0.1)
    assert heights["higher"] - heights["high"] > 0.05
    ax.plot([0, 3], [0, 1], label="ended earlier")
    assert not label_line_ends_if_room(ax)


def test_a_notebook_shows_a_record_and_records(near, archived, monkeypatch):
    alone, both = near[0]._repr_html_(), Records([*near, *archived])._repr_html_()
    assert alone.count("<img") == 1
    assert both.count("<tr>") == 1 + 4
    assert "population" in alone
    assert "Solutions" in alone
    monkeypatch.setattr(notebook, "label_method", lambda record: "<script>")
    many = Records(near * 10)._repr_html_()
    assert "<img" not in many
    assert many.count("<tr>") == 1 + 20
    assert "<script>" not in many  # no text of a record is markup


def test_a_long_legend_takes_no_height_from_the_panels():
    heights = []
    for methods in (2, 9):
        figure = style.make_figure(3.5, 3.0)
        axes = figure.add_subplot()
        for number in range(methods):
            axes.plot([0, 1], label=f"method with a long name {number}")
        style.add_legend_below(figure)
        figure.draw_without_rendering()
        heights.append(axes.get_window_extent().height)
    assert heights[1] > 0.85 * heights[0]
