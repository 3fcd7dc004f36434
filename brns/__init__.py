"""Novelty search without an archive (BR-NS), the archive methods to hold it against, and the measures of both."""

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brns import experiments as experiments
    from brns import pictures as pictures
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
    from brns.settings import *  # noqa: F403
    from brns.tasks.gymnasium import GymnasiumTask as GymnasiumTask
    from brns.tasks.loose import LooseBox as LooseBox
    from brns.tasks.policy import FeedForward as FeedForward
    from brns.workers.dask import Dask as Dask
    from brns.workers.processes import Processes as Processes


def _homes(*files: str) -> dict[str, str]:
    """The module of each public name, as the imports for type checkers in these files of ours say."""
    homes = {}
    for file in files:
        source = ast.parse(Path(__file__).with_name(file).read_text(encoding="utf-8"))
        (block,) = (node.body for node in source.body if isinstance(node, ast.If))
        homes |= {name.asname: line.module for line in block for name in line.names if name.asname}
    return homes


# They are imported when first used: importing JAX takes seconds, `brns --help` none.
_HOMES = _homes("__init__.py", "settings.py")
__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'brns' has no attribute {name!r}")
    if _HOMES[name] == "brns":
        return importlib.import_module(f"brns.{name}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
