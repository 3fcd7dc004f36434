"""The pages in results/ can be made again from what is stored beside them."""

import json
from pathlib import Path

import pytest

import brns
from brns.comparison import run
from brns.settings.parts import PARTS

WORLDS = Path(__file__).parents[2] / "results" / "worlds"
ESTIMATORS = {part.name: part for part in PARTS if part.kind in ("estimator", "preset")}
METHODS = ("archive", "counts", "exact", "population", "recognition", "paper")


@pytest.mark.skipif(not WORLDS.exists(), reason="an installed package has no results")
def test_the_suites_results_are_of_todays_settings():
    """Whoever renames a setting, a task or its cells renames them there too."""
    worlds = run._resolve_worlds("suite", None, None)
    estimators = {name: ESTIMATORS[name].load()() for name in METHODS}
    methods = run._make_methods(estimators, {"": brns.PolynomialMutation()})
    jobs = run._make_jobs("suite", worlds, methods, WORLDS, False)
    assert len(jobs) == len(METHODS) * len(worlds)
    for job in jobs:
        for batch in json.loads(job.path.read_bytes()):
            assert batch["settings"] == job.settings
