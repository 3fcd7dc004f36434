"""The library's defaults beside pyribs' methods, at equal evaluations.

    python benchmarks/peers.py [OUT]

Needs `pip install 'brns[peers]'`. Resumable: OUT, by default results/peers, gets a file for each
world and method, and OUT.md is the page.
"""

import argparse

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", default="results/peers")
    out = parser.parse_args().out
    print(
        brns.compare(
            WORLDS, {"counts": brns.VisitCounts(), **PEERS}, mutations=MIXED, seeds=12, out=out
        )
    )
