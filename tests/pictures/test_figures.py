"""The figures, of short real runs: what is drawn is what the metrics say."""

import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from files import copy_run
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal

from brns import Record, pictures
from brns.metrics import coverage, cycling, dynamics, recorded, uniformity
from brns.metrics.elites import elites, qd_score
from brns.pictures import draw
from brns.pictures.gather_curves import ELITES
from brns.pictures.style import SOLVED

GENERATIONS = 6


CURVES = {
    "coverage": lambda record: coverage.coverage_of_record(record, (6, 6)),
    "age": dynamics.survivors_age_of_record,
    "parent-distance": dynamics.survivors_parent_distance_of_record,
    "uniformity": lambda record: uniformity.grid_novelty_distance_to_uniform_of_record(
        record, (6, 6)
    ),
    "eta": lambda record: cycling.cycling_of_record(record).eta,
    "kappa": lambda record: cycling.cycling_of_record(record).kappa,
    "kappa-share": lambda record: cycling.cycling_of_record(record).kappa_share,
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_the_metrics_mean_over_seeds_and_its_band_the_deviation(name, near, ax):
    values = list(map(CURVES[name], near))
    assert_allclose([row["value"] for row in pictures.data(name, near)], np.ravel(values))
    generations = np.arange(len(values[0]))  # each has its state
    mean, deviation = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
    middle, low, high = mean, mean - deviation, mean + deviation
    shares = ("coverage", "uniformity", "kappa-share")
    below = (low < 0).any() or (name in shares and (high > 1).any())
    if below:  # no such quantity is negative, and no share above 1
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    draw(name, near, ax=ax)
    said = " ".join(ax.get_ylabel().split())
    assert said.endswith("median and quartiles, 2 seeds" if below else "mean ± deviation, 2 seeds")
    line = ax.lines[0]
    assert_array_equal(line.get_xdata(), generations)
    assert_allclose(line.get_ydata(), middle)
    assert line.get_label() == pictures.label_method(near[0])
    band = ax.collections[0].get_paths()[0].vertices
    first = 1 if name == "parent-distance" else 0  # Founders have no parents.
    for limit in (low, high):
        assert np.isclose(band, [first, limit[first]]).all(axis=1).any()


def test_runs_of_different_length_end_with_the_shortest(near, tmp_path, ax):
    short = copy_run(near[1], tmp_path / "short", GENERATIONS - 1)
    draw("age", [near[0], short], ax=ax)
    assert ax.lines[0].get_xdata()[-1] == GENERATIONS - 1


def test_q_draws_rows_of_the_matrix(archived, ax):
    draw("q", archived, ax=ax)
    matrices = np.array([cycling.cycling_of_record(record).q for record in archived])
    first, second = ax.lines[:2]
    assert_allclose(first.get_ydata(), matrices.mean(axis=0)[0])
    assert_array_equal(second.get_xdata(), np.arange(2, GENERATIONS + 1))
    assert_allclose(second.get_ydata(), matrices.mean(axis=0)[2, 2:])
    rows = [row["value"] for row in pictures.data("q", archived) if row["row"] == "i = 2"]
    assert_allclose(rows, matrices[:, 2, 2:].ravel())


def test_the_archive_and_its_uniformity_are_those_of_its_entries(archived, near, ax):
    record = archived[0]
    state = record.state(GENERATIONS, record.search).estimator
    there = np.asarray(state.id) >= 0
    entries = np.asarray(state.descriptor)[there]
    assert len(entries) == 2 * GENERATIONS
    draw("archive", record, ax=ax)
    assert_allclose(ax.collections[0].get_offsets(), entries)
    assert_array_equal(ax.collections[0].get_array(), np.asarray(state.entered)[there])
    distances = [row["value"] for row in pictures.data("uniformity", record)]
    assert np.isnan(distances[0])  # before the first generation the archive is empty
    expected = uniformity.distance_to_uniform_of_points(entries, record.behavior_space, (6, 6))
    assert distances[-1] == pytest.approx(expected)
    with pytest.raises(ValueError, match="no archive"):
        draw("archive", near[0], ax=ax)


MAPS = [name for name, figure in pictures.FIGURES.items() if figure.shows_maps]


@pytest.mark.parametrize("name", MAPS)
def test_every_map_tells_its_numbers(name, near, archived):
    source = archived if name == "archive" else near
    rows = pictures.data(name, source)
    if name == "elites":
        assert len(rows) == np.prod(ELITES)
    elif name == "novelty-map":
        assert sum(row.get("what") == "individual" for row in rows) == 3 * 8
    else:
        behaviors = [[row["behavior_0"], row["behavior_1"]] for row in rows]
        drawn = draw(name, source).axes[0].collections[0].get_offsets()
        assert_allclose(drawn, behaviors)


def test_the_novelty_map_is_the_estimators_score_in_its_place(maze, ax):
    draw("novelty-map", maze, ax=ax, generation=4)
    image = np.asarray(ax.images[0].get_array())
    search, state = maze.search, maze.state(4)
    column, row = 40, 7  # The cell's centre is at x = 405, y = 75; y runs down.
    points = jnp.array([[405.0, 75.0]])
    expected = jax.jit(search.estimator.score)(state.estimator, points, state.population)[0]
    assert image[row, column] == pytest.approx(float(expected), rel=1e-4)
    assert ax.images[0].get_extent() == [0, 600, 0, 600]
    assert ax.yaxis_inverted()
    people = maze.column("survivors.descriptor", [4])[0]
    assert_allclose(ax.collections[-1].get_offsets(), people)


def test_the_maze_shows_everything_evaluated_and_its_walls(maze, ax):
    draw("behaviors", maze, ax=ax)
    points = ax.collections[0]
    everyone = recorded.read_all_evaluated(maze, ["descriptor"])["descriptor"]
    assert_allclose(points.get_offsets(), everyone)
    assert_array_equal(points.get_array(), np.repeat(np.arange(7), 20))
    walls = np.asarray(ax.images[0].get_array())
    # Pixel (i, j) has its centre at (3 i, 3 j).
    assert ax.images[0].get_extent() == [-1.5, 598.5, -1.5, 598.5]
    assert walls[100, 58] == 1  # The long vertical wall at x = 174.
    # The start, at (60, 450), is free.
    assert np.ma.getmaskarray(walls)[150, 20] or np.isnan(walls[150, 20])


def test_a_solution_is_ringed_and_its_way_ends_where_its_behavior_lies(maze, ax, tmp_path):
    record = copy_run(maze, tmp_path / "solved")
    arrays = record.arrays("generations", 3)
    offspring = arrays["offspring"].copy()
    offspring["solved"] = np.arange(20) == 0
    record.write("generations", 3, arrays | {"offspring": offspring})
    (place,) = record.solutions().descriptor
    draw("behaviors", record, ax=ax)
    rings = ax.collections[1]
    assert_allclose(rings.get_offsets(), [place])
    assert tuple(rings.get_edgecolor()[0]) == to_rgba(SOLVED)
    (path,) = [line for line in ax.lines if line.get_label() == "path of a solution"]
    assert_allclose(path.get_xydata()[-1], place, atol=1e-3)
    assert ax.get_title().endswith(", 1 solution")


def test_the_line_of_a_solution_leads_from_a_founder_parent_by_parent(maze, near, ax):
    parents = recorded.read_all_evaluated(maze, ["parent"])["parent"]
    ids = [row["id"] for row in pictures.data("lineage", maze, individual=120)]
    assert ids[-1] == 120
    assert list(parents[ids]) == [-1, *ids[:-1]]
    draw("lineage", near[0], ax=ax)  # nobody solved it
    last = near[0].population()
    newest = last.descriptor[last.novelty.argmax()]
    assert_allclose(ax.lines[-1].get_xydata(), [newest])
    with pytest.raises(ValueError, match="has individuals 0 to 139; got 140"):
        draw("lineage", maze, individual=140)


def test_methods_of_one_name_are_told_apart_by_what_differs(archived):
    other = Record(archived[0].path)  # the same run as if of other settings
    other.experiment = {**other.experiment, "seed": 1}
    other.metadata.changed = {"task.steps": 5, "estimator.entry": "$\\frac{$"}
    told = [pictures.label_method(archived[0]), "archive, entry=$\\frac{$"]
    assert list(pictures.group_by_method([*archived, other])) == told
    figure = draw("age", [archived[0], other])
    figure.canvas.draw()  # A setting is not read as mathematics.
    assert [line.get_label() for line in figure.axes[0].lines] == told


def test_what_cannot_be_drawn_is_refused(maze, near, archived, ax, unchecked):
    no_runs = r"such as brns\.records\(path\); got 'runs/one'"
    refused = [
        ("one panel fits on ax; these runs have 2", lambda: draw("q", [*near, *archived], ax=ax)),
        (r"ax must be one axes, .*; got \[<Axes", lambda: draw("coverage", maze, ax=[ax])),
        ("got none", lambda: pictures.overview([])),
        ("did you mean age", lambda: draw("ages", [])),
        (no_runs, lambda: pictures.overview("runs/one")),
        (no_runs, lambda: draw("coverage", "runs/one")),
        ("name comes first", lambda: draw(maze, "coverage")),
        (r"width must be one of column, page; got 3\.3", lambda: draw("age", maze, width=3.3)),
        (
            "over must be one of generations, evaluations; got",
            lambda: draw("coverage", maze, over="time"),
        ),
        ("shape; its options are: cells, indiv", lambda: draw("coverage", maze, shape=(9, 9))),
        ("q has no option cells", lambda: draw("q", maze, cells=(5, 5))),
        ("the same seed", lambda: pictures.group_by_method([*archived, archived[0]])),
        ("different tasks", lambda: draw("coverage", [maze, *near], ax=ax)),
        ("needs a task with fitness", lambda: draw("elites", [maze])),
        ("has the cells of a grid", lambda: draw("elites", [maze], cells=np.zeros((3, 2)))),
        ("needs a task with fitness", lambda: draw("qd-score", [maze])),
    ]
    for message, call in refused:
        with pytest.raises(ValueError, match=message):
            call()


def test_without_states_or_generations_the_message_says_what_is_missing(archived, tmp_path, ax):
    record = copy_run(archived[0], tmp_path / "bare")
    shutil.rmtree(record.path / "states")
    for name in ("novelty-map", "archive", "uniformity", "q", "eta", "kappa"):
        with pytest.raises(ValueError, match="--checkpoint-every 1"):
            draw(name, record, ax=ax)
    with pytest.raises(ValueError, match="2 generations or more"):
        draw("age", copy_run(record, tmp_path / "founders", 0), ax=ax)


def test_elites_are_the_fittest_of_their_cells(near, ax):
    record = near[0]
    draw("elites", record, ax=ax)
    shown = ax.images[0].get_array().filled(np.nan)  # rows are cells of y
    assert shown.shape == (20, 20)
    found = elites(record, (20, 20))
    assert np.isfinite(shown).sum() == len(found.id)
    for (x, y), fitness in zip(found.descriptor, found.fitness, strict=True):
        assert shown[min(int(y // 30), 19), min(int(x // 30), 19)] == pytest.approx(fitness)


def test_a_new_cell_never_lowers_the_qd_score(near):
    record = near[0]
    (ax,) = draw("qd-score", [record]).axes
    least = float(recorded.read_all_evaluated(record, ["fitness"])["fitness"].min())
    assert_allclose(ax.lines[0].get_ydata(), qd_score(record, (20, 20), offset=least))
    assert (np.diff(ax.lines[0].get_ydata()) >= 0).all()
