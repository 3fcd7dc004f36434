"""The numbers that claims are judged by, of runs written by hand."""

import numpy as np
import pandas
import pytest
from fake_record import Additive, FakeRecord, population
from numpy.testing import assert_allclose
from searches import search
from small_tasks import Identity

import brns
from brns.metrics.cycling import compute_eta
from brns.metrics.uniformity import distance_to_uniform
from brns.tasks.scene import Scene
from reproduction import numbers, results


class Squared(brns.ExactRecognition):
    """Novelty is the square of a behavior plus the state."""

    def embed(self, state, descriptors):
        return descriptors

    def score(self, state, descriptors, population):
        return (state + descriptors[:, 0]) ** 2


def check(path, record, row, curves):
    """The numbers of a run, and its curves where they are known."""
    found = numbers.summarize_run_for_claims(record)
    assert {name: found.get(name) for name in row} == pytest.approx(row)
    results.write_curves(path, {"paper": [record]})
    table = pandas.read_csv(path).pivot(index="generation", columns="measure", values="mean")
    for name, curve in curves.items():
        assert_allclose(table[name].reindex(range(len(curve))), curve, rtol=1e-5, err_msg=name)


def test_in_a_box_by_hand(monkeypatch, unchecked, tmp_path):
    """18 founders in half of 36 cells, as many children in the other half, of whom one survives.
    Behaviors are 9 and x on average, and a tenth of the median distance is 0.5."""
    near, far, parents, x = np.arange(18) + 0.5, np.arange(18) + 18.5, np.arange(18), 163 / 18
    founders, children = population(parents, near), population(parents + 18, far, parents, [1] * 18)
    later = population([*range(17), 18], [*near[:17], 18.5], [-1] * 17 + [0], [0] * 17 + [1])
    history = [(founders, founders), *[(children, later)] * 4]
    box, states = brns.Box([0.0], [36.0]), np.array([1.0, 0.0, 3.0, 0.25])
    record = FakeRecord(history, dict(zip((0, 1, 2, 4), states, strict=True)), box=box)
    record.search = record.search_or_none = search(Identity(behavior_space=box), Squared())
    uniform = np.array([np.nan, 0.5, 0.25, np.nan])  # as of an archive that is empty at first
    read = "reproduction.numbers.distance_to_uniform_of_archive_or_novelty"
    monkeypatch.setattr(read, lambda record: uniform)
    monkeypatch.setattr(numbers, "COVERAGE_AT", (0, 1, 5))
    behaviors = np.stack([history[g][1].descriptor for g in (0, 1, 2, 4)])
    eta = compute_eta(((behaviors + states) ** 2).mean(axis=1))
    rooted = [(9 + 12 + 9.25) / 10 / 3, (x + 3 + x + 0.25) / x / 2, (x + 0.25) / (x + 3)]
    row = {"eta": eta.mean(), "eta_root": np.mean(rooted), "kappa_root": (1 / 3 + 1 / 2) / 3}
    row |= {"coverage_evaluated_at_0": 1 / 2, "coverage_survivors_at_1": 19 / 36}
    row |= {"full_coverage_evaluated": 1, "full_coverage_survivors": None}
    row |= {"uniformity_first": 0.5, "uniformity_last": 0.25, "coverage_survivors_at_5": None}
    curves = {"age": [0, 17 / 18, 35 / 18, 53 / 18, 71 / 18], "uniformity": uniform, "eta": eta}
    curves |= {"parent_distance": [np.nan, 18, 18, 18, 18], "coverage_evaluated": [0.5, 1, 1, 1, 1]}
    curves |= {"coverage_survivors": np.array([18, 19, 19, 19, 19]) / 36}
    curves |= {"kappa": [2, 2, 0], "kappa_share": [2 / 3, 1, 0]}
    check(tmp_path / "curves.csv", record, row, curves)


def test_of_paths_by_hand(unchecked, tmp_path):
    """Of two points each; the last path begins far away. Nobody is novel."""
    founders = population([0, 1], [[1, 2, 4, 6], [1, 2, 1, 2]])._replace(fitness=np.array([2, 1]))
    first = population([2, 3], [[1, 2, 1, 3], [1, 2, 1, 2]])
    second = population([4], [[31, 42, 1, 2]])._replace(fitness=np.array([3]))
    states, box = dict.fromkeys(range(3), 1.0), brns.Box([-50.0] * 4, [50.0] * 4)
    record = FakeRecord([(x, founders) for x in (founders, first, second)], states, Additive(), box)
    record.search.task.scene = lambda: Scene((-50, -50), (50, 50), paths=True, start=(1.0, 2.0))
    cells = 3 * 3 * 5 * 20 * 15 * 10
    row = {"uniformity_visits": distance_to_uniform(np.array([4, 1]), cells), "reach": 50}
    row |= {"areas": 3, "coverage_signatures": 2 / cells, "deviation_x": np.std([3, 0, 0, 0, -30])}
    row |= {"deviation_yy": np.std([8, 0, 0.5, 0, 800])}
    curves = {"coverage_signatures": np.array([1, 1, 2]) / cells, "reach": [5, 5, 50]}
    check(tmp_path / "curves.csv", record, row, curves | {"areas": [2, 2, 3]})


def test_numbers_and_curves_are_means_over_seeds_that_have_them(tmp_path, monkeypatch):
    found = results.estimate_rows([{"eta": 1.0}, {"eta": 3.0, "areas": 5.0}])["summary"]
    assert found["eta"] == {"mean": 2, "deviation": pytest.approx(2**0.5), "seeds": 2}
    assert (found["areas"]["mean"], found["areas"]["seeds"]) == (5, 1)
    curves = {7: ([0, 1, 2], [np.nan, 1.0, 5.0]), 8: ([0, 1], [np.nan, 3.0])}
    monkeypatch.setattr(results, "compute_curves", lambda seed: {"age": curves[seed]})
    results.write_curves(tmp_path / "curves.csv", {"paper": [7, 8]})
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines == ["method,measure,generation,mean,deviation,seeds", "paper,age,1,2,1.41421,2"]
