"""The theorem in whole runs: with exact recognition no search cycles."""

from dataclasses import replace

import equinox as eqx
import numpy as np
import pytest
from learning import SEARCH, SMALL

from brns import run
from brns.experiments import ant
from brns.metrics import cycling


def test_a_whole_run_never_cycles(tmp_path):
    (record,) = run(SEARCH, 12, out=tmp_path / "run", checkpoint_every=1)
    never_cycles(record, SEARCH)


@pytest.mark.slow
def test_a_whole_run_of_the_ant_never_cycles(tmp_path):
    search = ant(SMALL)
    search = eqx.tree_at(lambda s: s.task, search, replace(search.task, steps=200))
    (record,) = run(search, 30, out=tmp_path / "run", checkpoint_every=1)
    never_cycles(record, search)


def never_cycles(record, search):
    measured = cycling.of_record(record, search=search)
    rows = measured.q
    assert (rows[:, 1:] <= rows[:, :-1] * (1 + 1e-5))[np.triu_indices(len(rows) - 1)].all()
    assert (measured.eta <= 1).all()
    assert (cycling.kappa(rows, 1e-6) == 0).all()
