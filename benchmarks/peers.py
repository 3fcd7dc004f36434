"""The library's defaults beside pyribs' methods, at equal evaluations.

    python benchmarks/peers.py [--out results/peers]

Needs `pip install 'brns[peers]'`. Resumable: OUT gets a file for each
world and method, and OUT.md is the page.
"""

from pages import make_parser

import brns
from brns.comparison.peers import PEERS
from brns.comparison.worlds import world

SEVEN = world("arm")
TWENTY = SEVEN._replace(
    name="arm-20-joints", title="arm, 20 joints", task=lambda: brns.PlanarArm(20)
)
WORLDS = [SEVEN, TWENTY, world("car"), world("projection"), world("maze")]
MIXED = {"mixed": brns.MixedMutation()}

if __name__ == "__main__":
    out = make_parser(__doc__, "results/peers").parse_args().out
    print(
        brns.compare(
            WORLDS, {"counts": brns.VisitCounts(), **PEERS}, mutations=MIXED, seeds=12, out=out
        )
    )
