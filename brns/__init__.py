"""Novelty search without an archive (BR-NS), the archive methods to hold it against, and the measures of both."""

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any

from brns import compiled as _compiled
from brns.parts import CLASSES as _CLASSES

if TYPE_CHECKING:
    from brns.checks import check_estimator as check_estimator
    from brns.checks import check_task as check_task
    from brns.comparison.run import Comparison as Comparison
    from brns.comparison.run import compare as compare
    from brns.core import Box as Box
    from brns.core import Evaluation as Evaluation
    from brns.core import Generation as Generation
    from brns.core import NoveltyEstimator as NoveltyEstimator
    from brns.core import Population as Population
    from brns.core import Task as Task
    from brns.core import observed as observed
    from brns.estimators.exact import merge as merge
    from brns.interoperation.novelty import Novelty as Novelty
    from brns.operators.founders import GivenFounders as GivenFounders
    from brns.parts import *  # noqa: F403
    from brns.runs.fork import fork as fork
    from brns.runs.loop import Saved as Saved
    from brns.runs.loop import generations as generations
    from brns.runs.loop import resume as resume
    from brns.runs.loop import run as run
    from brns.runs.record import Record as Record
    from brns.runs.record import records as records
    from brns.runs.storage import RecordError as RecordError
    from brns.runs.tables import frame as frame
    from brns.search import NoveltySearch as NoveltySearch
    from brns.search import SearchState as SearchState
    from brns.tasks.gymnasium import GymnasiumTask as GymnasiumTask
    from brns.tasks.loose import LooseBox as LooseBox
    from brns.tasks.policy import FeedForward as FeedForward
    from brns.workers.dask import Dask as Dask
    from brns.workers.processes import Processes as Processes

# Where each public name lives. They are imported when first used: importing JAX takes seconds, `brns --help` none.
_HOME = {
    "comparison.run": ("Comparison", "compare"),
    "core": ("Box", "Evaluation", "Generation", "NoveltyEstimator", "Population", "Task", "observed"),
    "workers.dask": ("Dask",),
    "workers.processes": ("Processes",),
    "runs.record": ("Record", "records"),
    "estimators.exact": ("merge",),
    "operators.founders": ("GivenFounders",),
    "runs.fork": ("fork",),
    "runs.loop": ("Saved", "generations", "resume", "run"),
    "search": ("NoveltySearch", "SearchState"),
    "interoperation.novelty": ("Novelty",),
    "runs.tables": ("frame",),
    "runs.storage": ("RecordError",),
    "tasks.gymnasium": ("GymnasiumTask",),
    "tasks.loose": ("LooseBox",),
    "tasks.policy": ("FeedForward",),
    "checks": ("check_estimator", "check_task"),
}
_MODULE = {name: f"brns.{module}" for module, names in _HOME.items() for name in names} | {
    name: part.module for name, part in _CLASSES.items()
}

# What is reached as `brns.pictures` after `import brns`, as the names are.
_ROOMS = ("experiments", "pictures")

__all__ = sorted(_MODULE)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULE and name not in _ROOMS:
        raise AttributeError(f"module 'brns' has no attribute {name!r}")
    if name in _ROOMS:
        return importlib.import_module(f"brns.{name}")
    value = getattr(importlib.import_module(_MODULE[name]), name)
    if isinstance(value, type) and dataclasses.is_dataclass(value):
        from brns.hints import hinting

        hinting(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]


_compiled.keep()
