"""The paper's experiments as functions that return a `NoveltySearch`,
and experiments chosen by name.

The functions have the paper's operator, polynomial mutation. By name an experiment has the default
of `NoveltySearch`, the mixture, in every world; `mutate=polynomial` is the paper's.
"""

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx

from brns.core import NoveltyEstimator
from brns.estimators.archive import ArchiveKNN
from brns.estimators.counts import VisitCounts
from brns.operators.mutation import MixedMutation, PolynomialMutation
from brns.operators.selection import NSGA2
from brns.search import NoveltySearch
from brns.settings.configuration import configure, settings
from brns.settings.differences import non_defaults
from brns.settings.parts import CLASSES, RECOMMENDED, Kind, SettingsError, lookup, parts
from brns.tasks.ant import AntMaze
from brns.tasks.car import MountainCar
from brns.tasks.maze import DeceptiveMaze
from brns.tasks.workers import Chunked, innermost

OPERATORS: dict[str, Kind] = {"mutate": "mutation", "select": "selection", "founders": "founders"}
"""the operators of a search and their kinds of part"""
PARTS = ("task", "estimator", *OPERATORS)


def maze(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The deceptive maze of section 5.1: 100 + 100 individuals, elitist on novelty.

    Args:
        estimator: by default `VisitCounts()`.

    Returns:
        With the paper's sizes, selection and mutation.
    """
    return NoveltySearch(DeceptiveMaze(), estimator or VisitCounts(), mutate=PolynomialMutation())


def paper_recognition() -> NoveltyEstimator:
    """BR-NS with the settings of the paper, section 5,
    and of the published code where the paper gives no value.

    He's initialization, unscaled descriptors, 3 d neurons a layer, an embedding of 2 d dimensions.
    The defaults of `BehaviorRecognition` differ; the reproduction says why.
    """
    return parts("preset")["paper"].load()()


def ant(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The ant maze of section 5.2: 25 + 25 individuals, NSGA-II on novelty and reward.

    Args:
        estimator: by default `VisitCounts()`.

    Returns:
        With the paper's sizes, selection and mutation.
    """
    return NoveltySearch(
        task=AntMaze(),
        estimator=estimator or VisitCounts(),
        population_size=25,
        offspring_size=25,
        mutate=PolynomialMutation(),
        select=NSGA2(),
    )


def car(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """A car too weak for its mountain: 20 + 20 individuals, elitist on novelty.

    Args:
        estimator: by default `VisitCounts()`.

    Returns:
        With the library's default mutation.
    """
    return NoveltySearch(
        MountainCar(), estimator or VisitCounts(), population_size=20, offspring_size=20
    )


EXPERIMENTS = {"maze": maze, "ant": ant, "car": car}
"""the experiments by world; in other worlds an experiment has `NoveltySearch`'s defaults"""

OTHERWISE = {("ant", "archive"): ArchiveKNN(k=15, additions=10, capacity=6000)}
"""estimators that the paper sets otherwise in a world: section 5.2;
6000 is the largest of 2000, 4000 and 6000"""


def make_search(world: str, estimator: str = RECOMMENDED) -> NoveltySearch:
    """The experiment of a world and an estimator, by their names on the command line.

    It has the paper's sizes, selection and archive where the paper has the world,
    and the library's default operator.

    Args:
        world: Such as `maze`.
        estimator: Of an estimator or a preset.

    Returns:
        The search.

    Raises:
        SettingsError: Where there is no such name.
    """
    task = lookup("experiment", world, "world")
    novelty = lookup("--estimator", estimator, "estimator", "preset")
    instance = OTHERWISE.get((world, estimator)) or novelty.load()()
    if world in EXPERIMENTS:
        return dataclasses.replace(EXPERIMENTS[world](instance), mutate=MixedMutation())
    return NoveltySearch(task.load()(), instance)


class CliName(NamedTuple):
    """A search in the words of the command line; a part of a user's own goes by its class."""

    world: str
    estimator: str
    changed: dict[str, Any]
    """the settings that `--set` changes, with their values"""


def cli_name(search: NoveltySearch, estimator: str | None = None) -> CliName:
    """What the command line, figures and tables call a search.

    Args:
        search: of any parts.
        estimator: the name that its estimator was given; by default that of the preset or class
            that it is.

    Returns:
        The names, and the settings in which it differs from the search of these names.
    """
    task, class_name = innermost(search.task), type(search.estimator).__name__
    words = {name: part.name for name, part in CLASSES.items()}
    world = words.get(type(task).__name__)
    usual = {}
    for part in parts("estimator", "preset").values():
        if part.attribute == class_name:
            search_of = make_search(world, part.name) if world else None
            usual[part.name] = search_of or NoveltySearch(task, part.load()())
    if estimator is None:
        same = (name for name in usual if not non_defaults(search.estimator, usual[name].estimator))
        estimator = next(same, words.get(class_name, class_name))
    plain = dataclasses.replace(search, task=task)
    if estimator in usual:
        changed = non_defaults(plain, usual[estimator])
    else:
        other = make_search(world) if world else NoveltySearch(task)
        changed = {
            f"estimator.{name}": value for name, value in non_defaults(search.estimator).items()
        }
        changed |= non_defaults(plain, dataclasses.replace(other, estimator=search.estimator))
    if not world and dataclasses.is_dataclass(task):
        can_be_set = settings(type(task))
        changed |= {
            f"task.{name}": value
            for name, value in non_defaults(task).items()
            if name in can_be_set
        }
    changed = {name: words.get(str(value), value) for name, value in changed.items()}
    return CliName(world or type(task).__name__, estimator, changed)


def apply_overrides(search: NoveltySearch, changes: Sequence[str]) -> NoveltySearch:
    """The search with settings changed by texts.

    Args:
        search: as it is.
        changes: such as `estimator.epochs=5` or `mutate=gaussian`.

    Raises:
        SettingsError: which reports all changes that are wrong.
    """
    overrides: dict[str, dict[str, Any]] = {part: {} for part in (*PARTS, "")}
    problems = []
    for change in changes:
        name, equals, text = (piece.strip() for piece in change.partition("="))
        part, _, setting = name.rpartition(".")
        if name in OPERATORS:
            try:
                operator = lookup(name, text, OPERATORS[name])
                search = dataclasses.replace(search, **{name: operator.load()()})
            except SettingsError as error:
                problems.append(str(error))
        elif name in ("task", "estimator"):
            command = "brns run WORLD --estimator NAME"
            problems.append(
                f"--set changes a setting, as {name}.NAME=VALUE; another {name} is taken by "
                f"`{command}`"
            )
        elif equals and part in overrides:
            overrides[part][setting] = parse_value(text)
        else:
            prefixes = ", ".join(f"{part}." for part in PARTS)
            problems.append(
                f"--set takes NAME=VALUE, where NAME may begin with {prefixes}; got {change!r}"
            )
    for part, values in overrides.items():
        part_values = getattr(search, part) if part else search
        strays = _strays(search, part_values, part, values)
        problems += strays.values()
        values = {name: value for name, value in values.items() if name not in strays}
        try:
            if part and values:
                search = dataclasses.replace(search, **{part: _configure(part_values, values)})
            elif values:
                search = configure(search, values)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def _strays(search: NoveltySearch, own: Any, part: str, wanted: dict[str, Any]) -> dict[str, str]:
    """Of the settings that a part does not have those that other parts have,
    and the words that say where.
    """
    lines = {}
    for name, value in wanted.items():
        if name in _names(own):
            continue
        typed = f"{part}.{name}" if part else name
        places = [other for other in PARTS if name in _names(getattr(search, other))]
        holders = [] if places else _holders(part, name)
        if places:
            right = " or ".join(f"{other}.{name}={value}" for other in places)
            lines[name] = (
                f"--set {typed}={value}: {typed} is no setting here; did you mean {right}?"
            )
        elif holders:
            lines[name] = (
                f"--set {typed}={value}: {typed} is no setting here; {', '.join(holders)} would "
                "have it"
            )
    return lines


def _holders(part: str, name: str) -> list[str]:
    """How a command line chooses the parts that have a setting, and names it:
    in the place of this part, if given.
    """
    uses = {"estimator": "--estimator ", **{operator: f"{operator}=" for operator in OPERATORS}}
    holders = []
    for place, use in uses.items():
        kind = OPERATORS.get(place, "estimator")
        for other in parts(kind).values() if part in ("", place) else ():
            if name in settings(other.load()):
                holders.append(f"{use}{other.name} ({place}.{name})")
    return holders


def _names(part: Any) -> dict[str, Any]:
    """The settings of a part; of a task in chunks those of the task itself."""
    part = innermost(part) if isinstance(part, Chunked) else part
    return settings(type(part)) if dataclasses.is_dataclass(part) else {}


def _configure(part: Any, changes: dict[str, Any]) -> Any:
    """The part with some settings changed; of a task in chunks those of the task itself."""
    if isinstance(part, Chunked):
        return eqx.tree_at(lambda chunked: chunked.task, part, _configure(part.task, changes))
    return configure(part, changes)


def parse_value(text: str) -> Any:
    """The value of a setting: a Python literal, or none, true or false; other words are strings."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError):
        return text
