"""The table of parts, and settings: described, rebuilt, changed by name, told in a line."""

import functools
import json
import subprocess
import sys

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import Identity

import brns
from brns import (
    NSGA2,
    ArchiveKNN,
    BehaviorRecognition,
    GaussianMutation,
    NoveltySearch,
    PolynomialMutation,
    experiments,
)
from brns.experiments import changed, named, paper_recognition, value
from brns.settings import (
    PARTS,
    SettingsError,
    build,
    configure,
    describe,
    parts,
    settings,
    shown,
    unusual,
)
from brns.tasks.workers import Chunked, Processes

SEARCH = NoveltySearch(
    brns.DeceptiveMaze(steps=50),
    ArchiveKNN(),
    population_size=20,
    mutate=GaussianMutation(sigma=0.2),
)


def through_json(description):
    return json.loads(json.dumps(description))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_tells_its_settings_and_is_rebuilt(part):
    usual = part.load()()
    assert type(usual) is getattr(brns, part.attribute)
    assert part.attribute in dir(brns)
    again = build(through_json(describe(usual)))
    assert describe(again) == describe(usual)
    for name, (_, meaning) in settings(type(usual)).items():
        assert meaning
        mine, its = getattr(usual, name), getattr(again, name)
        assert (type(mine), mine) == (type(its), its)


@pytest.mark.parametrize("world", parts("world"))
def test_every_world_has_every_estimator(world):
    for name, part in parts("estimator", "preset").items():
        search = named(world, name)
        assert type(search.task) is parts("world")[world].load()
        assert (describe(search.estimator) == describe(paper_recognition())) == (name == "paper")
        assert type(search.estimator) is getattr(brns, part.attribute)
    assert describe(named(world).estimator) == describe(NoveltySearch(brns.PlanarArm()).estimator)


def test_every_world_has_the_default_operator_and_the_papers_experiments_the_papers():
    usual = describe(NoveltySearch(brns.DeceptiveMaze()).mutate)
    for world in parts("world"):
        assert describe(named(world).mutate) == usual
    for papers in (experiments.maze(), experiments.ant()):
        assert isinstance(papers.mutate, PolynomialMutation)


def test_the_archive_of_each_experiment_is_the_papers():
    """Sections 5.1 and 5.2: 6 enter of 10000, and 10 of 6000, the largest; k is 15 in both."""
    for world, expected in (("maze", (15, 6, 10000)), ("ant", (15, 10, 6000))):
        estimator = named(world, "archive").estimator
        assert (estimator.k, estimator.additions, estimator.capacity) == expected


def test_an_experiment_is_rebuilt_with_all_that_was_changed():
    chunked = Chunked(brns.DeceptiveMaze(steps=7), chunk=3)
    search = NoveltySearch(
        chunked, ArchiveKNN(k=4), 10, 20, GaussianMutation(0.1, 0.2), NSGA2(), False
    )
    again = build(through_json(describe(search)))
    assert describe(again) == describe(search)
    assert (again.task.task.steps, again.task.chunk) == (7, 3)
    assert (again.estimator, again.mutate, again.select) == (
        search.estimator,
        search.mutate,
        search.select,
    )


class Stranger(eqx.Module):
    size: int = 3


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (describe(Stranger()), r"'Stranger' is not in brns.* search=\.\.\."),
        ({"name": "os.system"}, "not a part of brns"),
        ({"name": "ArchiveKNN", "k": "many"}, r"ArchiveKNN.k: .*integer.*; got 'many'"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(description, message):
    with pytest.raises(SettingsError, match=message):
        build(description)


class Throw:
    """An own task that is not a dataclass."""

    traceable = False

    def __init__(self, gain):
        self.gain, self.wind, self.table = gain, (1.0, 2.0), np.arange(100.0)
        self.simulator, self._calls = object(), 0


def test_a_description_is_plain_json():
    assert describe(PolynomialMutation(eta=5.0)) == {
        "name": "PolynomialMutation",
        "eta": 5.0,
        "rate": 0.1,
    }
    assert describe(Identity())["behavior_space"] == {
        "name": "Box",
        "low": [0.0, 0.0],
        "high": [600.0, 600.0],
    }
    assert describe(through_json) == {"name": "through_json"}
    assert describe([(1, None), "a", True]) == [[1, None], "a", True]
    assert describe(object()) == {"name": "object"}
    described = through_json(describe(Throw(0.5)))
    assert set(described) == {
        "name",
        "gain",
        "wind",
        "table",
    }  # not the simulator, nor what begins with _
    assert (described["gain"], described["wind"]) == (0.5, [1.0, 2.0])
    for make in (
        Throw,
        lambda gain: {"gain": gain},
        lambda gain: functools.partial(Throw, gain=gain),
    ):
        assert through_json(describe(make(0.5))) == describe(make(0.5)) != describe(make(0.6))


def test_large_arrays_are_described_by_a_digest_of_their_content():
    one, same, other = (
        jnp.arange(100),
        np.arange(100, dtype=np.int32),
        jnp.arange(100).at[99].set(0),
    )
    assert describe(one) == describe(same) != describe(other)
    assert describe(one)["shape"] == [100]
    assert describe(jnp.arange(3)) == [0, 1, 2]


def test_settings_are_the_plain_fields_with_what_stands_under_them():
    found = settings(BehaviorRecognition)
    assert found["width"][1].startswith(
        "neurons in a hidden layer; with none the paper's 3 d, section 5, whose"
    )
    assert found["depths"][0] == tuple[int, int]
    names = list(settings(NoveltySearch))
    assert names == [
        "population_size",
        "offspring_size",
        "rescore_parents",
        "tournament",
    ]  # parts are no plain values


def test_a_class_that_was_typed_has_settings_without_meanings():
    typed = {"__name__": "__main__"}
    exec("import equinox\nclass Typed(equinox.Module):\n    genes: int = 3\n    'how many'", typed)
    assert settings(typed["Typed"]) == {"genes": (int, "")}


def test_configure_changes_what_is_named_and_nothing_else():
    estimator = BehaviorRecognition(width=7)
    changed = configure(
        estimator, {"epochs": 5, "depths": [2, 2], "embedding": None, "inputs": "raw"}
    )
    assert changed == BehaviorRecognition(
        width=7, embedding=None, epochs=5, depths=(2, 2), inputs="raw"
    )
    assert estimator == BehaviorRecognition(width=7)
    search = NoveltySearch(Identity(), estimator)
    assert configure(search, {"population_size": 5}).estimator is estimator
    with pytest.raises(ValueError, match="epochs must be at least 1"):  # refused by the part itself
        configure(BehaviorRecognition(), {"epochs": 0})


def test_all_errors_are_told_at_once():
    wrong = {
        "epoch": 5,
        "width": "broad",
        "inputs": "small",
        "depths": [1, 2, 3],
        "zzz": 1,
        "batch": True,
    }
    with pytest.raises(SettingsError) as caught:
        configure(BehaviorRecognition(), wrong)
    epoch, width, inputs, depths, unknown, batch = str(caught.value).splitlines()
    assert "did you mean epochs? It has: embedding, width" in epoch
    assert width.startswith("BehaviorRecognition.width (neurons in a hidden layer;")
    assert "'raw' or 'scaled'; got 'small'" in inputs
    assert "got [1, 2, 3]" in depths
    assert "has no setting 'zzz'. It has" in unknown
    assert "got True" in batch


def test_an_operator_is_chosen_by_name_and_values_are_pythons():
    search = changed(
        named("maze"), ["mutate.sigma=0.2", "mutate=gaussian", "select=nsga2", "population_size=7"]
    )
    assert (search.mutate, search.select) == (GaussianMutation(sigma=0.2), NSGA2())
    assert search.population_size == 7
    with pytest.raises(SettingsError, match=r"'blend'(.|\n)*NAME=VALUE"):
        changed(search, ["mutate=blend", "nonsense"])
    with pytest.raises(SettingsError, match=r"did you mean maze\?"):
        named("maz")
    assert [value(text) for text in ("1e-3", "none", "[3, 5]", "1.2.")] == [
        1e-3,
        None,
        [3, 5],
        "1.2.",
    ]


def test_a_part_tells_the_settings_that_are_not_its_defaults():
    assert shown(ArchiveKNN(k=10)) == "ArchiveKNN(k=10)"
    assert shown(brns.DeceptiveMaze()) == "DeceptiveMaze()"
    assert shown(np.zeros((2, 3))) == "float64[2, 3]"
    assert unusual(SEARCH) == {
        "task": "DeceptiveMaze",
        "task.steps": 50,
        "estimator": "ArchiveKNN",
        "population_size": 20,
        "mutate": "GaussianMutation",
        "mutate.sigma": 0.2,
    }
    assert unusual(Processes(brns.DeceptiveMaze(), chunk=3)) == {
        "task": "DeceptiveMaze",
        "chunk": 3,
    }  # no workers
    assert repr(SEARCH).startswith(
        "NoveltySearch(task=DeceptiveMaze, task.steps=50, estimator=ArchiveKNN, pop"
    )


CHEAP = """
import sys
from brns.cli.__main__ import main
import brns
for words in (["--help"], ["run", "--help"], ["run", "maez"], ["list", "maez"], ["runs", "."]):
    sys.argv = ["brns", *words]
    try:
        main()
    except SystemExit as ended:
        print(words, ended.code)
assert not {"jax", "numpy", "equinox"} & set(sys.modules)
"""


def test_names_help_and_lists_of_runs_need_no_jax(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-c", CHEAP], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("did you mean maze?") == 2
    assert "['runs', '.'] 0" in done.stdout
