"""What one generation of novelty costs: table I's first row, figure 6,
and the crossover with the best exact k-NN.

A generation of novelty scores parents and offspring, uniform points that are new in every
generation, and learns from them. `k-NN` is `ArchiveKNN`; `brute force` is five lines of NumPy;
`KD-tree` is SciPy's, rebuilt in every generation as in the published code. Methods take turns
within a repeat, after one call that compiles.

A second call measures only what the files lack. `sessions.json` tells where each call ran and how
busy the machine was; a row's `session` is its place in that list.
"""

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from brns.estimators.archive import ArchiveKNN
from brns.runs.provenance import describe_process
from reproduction.costs import BRUTE, CONTROL, KNN, TREE, append, read
from reproduction.plan import Timing
from reproduction.results import read_json, write_json
from reproduction.timed import ESTIMATORS, Exact, K, Novelty, brute_force, kd_tree, timed

COLUMNS = ("method", "d", "entries", "individuals", "repeat", "ms", "wall_ms", "bytes", "session")
OVER_TIME = (
    "method",
    "d",
    "generations",
    "generation",
    "entries",
    "ms",
    "wall_ms",
    "bytes",
    "session",
)
SIZES = (50, 200)
"""parents and offspring together: table I's 25 + 25 and figure 6's 100 + 100"""
GROWTH = 10
"""entries of an archive in a generation; section 5.2"""
DIMENSION, BLOCK = 32, 20
"""of the search whose cost is followed over time: its behaviors' dimension,
and the generations of one median"""


class Session:
    """Where and when rows are measured, written with the machine's load whenever rows are."""

    def __init__(self, folder: Path):
        self.path = folder / "sessions.json"
        self.before = list(os.getloadavg())
        self.known = read_json(self.path) if self.path.exists() else []

    def append(self, name: str, columns: tuple[str, ...], rows: list[tuple]) -> None:
        """Add the rows to a file beside `sessions.json`, all of them or none."""
        made = {
            **describe_process(),
            "load": {"before": self.before, "after": list(os.getloadavg())},
        }
        write_json(self.path, [*self.known, made])
        append(self.path.parent / name, columns, [(*row, len(self.known)) for row in rows])


def measure(folder: Path, plan: Timing) -> None:
    """All that the files lack of the plan, on one core from now on."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    session = Session(folder)
    in_turn(session, plan)
    follow(session, plan.generations)


def in_turn(session: Session, plan: Timing) -> None:
    """Add to `timing.csv` what it lacks of the plan;
    a method that lacks repeats is measured as often as planned.
    """
    path = session.path.parent / "timing.csv"
    done = Counter(
        (row["method"], row["d"], row["entries"], row["individuals"]) for row in read(path)
    )
    for d in plan.dimensions:
        for individuals in SIZES:
            lacking = {
                (method, n): make()
                for (method, n), make in _methods(d, plan.entries, individuals).items()
                if done[method, str(d), str(n), str(individuals)] < plan.repeats
            }
            rows = []
            for repeat in range(plan.repeats):
                for (method, n), call in lacking.items():
                    assert call.entries == n, f"{method} has {call.entries} entries and not {n}"
                    rows.append((method, d, n, individuals, repeat, *timed(call), call.bytes))
            if rows:
                session.append(path.name, COLUMNS, rows)
        print(f"{d} dimensions measured", flush=True)


Make = Callable[[], Novelty | Exact]


def _methods(d: int, entries: tuple[int, ...], individuals: int) -> dict[tuple[str, int], Make]:
    """How each method is made, by its name and number of entries; archives are full."""

    def points(n: int, dtype: type) -> np.ndarray:
        return np.random.default_rng(n).random((n + individuals, d), dtype=np.float32).astype(dtype)

    made: dict[tuple[str, int], Make] = {
        (name, 0): partial(Novelty, estimator, d, individuals)
        for name, estimator in ESTIMATORS.items()
    }
    for n in entries:
        archive = ArchiveKNN(k=K, additions=GROWTH, capacity=n)
        made[KNN, n] = partial(Novelty, archive, d, individuals, n)
        made[BRUTE, n] = lambda n=n: Exact(brute_force, points(n, np.float32), individuals)
        made[TREE, n] = lambda n=n: Exact(kd_tree, points(n, np.float64), individuals)
    return made


def follow(session: Session, generations: int) -> None:
    """Add to `cost-over-time.csv` what it lacks of the cost of a generation over a whole search,
    in blocks of 20.

    The search has 25 + 25 individuals, of which 10 enter the archive in each generation. In every
    block a control is timed too, which always does the same.
    """
    path, individuals = session.path.parent / "cost-over-time.csv", SIZES[0]
    done = {row["method"] for row in read(path) if row["generations"] == str(generations)}
    estimators = {
        **ESTIMATORS,
        KNN: ArchiveKNN(k=K, additions=GROWTH, capacity=GROWTH * generations),
    }
    searches = {
        name: Novelty(estimator, DIMENSION, individuals)
        for name, estimator in estimators.items()
        if name not in done
    }
    archived = np.random.default_rng(0).random((GROWTH * generations + individuals, DIMENSION))
    control = Exact(brute_force, archived[: 2000 + individuals].astype(np.float32), individuals)
    rows: list[tuple] = []
    for g in range(0, generations, BLOCK) if searches or TREE not in done else ():
        rows.append(
            (CONTROL, DIMENSION, generations, g, control.entries, *timed(control), control.bytes)
        )
        for name, search in searches.items():
            entries = search.entries
            assert name != KNN or entries == GROWTH * g, f"{entries} entries after {g} generations"
            spent = np.array([timed(search, least=0.0) for _ in range(BLOCK)])
            cpu, wall = np.median(spent, axis=0).tolist()
            rows.append((name, DIMENSION, generations, g, entries, cpu, wall, search.bytes))
        if TREE not in done and g % (10 * BLOCK) == 0:
            tree = Exact(kd_tree, archived[: GROWTH * g + individuals], individuals)
            rows.append((TREE, DIMENSION, generations, g, tree.entries, *timed(tree), tree.bytes))
    if rows:
        session.append(path.name, OVER_TIME, rows)
