"""How long a comparison will take, from a short trial in each world."""

import time
from collections.abc import Mapping, Sequence

from brns.comparison.measure import measured
from brns.comparison.worlds import World
from brns.core import NoveltyEstimator
from brns.runs.bar import Track, untracked
from brns.search import NoveltySearch
from brns.tasks.cpu import cores


def hours(
    worlds: Sequence[World],
    methods: Mapping[str, NoveltyEstimator],
    seeds: int,
    generations: int | None = None,
    count: Track = untracked,
    workers: int | None = None,
    operators: int = 1,
) -> str:
    """A line a world and the sum, as text.

    In each world the first method runs 10 generations of 2 seeds; the others are taken to cost as much, and all to
    compile as long. Each method runs with so many `operators`; `workers` jobs, by default one a core, begin side by
    side. What they compute shares the cores; host tasks are called by one job at a time.
    """
    lines, total, jobs = [], 0.0, len(methods) * operators
    beginning = min(workers or cores(), cores(), jobs * len(worlds))
    for world in count(worlds, "trying", len(worlds)):
        search = NoveltySearch(world.task(), next(iter(methods.values())), world.individuals, world.born)
        began = time.perf_counter()
        cost = measured(search, world.cells, 10, [0, 1]).milliseconds / 1000
        compiling = max(time.perf_counter() - began - 20 * cost, 0.0)
        steps = seeds * (generations or world.generations)
        computing = min(cores(), min(workers or cores(), jobs * len(worlds)) * seeds) if search.task.traceable else 1
        total += jobs * (compiling / beginning + steps * cost / computing)
        seconds = jobs * (compiling + steps * cost)
        each = f"{1000 * cost:7.2f} ms a generation and seed"
        lines.append(f"{world.name:12s} {each}, {seconds / 60:6.1f} minutes of a core")
    lines.append(f"{jobs} methods, {seeds} seeds: about {total / 60:.0f} minutes on {cores()} cores")
    return "\n".join(lines)
