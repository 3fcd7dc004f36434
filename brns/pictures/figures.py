"""The table of figures: what each is called, the function that draws it, and its number in the paper.

A new figure is a function in a file beside this one, and an entry here: command line, report, reproduction and tests
read this table. The first paragraph of a function's docstring is the figure's caption.
"""

import inspect
from collections.abc import Callable
from typing import Literal, NamedTuple

from matplotlib.axes import Axes

from brns.pictures import curves, worlds


class Picture(NamedTuple):
    """One figure."""

    title: str
    function: Callable[..., Axes]
    """`function(source, ax)` draws one panel"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    worlds: Literal["all", "planar", "paths"] = "all"
    """the behaviors that it can be drawn of: any, points of a plane, paths"""
    fitness: bool = False
    """whether it needs a task whose fitness is not the same for all"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one panel for all runs, one a method, one for each method's first seed, or three of it: early, middle, last"""

    @property
    def caption(self) -> str:
        """What is shown and how to read it."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")


FIGURES: dict[str, Picture] = {
    "maze": Picture(
        "The world and what was tried",
        worlds.maze,
        ("2a", "2d"),
        panels="run",
    ),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        worlds.novelty_map,
        ("2c",),
        worlds="planar",
        panels="states",
    ),
    "archive": Picture("The archive", worlds.archive, ("2b",), panels="run"),
    "coverage": Picture("Coverage", curves.coverage, ("3a",), worlds="planar"),
    "uniformity": Picture(
        "Uniformity",
        curves.uniformity,
        ("3f",),
        worlds="planar",
    ),
    "parent-distance": Picture(
        "Distance to the parent",
        curves.parent_distance,
        ("3b",),
    ),
    "age": Picture("Age", curves.age, ("3c",)),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        curves.q,
        ("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
    ),
    "eta": Picture("η", curves.eta, ("4e",)),
    "kappa": Picture("κ", curves.kappa, ("4f",)),
    "kappa-share": Picture("κ per later generation", curves.kappa_share),
    "signature": Picture(
        "Spread of the paths",
        curves.signature,
        ("5",),
        worlds="paths",
    ),
    "elites": Picture(
        "Elites",
        worlds.elites,
        worlds="planar",
        fitness=True,
        panels="run",
    ),
    "qd-score": Picture(
        "QD score",
        curves.qd_score,
        worlds="planar",
        fitness=True,
    ),
}
PAPER: dict[str, str] = {number: name for name, figure in FIGURES.items() for number in figure.paper}
"""the figures by their numbers in the paper"""


def figures_of(kind: Literal["planar", "paths"]) -> tuple[str, ...]:
    """The names of the figures that can be drawn of any runs whose behaviors are points of a plane, or paths."""
    return tuple(name for name, figure in FIGURES.items() if figure.worlds in ("all", kind) and not figure.fitness)
