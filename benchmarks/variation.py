"""The default mixture of operators beside the same drawn evenly, without crossover,
polynomial mutation alone, and a mixture whose steps do not grow with the box.

    python benchmarks/variation.py [--out results/variation]

Resumable: OUT gets a file for each world and method,
and OUT.md is the page.
"""

from pages import make_parser

import brns
from brns.comparison.worlds import SUITE

WORLDS = [world for world in SUITE if not world.repeats]
DIFFERENTIAL = brns.MixedMutation(
    (
        brns.DifferentialEvolution(),
        brns.IsoLineDD(sigma_iso=0.0),
        brns.IsoLineDD(sigma_iso=0.0, sigma_line=0.5),
        brns.Crossover(mutated=0.0),
        brns.Crossover(points=2, mutated=0.0),
    )
)
"""its steps are as long as parents differ"""
MUTATIONS = {
    "polynomial": brns.PolynomialMutation(),
    "no-crossover": brns.MixedMutation(brns.MixedMutation().operators[:4]),
    "even": brns.MixedMutation(exploration=1.0),
    "mixed": brns.MixedMutation(),
    "differential": DIFFERENTIAL,
}

if __name__ == "__main__":
    out = make_parser(__doc__, "results/variation").parse_args().out
    print(brns.compare(WORLDS, {"counts": brns.VisitCounts()}, mutations=MUTATIONS, out=out))
