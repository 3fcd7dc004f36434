"""What one generation of novelty costs: table I's first row, figure 6, and the crossover with the
best exact k-NN.

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
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from brns.core import NoveltyEstimator
from brns.estimators.archive import ArchiveKNN
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.experiments import make_paper_brns
from brns.formatting import read_csv
from brns.pictures.cost import NoveltyStep, measure_cpu_and_wall_milliseconds
from brns.runs.provenance import collect_provenance
from brns.settings.configuration import configure
from reproduction.costs import BRUTE, CONTROL, DEFAULT, KNN, NARROW, TREE, WIDE, append_rows
from reproduction.plan import Timing
from reproduction.results import read_json, write_json

ESTIMATORS: dict[str, NoveltyEstimator] = {
    WIDE: make_paper_brns(),
    NARROW: configure(make_paper_brns(), {"width": 64}),
    DEFAULT: BehaviorRecognition(),
    "exact recognition": ExactRecognition(),
}
"""the methods without an archive"""
K = 15
"""nearest neighbours"""
COLUMNS = ("method", "d", "entries", "individuals", "repeat", "ms", "wall_ms", "bytes", "session")
OVER_TIME = ("method", "d", "generations", "generation", *COLUMNS[2:3], *COLUMNS[5:])
SIZES = (50, 200)
"""parents and offspring together: table I's 25 + 25 and figure 6's 100 + 100"""
GROWTH = 10
"""entries of an archive in a generation; section 5.2"""
DIMENSION, BLOCK = 32, 20
"""of the search followed over time: its behaviors' dimension, and a median's generations"""


class Session:
    """Where and when rows are measured, written with the machine's load whenever rows are."""

    def __init__(self, folder: Path):
        self.path = folder / "sessions.json"
        self.before = list(os.getloadavg())
        self.earlier = read_json(self.path) if self.path.exists() else []

    def append(self, name: str, columns: tuple[str, ...], rows: list[tuple]) -> None:
        """Add the rows to a file beside `sessions.json`, all of them or none."""
        load = {"before": self.before, "after": list(os.getloadavg())}
        write_json(self.path, [*self.earlier, {**collect_provenance(), "load": load}])
        append_rows(self.path.parent / name, columns, [(*row, len(self.earlier)) for row in rows])


def measure_costs(folder: Path, plan: Timing) -> None:
    """All that the files lack of the plan, on one core from now on."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    session = Session(folder)
    time_methods(session, plan)
    time_over_generations(session, plan.generations)


def time_methods(session: Session, plan: Timing) -> None:
    """Add to `timing.csv` what it lacks of the plan; a method that lacks repeats gets all anew."""
    path = session.path.parent / "timing.csv"
    done = Counter(map(itemgetter(*COLUMNS[:4]), read_csv(path)))
    for d in plan.dimensions:
        for individuals in SIZES:
            lacking = {
                (method, n): make()
                for (method, n), make in _make_calls(d, plan.entries, individuals).items()
                if done[method, str(d), str(n), str(individuals)] < plan.repeats
            }
            rows = []
            for repeat in range(plan.repeats):
                for (method, n), call in lacking.items():
                    assert call.entries == n, f"{method} has {call.entries} entries and not {n}"
                    times = measure_cpu_and_wall_milliseconds(call)
                    rows.append((method, d, n, individuals, repeat, *times, call.state_bytes))
            if rows:
                session.append(path.name, COLUMNS, rows)
        print(f"{d} dimensions measured", flush=True)


def _make_calls(
    d: int, entries: tuple[int, ...], individuals: int
) -> dict[tuple[str, int], Callable[[], Any]]:
    """How each method is made, by its name and number of entries; archives are full."""

    def points(n: int, dtype: type) -> np.ndarray:
        return np.random.default_rng(n).random((n + individuals, d), dtype=np.float32).astype(dtype)

    calls: dict[tuple[str, int], Callable[[], Any]] = {
        (name, 0): partial(NoveltyStep, estimator, d, individuals)
        for name, estimator in ESTIMATORS.items()
    }
    for n in entries:
        archive = ArchiveKNN(k=K, additions=GROWTH, capacity=n)
        calls[KNN, n] = partial(NoveltyStep, archive, d, individuals, n)
        calls[BRUTE, n] = lambda n=n: Exact(
            search_by_brute_force, points(n, np.float32), individuals
        )
        calls[TREE, n] = lambda n=n: Exact(search_by_kd_tree, points(n, np.float64), individuals)
    return calls


def time_over_generations(session: Session, generations: int) -> None:
    """Add to `cost-over-time.csv` what it lacks of a generation's cost over time, in blocks of 20.

    The search has 25 + 25 individuals, of which 10 enter the archive in each generation. In every
    block a control is timed too, which always does the same.
    """
    path, individuals, last = session.path.parent / "cost-over-time.csv", SIZES[0], generations
    done = {row["method"] for row in read_csv(path) if row["generations"] == str(last)}
    archive = ArchiveKNN(k=K, additions=GROWTH, capacity=GROWTH * last)
    steps = {}
    for name, estimator in (ESTIMATORS | {KNN: archive}).items():
        if name not in done:
            steps[name] = NoveltyStep(estimator, DIMENSION, individuals, 0)
    if not steps and TREE in done:
        return
    archived = np.random.default_rng(0).random((GROWTH * last + individuals, DIMENSION))
    control = Exact(
        search_by_brute_force, archived[: 2000 + individuals].astype(np.float32), individuals
    )
    rows: list[tuple] = []

    def add(name: str, call: NoveltyStep | Exact, times: tuple[float, float], entries: int) -> None:
        rows.append((name, DIMENSION, last, g, entries, *times, call.state_bytes))

    for g in range(0, last, BLOCK):
        add(CONTROL, control, measure_cpu_and_wall_milliseconds(control), control.entries)
        for name, step in steps.items():
            entries = step.entries
            assert name != KNN or entries == GROWTH * g, f"{entries} entries after {g} generations"
            spent = [measure_cpu_and_wall_milliseconds(step, 0.0) for _ in range(BLOCK)]
            cpu, wall = np.median(spent, axis=0).tolist()
            add(name, step, (cpu, wall), entries)
        if TREE not in done and g % (10 * BLOCK) == 0:
            tree = Exact(search_by_kd_tree, archived[: GROWTH * g + individuals], individuals)
            add(TREE, tree, measure_cpu_and_wall_milliseconds(tree), tree.entries)
    session.append(path.name, OVER_TIME, rows)


class Exact:
    """One exact search a call: the novelty of the first rows, by brute force or a KD-tree."""

    def __init__(self, search: Callable[..., np.ndarray], references: np.ndarray, individuals: int):
        self.search, self.references, self.individuals = search, references, individuals

    def __call__(self) -> None:
        self.search(self.references, self.individuals, K)

    @property
    def entries(self) -> int:
        return len(self.references) - self.individuals

    @property
    def state_bytes(self) -> int:
        """The memory of the entries; a tree is not kept."""
        return self.references[self.individuals :].nbytes


def search_by_brute_force(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """Novelty of the first n references: candidates by a BLAS product, then exact differences."""
    queries = references[:n]
    # less what all distances of a query share
    squared = (references**2).sum(1) - 2 * queries @ references.T
    candidates = np.argpartition(squared, k + 8, axis=1)[:, : k + 9]
    distances = np.linalg.norm(references[candidates] - queries[:, None], axis=2)
    return np.sort(distances, axis=1)[:, 1 : k + 1].mean(axis=1)


def search_by_kd_tree(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """The same by a tree, built anew."""
    return KDTree(references).query(references[:n], k + 1)[0][:, 1:].mean(axis=1)
