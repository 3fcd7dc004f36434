"""Timings on disk: rows written and read back, and where two methods cost the same."""

import csv
import io
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from brns.reproduce.plan import Timing
from brns.runs.storage import write_bytes

WIDE, NARROW, DEFAULT = "BR-NS, width 3d", "BR-NS, width 64", "BR-NS, default"
KNN, BRUTE, TREE = "k-NN", "brute force", "KD-tree"
CONTROL = "brute force, always 2000 entries"
"""timed beside the methods whose cost is followed: what it gains or loses over time the machine does"""


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
    """The medians over repeats of `timing.csv`, and `cost-over-time.csv` beside it.

    `asked` are the dimensions, entries, repeats and generations of which to speak, where the files hold more.
    """

    def __init__(self, folder: Path, asked: Timing | None = None):
        found = defaultdict(list)
        for row in read(folder / "timing.csv"):
            found[row["method"], int(row["d"]), int(row["entries"]), int(row["individuals"])].append(float(row["ms"]))
        self.dimensions = sorted(asked.dimensions if asked else {d for _, d, _, _ in found})
        self.entries = sorted(asked.entries if asked else {n for _, _, n, _ in found if n})
        self.medians = {
            key: float(np.median(values))
            for key, values in found.items()
            if key[1] in self.dimensions and key[2] in (0, *self.entries)
        }
        self.estimators = list(dict.fromkeys(method for method, _, n, _ in self.medians if n == 0))
        self.over_time = [
            row
            for row in read(folder / "cost-over-time.csv")
            if asked is None or row["generations"] == str(asked.generations)
        ]
        self.generations = asked.generations if asked else max(int(row["generation"]) for row in self.over_time)

    def ms(self, method: str, d: int, entries: int, individuals: int) -> float:
        """The median CPU time of a generation in milliseconds."""
        return self.medians[method, d, entries, individuals]

    def best_exact(self, d: int, entries: int, individuals: int) -> float:
        """That of the cheaper of the two exact searches without a tree."""
        return min(self.ms(method, d, entries, individuals) for method in (KNN, BRUTE))

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
        """The median cost in the last tenth of the generations over that in the first, in units of the control's.

        The control does the same in every generation, so that a machine that grows slower is not taken for a method.
        Files of before have none, and tell milliseconds.
        """
        control = self._followed(CONTROL)
        cost = [ms / control.get(when, 1.0) for when, ms in self._followed(method).items()]
        tenth = max(len(cost) // 10, 1)
        return float(np.median(cost[-tenth:]) / np.median(cost[:tenth]))

    def _followed(self, method: str) -> dict[tuple[str, str], float]:
        """Milliseconds by call and generation: each call has a control of its own."""
        rows = (row for row in self.over_time if row["method"] == method)
        return {(row.get("session", ""), row["generation"]): float(row["ms"]) for row in rows}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file, none if there is no file."""
    if not path.exists():
        return []
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def append(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> None:
    """The file with these rows too, whole or not at all; rows of before keep what they said, and lack new columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(read(path))
    for row in rows:
        shown = [f"{value:.6g}" if isinstance(value, float) else value for value in row]
        writer.writerow(dict(zip(columns, shown, strict=True)))
    write_bytes(path, text.getvalue().encode())
