"""The experiments, each a function that returns a `NoveltySearch`, and how one is chosen by names."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx

from brns.core import NoveltyEstimator
from brns.estimators.archive import ArchiveKNN
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.hints import near
from brns.operators.mutation import PolynomialMutation
from brns.operators.selection import NSGA2, Elitist
from brns.parts import Kind, Part, parts
from brns.search import NoveltySearch
from brns.settings import SettingsError, configure, describe, value
from brns.tasks.ant import AntMaze
from brns.tasks.car import MountainCar
from brns.tasks.maze import DeceptiveMaze

OPERATORS: dict[str, Kind] = {"mutate": "mutation", "select": "selection", "founders": "founders"}
"""the operators of a search, and the kind of part that each is"""


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
    return BehaviorRecognition(embedding=None, width=None, inputs="raw", initialisation="he")


def has_paper_settings(estimator: Mapping[str, Any]) -> bool:
    """Whether an estimator, as a record describes it, is `paper_recognition()`."""
    return estimator == describe(paper_recognition())


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
    task = chosen("experiment", world, parts("world"))
    novelty = chosen("--estimator", estimator, parts("estimator", "preset"))
    wanted = OTHERWISE.get((world, estimator)) or novelty.load()()
    return EXPERIMENTS[world](wanted) if world in EXPERIMENTS else NoveltySearch(task.load()(), wanted)


def configured(experiment: str, estimator: str, changes: Sequence[str]) -> NoveltySearch:
    """The experiment of that name, changed by texts such as `estimator.epochs=5` or `mutate=gaussian`.

    A `SettingsError` names all changes that are wrong at once, and what there is to choose from.
    """
    return changed(named(experiment, estimator), changes)


def changed(search: NoveltySearch, changes: Sequence[str]) -> NoveltySearch:
    """The search with settings changed by such texts."""
    wanted: dict[str, dict[str, Any]] = {"task": {}, "estimator": {}, **{part: {} for part in OPERATORS}, "": {}}
    problems, names = [], set()
    for change in changes:
        name, equals, text = (piece.strip() for piece in change.partition("="))
        part, _, setting = name.rpartition(".")
        try:
            if name in names:
                raise SettingsError(f"--set gives {name} twice; give it once")
            names.add(name)
            if not equals or part not in wanted:
                raise SettingsError(
                    "--set takes NAME=VALUE, where NAME may begin with "
                    f"{', '.join(f'{part}.' for part in wanted if part)}; got {change!r}"
                )
            if setting in OPERATORS and not part:
                operator = chosen(setting, text, parts(OPERATORS[setting])).load()()
                search = eqx.tree_at(lambda s, part=setting: getattr(s, part), search, operator)
            elif name == "estimator":
                raise SettingsError(f"the estimator is chosen by --estimator {text}; --set changes its settings")
            else:
                wanted[part][setting] = value(text)
        except ValueError as error:
            problems.append(str(error))
    for part, settings in wanted.items():
        try:
            if part and settings:
                changed = configure(getattr(search, part), settings)
                search = eqx.tree_at(lambda s, part=part: getattr(s, part), search, changed)
            elif settings:
                search = configure(search, settings)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def changes(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in which an experiment, as a record describes it, is not that of its world and estimator.

    By name, such as `estimator.epochs`. Of an estimator with presets it is the nearest. None are told where the task or
    the estimator is a user's own.
    """
    task, estimator = experiment["task"], experiment["estimator"]
    worlds = [name for name, part in parts("world").items() if part.attribute == task["name"]]
    usual = [_described(world, name) for world in worlds for name in parts("estimator", "preset")]
    nearest = [one for one in usual if one["estimator"]["name"] == estimator["name"]]
    return min((_differences(one, experiment) for one in nearest), key=len, default={})


@functools.cache
def _described(world: str, estimator: str) -> dict[str, Any]:
    return describe(named(world, estimator))


def _differences(usual: Mapping[str, Any], found: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    different: dict[str, Any] = {}
    for name, now in found.items():
        before = usual.get(name)
        if isinstance(now, Mapping) and isinstance(before, Mapping) and now.get("name") == before.get("name"):
            different |= _differences(before, now, f"{prefix}{name}.")
        elif now != before:
            different[f"{prefix}{name}"] = now["name"] if isinstance(now, Mapping) else now
    return different


def chosen(what: str, name: str, choices: Mapping[str, Part]) -> Part:
    if name not in choices:
        raise SettingsError(f"{what} must be one of {', '.join(choices)}; got {name!r}{near(name, choices)}")
    return choices[name]
