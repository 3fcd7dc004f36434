"""The movie, of a short real run."""

import numpy as np
import pytest
from files import copy_run
from PIL import Image

import brns
from brns.pictures import movie
from brns.pictures.records import find_latest_generations_with_maps


def test_a_gif_has_a_frame_for_each_generation(maze, tmp_path, monkeypatch):
    monkeypatch.setattr(movie, "MOST_FRAMES", 2)
    frames = list(movie.iterate_frames(maze))
    monkeypatch.setattr(movie, "iterate_frames", lambda _: iter(frames))
    with Image.open(movie.write_movie(maze, tmp_path / "run.gif")) as film:
        assert (film.n_frames, film.info["duration"]) == (2, 160)  # six a second, in hundredths
        shown = np.asarray(film.convert("RGB"), int)
    assert (frames[0] != frames[1]).any()
    assert np.abs(shown - frames[0]).mean() < 2  # of 255, with the 256 colours of a GIF


@pytest.mark.slow
def test_many_generations_are_thinned_evenly_with_the_last(maze, monkeypatch):
    drawn = []
    monkeypatch.setattr(movie, "paint_novelty_map", lambda shown, ax: drawn.append(shown))
    list(movie.iterate_frames(maze))  # the states of 0, 2, 4 and the last are kept
    moments = [(shown.generation, shown.living.generation) for shown in drawn]
    assert moments == [(0, 0), (0, 1), (2, 2), (2, 3), (4, 4), (4, 5), (6, 6)]
    monkeypatch.setattr(movie, "MOST_FRAMES", 3)
    list(movie.iterate_frames(maze))
    assert [shown.living.generation for shown in drawn[7:]] == [0, 3, 6]
    behaviors = maze.column("survivors.descriptor", [3])[0]
    np.testing.assert_array_equal(drawn[8].living.descriptor, behaviors)


@pytest.mark.slow
def test_a_fork_has_no_map_before_its_first_state(maze, tmp_path):
    brns.fork(maze.path, 4, out=tmp_path / "fork", generations=5)
    (forked,) = brns.resume(tmp_path / "fork", progress=False)
    assert find_latest_generations_with_maps(forked, [0, 3, 4, 5]) == [None, None, 4, 5]


def test_what_no_movie_can_be_made_of(maze, tmp_path):
    with pytest.raises(ValueError, match=r"a movie is a \.gif"):
        movie.write_movie(maze, tmp_path / "run.mp4")
    with pytest.raises(ValueError, match="2 generations or more"):
        movie.write_movie(copy_run(maze, tmp_path / "begun", 0), tmp_path / "run.gif")
