"""A run that never stopped, and its first half."""

import pytest
from small import SEARCH

from brns.runs.loop import run, start


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A run of 10 generations that never stopped, in files to be read only."""
    path = tmp_path_factory.mktemp("faults") / "run"
    run(SEARCH, 10, out=path, seed=5, checkpoint_every=3)
    return path


@pytest.fixture
def half(tmp_path):
    """The same run, stopped after generation 5."""
    steps = start(SEARCH, 10, out=tmp_path / "half", seed=5, checkpoint_every=3)
    while next(steps)[0].number < 5:
        pass
    steps.close()
    return tmp_path / "half"
