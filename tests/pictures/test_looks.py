"""How figures look: colours, whole titles and points, and bands."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from PIL import Image

from brns import Box
from brns.pictures import FIGURES, PAPER, draw, figures_of, lines, style
from brns.pictures.paint_maps import draw_world
from brns.pictures.records import looks_of
from brns.pictures.scenes import open_cells
from brns.settings.parts import LOOKS, parts
from brns.tasks.scene import COLOURS, Scene


def test_a_method_has_its_look_whatever_stands_beside_it():
    three = ["archive", "recognition", "paper"]
    assert looks_of(three) == looks_of(three[::-1])
    assert looks_of(["archive"])["archive"] == looks_of(three)["archive"] == LOOKS["archive"]
    labels = ["archive, capacity=8", "archive, capacity=64", "Mine", "recognition", "Yours"]
    looks = looks_of(labels)
    assert len(set(looks.values())) == 5
    assert len({look.color for look in looks.values()}) == 5
    # what looks like a method is that method
    for label in ("archive, capacity=8", "Mine", "Yours"):
        assert looks[label] not in LOOKS.values()
    assert looks == looks_of(labels[::-1])
    assert looks["archive, capacity=64"] == LOOKS["archive"]
    many = looks_of(map(str, range(40)))
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


def test_no_band_of_what_is_never_negative_reaches_below_zero():
    (found,), words = lines.bands(
        [np.array([[0.0], [0.0], [0.0], [9.0]])]
    )  # mean 2.25, deviation 4.5
    assert_allclose(found, [[0], [0], [2.25]])
    assert words == "median and quartiles, 4 seeds"
    # what can be negative may reach below 0
    values = [np.array([[4.0], [6.0]]), np.array([[-1.0], [1.0]])]
    (first, second), words = lines.bands(values)
    root = np.sqrt(2)
    assert_allclose(first, [[5], [5 - root], [5 + root]])
    assert_allclose(second, [[0], [-root], [root]])
    assert words == "mean ± deviation, 2 seeds"
    ax = Figure().subplots()
    wild, tame = np.array([[0.0], [0.0], [0.0], [9.0]]), np.array([[1.0], [2.0], [9.0]])
    red, blue = LOOKS["counts"], LOOKS["archive"]
    words = lines.draw_lines(
        ax, [lines.Line("a", [0], wild, red), lines.Line("b", [0], tame, blue)]
    )
    assert words == "median and quartiles, over seeds"
    assert [line.get_ydata()[0] for line in ax.lines] == [0.0, 2.0]


def test_no_band_of_a_share_reaches_above_all():
    shares = np.array([[1.0], [1.0], [1.0], [0.2]])  # mean 0.8, deviation 0.4
    (found,), words = lines.bands([shares], most=1.0)
    assert_allclose(found, [[1.0], [0.8], [1.0]])
    assert words == "median and quartiles, 4 seeds"
    assert lines.bands([shares])[1] == "mean ± deviation, 4 seeds"
    assert lines.bands([shares[:1]], most=1.0)[1] == ""


def test_a_long_title_stays_within_its_panel():
    figure = Figure(figsize=(5.4, 4.7), layout="constrained")
    ax = figure.subplots()
    style.add_title(ax, ", ".join(f"a_setting={number}" for number in range(6)))
    figure.draw_without_rendering()
    place = ax._left_title.get_window_extent()
    assert place.x1 <= figure.bbox.width
    assert place.y1 <= figure.bbox.height


def test_points_at_the_border_are_whole():
    ax = Figure().subplots()
    draw_world(ax, Scene((0.0, 10.0), (100.0, 20.0), down=True))
    assert ax.get_xlim() == (-2.0, 102.0)
    assert ax.get_ylim() == (20.2, 9.8)


def test_colours_of_novelty_are_ranks_and_the_bar_tells_values():
    scale = style.rank_norm(np.array([1.0, 2.0, 3.0, 4.0, 1000.0]))
    assert_allclose(scale([1, 2, 3, 4, 1000]), [0, 0.25, 0.5, 0.75, 1])
    figure = Figure(figsize=(5, 5))
    ax = figure.subplots()
    style.colorbar(ax, ax.imshow([[1.0, 1000.0]], norm=scale), "novelty")
    ticks = ax.child_axes[0].get_yticklabels()
    assert [tick.get_text() for tick in ticks] == ["1", "2", "3", "4", "1000"]
    assert style.rank_norm(np.zeros(3))(0.0) == 0.0  # nothing to rank


def test_cells_within_walls_and_cut_off_from_the_start_are_not_reached():
    walls = np.zeros((4, 4), bool)
    walls[:, 2] = True
    world = Scene((0.0, 0.0), (4.0, 4.0), walls=walls, walls_extent=(0, 4, 0, 4))
    space = Box(world.low, world.high)
    assert open_cells(world, space, 4).tolist() == [[True, True, False, True]] * 4
    begun = world._replace(start=(0.5, 0.5))
    assert open_cells(begun, space, 4).tolist() == [[True, True, False, False]] * 4
    assert open_cells(world._replace(walls=None), space, 4).all()


def test_the_table_says_of_which_worlds_each_figure_is():
    assert {"3a", "2d", "4d", "5"} <= set(PAPER)
    assert set(PAPER.values()) <= set(FIGURES)
    with pytest.raises(ValueError, match="did you mean age"):
        draw("ages", [])
    assert "signature" not in figures_of("planar")
    assert "novelty-map" not in figures_of("paths")


def test_a_notebook_shows_a_figure_by_itself():
    with Image.open(
        io.BytesIO(style.NotebookFigure(figsize=(2, 1), dpi=50)._repr_png_())
    ) as picture:
        assert picture.size == (100, 50)
