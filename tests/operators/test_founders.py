"""Founders: where they lie, by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import HOST

import brns
from brns import Box, FeedForward, GivenFounders, LayerFounders
from brns.settings.description import part_from_json, part_to_json

KEY = jax.random.key(0)


def test_each_layer_fills_one_over_root_fan_in():
    """Of 4 -> 2 -> 1 the first 10 genes are weights and biases behind 4 inputs,
    the last 3 behind 2."""
    founders = LayerFounders((4, 2, 1))(KEY, 20_000, Box([-1.0] * 13, [1.0] * 13))
    (first, bias), (second, last) = FeedForward((4, 2, 1)).layers(founders)
    for values, bound in ((first, 1 / 2), (bias, 1 / 2), (second, 0.5**0.5), (last, 0.5**0.5)):
        values = np.asarray(values)
        assert 0.999 * bound < abs(values).max() <= bound
        assert_allclose(values.std(), bound / np.sqrt(3), rtol=0.02)
        assert abs(values.mean()) < 0.01


def test_founders_stay_in_a_narrow_box():
    founders = np.asarray(LayerFounders((1, 1))(KEY, 1000, Box([-0.1, -0.2], [0.3, 0.4])))
    assert founders.min(axis=0).tolist() == pytest.approx([-0.1, -0.2])
    assert founders.max(axis=0).tolist() == pytest.approx([0.3, 0.4])
    with pytest.raises(ValueError, match="at least 2 items"):
        LayerFounders((3,))
    with pytest.raises(ValueError, match=r"3 weights and biases.* 5"):
        LayerFounders((2, 1))(KEY, 6, Box([0.0] * 5, [1.0] * 5))


def begun_by(founders):
    return replace(HOST, founders=founders)


@pytest.mark.filterwarnings("error")
def test_a_record_knows_founders_by_their_digest_and_is_resumed_without_them(tmp_path):
    first = np.asarray(HOST.task.genotype_space.uniform(KEY, 8))
    brns.run(begun_by(GivenFounders(first)), 1, out=tmp_path / "run")
    with pytest.raises(brns.RecordError, match=r"another experiment: founders\.sha256"):
        brns.records(tmp_path / "run", begun_by(GivenFounders(-first)))
    held = brns.Record(tmp_path / "run").experiment["founders"]
    again = part_from_json(held)
    assert part_to_json(again) == held == part_to_json(GivenFounders(first))
    (longer,) = brns.resume(tmp_path / "run", 2, search=begun_by(again))
    assert_array_equal(longer.population(0).genotype, first)
    with pytest.raises(ValueError, match=r"GivenFounders\(record.population\(0\).genotype\)"):
        begun_by(again).init(KEY)


@pytest.mark.parametrize(
    ("founders", "message"),
    [
        (lambda: GivenFounders(np.zeros((5, 5))), r"\(8, 5\); GivenFounders gave \(5, 5\)"),
        (lambda: GivenFounders(np.full((8, 5), 1.5)), "founders must .* gave 8 of 8 outside"),
        (lambda: GivenFounders(np.full((8, 5), np.nan)), "founders must .* gave 8 of 8 outside"),
    ],
)
def test_founders_that_cannot_be_are_refused(founders, message):
    with pytest.raises(ValueError, match=message):
        begun_by(founders()).init(KEY)


def test_founders_of_ones_own_become_float32_before_they_are_evaluated():
    whole = begun_by(lambda key, n, box: np.zeros((n, 5), int))
    assert whole.init(KEY).population.genotype.dtype == jnp.float32
