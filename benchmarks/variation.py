"""The default mixture of operators beside the same drawn evenly, without crossover,
and polynomial mutation alone.

    python benchmarks/variation.py [OUT]

Resumable: OUT, by default results/variation, gets a file for each world and method,
and OUT.md is the page.
"""

import argparse

import brns
from brns.comparison.worlds import SUITE

WORLDS = [world for world in SUITE if not world.repeats]
MUTATIONS = {
    "polynomial": brns.PolynomialMutation(),
    "no-crossover": brns.MixedMutation(brns.MixedMutation().operators[:4]),
    "even": brns.MixedMutation(exploration=1.0),
    "mixed": brns.MixedMutation(),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", default="results/variation")
    out = parser.parse_args().out
    print(brns.compare(WORLDS, {"counts": brns.VisitCounts()}, mutations=MUTATIONS, out=out))
