"""The first half of the run that never stopped."""

import pytest
from searches import search

from brns.runs.loop import start


@pytest.fixture
def half(tmp_path):
    """The run `whole`, stopped after generation 5."""
    steps = start(search(), 10, out=tmp_path / "half", seed=7, checkpoint_every=3)
    while next(steps)[0].number < 5:
        pass
    steps.close()
    return tmp_path / "half"
