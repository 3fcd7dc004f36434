"""What a search is called on the command line, in figures and in tables."""

import dataclasses
from typing import Any, NamedTuple

from brns.experiments.paper import make_search
from brns.search import NoveltySearch
from brns.settings.configuration import find_setting_types_and_meanings
from brns.settings.differences import find_changed_settings
from brns.settings.parts import CLASSES, parts
from brns.tasks.chunked import unwrap_task


class NameAndChanges(NamedTuple):
    """A search in the words of the command line; a part of a user's own goes by its class."""

    world: str
    estimator: str
    changed: dict[str, Any]
    """the settings that `--set` changes, with their values"""


def find_names_and_changed_settings(
    search: NoveltySearch, estimator: str | None = None
) -> NameAndChanges:
    """What the command line, figures and tables call a search, and the settings in which it differs
    from the search of these names. Its estimator goes by the name that it was given, or else by
    that of the preset or class that it is.
    """
    task, class_name = unwrap_task(search.task), type(search.estimator).__name__
    words = {name: part.name for name, part in CLASSES.items()}
    world = words.get(type(task).__name__)
    usual = {
        part.name: make_search(world, part.name) if world else NoveltySearch(task, part.load()())
        for part in parts("estimator", "preset").values()
        if part.attribute == class_name
    }
    if estimator is None:
        estimator = words.get(class_name, class_name)
        for name, other in usual.items():
            if not find_changed_settings(search.estimator, other.estimator):
                estimator = name
                break
    other = usual.get(estimator) or (make_search(world) if world else NoveltySearch(task))
    changed = find_changed_settings(dataclasses.replace(search, task=task), other)
    changed.pop("estimator", None)  # its name says it
    if not world:
        can_be_set = find_setting_types_and_meanings(type(task))
        changed |= {
            f"task.{name}": value
            for name, value in find_changed_settings(task).items()
            if name in can_be_set
        }
    changed = {name: words.get(str(value), value) for name, value in changed.items()}
    return NameAndChanges(world or type(task).__name__, estimator, changed)
