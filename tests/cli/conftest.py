"""What the tests of the command line only read."""

import pytest
from matplotlib.figure import Figure
from shell import RUN, SHORT, call


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """The pictures of the runs that are made for all tests of a file are enough."""
    monkeypatch.setattr("brns.pictures.figures.overview", lambda records: Figure((1, 1)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with one finished run in the default place, and what the command said."""
    folder = tmp_path_factory.mktemp("shell")
    several = ("--generations", 4, "--checkpoint-every", 1, "--out", RUN)
    done = call("run", "maze", *several, *SHORT, folder=folder)
    (folder / "run.txt").write_text(done.stdout)
    return folder
