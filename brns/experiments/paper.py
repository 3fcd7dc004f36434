"""The paper's experiments, and those chosen by the names of their parts."""

import dataclasses

from brns.core import NoveltyEstimator
from brns.estimators.archive import ArchiveKNN
from brns.estimators.counts import VisitCounts
from brns.operators.mutation import MixedMutation, PolynomialMutation
from brns.operators.selection import NSGA2
from brns.search import NoveltySearch
from brns.settings.parts import RECOMMENDED, find_part, parts
from brns.tasks.ant import AntMaze
from brns.tasks.car import MountainCar
from brns.tasks.maze import DeceptiveMaze


def maze(estimator: NoveltyEstimator | None = None) -> NoveltySearch:
    """The deceptive maze of section 5.1: 100 + 100 individuals, elitist on novelty.

    Args:
        estimator: by default `VisitCounts()`.

    Returns:
        With the paper's sizes, selection and mutation.
    """
    return NoveltySearch(DeceptiveMaze(), estimator or VisitCounts(), mutate=PolynomialMutation())


def make_paper_brns() -> NoveltyEstimator:
    """BR-NS as in the paper, section 5, and in the published code where the paper gives no value.

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
"""the experiments by task; with other tasks an experiment has `NoveltySearch`'s defaults"""

OTHERWISE = {("ant", "archive"): ArchiveKNN(k=15, additions=10, capacity=6000)}
"""estimators that section 5.2 sets otherwise; 6000 is the largest of 2000, 4000 and 6000"""


def make_search(task_name: str, estimator: str = RECOMMENDED) -> NoveltySearch:
    """The experiment of a task and an estimator, by their names on the command line.

    It has the paper's sizes, selection and archive where the paper has the task,
    and the library's default operator.

    Args:
        task_name: Such as `maze`.
        estimator: Of an estimator or a preset.

    Returns:
        The search.

    Raises:
        SettingsError: Where there is no such name.
    """
    task = find_part("experiment", task_name, "task")
    novelty = find_part("--estimator", estimator, "estimator", "preset")
    instance = OTHERWISE.get((task_name, estimator)) or novelty.load()()
    if task_name in EXPERIMENTS:
        return dataclasses.replace(EXPERIMENTS[task_name](instance), mutate=MixedMutation())
    return NoveltySearch(task.load()(), instance)
