"""The one table of our own parts: how the command line and `import brns` call them, where they stand, what they are.

A new part is a line of `PARTS`, and one at the end by which type checkers know it as `brns.Name`.
"""

import importlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

Kind = Literal["world", "estimator", "preset", "mutation", "selection", "founders"]


class Part(NamedTuple):
    """A part of the library. Nothing is imported before `load`, so that the table costs nothing to read."""

    kind: Kind
    """a preset makes an estimator of another line of this table with other settings than its defaults"""
    name: str
    """on the command line"""
    module: str
    attribute: str
    """the class, by which a record names the part; of a preset the function"""
    meaning: str
    title: str = ""
    """of an estimator or a preset: what figures and tables call it"""

    def load(self) -> Any:
        """The class or the function itself."""
        return getattr(importlib.import_module(self.module), self.attribute)


PARTS = (
    Part("world", "maze", "brns.tasks.maze", "DeceptiveMaze", "a robot in the paper's deceptive maze, section 5.1"),
    Part("world", "ant", "brns.tasks.ant", "AntMaze", "a four-legged robot in the paper's ant maze, section 5.2"),
    Part("world", "rooms", "brns.tasks.maze", "RoomsMaze", "a robot in a maze of rooms, made from a seed"),
    Part("world", "path", "brns.tasks.maze", "MazePath", "the deceptive maze, with the whole path as behavior"),
    Part("world", "arm", "brns.tasks.arm", "PlanarArm", "a planar arm of 7 joints that reaches places"),
    Part("world", "car", "brns.tasks.car", "MountainCar", "a car too weak for its mountain"),
    Part("world", "projection", "brns.tasks.projection", "LinearProjection", "the linear projection of 100 genes"),
    Part(
        "estimator",
        "exact",
        "brns.estimators.exact",
        "ExactRecognition",
        "recognition solved exactly over everything seen, which forgets nothing",
        "exact recognition",
    ),
    Part(
        "estimator",
        "recognition",
        "brns.estimators.recognition",
        "BehaviorRecognition",
        "BR-NS: the error of a network that learns to recognise past behavior",
        "BR-NS",
    ),
    Part(
        "preset",
        "paper",
        "brns.experiments",
        "paper_recognition",
        "BR-NS with the paper's settings",
        "BR-NS, paper's settings",
    ),
    Part(
        "estimator",
        "archive",
        "brns.estimators.archive",
        "ArchiveKNN",
        "distance to the nearest neighbours in an archive and the population",
        "archive k-NN",
    ),
    Part(
        "estimator",
        "population",
        "brns.estimators.archive",
        "PopulationKNN",
        "distance to the nearest neighbours in the population alone",
        "population k-NN",
    ),
    Part(
        "estimator",
        "density",
        "brns.estimators.density",
        "FeatureDensity",
        "rarity by a density of random features",
        "feature density",
    ),
    Part(
        "estimator",
        "hashing",
        "brns.estimators.hashing",
        "HashCounts",
        "rarity of a hash code, by its visits",
        "hash counts",
    ),
    Part(
        "estimator",
        "coins",
        "brns.estimators.coins",
        "CoinFlips",
        "rarity by networks that learn coin flips",
        "coin flips",
    ),
    Part(
        "estimator",
        "counts",
        "brns.estimators.counts",
        "GridCounts",
        "rarity of a cell of a grid, by its visits",
        "grid counts",
    ),
    Part(
        "mutation",
        "polynomial",
        "brns.operators.mutation",
        "PolynomialMutation",
        "bounded polynomial mutation, the paper's",
    ),
    Part("mutation", "gaussian", "brns.operators.mutation", "GaussianMutation", "Gaussian steps on some genes"),
    Part("mutation", "iso-line", "brns.operators.mutation", "IsoLineDD", "steps all around and towards another parent"),
    Part("mutation", "redraw", "brns.operators.mutation", "Redraw", "drawn anew, whatever the parents: random search"),
    Part("selection", "elitist", "brns.operators.selection", "Elitist", "the most novel, section 5.1"),
    Part("selection", "nsga2", "brns.operators.selection", "NSGA2", "NSGA-II on novelty and fitness, section 5.2"),
    Part("selection", "latest", "brns.operators.selection", "Latest", "the latest born, whatever their novelty"),
    Part(
        "founders", "uniform", "brns.operators.founders", "UniformFounders", "drawn uniformly from the genotype space"
    ),
    Part(
        "founders",
        "layers",
        "brns.operators.founders",
        "LayerFounders",
        "initial weights of a network, as in published code",
    ),
)


def parts(*kinds: Kind) -> dict[str, Part]:
    """The parts of these kinds by their name on the command line, in the table's order."""
    return {part.name: part for part in PARTS if part.kind in kinds}


CLASSES = {part.attribute: part for part in PARTS if part.kind != "preset"}
"""the parts by their class's name, which is their name in `brns` and in a record"""

if TYPE_CHECKING:
    from brns.estimators.archive import ArchiveKNN as ArchiveKNN
    from brns.estimators.archive import PopulationKNN as PopulationKNN
    from brns.estimators.coins import CoinFlips as CoinFlips
    from brns.estimators.counts import GridCounts as GridCounts
    from brns.estimators.density import FeatureDensity as FeatureDensity
    from brns.estimators.exact import ExactRecognition as ExactRecognition
    from brns.estimators.hashing import HashCounts as HashCounts
    from brns.estimators.recognition import BehaviorRecognition as BehaviorRecognition
    from brns.operators.founders import LayerFounders as LayerFounders
    from brns.operators.founders import UniformFounders as UniformFounders
    from brns.operators.mutation import GaussianMutation as GaussianMutation
    from brns.operators.mutation import IsoLineDD as IsoLineDD
    from brns.operators.mutation import PolynomialMutation as PolynomialMutation
    from brns.operators.mutation import Redraw as Redraw
    from brns.operators.selection import NSGA2 as NSGA2
    from brns.operators.selection import Elitist as Elitist
    from brns.operators.selection import Latest as Latest
    from brns.tasks.ant import AntMaze as AntMaze
    from brns.tasks.arm import PlanarArm as PlanarArm
    from brns.tasks.car import MountainCar as MountainCar
    from brns.tasks.maze import DeceptiveMaze as DeceptiveMaze
    from brns.tasks.maze import MazePath as MazePath
    from brns.tasks.maze import RoomsMaze as RoomsMaze
    from brns.tasks.projection import LinearProjection as LinearProjection
