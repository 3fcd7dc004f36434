"""How long a comparison will take, from a short trial in each world."""

import time
from collections.abc import Sequence

from brns.comparison.measure import measured
from brns.comparison.worlds import World
from brns.core import NoveltyEstimator
from brns.runs.bar import Track, untracked
from brns.search import NoveltySearch
from brns.tasks.cpu import cores


def hours(
    worlds: Sequence[World],
    estimator: NoveltyEstimator,
    methods: int,
    seeds: int,
    generations: int | None = None,
    count: Track = untracked,
) -> str:
    """A line a world and the sum, as text.

    In each world the estimator runs 10 generations of 2 seeds; all so many methods are taken to cost as much, and to
    compile as long. Jobs share the cores; those of host tasks run one at a time.
    """
    lines, total = [], 0.0
    for world in count(worlds, "trying", len(worlds)):
        search = NoveltySearch(world.task(), estimator, world.individuals, world.born)
        began = time.perf_counter()
        cost = measured(search, world.cells, 10, [0, 1]).milliseconds / 1000
        compiling = max(time.perf_counter() - began - 20 * cost, 0.0)
        seconds = methods * (compiling + seeds * (generations or world.generations) * cost)
        total += seconds / (cores() if search.task.traceable else 1)
        each = f"{1000 * cost:7.2f} ms a generation and seed"
        lines.append(f"{world.name:12s} {each}, {seconds / 60:6.1f} minutes of a core")
    lines.append(f"{methods} methods, {seeds} seeds: about {total / 60:.0f} minutes on {cores()} cores")
    return "\n".join(lines)
