"""Visit counts, the archive and pyribs' methods in descriptor spaces of 4 to 256 dimensions.

    python benchmarks/own_space.py [--seeds 11] [--out results/own-space]

The tasks are those of benchmarks/dimensions.py. The cells are a tessellation of what all of these
methods evaluate with a seed that is not counted. Needs `pip install 'brns[peers]'`. Resumable: OUT
gets a file for each world and method, and OUT.md is the page.
"""

from typing import Any

import dimensions
from pages import make_parser

import brns
from brns.comparison.peers import PEERS
from brns.comparison.worlds import World, make_world_of_task

METHODS = {"counts": brns.VisitCounts(), "archive": brns.ArchiveKNN(), **PEERS}
SPLITS: dict[str, Any] = {"chosen by": "tune", "held out": "held out"}


def make_worlds() -> list[World]:
    """The tasks as worlds, of 100 + 100 individuals."""
    worlds = []
    for title, each in dimensions.WORLDS.items():
        world = make_world_of_task(each.task, 100, each.generations)
        name = title.partition(" (")[0].replace(", ", "-").replace(" ", "-")
        worlds.append(world._replace(name=name, title=title, split=SPLITS[each.split]))
    return worlds


if __name__ == "__main__":
    arguments = make_parser(__doc__, "results/own-space", seeds=11).parse_args()
    seeds, out = arguments.seeds, arguments.out
    print(brns.compare(make_worlds(), METHODS, seeds=seeds, out=out))
