"""A run that is resumed on another number of cores ends in the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from files import bits

CHILD = """
import os, shutil, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:int(sys.argv[1])]))
import brns
method, size = getattr(brns, sys.argv[2])(), int(sys.argv[3])
search = brns.NoveltySearch(brns.PlanarArm(), method, size, size, brns.PolynomialMutation())
seeds = {"seeds": int(sys.argv[4])} if sys.argv[4] != "1" else {}
for generations in map(int, sys.argv[6:]):
    brns.run(search, generations, out=sys.argv[5], exist="resume", progress=False, **seeds)
    if generations == 2:
        shutil.copytree(sys.argv[5], "part")
"""
several_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="two cores to choose from"
)


@several_cores
@pytest.mark.parametrize(
    ("method", "size", "seeds"),
    [("ExactRecognition", 500, 1), pytest.param("BehaviorRecognition", 300, 2, marks=pytest.mark.slow)],
)
def test_a_run_begun_on_two_cores_and_resumed_on_one_ends_in_the_same_bits(method, size, seeds, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "0",  # as users compile
    }
    for cores, out, generations in [(2, "whole", (2, 4)), (1, "part", (4,))]:
        command = [sys.executable, "-c", CHILD, cores, method, size, seeds, out, *generations]
        subprocess.run(list(map(str, command)), env=environment, check=True, cwd=tmp_path)
    whole, part = bits(tmp_path / "whole"), bits(tmp_path / "part")
    assert {name: part[name] for name in whole} == whole
