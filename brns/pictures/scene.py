"""What pictures ask of a run beside its record: the world as it looks, and the search where it is needed."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Array, Float

from brns.core import Task
from brns.runs.record import Record
from brns.search import NoveltySearch
from brns.settings import SettingsError
from brns.tasks.scene import Drawable, Scene, Traced, plain
from brns.workers import innermost

GIVE_IT = "give it with --search module:object on the command line, or in Python as `record.search = search`"


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


def search_for(record: Record, what: str) -> NoveltySearch:
    """The experiment that made the run; a `SettingsError` says that `what` needs it, and how to give it."""
    search = record.known_search
    if search is None:
        raise SettingsError(f"{what} needs the search that made {record.path}, which has parts of your own: {GIVE_IT}")
    return search


def without_search(records: Iterable[Record]) -> str:
    """What is left out of runs whose search nobody gave, why, and how to have it; nothing where all are known."""
    unknown = next((record for record in records if record.known_search is None), None)
    if unknown is None:
        return ""
    return (
        f"Left out: η, κ, maps of novelty and the walls of the world. They need the search that made {unknown.path}, "
        f"which has a task or an estimator of your own: {GIVE_IT}."
    )
