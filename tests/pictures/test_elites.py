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


def test_a_new_cell_never_lowers_the_score_of_the_figure(record):
    (ax,) = brns.pictures.draw("qd-score", [record]).axes
    least = float(min(record.column("offspring.fitness", [g]).min() for g in range(4)))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), qd_score(record, (20, 20), offset=least))
    assert (np.diff(ax.lines[0].get_ydata()) >= 0).all()
    assert len(brns.pictures.draw("elites", [record]).axes[0].images) == 1


@pytest.mark.parametrize("name", ["elites", "qd-score"])
def test_a_task_without_fitness_has_neither(name, tmp_path):
    search = brns.NoveltySearch(brns.DeceptiveMaze(steps=5), brns.GridCounts(), 4, 4)
    runs = brns.run(search, 1, out=tmp_path / "run")
    with pytest.raises(ValueError, match=r"needs a task with fitness, and in .*run every individual has 0"):
        brns.pictures.draw(name, runs)


def test_every_picture_is_drawn_on_the_current_axes_where_none_are_given(record):
    for picture in (brns.pictures.coverage, brns.pictures.age, brns.pictures.maze, brns.pictures.population):
        plt.figure()
        assert picture(record if picture.__name__ in ("maze", "population") else [record]) is plt.gca()
        plt.close()
