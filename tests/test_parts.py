"""The table of parts: it agrees with the classes, with `brns` itself, and with what can be run; reading it is cheap."""

import subprocess
import sys

import pytest
from brns.parts import CLASSES, PARTS, parts

import brns
from brns.experiments import configured, has_paper_settings, named
from brns.settings import SettingsError, describe


def test_every_name_is_that_of_one_part():
    assert len({part.name for part in PARTS}) == len({part.attribute for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_is_where_the_table_says(part):
    loaded = part.load()
    assert loaded.__name__ == part.attribute
    assert len(part.meaning.splitlines()) == 1
    if part.kind != "preset":
        assert getattr(brns, part.attribute) is loaded
        assert part.attribute in dir(brns)


@pytest.mark.parametrize("world", parts("world"))
@pytest.mark.parametrize("estimator", parts("estimator", "preset"))
def test_every_world_runs_with_every_estimator(world, estimator):
    search = named(world, estimator)
    assert type(search.task) is parts("world")[world].load()
    described = describe(search.estimator)
    assert CLASSES[described["name"]].name == ("recognition" if estimator == "paper" else estimator)
    assert has_paper_settings(described) == (estimator == "paper")
    if estimator == "counts" and search.task.behavior_space.dimension > 3:
        with pytest.raises(ValueError, match="a grid of cells"):
            search.state_shape()
    else:
        assert search.state_shape().population.id.shape == (search.population_size,)


def test_the_archive_of_each_experiment_is_the_papers():
    """Sections 5.1 and 5.2: 6 enter of 10000, and 10 of 6000, the largest; k is 15 in both."""
    for world, expected in (("maze", (15, 6, 10000)), ("ant", (15, 10, 6000))):
        estimator = named(world, "archive").estimator
        assert (estimator.k, estimator.growth, estimator.capacity) == expected


def test_an_operator_is_chosen_by_name_and_then_set():
    search = configured("maze", "counts", ["mutate.sigma=0.2", "mutate=gaussian", "select=nsga2"])
    assert search.mutate == brns.GaussianMutation(sigma=0.2)
    assert search.select == brns.NSGA2()
    with pytest.raises(SettingsError, match=r"mutate must be one of polynomial, gaussian.*; got 'blend'"):
        configured("maze", "counts", ["mutate=blend"])
    with pytest.raises(SettingsError, match=r"experiment must be one of maze, .*; got 'maz'; did you mean maze\?"):
        configured("maz", "counts", [])


HELP = """
import sys
sys.argv = ["brns", "--help"]
from brns.cli.commands import main
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize("code", ["import brns", HELP], ids=["import", "help"])
def test_looking_at_it_imports_no_jax(code):
    code += "\nimport sys\nassert not {'jax', 'numpy', 'equinox'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
