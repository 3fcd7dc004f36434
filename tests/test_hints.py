"""Wrong parts and unknown settings, as users meet them: refused at once, by what was meant."""

import subprocess
import sys

import pytest
from brns.hints import refuse_wrong

import brns
from brns.core import Mutation, Task


@pytest.mark.parametrize(
    ("name", "part", "kind", "contract", "message"),
    [
        ("task", brns.DeceptiveMaze, "world", Task, r"write DeceptiveMaze\(...\); got the class DeceptiveMaze"),
        ("task", "maze", "world", Task, r"did you mean brns.DeceptiveMaze\(\)\? Got 'maze'"),
        ("task", "PlanerArm", "world", Task, r"did you mean brns.PlanarArm\(\)"),
        ("task", {}, "world", Task, r"must have genotype_space, behavior_space, traceable, evaluate, as .*; got {}"),
        ("mutate", brns.IsoLineDD, "mutation", Mutation, r"write IsoLineDD\(...\)"),
        ("mutate", 0.5, "mutation", Mutation, r"mutate must have __call__, as brns.core.Mutation says; got 0.5"),
    ],
)
def test_a_wrong_part_is_refused_by_name(name, part, kind, contract, message):
    with pytest.raises(ValueError, match=message):
        refuse_wrong(name, part, kind, contract)


SCRIPT = """
import brns
for wrong in (
    lambda: brns.NoveltySearch("maze", brns.ArchiveKNN()),
    lambda: brns.NoveltySearch(brns.PlanarArm(), brns.ArchiveKNN),
    lambda: brns.NoveltySearch(brns.PlanarArm(), brns.ArchiveKNN(), select="nsga2"),
):
    try:
        wrong()
    except ValueError as error:
        print(error)
"""


def test_a_search_asks_so_of_its_parts():
    """In a process of its own, as shapes and types are not checked there as they are here."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    task, estimator, select = done.stdout.splitlines()
    assert "brns.DeceptiveMaze()" in task
    assert "write ArchiveKNN(...)" in estimator
    assert "brns.NSGA2()" in select


@pytest.mark.parametrize(
    ("part", "setting", "meant"),
    [
        ("BehaviorRecognition", "epoch", "epochs"),
        ("DeceptiveMaze", "step", "steps"),
        ("Processes", "worker", "workers"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_one_that_was_meant(part, setting, meant):
    with pytest.raises(TypeError, match=rf"{part} has no setting '{setting}'; did you mean {meant}\? It has: "):
        getattr(brns, part)(**{setting: 1})
    with pytest.raises(TypeError, match=rf"{part} has no setting 'zzz'. It has: "):
        getattr(brns, part)(zzz=1)
