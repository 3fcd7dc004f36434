"""What a run that says it is saturated had found, beside the same run three times as long.

    python benchmarks/saturation.py [--seeds 10] [--times 6] [--estimator counts]
        [--worlds maze arm ...] [--out results/saturation]

Makes OUT.csv and OUT.md. Each world of the suite is searched with the library's defaults for
`times` its own length. Of each seed and threshold: the first generation g in which less is new, and
the coverage then over the coverage at generation 3 g, of runs that are so long.
Rows of OUT.csv for other worlds and estimators stay.
"""

import itertools
from typing import Any

import jax
import numpy as np
from pages import make_parser, write_page

from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.comparison.worlds import SUITE, World, world
from brns.core import Population
from brns.formatting import format_csv, read_csv
from brns.metrics.saturation import SATURATED, VisitedCells
from brns.runs.files import write_bytes
from brns.runs.seeds import compute_generations, count_parallel_batches
from brns.search import NoveltySearch
from brns.settings.parts import parts

THRESHOLDS = (0.02, 0.03, 0.05, 0.1)
TEXT = f"""# When a run says that it is saturated

`brns.saturated` is true when less than {SATURATED:.0%} is new; this limit was chosen in the tuning
half. *Says*: the number of seeds in which it became true, and the median generation, divided by the
number of generations that the suite gives the world. *Has*: the coverage at that generation,
divided by that of the same run three times as long: the mean and the least over the seeds that ran
so long, and their number. Coverage counts the suite's cells; a run counts what is new in others.
"""


class Followed:
    """A seed: the share of what is new, and the coverage, after each generation."""

    def __init__(self, one: World, search: NoveltySearch):
        self.cells: Any = one.cells
        self.seen = VisitedCells(search.task.behavior_space)
        self.visited = np.zeros(self.cells.side**2, bool)
        self.new: list[float] = []
        self.covered: list[int] = []

    def look(self, born: Population) -> None:
        """At the founders, or at a generation's offspring."""
        self.visited[np.asarray(self.cells.find_nearest_cell_indices(born))] = True
        self.covered.append(int(self.visited.sum()))
        self.new.append(self.seen.update_new_cell_fraction(np.asarray(born.descriptor)))

    def row(self, threshold: float) -> dict[str, Any]:
        """When less was new, and the share of coverage then; empty where never, or too late."""
        below = np.flatnonzero(np.array(self.new) < threshold)
        if not len(below):
            return {"said": "", "has": ""}
        said = int(below[0])
        if 3 * said >= len(self.covered):  # the run is shorter
            return {"said": said, "has": ""}
        return {"said": said, "has": f"{self.covered[said] / self.covered[3 * said]:.4f}"}


def rows(one: World, estimator: str, seeds: int, times: float) -> list[dict[str, Any]]:
    """A row for each seed and threshold."""
    novelty = parts("estimator", "preset")[estimator].load()()
    search = NoveltySearch(one.task(), novelty, one.population_size, one.offspring_size)
    keys = [jax.random.key(seed) for seed in range(seeds)]
    states = [search.init(key) for key in keys]
    followed = [Followed(one, search) for _ in keys]
    for mine, state in zip(followed, states, strict=True):
        mine.look(state.population)
    number, batches = round(times * one.generations), count_parallel_batches(search.task, seeds)
    for after in compute_generations(search, keys, states, number, batches):
        for mine, (_, generation) in zip(followed, after, strict=True):
            mine.look(generation.offspring)
    known = {"estimator": estimator, "world": one.name}
    return [
        {**known, "threshold": f"{threshold}", "seed": seed, **mine.row(threshold)}
        for threshold in THRESHOLDS
        for seed, mine in enumerate(followed)
    ]


def cell(found: list[dict[str, Any]], generations: int) -> list[str]:
    """Says, and has."""
    said = [float(row["said"]) / generations for row in found if row["said"] != ""]
    has = [float(row["has"]) for row in found if row["has"] != ""]
    if not said:
        return [f"0 of {len(found)}", ""]
    return [
        f"{len(said)} of {len(found)}, at {np.median(said):.1f}",
        f"{np.mean(has):.2f}, least {min(has):.2f} ({len(has)})" if has else "",
    ]


def page(found: list[dict[str, Any]]) -> list[str]:
    """Its blocks."""
    blocks = [TEXT]
    for estimator in dict.fromkeys(row["estimator"] for row in found):
        lines = [["world", "half"]]
        for threshold in THRESHOLDS:
            lines[0] += [f"below {threshold:.0%}: says", "has"]
        for one in sorted(SUITE, key=lambda each: each.split, reverse=True):
            mine = [
                row for row in found if (row["estimator"], row["world"]) == (estimator, one.name)
            ]
            cells = [
                cell([row for row in mine if float(row["threshold"]) == t], one.generations)
                for t in THRESHOLDS
            ]
            lines += [[one.name, one.split, *itertools.chain(*cells)]] if mine else []
        blocks.append(f"## {estimator}\n\n{format_table(lines)}")
    return [*blocks, format_command_and_provenance("")]


def main() -> None:
    options = {"seeds": 10, "times": 6.0, "estimator": "counts"}
    parser = make_parser(__doc__, "results/saturation", **options)
    every = [each.name for each in SUITE if not each.repeats]
    parser.add_argument("--worlds", nargs="+", default=every)
    asked = parser.parse_args()
    file = asked.out.with_suffix(".csv")
    for name in asked.worlds:
        new = rows(world(name), asked.estimator, asked.seeds, asked.times)
        old = read_csv(file)
        found = [
            row for row in old if (row["estimator"], row["world"]) != (asked.estimator, name)
        ] + new
        write_bytes(file, format_csv(found).encode())
        write_page(asked.out.with_suffix(".md"), *page(found))
        print(asked.estimator, name, flush=True)


if __name__ == "__main__":
    main()
