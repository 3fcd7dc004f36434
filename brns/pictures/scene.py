"""A run's world as figures, report and movie draw it: asked of the task where it can tell, else an empty box."""

import numpy as np
from jaxtyping import Array, Float

from brns.core import Task
from brns.runs.record import Record
from brns.tasks.scene import Drawable, Scene, Traced, plain
from brns.workers import innermost


def scene(task: Task) -> Scene:
    """The scene that a task tells of itself, or the box of its behavior space."""
    task = innermost(task)
    return task.scene() if isinstance(task, Drawable) else plain(task.behavior_space)


def scene_of(record: Record) -> Scene:
    """The scene of a run's task; of a task that nobody gave, the box of its behavior space."""
    search = record.known_search
    return plain(record.behavior_space) if search is None else scene(search.task)


def trajectories(record: Record, genotypes: Float[Array | np.ndarray, "n p"]) -> list[Float[np.ndarray, "times 2"]]:
    """The ways that genotypes take through the world, walked again; none where the task cannot tell them."""
    search = record.known_search
    task = None if search is None else innermost(search.task)
    return list(np.asarray(task.trajectory(genotypes))[..., :2]) if isinstance(task, Traced) else []
