"""Tasks that brns does not know, by what they stored and once they are given."""

import base64
import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from searches import run_known

from brns import Box, Evaluation, NoveltySearch, PolynomialMutation, PopulationKNN, Record
from brns.metrics.measures import summarize_run
from brns.metrics.paths import signature_spread_by_term_of_record
from brns.metrics.recorded import read_all_evaluated
from brns.metrics.tessellation import make_tessellation
from brns.pictures import (
    FIGURES,
    compute_novelty_grid,
    data,
    draw,
    gather_curves,
    movie,
    overview,
    report,
)
from brns.pictures.records import find_scene, find_two_widest_dimensions
from brns.pictures.report import view
from brns.pictures.style import SOLVED
from brns.tasks.chunked import Chunked
from brns.tasks.scene import Area, Film, Scene, make_plain_scene


class Genes(eqx.Module):
    """Behavior is the first d genes, solved where the first is above 0."""

    d: int
    traceable: bool = True

    @property
    def genotype_space(self):
        return Box([-1.0] * (self.d + 1), [1.0] * (self.d + 1))

    @property
    def behavior_space(self):
        return Box([-1.0] * self.d, [1.0] * self.d)

    def evaluate(self, genotypes, key):
        return Evaluation(genotypes[:, : self.d], jnp.round(genotypes[:, 0]), genotypes[:, 0] > 0)


class Strides(Genes):
    """Paths of d / 2 positions in a walled square; it can walk them again, and film them."""

    d: int = 32

    def scene(self):
        walls = np.arange(16).reshape(4, 4) < 4
        looks = {"walls": walls, "walls_extent": (-1, 1, -1, 1), "start": (0.0, 0.0)}
        goal = Area(0.5, 0.5, 0.1, "goal", "#3a9d5d")
        return Scene((-1, -1), (1, 1), ("east", "north"), paths=True, areas=(goal,), **looks)

    def trajectory(self, genotypes):
        path = np.asarray(genotypes)[:, : self.d].reshape(len(genotypes), -1, 2)
        return np.concatenate([np.zeros_like(path[:, :1]), path], axis=1)

    def film(self, genotype):
        orange = [int(100 * (1 + genotype[0])), 140, 20]
        return Film(iter([np.full((8, 8, 3), orange, np.uint8)] * 3), 3, 10.0)


class Wide(Genes):
    """A scene of NumPy's numbers and arrays; behaviors leave the box to the right."""

    def scene(self):
        low, high = (tuple(np.float32([x, x])) for x in (-2, 2))
        return Scene(low, high, start=np.float32([0, 0]))

    def evaluate(self, genotypes, key):
        descriptor = genotypes[:, :2] + jnp.array([0.5, 3.5])
        return super().evaluate(genotypes, key)._replace(descriptor=descriptor)


def make_search(task):
    return NoveltySearch(task, PopulationKNN(k=3), 6, 6, PolynomialMutation())


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    return run_known(make_search(Wide(2)), 3, tmp_path_factory.mktemp("wide") / "run", [0])[0]


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    path = tmp_path_factory.mktemp("strides") / "run"
    return run_known(make_search(Chunked(Strides())), 3, path, [0, 1])


@pytest.fixture(scope="module")
def strides(walks):
    return walks[0]


def test_a_picture_of_the_run_needs_no_search(wide, strides):
    for known in (wide, strides):
        alone = Record(known.path)
        points = overview(alone).axes[1].collections[-1].get_offsets()
        scene = find_scene(alone)
        assert_allclose(points, scene.project_to_plane(alone.population().descriptor))
        assert scene.walls is None


def test_what_needs_no_search_is_the_same_without(strides):
    numbers, fewer = summarize_run(strides), summarize_run(Record(strides.path))
    assert {name: numbers[name] for name in fewer} == fewer
    left_out = {"eta", "eta_below_one", "kappa", "kappa_share", "epsilon"}
    assert set(numbers) - set(fewer) - {"regained"} == left_out


@pytest.mark.parametrize("name", ["novelty-map", "q", "eta", "uniformity", "archive"])
def test_what_needs_the_search_says_how_to_give_it(name, wide):
    with pytest.raises(ValueError, match=r"--search module:object.*record\.search"):
        draw(name, [Record(wide.path)])


def test_the_report_says_what_is_left_out_and_the_movie_shows_the_population(
    wide, tmp_path, monkeypatch
):
    monkeypatch.setattr(report.page, "FIGURES", {"eta": FIGURES["eta"]})
    monkeypatch.setattr(movie, "MOST_FRAMES", 2)
    assert report.write_report([wide], tmp_path / "known.html").exists()  # NumPy's numbers, too
    alone = Record(wide.path)
    page = report.write_report([alone], tmp_path / "alone.html").read_text()
    assert "--search module:object" in page
    assert len(list(movie.iterate_frames(alone))) == 2


@pytest.mark.slow
def test_the_report_has_the_figures_of_paths(strides, tmp_path):
    page = report.write_report([strides], tmp_path / "known.html").read_text()
    assert "--search module:object" not in page
    curves = {"parent-distance", "age", "q", "eta", "kappa", "kappa-share", "signature"}
    for name in curves | {"behaviors", "population", "lineage"}:
        assert f'id="figure-{name}"' in page


def test_a_map_lies_over_the_behavior_space_and_what_is_not_shown_is_counted(wide, ax):
    draw("novelty-map", wide, ax=ax)
    assert ax.get_title().endswith(", 6 outside")
    assert ax.images[0].get_extent() == [-1, 1, -1, 1]
    assert ax.get_xlim() == pytest.approx((-2.08, 2.08))
    shown = view.gather_view({"a method": wide})
    assert shown["scene"]["low"] == (-2, -2)
    assert shown["panels"][0]["map"]["extent"] == (-1, 1, -1, 1)


def test_a_task_that_tells_how_it_looks_is_drawn_so(strides, ax):
    draw("behaviors", strides, ax=ax)
    assert "goal" in ax.get_legend_handles_labels()[1]
    assert ax.get_xlabel() == "east"
    assert np.isfinite(np.asarray(ax.images[0].get_array(), float)).sum() == 4
    path = ax.collections[0].get_segments()[1]
    behavior = strides.column("offspring.descriptor", [0])[0][1]
    assert_allclose(path.ravel(), [0, 0, *behavior])  # from the start
    way = next(line for line in ax.lines if line.get_color() == SOLVED).get_xydata()
    first = strides.solutions().descriptor[0, -2:]
    assert_allclose(way[[0, -1]], [[0, 0], first], rtol=1e-6)


def test_the_signature_figure_is_the_spread_of_all_paths(walks, strides, ax):
    draw("signature", walks, ax=ax)
    spreads = [signature_spread_by_term_of_record(record) for record in walks]
    assert_allclose([bar.get_height() for bar in ax.patches], np.mean(spreads, axis=0))
    ax.figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels(which="both")]
    # numbers, no code of a formula
    assert all(re.fullmatch(r"[\d.e+-]*", label) for label in labels)
    assert sum(label != "" for label in labels) > 2
    with pytest.raises(ValueError, match="2 dimensions"):
        compute_novelty_grid(strides, 0)


@pytest.mark.parametrize("individuals", ["survivors", "evaluated"])
def test_coverage_of_paths_counts_cells_among_what_all_runs_evaluated(individuals, walks):
    """6 founders and 18 offspring in each of two runs: one in seven of 48 places the cells."""
    everyone = [read_all_evaluated(record, ["descriptor"])["descriptor"] for record in walks]
    centres = make_tessellation(np.concatenate(everyone) / 2, 1000)  # the box is 2 wide
    rows = data("coverage", walks, individuals=individuals)
    assert rows[0]["quantity"].startswith("share of 7 cells among these runs' behaviors, ")
    shares = []
    for record, behaviors in zip(walks, everyone, strict=True):
        visited = set()
        for g in range(4):
            points = behaviors[6 * g : 6 * g + 6]
            if individuals == "survivors":
                points = record.population(g).descriptor
            distances = np.linalg.norm(points[:, None] / 2 - centres, axis=2)
            visited |= {*distances.argmin(axis=1).tolist()}
            shares.append(len(visited) / 7)
    assert [row["value"] for row in rows] == shares


def test_each_method_places_as_many_cells_whatever_its_seeds(walks, monkeypatch):
    """Of 8 behaviors half are of the method with one seed, and a quarter of each other run."""
    drawn = []
    make = gather_curves.make_tessellation
    monkeypatch.setattr(gather_curves, "PLACING", 8)
    monkeypatch.setattr(gather_curves, "group_by_method", lambda _: {"a": walks, "b": walks[:1]})
    monkeypatch.setattr(
        gather_curves,
        "make_tessellation",
        lambda points, number: make(drawn.append(points) or points, number),
    )
    data("coverage", walks)
    everyone = [read_all_evaluated(record, ["descriptor"])["descriptor"] for record in walks]
    expected = [everyone[0][[0, -1]], everyone[1][[0, -1]], everyone[0][[0, 8, 15, 23]]]
    assert_array_equal(drawn[0], np.concatenate(expected) / 2)


def test_the_best_is_filmed_by_its_own_task(strides, wide, tmp_path):
    with pytest.raises(ValueError, match="`film`"):
        movie.write_individual_movie(wide, tmp_path / "none.gif")
    with Image.open(movie.write_individual_movie(strides, tmp_path / "best.gif")) as film:
        assert film.n_frames in (1, 3)  # Pillow joins pictures that are alike.
        shown = np.asarray(film.convert("RGB"))[4, 4]
    columns = read_all_evaluated(strides, ["fitness", "descriptor"])
    fitness, reach = columns["fitness"], np.hypot(*columns["descriptor"][:, -2:].T)
    # of which the last position is genes 30 and 31
    best = movie.find_genotype_by_id_or_best(strides, "best")
    assert np.hypot(*best[30:32]) == pytest.approx(reach[fitness == fitness.max()].max())
    # the task's own colours
    assert_allclose(shown, [int(100 * (1 + best[0])), 140, 20], atol=2)


def test_of_many_dimensions_those_are_drawn_in_which_founders_lie():
    """The fourth is widest, the second nearly the same, the third beside it; the first has a box a
    thousand times as wide.
    """
    a, b = np.array([[1, 1, -1, -1], [1, -1, 1, -1]], np.float32)
    points = np.stack([9 * b, 2.9 * a, b, 3 * a], axis=1) + 5
    space = Box([-1000.0, -1.0, -1.0, -1.0], [1000.0, 1.0, 1.0, 1.0])
    assert find_two_widest_dimensions(points, space) == (2, 3)
    assert find_two_widest_dimensions(np.full((4, 4), 5.0, np.float32), space) == (0, 1)
    scene = make_plain_scene(space, (0, 3))
    assert (scene.low, scene.high) == ((-1000, -1), (1000, 1))
    assert scene.axes == ("behavior 1 of 4", "behavior 4 of 4")
    assert_array_equal(scene.project_to_plane(points), points[:, [0, 3]])


def test_all_panels_of_the_report_show_the_dimensions_of_the_first(walks):
    alone = [Record(record.path) for record in walks]
    planes = [find_scene(record).plane for record in alone]
    assert planes[0] != planes[1]
    shown = view.gather_view({"a": alone[0], "b": alone[1]})
    assert shown["scene"]["axes"] == tuple(f"behavior {axis + 1} of 32" for axis in planes[0])
    places = np.frombuffer(base64.b64decode(shown["panels"][1]["place"]), "<f4").reshape(-1, 2)
    founders = alone[1].population(0).descriptor
    assert_array_equal(places[:6], founders[:, planes[0]])


def test_behaviors_on_a_line_lie_at_height_0():
    scene = make_plain_scene(Box([-1.0], [3.0]))
    assert (scene.low, scene.high) == ((-1, -1), (3, 1))
    assert_array_equal(scene.project_to_plane(np.array([[2.0]])), [[2, 0]])
