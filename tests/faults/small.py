"""What the tests of faults run."""

from hypothesis import HealthCheck, settings
from searches import search

MAZE = [
    "run",
    "maze",
    "--set",
    "task.steps=20",
    "--set",
    "population_size=6",
    "--set",
    "offspring_size=6",
]
ANT = [
    "run",
    "ant",
    "--set",
    "task.steps=16",
    "--set",
    "population_size=4",
    "--set",
    "offspring_size=4",
]
SEARCH = search()
WILD = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
