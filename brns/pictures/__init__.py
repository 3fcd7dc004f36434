"""Figures drawn from records, numbered as in the paper. `draw` makes one by its name, `data` has
its numbers, and `FIGURES` is the table of them.

A line over generations is the mean over the runs of a method, its band one standard deviation over
seeds to either side. Where that would reach below 0 of a quantity that cannot, or above all that
there is, they are the median and the quartiles, as the axis then says. Only generations that all
runs of the method have are drawn. A method has one colour, line style and marker everywhere. The
colours stay apart in deuteranopia, in protanopia and in grey.

Of a run with a task or an estimator of your own, all is drawn that needs only what it stored. Maps
of novelty, Q, η, κ, archives and the walls of a scene need the search: set `record.search` to the
one that made the run.
"""

import lazy_loader

# The names stand in __init__.pyi. Who draws nothing need not wait for matplotlib.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
