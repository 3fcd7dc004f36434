"""The default mixture of operators beside the same drawn evenly, without crossover,
and polynomial mutation alone.

    python benchmarks/variation.py [OUT]

Resumable: OUT, by default results/variation, gets a file for each world and method,
and OUT.md is the page.
"""

import sys

import brns
from brns.comparison.worlds import SUITE

WORLDS = [world for world in SUITE if not world.again]
MUTATIONS = {
    "polynomial": brns.PolynomialMutation(),
    "no-crossover": brns.MixedMutation(brns.MixedMutation().operators[:4]),
    "even": brns.MixedMutation(exploration=1.0),
    "mixed": brns.MixedMutation(),
}

if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else "results/variation"
    print(brns.compare(WORLDS, {"counts": brns.VisitCounts()}, mutations=MUTATIONS, out=out))
