"""What was made stays until somebody asks for it to be made again."""

import pytest

from brns.cli.conclusion import conclude
from brns.pictures import draw, movie, report, save


def test_nothing_is_overwritten_unasked(recognition, tmp_path):
    out = tmp_path / "made.png"
    out.write_bytes(b"made before")
    figure = draw("age", recognition)
    for write, what in ((save, figure), (movie.write, recognition[0]), (report.write, recognition)):
        with pytest.raises(FileExistsError, match="overwrite"):
            write(what, out)
    assert out.read_bytes() == b"made before"
    save(figure, out, overwrite=True)
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_a_run_keeps_its_picture_until_another_is_asked_for(recognition):
    picture = recognition[0].path / "overview.png"
    picture.write_bytes(b"with the search")
    conclude(picture.parent, recognition[:1])
    assert picture.read_bytes() == b"with the search"
    conclude(picture.parent, recognition[:1], overwrite=True)
    assert picture.read_bytes()[:4] == b"\x89PNG"
