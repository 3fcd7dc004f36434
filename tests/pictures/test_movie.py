"""The movie, of a short real run."""

import shutil

import numpy as np
import pytest
from PIL import Image

from brns import Record
from brns.pictures import movie, novelty_map


def test_a_gif_has_a_frame_for_each_generation(maze, tmp_path, monkeypatch):
    monkeypatch.setattr(movie, "MOST_FRAMES", 2)
    frames = list(movie.frames(maze))
    monkeypatch.setattr(movie, "frames", lambda _: iter(frames))
    with Image.open(movie.write(maze, tmp_path / "run.gif")) as film:
        assert film.n_frames == 2
        assert film.info["duration"] == 160  # a sixth of a second, in the hundredths of a GIF
        shown = np.asarray(film.convert("RGB"), int)
    assert (frames[0] != frames[1]).any()
    assert np.abs(shown - frames[0]).mean() < 2  # of 255, with the 256 colours of a GIF


def test_many_generations_are_thinned_evenly_with_the_last(maze, ax, monkeypatch):
    drawn = []
    monkeypatch.setattr(movie, "_frame", lambda _, now, kept: drawn.append((kept, now)))
    list(movie.frames(maze))  # the states of 0, 2, 4 and the last are kept
    assert drawn == [(0, 0), (0, 1), (2, 2), (2, 3), (4, 4), (4, 5), (6, 6)]
    drawn.clear()
    monkeypatch.setattr(movie, "MOST_FRAMES", 3)
    list(movie.frames(maze))
    assert drawn == [(0, 0), (2, 3), (6, 6)]
    novelty_map(maze, ax, 2, living=3)
    np.testing.assert_allclose(
        ax.collections[-1].get_offsets(), maze.column("survivors.descriptor", [3])[0]
    )


def test_what_no_movie_can_be_made_of(maze, tmp_path):
    with pytest.raises(ValueError, match=r"a movie is a \.gif"):
        movie.write(maze, tmp_path / "run.mp4")
    shutil.copytree(maze.path, tmp_path / "begun")
    for number in range(1, 7):
        (tmp_path / "begun" / "generations" / f"{number:06d}.npz").unlink()
    with pytest.raises(ValueError, match="2 generations or more"):
        movie.write(Record(tmp_path / "begun"), tmp_path / "run.gif")
