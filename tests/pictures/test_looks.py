"""How figures look: colours, whole titles and points, and bands."""

import io

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from brns.pictures import FIGURES, PAPER, draw, figures_of
from brns.pictures.records import LINES, colors_of
from brns.pictures.style import Line, Shown, bands, by_rank, colorbar, middles, titled
from brns.pictures.worlds import draw_world, open_cells
from brns.tasks.scene import Scene


def test_a_method_has_its_colour_whatever_stands_beside_it():
    three = ["archive", "recognition", "paper"]
    assert colors_of(three) == colors_of(three[::-1])
    assert colors_of(["archive"])["archive"] == colors_of(three)["archive"]
    assert len(set(colors_of(three).values())) == 3
    labels = ["archive, capacity=8", "archive, capacity=64", "Mine", "recognition", "Yours"]
    shades = colors_of(labels)
    assert len(set(shades.values())) == 5
    assert set(shades.values()) <= set(LINES)
    assert shades == colors_of(labels[::-1])
    assert shades["archive, capacity=64"] == colors_of(["archive"])["archive"]
    assert len(colors_of(map(str, range(20)))) == 20


def test_no_band_of_what_is_never_negative_reaches_below_zero():
    (found,), note = middles([np.array([[0.0], [0.0], [0.0], [9.0]])])  # mean 2.25, deviation 4.5
    np.testing.assert_allclose(found, [[0], [0], [2.25]])
    assert note == "\n(median and quartiles)"
    values = [
        np.array([[4.0], [6.0]]),
        np.array([[-1.0], [1.0]]),
    ]  # what can be negative may reach below 0
    (first, second), note = middles(values)
    root = np.sqrt(2)
    np.testing.assert_allclose(first, [[5], [5 - root], [5 + root]])
    np.testing.assert_allclose(second, [[0], [-root], [root]])
    assert note == ""
    ax = Figure().subplots()
    wild, tame = np.array([[0.0], [0.0], [0.0], [9.0]]), np.array([[1.0], [2.0], [9.0], [9.0]])
    assert bands(ax, [Line("a", [0], wild, "red"), Line("b", [0], tame, "blue")])
    assert [line.get_ydata()[0] for line in ax.lines] == [0.0, 5.5]


def test_a_long_title_stays_within_its_panel():
    figure = Figure(figsize=(5.4, 4.7), layout="constrained")
    ax = figure.subplots()
    titled(ax, "archive, capacity=10000, additions=6, entry=novelty, removal=random, k=15, seed 0")
    figure.draw_without_rendering()
    assert ax._left_title.get_window_extent().x1 <= figure.bbox.width
    assert ax._left_title.get_window_extent().y1 <= figure.bbox.height


def test_points_at_the_border_are_whole():
    ax = Figure().subplots()
    draw_world(ax, Scene((0.0, 10.0), (100.0, 20.0), down=True))
    assert ax.get_xlim() == (-2.0, 102.0)
    assert ax.get_ylim() == (20.2, 9.8)


def test_colours_of_novelty_are_ranks_and_the_bar_tells_values():
    scale = by_rank(np.array([1.0, 2.0, 3.0, 4.0, 1000.0]))
    np.testing.assert_allclose(scale([1, 2, 3, 4, 1000]), [0, 0.25, 0.5, 0.75, 1])
    figure = Figure(figsize=(5, 5))
    ax = figure.subplots()
    colorbar(ax, ax.imshow([[1.0, 1000.0]], norm=scale), "novelty")
    assert [tick.get_text() for tick in ax.child_axes[0].get_yticklabels()] == [
        "1",
        "2",
        "3",
        "4",
        "1000",
    ]
    assert by_rank(np.zeros(3))(0.0) == 0.0  # nothing to rank


def test_cells_within_walls_and_cut_off_from_the_start_are_not_reached():
    walls = np.zeros((4, 4), bool)
    walls[:, 2] = True
    world = Scene((0.0, 0.0), (4.0, 4.0), walls=walls, walls_extent=(0, 4, 0, 4))
    np.testing.assert_array_equal(open_cells(world, 4), [[True, True, False, True]] * 4)
    np.testing.assert_array_equal(
        open_cells(world._replace(start=(0.5, 0.5)), 4), [[True, True, False, False]] * 4
    )
    assert open_cells(world._replace(walls=None), 4).all()


def test_the_table_says_of_which_worlds_each_figure_is():
    assert {"3a", "2d", "4d", "5"} <= set(PAPER)
    assert set(PAPER.values()) <= set(FIGURES)
    with pytest.raises(ValueError, match="did you mean age"):
        draw("ages", [])
    assert set(figures_of("planar")) & set(figures_of("paths")) == {
        k for k, f in FIGURES.items() if f.worlds == "all"
    }
    assert "signature" not in figures_of("planar")
    assert "novelty-map" not in figures_of("paths")


def test_a_notebook_shows_a_figure_by_itself():
    with Image.open(io.BytesIO(Shown(figsize=(2, 1), dpi=50)._repr_png_())) as picture:
        assert picture.size == (100, 50)
