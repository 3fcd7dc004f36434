"""The default mixture of operators beside polynomial mutation alone.

    python benchmarks/variation.py [--out results/variation]

Resumable: OUT gets a file for each world and method, and OUT.md is the page.
"""

from pages import make_parser

import brns
from brns.comparison.worlds import SUITE

WORLDS = [world for world in SUITE if not world.repeats]
MUTATIONS = {"polynomial": brns.PolynomialMutation(), "mixed": brns.MixedMutation()}

if __name__ == "__main__":
    out = make_parser(__doc__, "results/variation").parse_args().out
    print(brns.compare(WORLDS, {"counts": brns.VisitCounts()}, mutations=MUTATIONS, out=out))
