"""The table of our parts, by the names that a command line has for them.

JAX is imported when a part is made, so that looking up a name is quick.
"""

import difflib
import functools
import importlib
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["task", "estimator", "preset", "mutation", "selection", "founders"]


class Look(NamedTuple):
    """How the lines of a method are drawn."""

    color: str
    dashes: tuple[float, ...]
    """lengths of strokes and gaps, as multiples of the line's width; none is a whole line"""
    marker: str
    """as matplotlib calls it"""


class Part(NamedTuple):
    """A part of the library."""

    kind: Kind
    """a preset is an estimator of another line with settings that are not its defaults"""
    name: str
    """on the command line"""
    attribute: str
    """its class in `brns` and in a record"""
    meaning: str
    settings: Mapping[str, Any] = types.MappingProxyType({})
    """of a preset"""

    def load(self) -> Any:
        """The class, or for a preset a function that makes it with the preset's settings."""
        part = getattr(importlib.import_module("brns"), self.attribute)
        return functools.partial(part, **self.settings) if self.settings else part

    @property
    def search_argument(self) -> str:
        """The setting of a search that has it, such as `estimator`."""
        return PLACES[self.kind]

    @property
    def command_line_usage(self) -> str:
        """How a command line chooses it, such as `--estimator archive`."""
        commands = {"task": "brns run ", "estimator": "--estimator "}
        return f"{commands.get(self.search_argument, f'--set {self.search_argument}=')}{self.name}"


PLACES: dict[Kind, str] = {
    "task": "task",
    "estimator": "estimator",
    "preset": "estimator",
    "mutation": "mutate",
    "selection": "select",
    "founders": "founders",
}
"""the setting of a search in which a part of each kind stands"""
# BR-NS in the paper, section 5, and in the published code where the paper gives no value.
PAPER: dict[str, Any] = {"embedding": None, "width": None, "inputs": "raw", "initialisation": "he"}
# An archive without eviction: 400 generations of 100 + 100 evaluate 40,100 individuals.
EVERYTHING: dict[str, Any] = {"additions": 200, "capacity": 40_100}
PARTS = (
    Part("task", "maze", "DeceptiveMaze", "a robot in the paper's deceptive maze, section 5.1"),
    Part("task", "ant", "AntMaze", "a four-legged robot in the paper's maze, section 5.2"),
    Part("task", "rooms", "RoomsMaze", "a robot in a maze of rooms, made from a seed"),
    Part("task", "arm", "PlanarArm", "a planar arm of 7 joints"),
    Part("task", "car", "MountainCar", "a car too weak for its mountain"),
    Part("task", "projection", "LinearProjection", "the linear projection of 100 genes"),
    Part("estimator", "counts", "VisitCounts", "visit counts in random grids of every scale"),
    Part("estimator", "exact", "ExactRecognition", "exact recognition, which forgets nothing"),
    Part("estimator", "recognition", "BehaviorRecognition", "BR-NS: a network learns the past"),
    Part("preset", "paper", "BehaviorRecognition", "BR-NS with the paper's settings", PAPER),
    Part("estimator", "archive", "ArchiveKNN", "distance to neighbours in archive and population"),
    Part(
        "preset",
        "everything",
        "ArchiveKNN",
        "an archive of all behaviors, up to 40,100",
        EVERYTHING,
    ),
    Part("estimator", "population", "PopulationKNN", "distance to neighbours in the population"),
    Part("mutation", "mixed", "MixedMutation", "each offspring by one of several operators"),
    Part("mutation", "polynomial", "PolynomialMutation", "bounded polynomial, the paper's"),
    Part("mutation", "gaussian", "GaussianMutation", "Gaussian steps on some genes"),
    Part("mutation", "iso-line", "IsoLineDD", "isotropic steps, and along a line of parents"),
    Part(
        "mutation",
        "differential",
        "DifferentialEvolution",
        "steps scaled by differences of parents",
    ),
    Part("mutation", "crossover", "Crossover", "genes of two parents, then some mutation"),
    Part("mutation", "redraw", "UniformResampling", "drawn anew: random search"),
    Part("selection", "elitist", "Elitist", "the most novel, section 5.1"),
    Part("selection", "nsga2", "NSGA2", "NSGA-II on novelty and fitness, section 5.2"),
    Part("selection", "local", "LocalCompetition", "NSGA-II on novelty and on less fit neighbours"),
    Part("selection", "generational", "Generational", "the latest born, whatever their novelty"),
    Part("founders", "uniform", "UniformFounders", "drawn uniformly from the genotype space"),
    Part("founders", "layers", "LayerFounders", "a network's weights, as in published code"),
)
# Sought at random, so that any two stand far apart to every eye and in grey, as
# tests/pictures/test_looks.py measures.
LOOKS = {
    "counts": Look("#b01758", (), "o"),
    "exact": Look("#0c2451", (6, 1.5), "s"),
    "recognition": Look("#22c192", (4, 1.2, 1, 1.2), "^"),
    "paper": Look("#856d08", (1, 1), "v"),
    "archive": Look("#489af0", (3, 1.2), "D"),
    "everything": Look("#a76fa8", (6, 1.2, 1, 1.2, 1, 1.2), "P"),
    "population": Look("#7b331d", (2, 2), "X"),
    "random search": Look("#401e88", (1, 2.5), "*"),
}
"""the look of a method, the same in every figure, report and page"""
RECOMMENDED = "counts"
"""the default estimator of a run, which the suite of worlds supports"""
CLASSES = {part.attribute: part for part in PARTS if part.kind != "preset"}

NAMED = ("NoveltySearch", "GivenFounders", "Chunked", *CLASSES)
"""the names in `brns` that a record may have; reading one imports no other module"""


class SettingsError(ValueError):
    """A setting with a wrong name or value. The message lists everything that is wrong."""


def parts(*kinds: Kind) -> dict[str, Part]:
    """The parts of these kinds by their names on the command line, in the table's order."""
    return {part.name: part for part in PARTS if part.kind in kinds}


def find_part(what: str, name: str, *kinds: Kind) -> Part:
    """The part of these kinds that has the name; otherwise a `SettingsError` about `what`."""
    candidates = parts(*kinds)
    check_name(what, name, candidates)
    return candidates[name]


def check_name(what: str, name: str, candidates: Iterable[str]) -> None:
    """A `SettingsError` about `what` where a name is none of the candidates."""
    names = list(dict.fromkeys(candidates))
    if name not in names:
        hint = suggest_name(name, names)
        raise SettingsError(f"{what} must be one of {', '.join(names)}; got {name!r}{hint}")


def suggest_name(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean epochs?` if a known name is similar, otherwise a full stop."""
    matches = difflib.get_close_matches(str(name), list(candidates), n=1)
    return f"; did you mean {matches[0]}?" if matches else "."
