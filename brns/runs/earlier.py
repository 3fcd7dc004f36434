"""Descriptions of experiments as earlier versions wrote them, read as those of this one."""

from collections.abc import Mapping
from typing import Any

from brns.settings import build

RECOGNITION = {"width": ("fixed_width", 3), "embedding": ("fixed_embedding", 2)}
"""two settings for one number until 0.1: the number itself or, where that was none, a multiple of the descriptor's d;
the second is the paper's multiple, which is none today"""


def today(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a `NoveltySearch` by today's settings, the same search to the bit.

    What no version wrote is handed on as it is, and refused where it is built.
    """
    experiment = dict(experiment)
    if experiment.get("name") == "NoveltySearch":
        experiment.setdefault("founders", {"name": "UniformFounders"})  # the only ones until 0.1
    estimator = experiment.get("estimator")
    if isinstance(estimator, Mapping) and estimator.get("name") == "BehaviorRecognition":
        experiment["estimator"] = _recognition(estimator, experiment)
    return experiment


def _recognition(estimator: Mapping[str, Any], experiment: Mapping[str, Any]) -> dict[str, Any]:
    estimator = dict(estimator)
    for name, (whatever, usual) in RECOGNITION.items():
        if not {name, whatever} <= set(estimator):
            continue
        number, multiple = estimator.pop(whatever), estimator[name]
        estimator[name] = number or (None if multiple == usual else multiple * _dimension(experiment["task"]))
    return estimator


def _dimension(task: Mapping[str, Any]) -> int:
    """Of the descriptors of a task."""
    if "behavior_space" in task:
        return len(task["behavior_space"]["low"])
    return build(task).behavior_space.dimension
