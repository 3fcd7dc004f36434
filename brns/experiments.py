"""The experiments, each a function that returns a `NoveltySearch`, and how one is chosen by names."""

import dataclasses
import tomllib
from collections.abc import Sequence
from typing import Any

from brns.core import NoveltyEstimator
from brns.estimators.archive import ArchiveKNN
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.operators.mutation import PolynomialMutation
from brns.operators.selection import NSGA2, Elitist
from brns.search import NoveltySearch
from brns.settings import PAPER, Kind, SettingsError, chosen, configure
from brns.tasks.ant import AntMaze
from brns.tasks.car import MountainCar
from brns.tasks.maze import DeceptiveMaze

OPERATORS: dict[str, Kind] = {"mutate": "mutation", "select": "selection", "founders": "founders"}
"""the operators of a search, and the kind of part that each is"""
PARTS = ("task", "estimator", *OPERATORS)


def maze(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The deceptive maze of section 5.1: 100 + 100 individuals, elitist on novelty."""
    return NoveltySearch(
        task=DeceptiveMaze(steps=2000),
        estimator=estimator or ExactRecognition(),
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
    return BehaviorRecognition(**PAPER)


def ant(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The ant maze of section 5.2: 25 + 25 individuals, NSGA-II on novelty and reward."""
    return NoveltySearch(
        task=AntMaze(arena="large", steps=1500),
        estimator=estimator or ExactRecognition(),
        population_size=25,
        offspring_size=25,
        mutate=PolynomialMutation(eta=10.0, rate=0.1),
        select=NSGA2(),
    )


def car(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """A car too weak for its mountain: 20 + 20 individuals, elitist on novelty."""
    return NoveltySearch(MountainCar(), estimator or ExactRecognition(), population_size=20, offspring_size=20)


EXPERIMENTS = {"maze": maze, "ant": ant, "car": car}
"""the experiments by the names of their worlds; in another world they are `NoveltySearch`'s defaults"""

RECOMMENDED = "exact"
"""the estimator of a run that names none, as the suite of worlds shows; `recognition` is BR-NS"""

OTHERWISE = {("ant", "archive"): ArchiveKNN(k=15, growth=10, capacity=6000)}
"""what the paper sets otherwise in a world: in section 5.2 10 enter, 6000 the largest of 2000, 4000 and 6000"""


def named(world: str, estimator: str = RECOMMENDED) -> NoveltySearch:
    """The experiment of a world and an estimator, by the names that the command line gives them."""
    task = chosen("experiment", world, "world")
    novelty = chosen("--estimator", estimator, "estimator", "preset")
    wanted = OTHERWISE.get((world, estimator)) or novelty.load()()
    return EXPERIMENTS[world](wanted) if world in EXPERIMENTS else NoveltySearch(task.load()(), wanted)


def configured(experiment: str, estimator: str, changes: Sequence[str]) -> NoveltySearch:
    """The experiment of that name, changed by texts such as `estimator.epochs=5` or `mutate=gaussian`.

    A `SettingsError` names all changes that are wrong at once, and what there is to choose from.
    """
    return changed(named(experiment, estimator), changes)


def changed(search: NoveltySearch, changes: Sequence[str]) -> NoveltySearch:
    """The search with settings changed by such texts."""
    texts: dict[str, str] = {}
    problems: list[str] = []
    for change in changes:
        name, equals, text = (piece.strip() for piece in change.partition("="))
        if not equals or name.rpartition(".")[0] not in ("", *PARTS):
            known = ", ".join(f"{part}." for part in PARTS)
            problems.append(f"--set takes NAME=VALUE, where NAME may begin with {known}; got {change!r}")
        elif name in texts:
            problems.append(f"--set gives {name} twice; give it once")
        elif name == "estimator":
            problems.append(f"the estimator is chosen by --estimator {text}; --set changes its settings")
        else:
            texts[name] = text
    for part in (*PARTS, ""):
        try:
            if part in OPERATORS and part in texts:
                search = dataclasses.replace(search, **{part: chosen(part, texts.pop(part), OPERATORS[part]).load()()})
            wanted = {name.rpartition(".")[2]: value(texts[name]) for name in texts if name.rpartition(".")[0] == part}
            if wanted and part:
                search = dataclasses.replace(search, **{part: configure(getattr(search, part), wanted)})
            elif wanted:
                search = configure(search, wanted)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def value(text: str) -> Any:
    """A setting's value as TOML reads it; bare words are strings, none is None, and True, False and .5 Python's."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("(") and text.endswith(")"):  # a tuple as Python prints it
        text = f"[{text[1:-1]}]"
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text
