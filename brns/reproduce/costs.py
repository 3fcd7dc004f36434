"""Timings read back, and where two methods cost the same."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Crossover(NamedTuple):
    """The number of archive entries from which on BR-NS is the cheaper."""

    entries: float
    open: str
    """'<' or '>' where the crossing lies outside of the sizes measured, else empty"""

    @property
    def text(self) -> str:
        words = {"<": "below", ">": "above", "": "about"}
        return f"{words[self.open]} {float(f'{self.entries:.2g}'):.0f}"


class Costs:
    """The medians over repeats of `timing.csv`, and `cost-over-time.csv` beside it."""

    def __init__(self, folder: Path):
        self.rows = _read(folder / "timing.csv")
        self.over_time = _read(folder / "cost-over-time.csv")
        found = defaultdict(list)
        for row in self.rows:
            found[row["method"], int(row["d"]), int(row["entries"]), int(row["individuals"])].append(float(row["ms"]))
        self.medians = {key: float(np.median(values)) for key, values in found.items()}
        self.dimensions = sorted({d for _, d, _, _ in self.medians})
        self.entries = sorted({n for _, _, n, _ in self.medians if n})
        self.generations = max(int(row["generation"]) for row in self.over_time)

    def ms(self, method: str, d: int, entries: int, individuals: int) -> float:
        """The median CPU time of a generation in milliseconds."""
        return self.medians[method, d, entries, individuals]

    def best_exact(self, d: int, entries: int, individuals: int) -> float:
        """That of the cheaper of the two exact searches without a tree."""
        return min(self.ms(method, d, entries, individuals) for method in ("k-NN", "brute force"))

    def crossover(self, ours: str, theirs: str, d: int, individuals: int) -> Crossover:
        """From how many entries on `ours` is cheaper than `theirs`, a method or "exact" for the best exact search.

        Between two sizes that were measured, costs are taken to follow a power of the number of entries.
        """
        mine = self.ms(ours, d, 0, individuals)
        costs = [
            self.best_exact(d, n, individuals) if theirs == "exact" else self.ms(theirs, d, n, individuals)
            for n in self.entries
        ]
        if costs[0] >= mine:
            return Crossover(self.entries[0], "<")
        for (n, cost), (more, dearer) in zip(
            zip(self.entries, costs, strict=True), list(zip(self.entries, costs, strict=True))[1:], strict=False
        ):
            if dearer >= mine:
                share = np.log(mine / cost) / np.log(dearer / cost)
                return Crossover(float(n * (more / n) ** share), "")
        return Crossover(self.entries[-1], ">")

    def drift(self, method: str) -> float:
        """The least cost in the last tenth of the generations over that in the first tenth.

        The least, because whatever else the machine does only adds to it.
        """
        cost = np.array([float(row["ms"]) for row in self.over_time if row["method"] == method])
        tenth = max(len(cost) // 10, 1)
        return float(np.min(cost[-tenth:]) / np.min(cost[:tenth]))


def _read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))
