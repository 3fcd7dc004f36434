"""Timings on disk: rows written and read back, and where two methods cost the same."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brns.formatting import format_csv, read_csv
from brns.runs.files import write_bytes
from reproduction.plan import Timing

WIDE, NARROW, DEFAULT = "BR-NS, width 3d", "BR-NS, width 64", "BR-NS, default"
KNN, BRUTE, TREE = "k-NN", "brute force", "KD-tree"
CONTROL = "brute force, always 2000 entries"
"""timed beside the methods that are followed over time; its changes are the machine's"""


class Crossover(NamedTuple):
    """The number of archive entries above which BR-NS is cheaper."""

    entries: float
    open: str
    """'<' or '>' where the crossing lies outside the sizes measured, else empty"""

    @property
    def text(self) -> str:
        words = {"<": "below", ">": "above", "": "about"}
        return f"{words[self.open]} {float(f'{self.entries:.2g}'):.0f}"


class Costs:
    """What was `asked`: medians over repeats of `timing.csv`, rows of `cost-over-time.csv`."""

    def __init__(self, folder: Path, asked: Timing):
        times = defaultdict(list)
        for row in read_csv(folder / "timing.csv"):
            sizes = (int(row[name]) for name in ("d", "entries", "individuals"))
            times[row["method"], *sizes].append(float(row["ms"]))
        self.dimensions = sorted(asked.dimensions)
        self.entries = sorted(asked.entries)
        # of CPU milliseconds, by method, dimension, entries and individuals
        self.medians = {
            key: float(np.median(values))
            for key, values in times.items()
            if key[1] in self.dimensions and key[2] in (0, *self.entries)
        }
        self.estimators = list(dict.fromkeys(method for method, _, n, _ in self.medians if n == 0))
        self.generations = asked.generations
        over_time = read_csv(folder / "cost-over-time.csv")
        self.over_time = [row for row in over_time if row["generations"] == str(asked.generations)]

    def get_best_exact_milliseconds(self, d: int, entries: int, individuals: int) -> float:
        """The median of the cheaper of the two exact searches without a tree."""
        return min(self.medians[method, d, entries, individuals] for method in (KNN, BRUTE))

    def find_crossover(self, ours: str, theirs: str, d: int, individuals: int) -> Crossover:
        """How many entries make `ours` cheaper than `theirs`, where "exact" is the best exact one.

        Between two sizes measured the cost is taken to be a power of the number of entries.
        """
        our_ms = self.medians[ours, d, 0, individuals]
        if theirs == "exact":
            costs = [self.get_best_exact_milliseconds(d, n, individuals) for n in self.entries]
        else:
            costs = [self.medians[theirs, d, n, individuals] for n in self.entries]
        if costs[0] >= our_ms:
            return Crossover(self.entries[0], "<")
        for (n, cost), (more, dearer) in pairwise(zip(self.entries, costs, strict=True)):
            if dearer >= our_ms:
                share = np.log(our_ms / cost) / np.log(dearer / cost)
                return Crossover(float(n * (more / n) ** share), "")
        return Crossover(self.entries[-1], ">")

    def compute_drift(self, method: str) -> float:
        """The last tenth's median cost over that of the first tenth, in units of the control's."""
        control = self._read_times_by_generation(CONTROL)
        cost = [ms / control[when] for when, ms in self._read_times_by_generation(method).items()]
        tenth = max(len(cost) // 10, 1)
        return float(np.median(cost[-tenth:]) / np.median(cost[:tenth]))

    def _read_times_by_generation(self, method: str) -> dict[tuple[str, str], float]:
        """Milliseconds by call and generation: each call has a control of its own."""
        rows = (row for row in self.over_time if row["method"] == method)
        return {(row["session"], row["generation"]): float(row["ms"]) for row in rows}


def append_rows(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> None:
    """Add rows to a file, all of them or none; fractions with six digits."""

    def format_value(value: Any) -> Any:
        return f"{value:.6g}" if isinstance(value, float) else value

    added = [dict(zip(columns, map(format_value, row), strict=True)) for row in rows]
    write_bytes(path, format_csv([*read_csv(path), *added]).encode())
