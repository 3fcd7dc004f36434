"""Figures: records in, one figure a function, numbered as in the paper.

A line over generations is the mean over the runs of a method, its band one standard deviation over seeds to either
side, or where that would reach below 0 of a quantity that cannot, the median and the quartiles, as the axis then says;
only generations that all runs of the method have are drawn. `draw` makes a whole figure by name; `FIGURES` is the table
of them. The functions of which they are made draw on `ax`, by default pyplot's current one (`plt.gca()`).

Of a run with a task or an estimator of your own all is drawn that needs only what it stored. Maps of novelty, Q and
what follows from it, archives and the walls of a world need the search: set `record.search` to the one that made the
run.
"""

from importlib import import_module
from typing import Any

from brns.pictures.methods import method, methods

_OF_CURVES = "age coverage eta kappa kappa_share parent_distance q qd_score signature signature_coverage "
_HOME = {
    "curves": (_OF_CURVES + "signature_uniformity uniformity").split(),
    "drawing": ["draw", "overview"],
    "figures": ["FIGURES", "PAPER", "Picture", "figures_of"],
    "style": ["save"],
    "times": ["read_times", "time"],
    "worlds": ["archive", "elites", "maze", "novelty_grid", "novelty_map", "population"],
}
__all__ = ["method", "methods", *(name for names in _HOME.values() for name in names)]


def __getattr__(name: str) -> Any:
    """What is asked for, from its file: who draws nothing need not wait for matplotlib."""
    home = next((home for home, names in _HOME.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
