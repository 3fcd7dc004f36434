"""Novelty search without an archive (BR-NS), the archive methods to hold it against, and the measures of both."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import platformdirs

from brns.parts import CLASSES as _CLASSES

# Compiled code is kept between processes, so that a second start is quick, unless JAX was told where to keep it. JAX
# reads these when it is imported.
_KEPT = {
    "jax_compilation_cache_dir": str(platformdirs.user_cache_path("brns") / "compiled"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
if "jax" not in sys.modules:
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ.update({name.upper(): str(value) for name, value in _KEPT.items()})
elif sys.modules["jax"].config.jax_compilation_cache_dir is None:
    for _name, _value in _KEPT.items():
        sys.modules["jax"].config.update(_name, _value)

if TYPE_CHECKING:
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
    from brns.parts import *  # noqa: F403
    from brns.runs.loop import resume as resume
    from brns.runs.loop import run as run
    from brns.runs.record import Record as Record
    from brns.runs.record import records as records
    from brns.runs.storage import RecordError as RecordError
    from brns.search import NoveltySearch as NoveltySearch
    from brns.search import SearchState as SearchState
    from brns.tasks.gymnasium import GymnasiumTask as GymnasiumTask
    from brns.tasks.loose import LooseBox as LooseBox
    from brns.tasks.policy import FeedForward as FeedForward
    from brns.testing import check_estimator as check_estimator
    from brns.testing import check_task as check_task
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
    "runs.loop": ("resume", "run"),
    "search": ("NoveltySearch", "SearchState"),
    "runs.storage": ("RecordError",),
    "tasks.gymnasium": ("GymnasiumTask",),
    "tasks.loose": ("LooseBox",),
    "tasks.policy": ("FeedForward",),
    "testing": ("check_estimator", "check_task"),
}
_MODULE = {name: f"brns.{module}" for module, names in _HOME.items() for name in names} | {
    name: part.module for name, part in _CLASSES.items()
}

__all__ = sorted(_MODULE)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'brns' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
