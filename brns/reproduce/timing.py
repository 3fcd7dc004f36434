"""What one generation of novelty costs: table I's first row, figure 6, and the crossover with the best exact k-NN.

    python -m brns.reproduce.timing OUT --dimensions 2 32 --entries 2000 10000 --repeats 5 --generations 4000

A generation of novelty scores parents and offspring and takes in what was seen: BR-NS trains on the offspring, an
archive receives its entries. `k-NN` is `ArchiveKNN`; `brute force` is what NumPy and BLAS do in five lines; `KD-tree`
is SciPy's, rebuilt for the generation, as the published code does with scikit-learn's. All methods get uniform
descriptors of new individuals, take turns within a repeat, after one call that compiles. `brns reproduce timing`
runs this on one core with one thread.

A second call measures what the files lack of what is asked, and keeps every row that they hold. `sessions.json` tells
of each call that measured where it ran and how busy the machine was; a row's `session` is its place in that list.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from brns.estimators.archive import ArchiveKNN
from brns.reproduce.costs import BRUTE, CONTROL, KNN, TREE, append, read
from brns.reproduce.plan import Timing
from brns.reproduce.provenance import here
from brns.reproduce.results import read_json
from brns.reproduce.timed import ESTIMATORS, Exact, K, Novelty, brute_force, kd_tree, timed
from brns.runs.storage import write_bytes

COLUMNS = ("method", "d", "entries", "individuals", "repeat", "ms", "wall_ms", "bytes", "session")
OVER_TIME = ("method", "d", "generations", "generation", "entries", "ms", "wall_ms", "bytes", "session")
SIZES = (50, 200)
"""parents and offspring together: table I's 25 + 25 and figure 6's 100 + 100"""
GROWTH = 10
"""entries of an archive in a generation; section 5.2"""
DIMENSION, BLOCK = 32, 20
"""of the search whose cost is followed over time: its behaviors, and the generations of which one median is kept"""


class Session:
    """Where and when rows are measured: begun by the first row, written with the machine's load whenever rows are."""

    def __init__(self, folder: Path):
        self.path = folder / "sessions.json"
        self.before = list(os.getloadavg())
        self.known: list[dict[str, Any]] = read_json(self.path) if self.path.exists() else []
        self.number = len(self.known)

    def append(self, name: str, columns: tuple[str, ...], rows: list[tuple]) -> None:
        """Add the rows to a file beside `sessions.json`, all of them or none."""
        made = {**here(), "load": {"before": self.before, "after": list(os.getloadavg())}}
        write_bytes(self.path, (json.dumps([*self.known, made], indent=1) + "\n").encode())
        append(self.path.parent / name, columns, [(*row, self.number) for row in rows])


def measure(session: Session, plan: Timing) -> None:
    """Add to `timing.csv` what it lacks of the plan, each dimension and number of individuals whole or not at all."""
    path = session.path.parent / "timing.csv"
    keys = ("method", "d", "entries", "individuals")
    done = Counter(tuple(row[key] for key in keys) for row in read(path))
    for d in plan.dimensions:
        for individuals in SIZES:
            wanted = {
                (method, n): make
                for (method, n), make in _methods(d, plan.entries, individuals).items()
                if done[method, str(d), str(n), str(individuals)] < plan.repeats
            }
            if not wanted:
                continue
            begin = {(method, n): done[method, str(d), str(n), str(individuals)] for method, n in wanted}
            session.append(path.name, COLUMNS, list(_turns(wanted, begin, plan.repeats, d, individuals)))
        print(f"{d} dimensions measured", flush=True)


def follow(session: Session, generations: int) -> None:
    """Add to `cost-over-time.csv` the cost of a generation over a search of so many, in blocks of 20, where it lacks.

    25 + 25 individuals; 10 of them enter the archive in each generation, so that it has `10 * generation` entries. In
    every block a control is timed too, which does always the same.
    """
    path, individuals = session.path.parent / "cost-over-time.csv", SIZES[0]
    done = {row["method"] for row in read(path) if row.get("generations") == str(generations)}
    estimators = {**ESTIMATORS, KNN: ArchiveKNN(k=K, growth=GROWTH, capacity=GROWTH * generations)}
    searches = {
        name: Novelty(estimator, DIMENSION, individuals) for name, estimator in estimators.items() if name not in done
    }
    archived = np.random.default_rng(0).random((GROWTH * generations + individuals, DIMENSION))
    control = Exact(brute_force, archived[: 2000 + individuals].astype(np.float32), individuals)
    rows: list[tuple] = []
    for g in range(0, generations, BLOCK) if searches or TREE not in done else ():
        rows.append((CONTROL, DIMENSION, generations, g, control.entries, *timed(control), control.bytes))
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
    print(f"{generations} generations followed", flush=True)


Make = Callable[[], Novelty | Exact]
"""what is timed, made when its turn comes"""


def _methods(d: int, entries: tuple[int, ...], individuals: int) -> dict[tuple[str, int], Make]:
    """How each method is made, by its name and number of entries; full archives stay as large as they are."""

    def points(n: int, dtype: type) -> np.ndarray:
        return np.random.default_rng(n).random((n + individuals, d), dtype=np.float32).astype(dtype)

    made: dict[tuple[str, int], Make] = {
        (name, 0): partial(Novelty, estimator, d, individuals) for name, estimator in ESTIMATORS.items()
    }
    for n in entries:
        archive = ArchiveKNN(k=K, growth=GROWTH, capacity=n)
        made[KNN, n] = partial(Novelty, archive, d, individuals, n)
        made[BRUTE, n] = lambda n=n: Exact(brute_force, points(n, np.float32), individuals)
        made[TREE, n] = lambda n=n: Exact(kd_tree, points(n, np.float64), individuals)
    return made


def _turns(
    wanted: dict[tuple[str, int], Make],
    begin: dict[tuple[str, int], int],
    repeats: int,
    d: int,
    individuals: int,
) -> Iterator[tuple]:
    """Rows of the methods in turn, each from its first missing repeat on."""
    made = {key: make() for key, make in wanted.items()}
    for repeat in range(repeats):
        for (method, n), call in made.items():
            if repeat >= begin[method, n]:
                cpu, wall = timed(call)
                assert call.entries == n, f"{method} has {call.entries} entries and not {n}"
                yield method, d, n, individuals, repeat, cpu, wall, call.bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="directory of timing.csv, cost-over-time.csv and sessions.json")
    parser.add_argument("--dimensions", type=int, nargs="+", required=True)
    parser.add_argument("--entries", type=int, nargs="+", required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--generations", type=int, required=True)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    session = Session(asked.out)
    measure(session, Timing(tuple(asked.dimensions), tuple(asked.entries), asked.repeats, asked.generations))
    follow(session, asked.generations)


if __name__ == "__main__":
    main()
