"""What a run tells of cycling while it goes on, of matrices Q by hand."""

import numpy as np
from fake_record import FakeRecord

from brns.metrics import cycling
from brns.metrics.watch import watch


def kept(states):
    """A run of which so many states are kept."""
    return FakeRecord([None] * 8, dict.fromkeys(range(states)))


def told(monkeypatch, q):
    """What `watch` says of a run with the matrix Q, kappa's margin being 0.5."""
    q = np.where(np.triu(np.ones((4, 4), bool)), np.array(q, float), np.nan)
    kappas = cycling.kappa(q, 0.5), cycling.kappa_share(q, 0.5)
    found = cycling.Cycling(np.arange(4), q, 0.5, cycling.eta(q), *kappas, q, cycling.regained(q))
    monkeypatch.setattr("brns.metrics.watch.cycling.of_record", lambda record, chosen: found)
    return watch(kept(4))


def test_novelty_that_only_fades_is_no_return_to_old_ground(monkeypatch):
    text, returns = told(monkeypatch, [[8, 4, 2, 1], [0, 8, 4, 2], [0, 0, 8, 4], [0, 0, 0, 8]])
    assert not returns
    assert "eta 0.39" in text  # The rows have eta 7/24, 3/8 and 1/2; their mean is 0.389.


def test_novelty_that_comes_back_is_a_return(monkeypatch):
    text, returns = told(monkeypatch, [[8, 2, 4, 9], [0, 8, 3, 8], [0, 0, 8, 4], [0, 0, 0, 8]])
    assert returns
    assert "67% of earlier populations" in text


def test_a_rise_that_stays_below_the_first_novelty_is_no_return(monkeypatch):
    _, returns = told(monkeypatch, [[8, 2, 4, 7], [0, 8, 3, 7], [0, 0, 8, 4], [0, 0, 0, 8]])
    assert not returns


def test_it_is_too_early_to_watch_two_states():
    assert watch(kept(2)) == ("cycling: too early to say, 2 of 3 states kept", False)
