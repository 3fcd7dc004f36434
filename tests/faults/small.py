"""What the tests of faults run, and every bit of what a run leaves."""

import json

from files import content
from hypothesis import HealthCheck, settings
from searches import search

MAZE = ["run", "maze", "--set", "task.steps=20", "--set", "population_size=6", "--set", "offspring_size=6"]
ANT = ["run", "ant", "--set", "task.steps=16", "--set", "population_size=4", "--set", "offspring_size=4"]
SEARCH = search()


SAME = ("format", "experiment", "seed", "seeds", "checkpoint_every")
"""of run.json what does not tell how and for how long it was run"""


def bits(path):
    """Every file of a run but its lock: its name and its content."""
    found = {str(file.relative_to(path)): content(file) for file in sorted(path.rglob("*")) if file.is_file()}
    facts = json.loads(found.pop("run.json"))
    found.pop("lock")
    return {"run.json": {k: v for k, v in facts.items() if k in SAME}, **found}


def npz(files):
    """Those of them that hold arrays, and run.json: all but pictures."""
    return {name: content for name, content in files.items() if not name.endswith(".png")}


WILD = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
