"""A run that is resumed on another number of cores ends in the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from files import bits

CHILD = """
import os, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:int(sys.argv[1])]))
import brns
task, method = brns.DeceptiveMaze(steps=20), getattr(brns, sys.argv[2])()
search = brns.NoveltySearch(task, method, int(sys.argv[3]), int(sys.argv[3]))
seeds = {"seeds": int(sys.argv[5])} if sys.argv[5] != "1" else {}
brns.run(search, int(sys.argv[4]), out=sys.argv[6], exist="resume", progress=False, **seeds)
"""
several_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="two cores to choose from"
)


@several_cores
@pytest.mark.parametrize(
    ("method", "size", "seeds"),
    [
        ("ExactRecognition", 500, 1),
        pytest.param("BehaviorRecognition", 400, 1, marks=pytest.mark.slow),
        pytest.param("ArchiveKNN", 400, 1, marks=pytest.mark.slow),
        pytest.param("ExactRecognition", 300, 2, marks=pytest.mark.slow),
    ],
)
def test_a_run_begun_on_two_cores_and_resumed_on_one_ends_in_the_same_bits(method, size, seeds, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "0",  # as users compile
    }
    for cores, generations, out in [(2, 8, "whole"), (2, 4, "part"), (1, 8, "part")]:
        command = [sys.executable, "-c", CHILD, cores, method, size, generations, seeds, tmp_path / out]
        subprocess.run(list(map(str, command)), env=environment, check=True)
    whole, part = bits(tmp_path / "whole"), bits(tmp_path / "part")
    assert {name: part[name] for name in whole} == whole
