"""What one generation of novelty costs: table I's first row, figure 6, and the crossover with the best exact k-NN.

    python -m brns.reproduce.timing OUT --dimensions 2 32 --entries 2000 10000 --repeats 5 --generations 4000

A generation of novelty scores parents and offspring and takes in what was seen: BR-NS trains on the offspring, an
archive receives its entries. `k-NN` is `ArchiveKNN`; `brute force` is what NumPy and BLAS do in five lines; `KD-tree`
is SciPy's, rebuilt for the generation, as the published code does with scikit-learn's. All methods get uniform
descriptors, take turns within a repeat, after one call that compiles, and run on one core with one thread (`brns
reproduce timing` sees to that). A second call goes on after the last dimension that is whole in the file.
"""

import argparse
import csv
import io
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from brns.core import Box, Generation, NoveltyEstimator, Population, take
from brns.estimators.archive import Archive, ArchiveKNN
from brns.estimators.recognition import BehaviorRecognition
from brns.experiments import paper_recognition
from brns.runs.storage import write_bytes

COLUMNS = ("method", "d", "entries", "individuals", "repeat", "ms", "wall_ms", "bytes")
OVER_TIME = ("method", "d", "entries", "generation", "ms", "wall_ms", "bytes")
SIZES = (50, 200)
"""parents and offspring together: table I's 25 + 25 and figure 6's 100 + 100"""
RECOGNITION = {
    "BR-NS, width 3d": paper_recognition(),
    "BR-NS, width 64": eqx.tree_at(lambda e: e.width, paper_recognition(), 64, is_leaf=lambda leaf: leaf is None),
    "BR-NS, default": BehaviorRecognition(),
}
K = 15
DIMENSION = 32
"""of the search whose cost is followed over time"""

Call = Callable[[], object]


def measure(out: Path, dimensions: list[int], entries: list[int], repeats: int) -> None:
    """Append to `out` the rows of the dimensions that it does not hold yet, each dimension whole or not at all."""
    done = {int(row["d"]) for row in _rows(out)}
    for d in dimensions:
        if d in done:
            continue
        rows = [row for individuals in SIZES for row in _dimension(d, entries, individuals, repeats)]
        _append(out, COLUMNS, rows)
        print(f"{d} dimensions measured", flush=True)


def follow(out: Path, generations: int) -> None:
    """Cost per generation over a long search, 25 + 25 individuals and 10 new entries a generation, in blocks of 20."""
    if _rows(out):
        return
    individuals, block, growth = SIZES[0], 20, 10
    estimators = {
        "BR-NS, width 3d": RECOGNITION["BR-NS, width 3d"],
        "BR-NS, default": RECOGNITION["BR-NS, default"],
        "k-NN": ArchiveKNN(k=K, growth=growth, capacity=growth * generations),
    }
    searches = {name: Novelty(estimator, DIMENSION, individuals) for name, estimator in estimators.items()}
    archived, rows = np.random.default_rng(0).random((growth * generations + individuals, DIMENSION)), []
    for search in searches.values():
        search()  # compile
    for g in range(0, generations, block):
        entries = growth * g
        for name, search in searches.items():
            spent = np.array([_timed(search, least=0.0) for _ in range(block)])
            cpu, wall = np.median(spent, axis=0).tolist()
            rows.append((name, DIMENSION, entries if name == "k-NN" else 0, g, cpu, wall, search.bytes))
        if g % (10 * block) == 0:
            known = archived[: entries + individuals]
            cpu, wall = _timed(partial(kd_tree, known, individuals, K))
            rows.append(("KD-tree", DIMENSION, entries, g, cpu, wall, known.nbytes))
    _append(out, OVER_TIME, rows)
    print(f"{generations} generations followed", flush=True)


class Novelty:
    """One generation of an estimator's novelty a call, on uniform descriptors: score all, take in what was seen."""

    def __init__(self, estimator: NoveltyEstimator, d: int, individuals: int, entries: int = 0):
        self.state = jax.jit(estimator.init)(Box([0.0] * d, [1.0] * d), jax.random.key(0))
        if isinstance(self.state, Archive):
            self.state = _filled(self.state, entries)
        self.step = jax.jit(partial(_generation, estimator))
        # Sixteen generations in turn, made beforehand: only novelty is timed.
        rng, zeros, half = np.random.default_rng(d), jnp.zeros(individuals, jnp.float32), individuals // 2
        everyone = []
        for number in range(2, 18):
            descriptors = jnp.asarray(rng.random((individuals, d), dtype=np.float32))
            ids = number * individuals + jnp.arange(individuals, dtype=jnp.int32)
            born = jnp.full(individuals, number, jnp.int32)
            everyone.append(Population(zeros[:, None], descriptors, zeros, zeros > 0, zeros, ids, ids, born))
        halves = [(take(who, slice(half)), take(who, slice(half, None))) for who in everyone]
        keys = jax.random.split(jax.random.key(1), len(everyone))
        self.given = cycle(zip(everyone, halves, keys, strict=True))

    def __call__(self) -> None:
        self.state, novelty = self.step(self.state, *next(self.given))
        novelty.block_until_ready()

    @property
    def bytes(self) -> int:
        """The memory of the estimator's state."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.state))


def _generation(estimator, state, everyone, halves, key):
    novelty = estimator.score(state, everyone.descriptor, everyone)
    parents, offspring = halves
    return estimator.update(state, Generation(parents, offspring, parents), key), novelty


def brute_force(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """Exact novelty of the first n of the references: candidates by one BLAS product, then exact differences."""
    queries = references[:n]
    squared = (references**2).sum(1) - 2 * queries @ references.T  # less what is the same for all of a query's
    candidates = np.argpartition(squared, k + 8, axis=1)[:, : k + 9]
    distances = np.linalg.norm(references[candidates] - queries[:, None], axis=2)
    return np.sort(distances, axis=1)[:, 1 : k + 1].mean(axis=1)


def kd_tree(references: np.ndarray, n: int, k: int) -> np.ndarray:
    """The same by a tree that is built for the occasion."""
    return KDTree(references).query(references[:n], k + 1)[0][:, 1:].mean(axis=1)


def _filled(archive: Archive, entries: int) -> Archive:
    """The archive with so many uniform entries of nobody alive."""
    capacity, d = archive.descriptor.shape
    number = np.where(np.arange(capacity) < entries, 2**30 + np.arange(capacity), -1).astype(np.int32)
    points = np.zeros((capacity, d), np.float32)
    points[:entries] = np.random.default_rng(entries).random((entries, d), dtype=np.float32)
    return Archive(*map(jnp.asarray, (points, number, np.zeros(capacity, np.float32), number, number)))


def _dimension(d: int, entries: list[int], individuals: int, repeats: int) -> Iterator[tuple]:
    """The rows of one dimension and number of individuals."""
    calls: dict[tuple[str, int], tuple[Call, int]] = {}
    for name, estimator in RECOGNITION.items():
        step = Novelty(estimator, d, individuals)
        calls[name, 0] = step, step.bytes
    for n in entries:
        knn = Novelty(ArchiveKNN(k=K, growth=10, capacity=n), d, individuals, n)
        calls["k-NN", n] = knn, knn.bytes
        points = np.random.default_rng(n).random((n + individuals, d), dtype=np.float32)
        calls["brute force", n] = partial(brute_force, points, individuals, K), points.nbytes
        calls["KD-tree", n] = partial(kd_tree, points.astype(np.float64), individuals, K), 2 * points.nbytes
    for call, _ in calls.values():
        call()  # compile
    for repeat in range(repeats):
        for (name, n), (call, size) in calls.items():
            cpu, wall = _timed(call)
            yield name, d, n, individuals, repeat, cpu, wall, size


def _timed(call: Call, least: float = 0.02) -> tuple[float, float]:
    """Milliseconds of CPU and of wall time of a call, repeated for `least` seconds."""
    calls = 0
    cpu, wall = time.process_time(), time.perf_counter()
    while True:
        call()
        calls += 1
        if time.perf_counter() - wall >= least:
            break
    return 1e3 * (time.process_time() - cpu) / calls, 1e3 * (time.perf_counter() - wall) / calls


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def _append(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> None:
    """The file with these rows too, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists():
        writer.writerow(columns)
    writer.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows)
    write_bytes(path, ((path.read_text() if path.exists() else "") + text.getvalue()).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="directory of timing.csv and cost-over-time.csv")
    parser.add_argument("--dimensions", type=int, nargs="+", required=True)
    parser.add_argument("--entries", type=int, nargs="+", required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--generations", type=int, required=True)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    measure(asked.out / "timing.csv", asked.dimensions, asked.entries, asked.repeats)
    follow(asked.out / "cost-over-time.csv", asked.generations)


if __name__ == "__main__":
    main()
