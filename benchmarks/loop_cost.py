"""What novelty costs in a loop of your own, beside the nearest neighbors of all that was learned.

python benchmarks/loop_cost.py [--learned 10000] [--long 10000000] [--out results/loop-cost.md]
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from pages import make_parser, write_page
from scipy.spatial import KDTree

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.interoperation import novelty as module

CASES = ((1, 2), (1, 32), (1, 384), (1000, 2), (1000, 32), (1000, 384), (1000, 1536))
SIZES = 32  # of batches, from 1 to 3,111; 30 of them differ
REPEATS = 31
TEXT = """# What novelty costs in a loop of your own

`brns.Novelty(brns.VisitCounts())` scores a batch. The alternative is the mean distance to the 15
nearest of {learned:,} behaviors learned before, by SciPy's KD-tree or a matrix product in NumPy,
whichever is quicker. Numbers are milliseconds of wall time (CPU time in parentheses), medians of
calls in which the two take turns. Behaviors are uniform. Visit counts cost the same after any
number of behaviors. Nearest neighbors cost more the more behaviors there are, and after learning
more a tree must be built again, which is not counted here.
"""
Score = Callable[[Float[np.ndarray, "n d"]], np.ndarray]


def by_tree(points: Float[np.ndarray, "m d"]) -> Score:
    tree = KDTree(points)
    return lambda rows: tree.query(rows, 15)[0].mean(axis=1)


def by_product(points: Float[np.ndarray, "m d"]) -> Score:
    squares = (points**2).sum(axis=1)

    def score(rows: Float[np.ndarray, "n d"]) -> np.ndarray:
        squared = (rows**2).sum(axis=1)[:, None] + squares - 2 * rows @ points.T
        nearest = np.partition(squared, 14, axis=1)[:, :15]
        return np.sqrt(np.maximum(nearest, 0)).mean(axis=1)

    return score


def measure(calls: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Medians of wall and CPU time, in milliseconds, of calls that take turns."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: tuple(1000 * np.median(each[1:], axis=0)) for name, each in taken.items()}


def compare(rows: int, d: int, learned: int) -> list[str]:
    random = np.random.default_rng(0)
    points = random.uniform(-1, 1, (learned, d)).astype(np.float32)
    batch = random.uniform(-1, 1, (rows, d)).astype(np.float32)
    novelty = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0] * d, [1.0] * d))
    novelty.learn(points)
    calls = {"counts": novelty.score, "tree": by_tree(points), "product": by_product(points)}
    if rows * learned * d > 1e9:
        del calls["tree"]  # which compares all in many dimensions, one by one
    found = measure({name: lambda call=call: call(batch) for name, call in calls.items()})
    ours, theirs = found.pop("counts"), min(found.values())
    times = [f"{wall:.3g} ({cpu:.3g})" for wall, cpu in (ours, theirs)]
    return [f"{rows:,}", f"{d}", *times, f"{ours[0] / theirs[0]:.2f}"]


def memory() -> float:
    """The most that this process had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def programs() -> str:
    """What the first calls of many batch sizes compile, and take."""
    novelty = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0] * 32, [1.0] * 32))
    jitted: list[Any] = [module._score, module._learn]
    compiled = sum(each._cached._cache_size() for each in jitted)
    random, began, before = np.random.default_rng(0), time.perf_counter(), memory()
    sizes = np.unique(np.geomspace(1, 3111, SIZES).round().astype(int))
    for size in sizes:
        rows = random.uniform(-1, 1, (size, 32))
        novelty.learn(rows, novelty.score(rows))
    count = sum(each._cached._cache_size() for each in jitted) - compiled
    return (
        f"{len(sizes)} sizes of batches from 1 to 3,111, of 32 numbers, scored and learned: "
        f"{count} compiled programs, {time.perf_counter() - began:.0f} s, "
        f"{memory() - before:.0f} MB."
    )


def long(total: int) -> str:
    """Very many behaviors of two numbers, scored and learned."""
    novelty = brns.Novelty(brns.VisitCounts(), brns.Box([-1.0, -1.0], [1.0, 1.0]))
    random, marks, began = np.random.default_rng(0), [], time.perf_counter()
    for number in range(total // 10_000):
        rows = random.uniform(-1, 1, (10_000, 2))
        novelty.learn(rows, novelty.score(rows))
        if (number + 1) % (total // 100_000) == 0:
            marks.append((time.perf_counter() - began, memory()))
    first, last = marks[0], marks[-1]
    tenth = last[0] - marks[-2][0]
    return (
        f"{total:,} behaviors of two numbers, scored and learned in batches of 10,000: "
        f"{last[0]:.0f} s, the first tenth {first[0]:.1f} s, the last {tenth:.1f} s; the process "
        f"had {first[1]:.0f} MB after the first tenth, {last[1]:.0f} MB at the end."
    )


def main() -> None:
    sizes = {"learned": 10_000, "long": 10_000_000}
    asked = make_parser(__doc__, "results/loop-cost.md", **sizes).parse_args()
    words = [long(asked.long), programs()]
    lines = [["rows", "dimensions", "visit counts", "nearest neighbors", "ratio"]]
    for rows, d in CASES:
        lines.append(compare(rows, d, asked.learned))
        print(*lines[-1], sep=", ", flush=True)
    text = TEXT.format(learned=asked.learned)
    write_page(asked.out, text, format_table(lines), *words, format_command_and_provenance(""))


if __name__ == "__main__":
    main()
