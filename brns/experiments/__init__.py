"""Ready-made experiments, the paper's maze and ant and a car: functions that return a
`NoveltySearch`, and searches by name.

`maze()` and `ant()` have the paper's operator, polynomial mutation; `car()`, which is not the
paper's, has the default of `NoveltySearch`, the mixture. By name every experiment has the mixture;
`mutate=polynomial` is the paper's.
"""

from brns.experiments.paper import ant as ant
from brns.experiments.paper import car as car
from brns.experiments.paper import make_paper_brns as make_paper_brns
from brns.experiments.paper import make_search as make_search
from brns.experiments.paper import maze as maze
