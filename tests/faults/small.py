"""What the tests of faults run."""

from hypothesis import HealthCheck, settings
from searches import search


def run_of(task_name, steps, size):
    """The words of a run that takes little."""
    changes = [f"task.steps={steps}", f"population_size={size}", f"offspring_size={size}"]
    return ["run", task_name, *(f"--set={change}" for change in changes)]


MAZE, ANT = run_of("maze", 20, 6), run_of("ant", 16, 4)
SEARCH = search()
UNCHECKED = [HealthCheck.function_scoped_fixture]
WILD = settings(max_examples=10, deadline=None, suppress_health_check=UNCHECKED)
