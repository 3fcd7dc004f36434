"""Figures: records in, one figure a function, numbered as in the paper.

A line over generations is the mean over the runs of a method, its band one standard deviation over seeds to either
side, or where that would reach below 0 of a quantity that cannot, the median and the quartiles, as the axis then says;
only generations that all runs of the method have are drawn. `draw` makes a whole figure by name; `FIGURES` is the table
of them. The functions of which they are made draw on `ax`, by default pyplot's current one (`plt.gca()`).

Of a run with a task or an estimator of your own all is drawn that needs only what it stored. Maps of novelty, Q and
what follows from it, archives and the walls of a world need the search: set `record.search` to the one that made the
run.
"""

from brns.pictures.curves import (
    age,
    coverage,
    eta,
    kappa,
    kappa_share,
    parent_distance,
    q,
    qd_score,
    signature,
    signature_coverage,
    signature_uniformity,
    uniformity,
)
from brns.pictures.drawing import draw, overview
from brns.pictures.figures import FIGURES, PAPER, Picture, figures_of
from brns.pictures.methods import method, methods
from brns.pictures.style import save
from brns.pictures.times import read_times, time
from brns.pictures.worlds import archive, elites, maze, novelty_grid, novelty_map, population

__all__ = [  # beside `draw`, `overview` and the table, the functions of which whole figures are made
    "FIGURES",
    "PAPER",
    "Picture",
    "age",
    "archive",
    "coverage",
    "draw",
    "elites",
    "eta",
    "figures_of",
    "kappa",
    "kappa_share",
    "maze",
    "method",
    "methods",
    "novelty_grid",
    "novelty_map",
    "overview",
    "parent_distance",
    "population",
    "q",
    "qd_score",
    "read_times",
    "save",
    "signature",
    "signature_coverage",
    "signature_uniformity",
    "time",
    "uniformity",
]
