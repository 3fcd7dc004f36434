"""What was made stays until somebody asks for it to be made again."""

import pytest
from shell import call
from worlds import Identity

import brns
from brns.pictures import draw, movie, report, save

MADE = {
    "figure.png": lambda runs, out, **asked: save(draw("age", runs), out, **asked),
    "run.gif": lambda runs, out, **asked: movie.write(runs[0], out, **asked),
    "report.html": lambda runs, out, **asked: report.write(runs, out, **asked),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run whose task is our own."""
    search = brns.NoveltySearch(Identity(), brns.GridCounts(), population_size=4, offspring_size=4)
    return brns.run(search, 2, out=tmp_path_factory.mktemp("kept") / "run", keep_every=1)


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_overwritten_unasked(name, runs, tmp_path):
    out = tmp_path / name
    out.write_bytes(b"made before")
    with pytest.raises(FileExistsError, match="overwrite"):
        MADE[name](runs, out)
    assert out.read_bytes() == b"made before"
    MADE[name](runs, out, overwrite=True)
    assert out.stat().st_size > 1000


def test_show_without_the_search_keeps_the_better_picture(runs):
    picture = runs[0].path / "overview.png"
    picture.write_bytes(b"with the search")
    shown = call("show", picture.parent, folder=picture.parent)
    assert shown.returncode == 0, shown.stderr
    assert "--overwrite" in shown.stdout
    assert picture.read_bytes() == b"with the search"
    assert call("show", picture.parent, "--overwrite", folder=picture.parent).returncode == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
