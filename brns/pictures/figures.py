"""The table of figures: what each is called, its number in the paper, what it shows, and the function that draws it.

A new figure is a function in a file beside this one, and an entry here: command line, report, reproduction and tests
read this table.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from matplotlib.axes import Axes

from brns.pictures import curves, worlds


class Picture(NamedTuple):
    """One figure."""

    title: str
    function: Callable[..., Axes]
    """`function(source, ax)` draws one panel"""
    caption: str
    """what is shown and how to read it, as HTML"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    worlds: Literal["all", "planar", "paths"] = "all"
    """the behaviors that it can be drawn of: any, points of a plane, paths"""
    fitness: bool = False
    """whether it needs a task whose fitness is not the same for all"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one panel for all runs, one a method, one for each method's first seed, or three of it: early, middle, last"""


FIGURES: dict[str, Picture] = {
    "maze": Picture(
        "The world and what was tried",
        worlds.maze,
        "Every behavior that was evaluated, of paths at most 1500, coloured by generation. Solvers are ringed; ways "
        "of three are drawn where the task can replay them. First seed of each method.",
        paper=("2a", "2d"),
        panels="run",
    ),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        worlds.novelty_map,
        "Ω<sup>g</sup>(b) at the centres of 60 × 60 cells and the population, for an early, a middle and the last "
        "state kept. Colours are ranks among the cells that can be reached. First seed of each method.",
        paper=("2c",),
        worlds="planar",
        panels="states",
    ),
    "archive": Picture(
        "The archive",
        worlds.archive,
        "The behaviors in the archive at the end, coloured by the generation in which they entered. First seed.",
        paper=("2b",),
        panels="run",
    ),
    "coverage": Picture(
        "Coverage",
        curves.coverage,
        "The share of the cells, 6 × 6 of a plane, that the populations of generations 0 to g have visited.",
        paper=("3a",),
        worlds="planar",
    ),
    "uniformity": Picture(
        "Uniformity",
        curves.uniformity,
        "Jensen–Shannon distance (base 2) to the uniform distribution on those cells: of the archive's entries for a "
        "method with an archive, of novelty at the cells' centres for the others, which is not the same quantity.",
        paper=("3f",),
        worlds="planar",
    ),
    "parent-distance": Picture(
        "Distance to the parent",
        curves.parent_distance,
        "Euclidean distance in behavior space between an individual and its parent, mean over the population.",
        paper=("3b",),
    ),
    "age": Picture("Age", curves.age, "Generations since birth, mean over the population.", paper=("3c",)),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        curves.q,
        "The mean novelty that generation j gives to the population of generation i ≤ j, for three i; it falls in a "
        "search that remembers. Q has its estimator's unit: compare shapes, not heights.",
        paper=("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
    ),
    "eta": Picture(
        "η",
        curves.eta,
        "The mean of Q(i, j) / Q(i, i) over the kept generations j > i; below the dotted line, novelty fades.",
        paper=("4e",),
    ),
    "kappa": Picture(
        "κ",
        curves.kappa,
        "How many kept generations j after the minimum i* of Q(i, ·) have Q(i, j) > Q(i, i*) + ε: how often what was "
        "visited became novel again. It grows with the number of states kept.",
        paper=("4f",),
    ),
    "kappa-share": Picture(
        "κ per later generation",
        curves.kappa_share,
        "κ(i) divided by the number of kept generations after i: runs of different length compare.",
    ),
    "signature": Picture(
        "Spread of the paths",
        curves.signature,
        "Standard deviation of everything evaluated along the 6 terms of its path's signature; mean over the runs.",
        paper=("5",),
        worlds="paths",
    ),
    "signature-coverage": Picture(
        "Coverage of signature space",
        curves.signature_coverage,
        "The share of 3 × 3 × 5 × 20 × 15 × 10 cells of signature space that was visited up to generation g (table "
        "I). The bounds are ours; they follow from the arena's size.",
        worlds="paths",
    ),
    "signature-uniformity": Picture(
        "Uniformity in signature space",
        curves.signature_uniformity,
        "Jensen–Shannon distance from uniform of the survivors' novelty over the cells that they occupy (table I).",
        worlds="paths",
    ),
    "elites": Picture(
        "Elites",
        worlds.elites,
        "The fitness of the fittest in each of 20 × 20 cells of the behavior space. First seed of each method.",
        worlds="planar",
        fitness=True,
        panels="run",
    ),
    "qd-score": Picture(
        "QD score",
        curves.qd_score,
        "The sum of the elites' fitness above the least that any of the runs met.",
        worlds="planar",
        fitness=True,
    ),
}
PAPER: dict[str, str] = {number: name for name, figure in FIGURES.items() for number in figure.paper}
"""the figures by their numbers in the paper"""


def figures_of(kind: Literal["planar", "paths"]) -> tuple[str, ...]:
    """The names of the figures that can be drawn of any runs whose behaviors are points of a plane, or paths."""
    return tuple(name for name, figure in FIGURES.items() if figure.worlds in ("all", kind) and not figure.fitness)
