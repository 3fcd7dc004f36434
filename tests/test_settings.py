"""Settings: described, rebuilt, changed by name."""

import functools
import importlib
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import Identity

from brns import NSGA2, ArchiveKNN, BehaviorRecognition, GaussianMutation, NoveltySearch, PolynomialMutation
from brns.settings import MODULES, SettingsError, build, configure, describe, settings, value

PLAIN = sorted(set(MODULES) - {"NoveltySearch", "Chunked", "LooseBox"})
"""the parts that hold no other part"""


def part(name):
    return getattr(importlib.import_module(MODULES[name]), name)


def through_json(description):
    return json.loads(json.dumps(description))


@pytest.mark.parametrize("name", PLAIN)
def test_every_part_is_rebuilt_from_its_description(name):
    usual = part(name)()
    again = build(through_json(describe(usual)))
    assert type(again) is type(usual)
    assert describe(again) == describe(usual)
    for setting in settings(part(name)):
        assert getattr(again, setting.name) == getattr(usual, setting.name)
        assert type(getattr(again, setting.name)) is type(getattr(usual, setting.name))


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_setting_of_every_part_has_a_meaning(name):
    for setting in settings(part(name)):
        assert setting.meaning, f"{name}.{setting.name} has no string under it"


def test_an_experiment_is_rebuilt_with_all_that_was_changed():
    chunked = part("Chunked")(part("DeceptiveMaze")(steps=7), chunk=3)
    estimator = BehaviorRecognition(depths=(1, 4), width=9, learn_from="survivors", learning_rate=0.5)
    search = NoveltySearch(chunked, estimator, 10, 20, GaussianMutation(0.1, 0.2), NSGA2(threshold=1.5), False)
    again = build(through_json(describe(search)))
    assert describe(again) == describe(search)
    assert again.task.task.steps == 7
    assert again.task.chunk == 3
    assert again.estimator == estimator
    assert (again.population_size, again.offspring_size, again.fresh_parents) == (10, 20, False)
    assert again.mutate == GaussianMutation(0.1, 0.2)
    assert again.select == NSGA2(threshold=1.5)


def test_a_description_is_plain_json():
    assert describe(PolynomialMutation(eta=5.0)) == {"name": "PolynomialMutation", "eta": 5.0, "rate": 0.1}
    assert describe(Identity())["behavior_space"] == {"name": "Box", "low": [0.0, 0.0], "high": [600.0, 600.0]}
    assert describe(through_json) == {"name": "through_json"}
    assert describe([(1, None), "a", True]) == [[1, None], "a", True]
    assert describe(object()) == {"name": "object"}


def test_large_arrays_are_described_by_a_digest_of_their_content():
    one, same, other = jnp.arange(100), np.arange(100, dtype=np.int32), jnp.arange(100).at[99].set(0)
    assert describe(one) == describe(same) != describe(other)
    assert describe(one)["shape"] == [100]
    assert describe(jnp.arange(3)) == [0, 1, 2]


def test_settings_are_the_plain_fields_with_what_stands_under_them():
    found = {s.name: s for s in settings(BehaviorRecognition)}
    assert found["width"].default == 64
    assert (
        found["width"].meaning
        == "neurons in a hidden layer; with none the paper's 3 d, section 5, whose cost grows with d squared"
    )
    assert found["depths"].type == tuple[int, int]
    names = [s.name for s in settings(NoveltySearch)]
    assert names == ["population_size", "offspring_size", "fresh_parents"]  # parts are no plain values


def test_configure_changes_what_is_named_and_nothing_else():
    estimator = BehaviorRecognition(width=7)
    changed = configure(estimator, {"epochs": 5, "depths": [2, 2], "embedding": None, "inputs": "raw"})
    assert changed == BehaviorRecognition(width=7, embedding=None, epochs=5, depths=(2, 2), inputs="raw")
    assert estimator == BehaviorRecognition(width=7)
    search = NoveltySearch(Identity(), estimator)
    assert configure(search, {"population_size": 5}).estimator is estimator


def test_all_that_is_wrong_is_said_at_once_with_what_was_meant():
    wrong = {"epoch": 5, "width": "broad", "inputs": "small", "depths": [1, 2, 3], "zzz": 1}
    with pytest.raises(SettingsError) as caught:
        configure(BehaviorRecognition(), wrong)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(
        "BehaviorRecognition has no setting 'epoch'; did you mean epochs? It has: embedding, width"
    )
    assert lines[1].startswith("BehaviorRecognition has no setting 'zzz'. It has: embedding, width")
    text = str(caught.value)
    assert "BehaviorRecognition.width (neurons in a hidden layer; with none the paper's 3 d, " in text
    assert "got 'broad'" in text
    assert "'raw' or 'scaled'; got 'small'" in text
    assert "got [1, 2, 3]" in text


def test_values_out_of_range_are_refused_by_the_part_itself():
    with pytest.raises(ValueError, match="epochs must be at least 1; got 0"):
        configure(BehaviorRecognition(), {"epochs": 0})


class Stranger(eqx.Module):
    size: int = 3


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (describe(Stranger()), r"'Stranger' is not a part of brns.* search=\.\.\."),
        ({"name": "os.system"}, "'os.system' is not a part of brns"),
        ({}, "None is not a part of brns"),
        ({"name": "Elitist", "speed": 1}, "Elitist has no setting speed: is the record from a newer version"),
        ({"name": "ArchiveKNN", "k": "many"}, r"ArchiveKNN.k: .*integer.*; got 'many'"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(description, message):
    with pytest.raises(SettingsError, match=message):
        build(description)


def test_a_rebuilt_estimator_computes_the_same():
    estimator = ArchiveKNN(k=3, growth=2, capacity=20)
    again = build(through_json(describe(estimator)))
    space = Identity().behavior_space
    a, b = (jax.tree.leaves(e.init(space, jax.random.key(0))) for e in (estimator, again))
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


class Throw:
    """A task of one's own that is no dataclass."""

    traceable = False

    def __init__(self, gain, wind=(1.0, 2.0)):
        self.gain, self.wind, self.table = gain, wind, np.arange(100.0)
        self.simulator, self._calls = object(), 0


def test_a_part_of_ones_own_is_described_by_its_public_values():
    described = describe(Throw(0.5))
    assert {name: described[name] for name in ("name", "gain", "wind")} == {
        "name": "Throw",
        "gain": 0.5,
        "wind": [1.0, 2.0],
    }
    assert described["table"]["name"] == "array"
    assert set(described) == {"name", "gain", "wind", "table"}
    assert describe(Throw(0.6)) != described
    json.dumps(described)


def test_what_a_dict_or_a_partial_function_holds_tells_them_apart():
    assert describe({"gain": 1.0}) != describe({"gain": 2.0})
    one, other = (functools.partial(Throw, gain=gain) for gain in (0.5, 0.6))
    assert describe(one) == describe(functools.partial(Throw, gain=0.5)) != describe(other)
    json.dumps(describe(one))


@pytest.mark.parametrize("text", ["[3, 5]", "(3,5)", "(3, 5)"])
def test_a_tuple_may_be_written_as_a_list_or_as_python_prints_it(text):
    assert value(text) == [3, 5]
