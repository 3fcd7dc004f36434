"""The map of elites and the QD score: numbers by hand, drawn where the reader looks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from worlds import Identity

import brns
from brns.metrics.elites import elites, qd_score


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    search = brns.NoveltySearch(Identity(), brns.GridCounts(), 12, 10)
    return brns.run(search, 3, out=tmp_path_factory.mktemp("elites") / "run")[0]


def test_the_map_shows_each_cell_the_fitness_of_its_elite(record):
    plt.figure()
    ax = brns.pictures.elites(record, shape=(4, 3))
    assert ax is plt.gca()
    shown = ax.images[0].get_array().filled(np.nan)  # rows are cells of y
    assert shown.shape == (3, 4)
    found = elites(record, (4, 3))
    assert np.isfinite(shown).sum() == len(found.id)
    for (x, y), fitness in zip(found.descriptor, found.fitness, strict=True):
        assert shown[int(y // 200), int(x // 150)] == pytest.approx(fitness)  # 600 / 3 and 600 / 4
    plt.close()


def test_the_curve_is_the_score(record):
    fig, ax = plt.subplots()
    assert brns.pictures.qd_score([record], ax, shape=(4, 3), offset=-1.0) is ax
    np.testing.assert_allclose(ax.lines[0].get_ydata(), qd_score(record, (4, 3), offset=-1.0))
    plt.close(fig)


def test_every_picture_is_drawn_on_the_current_axes_where_none_are_given(record):
    for picture in (brns.pictures.coverage, brns.pictures.age, brns.pictures.maze, brns.pictures.population):
        plt.figure()
        assert picture(record if picture.__name__ in ("maze", "population") else [record]) is plt.gca()
        plt.close()
