"""The table of parts, and settings: described, rebuilt, changed by name, told in a line."""

import collections
import copy
import dataclasses
import datetime
import enum
import functools
import itertools
import json
import math
import operator
import pathlib
import random
import typing
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pydantic
import pytest
from gymnasium import spaces
from searches import search
from small_tasks import HostIdentity, Identity

import brns
from brns.experiments import make_paper_brns, make_search
from brns.experiments.overrides import apply_overrides, parse_value
from brns.settings.configuration import configure, find_setting_types_and_meanings
from brns.settings.description import (
    check_recordable,
    descriptions_equal,
    part_from_json,
    part_to_json,
)
from brns.settings.differences import (
    find_changed_settings,
    find_differences,
    format_diff,
    short_repr,
)
from brns.settings.parts import PARTS, SettingsError, parts
from brns.tasks.chunked import Chunked
from brns.tasks.workers import Processes

SEARCH = brns.NoveltySearch(
    Chunked(brns.DeceptiveMaze(steps=50), chunk=3),
    brns.ArchiveKNN(k=4),
    population_size=20,
    mutate=brns.GaussianMutation(sigma=0.2),
    select=brns.NSGA2(),
)


def through_json(description):
    return json.loads(json.dumps(description))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_tells_its_settings_and_is_rebuilt(part):
    usual = part.load()()
    assert type(usual) is getattr(brns, part.attribute)
    assert part.attribute in dir(brns)
    again = part_from_json(through_json(part_to_json(usual)))
    assert part_to_json(again) == part_to_json(usual)
    for name, (_, meaning) in find_setting_types_and_meanings(type(usual)).items():
        assert meaning
        mine, its = getattr(usual, name), getattr(again, name)
        assert (type(mine), mine) == (type(its), its)


@pytest.mark.parametrize("task_name", parts("task"))
def test_every_task_has_the_default_estimator_and_operator_and_the_papers_estimator(task_name):
    search, usual = make_search(task_name), brns.NoveltySearch(brns.PlanarArm())
    assert part_to_json(search.estimator) == part_to_json(usual.estimator)
    assert part_to_json(search.mutate) == part_to_json(usual.mutate)
    paper = make_search(task_name, "paper").estimator
    assert part_to_json(paper) == part_to_json(make_paper_brns())


@pytest.mark.parametrize(
    ("task_name", "archive"), [("maze", (15, 6, 10000)), ("ant", (15, 10, 6000))]
)
def test_the_papers_experiments_have_its_operator_and_its_archive(task_name, archive):
    """Sections 5.1 and 5.2: 6 enter of 10000, and 10 of 6000, the largest; k is 15 in both."""
    assert isinstance(getattr(brns.experiments, task_name)().mutate, brns.PolynomialMutation)
    estimator = make_search(task_name, "archive").estimator
    assert (estimator.k, estimator.additions, estimator.capacity) == archive


def test_an_experiment_is_rebuilt_with_all_that_was_changed():
    again = part_from_json(through_json(part_to_json(SEARCH)))
    assert part_to_json(again) == part_to_json(SEARCH)
    assert (again.task.task.steps, again.task.chunk) == (50, 3)
    for part in ("estimator", "mutate", "select"):
        assert getattr(again, part) == getattr(SEARCH, part)


def test_private_arguments_have_one_order_and_the_class_its_name():
    filled = part_to_json(Filled(1.0, body=2.0))
    assert list(filled) == ["name", "value", "name_", "body"]
    assert list(filled.values()) == ["Filled", 1.0, "robot", 2.0]
    assert "body" not in part_to_json(Filled(1.0, body=object()))


def test_a_description_is_plain_json():
    described = part_to_json(brns.PolynomialMutation(eta=5.0))
    assert described == {"name": "PolynomialMutation", "eta": 5.0, "rate": 0.1}
    space = {"name": "Box", "low": [0.0, 0.0], "high": [600.0, 600.0]}
    assert part_to_json(Identity())["behavior_space"] == space
    assert part_to_json(through_json) == {"name": "through_json"}
    assert part_to_json(collections.UserString("a")) == "a"
    assert part_to_json([(1, None), "a", True]) == [[1, None], "a", True]
    assert part_to_json("stra\udcdfe") == r"stra\udcdfe"  # names of files may be any bytes
    # Neither a simulator nor what begins with _ is a setting.
    assert part_to_json(Plain(object())) == {"name": "Plain"}
    assert part_to_json(Slotted(2.0)) == {"name": "Slotted", "gain": 2.0}


def test_large_arrays_are_described_by_a_digest_of_their_content():
    one, same = jnp.arange(100), np.arange(100, dtype=np.int32)
    assert part_to_json(one) == part_to_json(same) != part_to_json(one.at[99].set(0))
    assert part_to_json(one)["shape"] == [100]
    assert part_to_json(jnp.arange(3.0)) == [0.0, 1.0, 2.0]
    array = {"name": "array", "dtype": "int64", "shape": [2], "values": [0, 1]}
    assert part_to_json(np.arange(2)) == array


def test_settings_are_the_plain_fields_with_what_stands_under_them():
    found = find_setting_types_and_meanings(brns.BehaviorRecognition)
    assert found["width"][1].startswith("neurons in a hidden layer; with none the paper's 3 d")
    assert found["depths"][0] == tuple[pydantic.NonNegativeInt, pydantic.NonNegativeInt]
    names = ["population_size", "offspring_size", "rescore_parents", "tournament"]
    # parts are no plain values
    assert list(find_setting_types_and_meanings(brns.NoveltySearch)) == names


def test_a_class_that_was_typed_has_settings_without_meanings():
    typed = {"__name__": "__main__"}
    exec("import equinox\nclass Typed(equinox.Module):\n    genes: int = 3\n    'how many'", typed)
    assert find_setting_types_and_meanings(typed["Typed"]) == {"genes": (int, "")}


def test_configure_changes_what_is_named_and_nothing_else():
    estimator = brns.BehaviorRecognition(width=7)
    changes = {"epochs": 5, "depths": [2, 2], "embedding": None, "inputs": "raw"}
    raw = {"embedding": None, "epochs": 5, "depths": (2, 2), "inputs": "raw"}
    expected = brns.BehaviorRecognition(width=7, **raw)
    assert configure(estimator, changes) == expected
    changes["depths"] = collections.UserList([2, 2])  # OmegaConf's lists are no lists, too
    assert configure(estimator, changes) == expected
    assert estimator == brns.BehaviorRecognition(width=7)
    search = brns.NoveltySearch(Identity(), estimator)
    assert configure(search, {"population_size": 5}).estimator is estimator
    with pytest.raises(ValueError, match=r"epochs \(.*greater than 0; got 0"):
        configure(brns.BehaviorRecognition(), {"epochs": 0})


def test_what_follows_from_a_setting_follows_one_that_is_changed():
    changed = configure(brns.RoomsMaze(rooms=3), {"rooms": 5})
    assert changed.scene().start == brns.RoomsMaze(rooms=5).scene().start


def test_all_errors_are_told_at_once():
    wrong = {"epoch": 5, "width": "broad", "inputs": "small", "zzz": 1, "batch": True}
    with pytest.raises(SettingsError) as caught:
        configure(brns.BehaviorRecognition(), wrong)
    epoch, width, inputs, unknown, batch = str(caught.value).splitlines()
    assert "did you mean epochs? It has: embedding, width" in epoch
    assert width.startswith("BehaviorRecognition.width (neurons in a hidden layer;")
    assert "'raw' or 'scaled'; got 'small'" in inputs
    assert "has no setting 'zzz'. It has" in unknown
    assert "got True" in batch


def test_an_operator_is_chosen_by_name_and_values_are_pythons():
    changes = ["mutate.sigma=0.2", "mutate=gaussian", "select=nsga2", "population_size=7"]
    search = apply_overrides(make_search("maze"), changes)
    assert (search.mutate, search.select) == (brns.GaussianMutation(sigma=0.2), brns.NSGA2())
    assert search.population_size == 7
    assert apply_overrides(SEARCH, ["task.steps=9"]).task.task.steps == 9
    with pytest.raises(SettingsError, match=r"'blend'(.|\n)*NAME=VALUE"):
        apply_overrides(search, ["mutate=blend", "nonsense"])
    values = [parse_value(text) for text in ("1e-3", "none", "[3, 5]", "1.2.")]
    assert values == [1e-3, None, [3, 5], "1.2."]


def test_a_part_tells_the_settings_that_are_not_its_defaults():
    assert short_repr(brns.ArchiveKNN(k=10)) == "ArchiveKNN(k=10)"
    assert short_repr(brns.DeceptiveMaze()) == "DeceptiveMaze()"
    assert short_repr(np.zeros((2, 3))) == "float64[2, 3]"
    small = {"population_size": 20, "select": brns.NSGA2()}
    search = brns.NoveltySearch(brns.DeceptiveMaze(steps=50), **small)
    changed = {"task": "DeceptiveMaze", "task.steps": 50, "population_size": 20, "select": "NSGA2"}
    assert find_changed_settings(search) == changed
    assert repr(search).startswith("NoveltySearch(task=DeceptiveMaze, task.steps=50, pop")
    chunked = {"task": "DeceptiveMaze", "chunk": 3}  # no workers
    assert find_changed_settings(Processes(brns.DeceptiveMaze(), chunk=3)) == chunked


class Ground(enum.Enum):
    FLAT = 0.0
    STEEP = 0.9
    ROUGH = (0.1, 0.3)


@dataclasses.dataclass(frozen=True)
class Config:
    gain: float = 1.0


class Model(pydantic.BaseModel):
    gain: float = 1.0


class Slotted:
    __slots__ = ("_cache", "gain")

    def __init__(self, gain):
        self.gain, self._cache = gain, {}


class Spec:
    """Equal by a value that is private, as jumanji's."""

    def __init__(self, maximum):
        self._maximum = maximum

    def __eq__(self, other):
        return self._maximum == other._maximum


class Held(eqx.Module):
    """A task's setting of any kind."""

    value: Any


class Plain:
    """The same of a class that is not a dataclass."""

    def __init__(self, value):
        self.value = value


class Equal(Plain):
    """The same of one that compares by value, as those of attrs do."""

    __hash__ = None

    def __eq__(self, other):
        return type(other) is type(self) and other.value == self.value


class Private:
    """The same of one that keeps what it was made with to itself."""

    def __init__(self, value):
        self._value = value
        self._others = [value]


@dataclasses.dataclass(slots=True)
class SlottedFields:
    """The same of a dataclass without a `__dict__`."""

    value: Any


class Filled(eqx.Module):
    """The same of one whose own initializer fills private fields."""

    _value: Any
    _name: str
    _body: Any

    def __init__(self, value, name="robot", body=None):
        self._value, self._name, self._body = value, name, body


@dataclasses.dataclass(frozen=True)
class Named:
    name: str = "arm"
    gain: float = 1.0


def test_a_setting_may_be_called_name():
    described = part_to_json(Named("Chunked", 2.0))
    assert described == {"name": "Named", "name_": "Chunked", "gain": 2.0}
    assert part_from_json(described, Named()) == Named("Chunked", 2.0)
    assert find_changed_settings(Named("leg")) == {"name": "leg"}


REBUILT = [
    (Ground.FLAT, Ground.STEEP),
    (Ground.FLAT, Ground.ROUGH),
    (pathlib.Path("a.xml"), pathlib.Path("b.xml")),
    (b"a", b"b"),
    ({"a", "b"}, {"a", "c"}),
    (frozenset({(1, 2)}), frozenset({(1, 3)})),
    ({1: (Ground.FLAT,)}, {1: (Ground.STEEP,)}),
    ([Ground.FLAT], [Ground.STEEP]),
]
KEPT = [
    (bytes(100), bytes(101)),
    (range(3), range(4)),
    (1 + 2j, 1 + 3j),
    (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    (math.sin, math.cos),
    tuple(eqx.nn.Linear(2, 2, key=jax.random.key(seed)) for seed in range(2)),
]
"""what a record tells apart, but cannot rebuild"""
PAIRS = [
    *REBUILT,
    *KEPT,
    (collections.deque([1]), collections.deque([2])),
    (np.zeros(100), np.zeros(100, int)),
    (float("nan"), 1.0),
    (np.array([None, Ground.FLAT]), np.array([None, Ground.STEEP])),
    (np.array([Config()] * 65), np.array([Config(2.0)] * 65)),
    (np.zeros(3), np.zeros(3, np.float32)),
    (np.zeros((0, 2)), np.zeros((0, 3))),
    (jax.random.key(0, impl="rbg"), jax.random.key(0, impl="unsafe_rbg")),
    (operator.itemgetter(0), operator.itemgetter(1)),
    (np.dtype("float32"), np.dtype("float64")),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 0])),
    (jax.random.key(0), jax.random.key(1)),
    (functools.partial(max, 1), functools.partial(max, 2)),
    (functools.partial(Plain, value=0.5), functools.partial(Plain, value=0.6)),
    tuple(functools.wraps(max)(functools.partial(max, number)) for number in (1, 2)),
    (Config(), Config(2.0)),
    (Model(), Model(gain=2.0)),
    (Spec(1), Spec(2)),
    (spaces.Box(-1, 1), spaces.Box(-2, 1)),
    (jax.tree.structure([1]), jax.tree.structure([1, 2])),
    (frozenset({pandas.Timestamp(0)}), frozenset({pandas.Timestamp(1)})),
    ((..., 0), (None, 0)),
    (1, True),
]


@pytest.mark.parametrize("kind", [Held, Plain, Private, SlottedFields, Filled])
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_settings_of_every_kind_are_recorded(one, other, kind):
    values = (one, copy.deepcopy(one), other)
    first, same, second = (through_json(part_to_json(kind(value))) for value in values)
    assert descriptions_equal(first, same)
    assert not descriptions_equal(first, second)
    assert find_differences(first, second)
    assert not find_differences(first, same)
    check_recordable(kind(one), "search")


@pytest.mark.parametrize("wrap", [jax.jit, jax.vmap, eqx.filter_jit, functools.lru_cache])
def test_arguments_of_a_wrapped_function_are_recorded(wrap):
    first, second = (part_to_json(wrap(functools.partial(pow, number))) for number in (1, 2))
    assert first == {"name": "partial", "function": {"name": "pow"}, "args": [1]}
    assert second["args"] == [2]


@pytest.mark.parametrize(("one", "other"), REBUILT, ids=lambda value: type(value).__name__)
def test_values_are_rebuilt_on_a_part_of_the_users(one, other):
    description, held = through_json(part_to_json(Held(other))), Held(one)
    again = part_from_json(description, held)
    assert again.value == other
    assert type(again.value) is type(other)
    assert descriptions_equal(through_json(part_to_json(again)), description)
    assert part_from_json(through_json(part_to_json(held)), held) is held


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
def test_a_small_array_is_rebuilt_with_its_type(dtype):
    held, wanted = Held(np.zeros((2, 2), dtype)), np.array([[0, 1], [1, 1]], dtype)
    again = part_from_json(through_json(part_to_json(Held(wanted))), held).value
    np.testing.assert_array_equal(again, wanted)
    assert again.dtype == wanted.dtype


GENERATORS = [np.random.default_rng, np.random.RandomState, np.random.PCG64]
GENERATORS += [np.random.SeedSequence, random.Random, itertools.count]
ITERATORS = [lambda n: iter([n]), lambda n: (row for row in range(n))]
METHODS = [lambda n: np.random.default_rng(n).normal, lambda n: iter([n]).__next__]


@pytest.mark.parametrize("kind", [Held, Plain])
@pytest.mark.parametrize("draw", [*GENERATORS, *ITERATORS, *METHODS])
def test_a_generator_of_random_numbers_or_others_is_no_setting(kind, draw):
    message = r"draw from its beginning again: .*default_rng\(jax"
    for value in (draw(0), {"draws": [draw(0)]}):
        with pytest.raises(SettingsError, match=message):
            check_recordable(kind(value), "task")


def test_of_what_is_ignored_no_part_is_a_difference():
    before, after = ({"log": {"size": number}, "logs": number} for number in (1, 2))
    assert find_differences(before, after, ["log"]) == {"logs": (1, 2)}


def test_of_two_long_lists_the_change_tells_the_end():
    told = format_diff({"seeds": ([*range(12)], [*range(14)])})
    assert told == f"seeds was {[*range(12)]} and is {[*range(14)]}"


def test_of_a_part_that_is_another_the_change_tells_what_it_has():
    before = {"mutate": part_to_json(brns.MixedMutation()), "size": 3}
    after = {"mutate": part_to_json(brns.PolynomialMutation(rate=0.2)), "size": 4}
    assert format_diff(find_differences(before, after)) == (
        "mutate.name was 'MixedMutation' and is 'PolynomialMutation'; size was 3 and is 4; "
        "mutate.eta is 10.0; mutate.rate is 0.2"
    )


@pytest.mark.parametrize(
    ("description", "original", "message"),
    [
        (part_to_json(Identity()), None, r"'Identity' is not in brns.* search=\.\.\."),
        ({"name": "os.system"}, None, "not in brns"),
        ({"name": "ArchiveKNN", "k": "many"}, None, r"ArchiveKNN.k: .*integer.*; got 'many'"),
        (part_to_json(Plain(2)), Plain(1), "value of Plain cannot be set: .* dataclass"),
        ({"name": "Ground", "member": "HILLY"}, Ground.FLAT, "Ground cannot be made again"),
        *((part_to_json(Held(b)), Held(a), r"give (the search|search=)") for a, b in KEPT),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(description, original, message):
    with pytest.raises(SettingsError, match=message):
        part_from_json(through_json(description), original)


class Valued(HostIdentity):
    value: Any = None


def test_a_part_that_is_a_tuple_is_refused_when_a_run_begins(tmp_path):
    class Turn(typing.NamedTuple):
        genotype_space: brns.Box = brns.Box([0.0], [1.0])
        behavior_space: brns.Box = brns.Box([0.0], [1.0])
        traceable: bool = True

        def evaluate(self, genotypes, key):
            return brns.Evaluation(genotypes)

    with pytest.raises(ValueError, match=r"frozen dataclass or an equinox\.Module; got .* Turn"):
        brns.run(brns.NoveltySearch(Turn()), 1, out=tmp_path / "run")


def test_a_value_that_cannot_be_recorded_is_refused_when_a_run_begins(tmp_path):
    """And when its task is checked."""
    table = pandas.DataFrame({"a": [1]})
    for held in ({table.a.iloc[0]: table}, [table]):
        for kind in (Held, Plain):
            with pytest.raises(SettingsError, match="of which a record cannot keep the value"):
                check_recordable(kind(held), "task")
    with pytest.raises(SettingsError, match=r"^task.value is a DataFrame, of which"):
        brns.check_task(Valued(value=table))
    with pytest.raises(SettingsError, match=r"^search.task.value is a DataFrame, of which"):
        brns.run(search(Valued(value=table)), 1, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    check_recordable(Held((object(), {"simulator": object()})), "task")
    check_recordable(Equal(object()), "task")
    for held in ([table], iter([1]), object()):
        check_recordable(Private(held), "task")
