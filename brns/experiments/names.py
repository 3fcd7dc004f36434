"""What a search is called on the command line, in figures and in tables."""

import dataclasses
from typing import Any

from brns.experiments.paper import make_search
from brns.search import NoveltySearch
from brns.settings.configuration import find_setting_types_and_meanings
from brns.settings.differences import find_changed_settings
from brns.settings.parts import CLASSES, parts
from brns.tasks.chunked import unwrap_task


def find_names_and_changed_settings(
    search: NoveltySearch, estimator: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    """The names of a search's task and its estimator (as given, or the preset or class that it is;
    of a user's part its class), and the settings in which it differs from the search so named.
    """
    task, class_name = unwrap_task(search.task), type(search.estimator).__name__
    words = {name: part.name for name, part in CLASSES.items()}
    task_name = words.get(type(task).__name__)
    usual = {
        part.name: make_search(task_name, part.name)
        if task_name
        else NoveltySearch(task, part.load()())
        for part in parts("estimator", "preset").values()
        if part.attribute == class_name
    }
    if estimator is None:
        estimator = words.get(class_name, class_name)
        for name, other in usual.items():
            if not find_changed_settings(search.estimator, other.estimator):
                estimator = name
                break
    other = usual.get(estimator) or (make_search(task_name) if task_name else NoveltySearch(task))
    changed = find_changed_settings(dataclasses.replace(search, task=task), other)
    changed.pop("estimator", None)  # its name says it
    if not task_name:
        can_be_set = find_setting_types_and_meanings(type(task))
        for name, value in find_changed_settings(task).items():
            changed |= {f"task.{name}": value} if name in can_be_set else {}
    changed = {name: words.get(str(value), value) for name, value in changed.items()}
    return task_name or type(task).__name__, estimator, changed
