"""The table of figures, which command line, report, reproduction and tests read.

A new figure is a function that gathers, one that paints, and an entry here.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from brns.pictures import gather_curves, gather_maps, paint_curves, paint_maps
from brns.pictures.gather_curves import CURVES


class Picture(NamedTuple):
    """One figure."""

    title: str
    caption: str
    """what is shown and how to read it"""
    gather: Callable[..., Any]
    """`gather(source, **options)` has the numbers of one panel"""
    paint: Callable[..., None] = paint_curves.paint_curves
    """`paint(gathered, ax)` draws them"""
    paper: tuple[str, ...] = ()
    """its numbers in the paper"""
    panels: Literal["one", "method", "run", "states"] = "one"
    """one for all, one a method, one a method's first seed, or three of it: early, middle, last"""
    archived: bool = False
    """whether methods without an archive are left out, if others have one"""
    options: tuple[str, ...] = ()
    """those of `draw` that it has"""
    timed: bool = False
    """whether it is measured when it is drawn, which takes a minute: reports do without"""

    @property
    def shows_maps(self) -> bool:
        """Whether its panels are maps, not curves."""
        return self.panels in ("run", "states")


FIGURES: dict[str, Picture] = {
    "behaviors": Picture(
        "All behaviors",
        "Every behavior that was evaluated, of paths at most 1500, coloured by generation. "
        "Solutions are ringed; paths of three (the first, one halfway, the last) are drawn where "
        "the task can replay them. First seed of each method.",
        gather_maps.gather_behaviors,
        paint_maps.paint_behaviors,
        paper=("2a", "2d"),
        panels="run",
    ),
    "novelty-map": Picture(
        "Novelty over the behavior space",
        "Novelty after a generation at the centres of 60 × 60 cells, and the population that then "
        "lived, for an early, a middle and the last state kept. Colours are ranks, among the "
        "cells that can be reached where there are walls. First seed of each method.",
        gather_maps.gather_novelty_map,
        paint_maps.paint_novelty_map,
        paper=("2c",),
        panels="states",
        options=("generation",),
    ),
    "population": Picture(
        "The population",
        "The survivors of the last generation, coloured by the novelty by which they were "
        "selected. First seed of each method.",
        gather_maps.gather_population,
        paint_maps.paint_population,
        panels="run",
        options=("generation",),
    ),
    "lineage": Picture(
        "The line of a solution",
        "The first solution and those from whom it descends, parent by parent from a founder on, "
        "coloured by generation; of a run without a solution the most novel survivor. First seed "
        "of each method.",
        gather_maps.gather_lineage,
        paint_maps.paint_lineage,
        panels="run",
        options=("individual",),
    ),
    "archive": Picture(
        "The archive",
        "The behaviors in the archive at the end, coloured by the generation in which they "
        "entered. First seed.",
        gather_maps.gather_archive,
        paint_maps.paint_archive,
        paper=("2b",),
        panels="run",
        archived=True,
    ),
    "coverage": Picture(
        "Coverage",
        "The share of cells that the populations of generations 0 to g have visited: 6 × 6 of a "
        "plane, or finer where a method fills those; in more than 3 dimensions those of a "
        "tessellation of what these runs evaluated.",
        gather_curves.gather_coverage,
        paper=("3a",),
        options=("cells", "individuals", "over"),
    ),
    "uniformity": Picture(
        "Uniformity",
        "Jensen–Shannon distance (base 2) to the uniform distribution on the cells of coverage: "
        "of the archive's entries for a method with an archive, of novelty at the cells' centres "
        "for the others, which is not the same quantity. Generations whose archive is empty are "
        "left out.",
        CURVES["uniformity"].gather,
        paper=("3f",),
        options=("over",),
    ),
    "parent-distance": Picture(
        "Distance to the parent",
        "Euclidean distance in behavior space between an individual and its parent, mean over "
        "the population.",
        CURVES["parent-distance"].gather,
        paper=("3b",),
        options=("over",),
    ),
    "age": Picture(
        "Age",
        "Generations since birth, mean over the population.",
        CURVES["age"].gather,
        paper=("3c",),
        options=("over",),
    ),
    "q": Picture(
        "Q(i, j): is what was visited forgotten?",
        "The mean novelty that generation j gives to the population of generation i ≤ j, for "
        "three i; it falls in a search that remembers. Q has its estimator's unit: compare "
        "shapes, not heights. The axis is logarithmic where all of Q is above 0, with the median "
        "and the quartiles over the runs.",
        gather_curves.gather_three_rows_of_q_matrix,
        paper=("3d", "3e", "4a", "4b", "4c", "4d"),
        panels="method",
        options=("over",),
    ),
    "eta": Picture(
        "η",
        "The mean of Q(i, j) / Q(i, i) over the kept generations j > i; below the dotted line, "
        "novelty fades.",
        CURVES["eta"].gather,
        paper=("4e",),
        options=("over",),
    ),
    "kappa": Picture(
        "κ",
        "How many kept generations j after the minimum i* of Q(i, ·) have Q(i, j) > Q(i, i*) + ε: "
        "how often what was visited became novel again. It grows with the number of states kept.",
        CURVES["kappa"].gather,
        paper=("4f",),
        options=("over",),
    ),
    "kappa-share": Picture(
        "κ per later generation",
        "κ(i) divided by the number of kept generations after i: runs of different length compare.",
        CURVES["kappa-share"].gather,
        options=("over",),
    ),
    "signature": Picture(
        "Spread of the paths",
        "Standard deviation of everything evaluated along the 6 terms of its path's signature, "
        "mean over the runs. The paper speaks of the solutions generated; we take every candidate "
        "solution, as a run may solve nothing.",
        gather_curves.gather_signature_spread_by_term,
        paint_curves.paint_bars,
        paper=("5",),
    ),
    "cost": Picture(
        "What novelty costs",
        "CPU time of one generation of novelty, measured on this machine: 100 + 100 uniform "
        "behaviors of so many dimensions are scored and learned from. Archives are full.",
        gather_curves.measure_estimator_time_by_dimension,
        paint_curves.paint_costs_by_dimension,
        paper=("6",),
        timed=True,
    ),
    "elites": Picture(
        "Elites",
        "The fitness of the fittest in each of 20 × 20 cells of the behavior space. First seed "
        "of each method.",
        gather_maps.gather_elites,
        paint_maps.paint_elites,
        panels="run",
        options=("cells",),
    ),
    "qd-score": Picture(
        "QD score",
        "The fitness of the elites of 20 × 20 cells of a plane, else of coverage's, summed above "
        "the least fitness that any of the runs met, so that a new cell never lowers the score.",
        gather_curves.gather_qd_score,
        options=("cells", "over"),
    ),
}
PAPER = {number: name for name, figure in FIGURES.items() for number in figure.paper}
"""the figures by their numbers in the paper"""
AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {"3a": {"cells": (6, 6)}}
"""options of figures that are asked for by their number"""
