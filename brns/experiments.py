"""The paper's experiments, each a function that returns a `NoveltySearch`, and the estimators that it compares."""

from collections.abc import Mapping
from typing import Any

from brns.core import NoveltyEstimator
from brns.estimators.counts import GridCounts
from brns.estimators.nearest import ArchiveKNN, PopulationKNN
from brns.estimators.recognition import BehaviorRecognition
from brns.mutation import PolynomialMutation
from brns.search import NoveltySearch
from brns.selection import NSGA2, Elitist
from brns.settings import describe
from brns.tasks.ant import AntMaze
from brns.tasks.maze import DeceptiveMaze


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


EXPERIMENTS = {"maze": maze, "ant": ant}
"""the experiments by the name that the command line gives them"""

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
}
"""the estimators of each experiment by the name that the command line gives them"""
