"""The movie, of a short real run."""

import itertools
import shutil
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from brns import DeceptiveMaze, ExactRecognition, NoveltySearch, Record, RecordError
from brns.pictures import movie, novelty_map
from brns.runs.loop import run


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    search = NoveltySearch(DeceptiveMaze(steps=50), ExactRecognition(size=16), population_size=20, offspring_size=20)
    return run(search, 5, out=tmp_path_factory.mktemp("runs") / "maze", keep_every=2)[0]


def test_a_gif_has_a_frame_for_each_generation(record, tmp_path):
    told = []

    def track(pictures, title, total):
        told.append(total)
        return pictures

    out = movie.write(record, tmp_path / "run.gif", frames_per_second=5.0, track=track)
    assert told == [6]
    with Image.open(out) as film:
        assert film.n_frames == 6
        assert film.info["duration"] == 200
        pictures = []
        for number in range(film.n_frames):
            film.seek(number)
            pictures.append(np.asarray(film.convert("RGB"), int))
    differences = [np.abs(a - b).sum() for a, b in itertools.pairwise(pictures)]
    assert min(differences) > 0
    # The palette keeps the picture's colours: the map's and the text's to a few of 255, on average.
    first = next(movie.frames(record)).astype(int)
    assert np.abs(pictures[0] - first).mean() < 1


def test_many_generations_are_thinned_evenly_with_the_last(record, monkeypatch):
    drawn = []

    def note(record, ax, generation, living):
        drawn.append((generation, living))

    monkeypatch.setattr(movie, "novelty_map", note)
    assert len(list(movie.frames(record, most=3))) == 3
    assert drawn == [(0, 0), (2, 2), (5, 5)]
    drawn.clear()
    list(movie.frames(record))  # the states of 0, 2, 4 and the last are kept
    assert drawn == [(0, 0), (0, 1), (2, 2), (2, 3), (4, 4), (5, 5)]


def test_the_population_of_a_frame_is_that_of_its_generation(record):
    ax = Figure().subplots()
    novelty_map(record, ax, 2, living=3)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), record.column("survivors.descriptor", [3])[0])


def test_what_no_movie_can_be_made_of(record, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif or an \.mp4; got 'run.avi'"):
        movie.write(record, tmp_path / "run.avi")
    with pytest.raises(ValueError, match="more than 0 frames per second"):
        movie.write(record, tmp_path / "run.gif", frames_per_second=0.0)
    shutil.copytree(record.path, tmp_path / "begun")
    for number in range(1, 6):
        (tmp_path / "begun" / "generations" / f"{number:06d}.npz").unlink()
    with pytest.raises(ValueError, match=r"2 generations or more, and .* has 1"):
        movie.write(Record(tmp_path / "begun"), tmp_path / "run.gif")


def test_a_movie_that_cannot_be_finished_leaves_the_old_one(record, tmp_path, monkeypatch):
    out = tmp_path / "run.gif"
    out.write_bytes(b"the old one")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(RecordError, match=r"could not save .*run.gif \(No space left on device\)"):
        movie.write(record, out)
    assert [file.name for file in tmp_path.iterdir()] == ["run.gif"]
    assert out.read_bytes() == b"the old one"


def test_an_mp4_without_imageio_names_the_extra(record, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio", None)
    monkeypatch.setitem(sys.modules, "imageio.v2", None)
    with pytest.raises(ImportError, match=r"pip install 'brns\[video\]'"):
        movie.write(record, tmp_path / "run.mp4")


def test_an_mp4_gets_every_frame(record, tmp_path, monkeypatch):
    """imageio is not among the test's packages; what it would be handed is what the gif shows."""

    class Writer(list):
        append_data = list.append

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    writer = Writer()
    fake = type(sys)("imageio.v2")
    fake.get_writer = lambda out, fps, macro_block_size: out.touch() or writer
    package = type(sys)("imageio")
    package.v2 = fake
    monkeypatch.setitem(sys.modules, "imageio", package)
    monkeypatch.setitem(sys.modules, "imageio.v2", fake)
    movie.write(record, tmp_path / "run.mp4")
    assert [file.name for file in tmp_path.iterdir()] == ["run.mp4"]
    assert [frame.shape for frame in writer] == [(600, 640, 3)] * 6
