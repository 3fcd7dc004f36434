"""The experiments, the paper's first, each a function that returns a `NoveltySearch`, and their estimators."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx

from brns.core import NoveltyEstimator
from brns.estimators.counts import GridCounts
from brns.estimators.nearest import ArchiveKNN, PopulationKNN
from brns.estimators.recognition import BehaviorRecognition
from brns.mutation import PolynomialMutation
from brns.runs.settings import SettingsError, configure, describe, value
from brns.search import NoveltySearch
from brns.selection import NSGA2, Elitist
from brns.tasks.ant import AntMaze
from brns.tasks.arm import PlanarArm
from brns.tasks.car import MountainCar
from brns.tasks.maze import DeceptiveMaze, MazePath, RoomsMaze
from brns.tasks.projection import LinearProjection


def maze(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The deceptive maze of section 5.1: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(
        task=DeceptiveMaze(steps=2000),
        estimator=estimator or BehaviorRecognition(),
        population_size=100,
        offspring_size=100,
        mutate=PolynomialMutation(eta=10.0, rate=0.1),
        select=Elitist(),
    )


def paper_recognition() -> BehaviorRecognition:
    """BR-NS with the settings of the paper, section 5, and of its published code where the paper is silent.

    He's initialisation, descriptors as they are, 3 d neurons in a layer, an embedding of 2 d dimensions. The defaults
    of `BehaviorRecognition` are others, for the reasons that the reproduction gives.
    """
    return BehaviorRecognition(fixed_width=None, fixed_embedding=None, inputs="raw", initialisation="he")


def has_paper_settings(estimator: Mapping[str, Any]) -> bool:
    """Whether an estimator, as a record describes it, is `paper_recognition()`."""
    return estimator == describe(paper_recognition())


def ant(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The ant maze of section 5.2: 25 + 25 individuals, NSGA-II on novelty and reward."""
    return NoveltySearch(
        task=AntMaze(arena="large", steps=1500),
        estimator=estimator or BehaviorRecognition(),
        population_size=25,
        offspring_size=25,
        mutate=PolynomialMutation(eta=10.0, rate=0.1),
        select=NSGA2(),
    )


def rooms(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """A maze of rooms made from a seed: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(RoomsMaze(), estimator or BehaviorRecognition())


def path(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The deceptive maze with the robot's whole path as behavior: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(MazePath(), estimator or BehaviorRecognition())


def arm(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """A planar arm of 7 joints, which reaches places: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(PlanarArm(), estimator or BehaviorRecognition())


def car(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """A car too weak for its mountain: 20 + 20 individuals, elitist on novelty."""
    return NoveltySearch(MountainCar(), estimator or BehaviorRecognition(), population_size=20, offspring_size=20)


def projection(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """Quality diversity's linear projection of 100 genes: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(LinearProjection(), estimator or BehaviorRecognition())


EXPERIMENTS = {
    "maze": maze,
    "ant": ant,
    "rooms": rooms,
    "path": path,
    "arm": arm,
    "car": car,
    "projection": projection,
}
"""the experiments by the name that the command line gives them"""

METHODS: dict[str, NoveltyEstimator] = {
    "recognition": BehaviorRecognition(),
    "paper": paper_recognition(),
    "archive": ArchiveKNN(k=15, growth=6, capacity=10000),
    "population": PopulationKNN(k=15),
}
"""the estimators of a world in which nothing was chosen, and of a comparison; by name"""

ESTIMATORS: dict[str, dict[str, NoveltyEstimator]] = {
    "maze": {
        "recognition": BehaviorRecognition(),
        "paper": paper_recognition(),
        "archive": ArchiveKNN(k=15, growth=6, capacity=10000),  # section 5.1
        "population": PopulationKNN(k=15),
        "counts": GridCounts(),
    },
    "ant": {
        "recognition": BehaviorRecognition(),
        "paper": paper_recognition(),
        "archive": ArchiveKNN(k=15, growth=10, capacity=6000),  # section 5.2, the largest of 2000, 4000 and 6000
        "population": PopulationKNN(k=15),
    },
    **dict.fromkeys(("rooms", "path", "arm", "car", "projection"), METHODS),
}
"""the estimators of each experiment by the name that the command line gives them"""


def configured(experiment: str, estimator: str, changes: Sequence[str]) -> NoveltySearch:
    """The experiment of that name, with settings changed by texts such as `estimator.epochs=5`.

    A `SettingsError` names all changes that are wrong at once, and what there is to choose from.
    """
    make = chosen("experiment", experiment, EXPERIMENTS)
    search = make(chosen("--estimator", estimator, ESTIMATORS[experiment]))
    parts: dict[str, dict[str, Any]] = {"task": {}, "estimator": {}, "mutate": {}, "select": {}, "": {}}
    problems = []
    for change in changes:
        name, equals, text = change.partition("=")
        part, _, setting = name.strip().rpartition(".")
        if not equals or part not in parts:
            problems.append(
                "--set takes NAME=VALUE, where NAME may begin with task., estimator., mutate. or select.; "
                f"got {change!r}"
            )
        else:
            parts[part][setting] = value(text.strip())
    for part, wanted in parts.items():
        try:
            if part and wanted:
                changed = configure(getattr(search, part), wanted)
                search = eqx.tree_at(lambda s, part=part: getattr(s, part), search, changed)
            elif wanted:
                search = configure(search, wanted)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def chosen(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    if name not in choices:
        raise SettingsError(f"{what} must be one of {', '.join(choices)}; got {name!r}")
    return choices[name]
