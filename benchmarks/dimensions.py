"""Novelty in many dimensions: coverage of the descriptor's own space, and seen told from unseen.

    python benchmarks/dimensions.py [--seeds 10] [--out results/dimensions]

The defaults of visit counts were chosen in the worlds and by the clusters of the first half.
Resumable: OUT.csv gets a line for each run; then OUT.md is written.
"""

import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from pages import format_spread, make_parser, mark_differences, write_page

import brns
from brns.comparison.markdown import format_table
from brns.comparison.statistics import explain_too_few_seeds
from brns.comparison.worlds import world
from brns.formatting import format_csv, read_csv
from brns.metrics.coverage import coverage
from brns.metrics.tessellation import make_tessellation
from brns.runs.files import write_bytes
from brns.runs.provenance import collect_provenance, find_brns_commit_or_version, format_provenance

CLUSTERS = ((40, 0.8), (60, 0.75), (100, 0.7))  # number, and a behavior's cosine to its center
HELD_OUT = CLUSTERS[2]
FEW, MANY = 10_000, 1_000_000  # behaviors that are learned
POOL = 1000  # the seed whose behaviors, of all methods, place the cells
METHODS = {
    "counts": brns.VisitCounts(),
    "exact": brns.ExactRecognition(),
    "recognition": brns.BehaviorRecognition(),
    "archive": brns.ArchiveKNN(),
}
TELLING = {"k-NN" if name == "archive" else name: each for name, each in METHODS.items()}
TEXT = """# Many dimensions

The first table has the coverage of descriptor space by each estimator, in percent of 3,000 cells.
The cells are a tessellation of what the four defaults evaluated with another seed. The second table
has the cells of the plane, for worlds with an oracle that counts them. Default mixture of
operators; mean ± standard deviation over seeds. *Bold*: more than the archive, *italic*: less, by
Wilcoxon's signed ranks over seeds, exact, corrected over the table by Holm.
"""
TOLD = """# Seen from unseen

Behaviors form clusters. They lie on a sphere, as embeddings do, with the given cosine to the center
of their cluster; in two dimensions they lie in the box, with a standard deviation of 0.03. Each
estimator learned half of the clusters. *New* is the AUC: the probability that a behavior of an
unseen cluster is more novel than one of a seen cluster. *Same* is the probability that a fresh
behavior of a seen cluster is more novel than one that was learned first. *k-NN* is the mean
distance to the 15 nearest of all learned behaviors.
"""


class DoubleArm(eqx.Module):
    """Two arms of 8 joints that share no gene; a behavior is where both tips are (4-d)."""

    genotype_space: brns.Box = brns.Box([0.0] * 16, [1.0] * 16)
    behavior_space: brns.Box = brns.Box([0.0] * 4, [1.0] * 4)
    traceable: bool = True

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> brns.Evaluation:
        arm = brns.PlanarArm(8)
        tips = [
            arm.compute_joint_positions(genes)[:, -1] for genes in jnp.split(genotypes, 2, axis=1)
        ]
        return brns.Evaluation(jnp.concatenate(tips, axis=1))


class Pucks(eqx.Module):
    """Eight pucks that slide after one push each; a behavior is where they stop (16-d).

    A push is a random sum of some eight of 40 genes. Below 0.5 static friction holds a puck.
    """

    genotype_space: brns.Box = brns.Box([-1.0] * 40, [1.0] * 40)
    behavior_space: brns.Box = brns.Box([-1.0] * 16, [1.0] * 16)
    traceable: bool = True

    def evaluate(self, genotypes: Float[Array, "n p"], key: Key[Array, ""]) -> brns.Evaluation:
        generator = np.random.default_rng(0)
        weights = generator.normal(size=(40, 16)) * (generator.random((40, 16)) < 0.2)
        push = genotypes @ jnp.asarray(weights, jnp.float32)
        slides = jnp.sign(push) * jnp.maximum(jnp.abs(push) - 0.5, 0.0)
        return brns.Evaluation(jnp.tanh(0.6 * slides))


class World(NamedTuple):
    split: str
    task: brns.Task
    generations: int
    cells: Any = None


WORLDS = {
    "arm, 20 joints (40-d)": World(
        "chosen by", brns.PlanarArm(20, "joints"), 200, world("arm-joints").cells
    ),
    "hard maze, path (40-d)": World(
        "chosen by", brns.DeceptiveMaze(positions=20), 60, world("maze-path").cells
    ),
    "arm, picture (256-d)": World(
        "chosen by", brns.PlanarArm(7, "picture"), 150, world("arm-picture").cells
    ),
    "rooms, path (20-d)": World(
        "held out", brns.RoomsMaze(seed=3, positions=10), 60, world("rooms-1").cells
    ),
    "two arms (4-d)": World("held out", DoubleArm(), 200),
    "pucks (16-d)": World("held out", Pucks(), 200),
}


@eqx.filter_jit
def evaluated(search: brns.NoveltySearch, generations: int, key: Key[Array, ""]) -> Any:
    """All that a search evaluates after its founders: descriptors, and the oracle's genotypes."""

    def advance(state: Any, _: None) -> tuple[Any, Any]:
        state, generation = search.step(state, key)
        return state, (generation.offspring.genotype, generation.offspring.descriptor)

    state = search.init(key)
    founders = state.population.genotype[None], state.population.descriptor[None]
    _, later = jax.lax.scan(advance, state, length=generations)
    return founders, later


def run(name: str, method: str, seed: int) -> tuple[np.ndarray, float, float]:
    """Behaviors `(n, d)`, the share of the oracle's cells (NaN without one), seconds of CPU."""
    there = WORLDS[name]
    search = brns.NoveltySearch(there.task, METHODS[method])
    began = time.process_time()
    parts = evaluated(search, there.generations, jax.random.key(seed))
    genotypes, descriptors = (
        np.concatenate([np.asarray(rows).reshape(-1, rows.shape[-1]) for rows in column])
        for column in zip(*parts, strict=True)
    )
    seconds = time.process_time() - began
    if there.cells is None:
        return descriptors, np.nan, seconds
    people = brns.core.Population.from_descriptors(descriptors)._replace(
        genotype=jnp.asarray(genotypes)
    )
    visited = there.cells.find_visited_cells(people)
    return descriptors, float(visited.sum()) / there.cells.reachable, seconds


def measure(seeds: int, path: Path) -> list[dict[str, Any]]:
    """A line a run: those that are there, then the others."""
    rows: list[dict[str, Any]] = list(read_csv(path))
    there = {(row["world"], row["method"], int(row["seed"])) for row in rows}
    for name in WORLDS:
        jobs = [job for job in itertools.product([name], METHODS, range(seeds)) if job not in there]
        if not jobs:
            continue
        pool = np.concatenate([run(name, method, POOL)[0] for method in METHODS])
        centres = make_tessellation(pool)
        unscaled = brns.Box([0.0] * pool.shape[1], [1.0] * pool.shape[1])
        for _, method, seed in jobs:
            behaviors, oracle, seconds = run(name, method, seed)
            row = {
                "world": name,
                "method": method,
                "seed": seed,
                "own": coverage(behaviors, unscaled, centres),
                "oracle": oracle,
                "seconds": seconds,
                "commit": find_brns_commit_or_version(),
            }
            rows.append(row)
            write_bytes(path, format_csv(rows).encode())
            print(name, method, seed, f"{row['own']:.3f} {oracle:.3f} {seconds:.1f} s", flush=True)
    return rows


def page(rows: list[dict[str, Any]], seeds: int, column: str) -> str:
    """The table of a column: worlds by methods."""
    values = {}
    for name, method in itertools.product(WORLDS, METHODS):
        chosen = [row for row in rows if (row["world"], row["method"]) == (name, method)]
        by_seed = {int(row["seed"]): float(row[column]) for row in chosen}
        values[name, method] = np.array([by_seed[seed] for seed in range(seeds)])
    worlds = [name for name in WORLDS if np.isfinite(values[name, "archive"]).all()]
    known = {place: each for place, each in values.items() if place[0] in worlds}
    marks = mark_differences(known, "archive")
    lines = [["world", "half", *METHODS]]
    for name in worlds:
        line = [name, WORLDS[name].split]
        for method in METHODS:
            mark = marks.get((name, method), "")
            line.append(f"{mark}{format_spread(values[name, method], 100)}{mark}")
        lines.append(line)
    return format_table(lines)


def clusters(d: int, number: int, cosine: float) -> Any:
    """A function that draws behaviors of some of so many clusters: on a sphere, or in the plane."""
    generator = np.random.default_rng(7)
    if d == 2:
        centers = generator.uniform(-0.9, 0.9, size=(number, d))
        deviation = 0.03
    else:
        centers = unit(generator.normal(size=(number, d)))
        deviation = np.sqrt((1 / cosine**2 - 1) / d)

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        points = centers[generator.choice(chosen, n)] + deviation * generator.normal(size=(n, d))
        return np.clip(points, -1, 1) if d == 2 else unit(points)

    return draw


def unit(points: np.ndarray) -> np.ndarray:
    """The points moved to the sphere."""
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def tell(
    draw: Any,
    d: int,
    number: int,
    learned: int,
    estimator: brns.NoveltyEstimator,
    batch: int = 1000,
) -> list[float]:
    """AUC of unseen clusters against seen ones, and of fresh behaviors against the first."""
    seen, unseen = np.arange(number // 2), np.arange(number // 2, number)
    novelty = brns.Novelty(estimator, brns.Box([-1.0] * d, [1.0] * d))
    first = draw(seen, batch)
    novelty.learn(first)
    for _ in range(1, learned // batch):
        novelty.learn(draw(seen, batch))
    fresh = novelty.score(draw(seen, 500))
    others = novelty.score(draw(unseen, 500)), fresh
    pairs = [others, (fresh, novelty.score(first[:500]))]
    return [float((a[:, None] > b).mean() + (a[:, None] == b).mean() / 2) for a, b in pairs]


def telling() -> str:
    lines = [["dimensions", "clusters, cosine", "learned", "half", *TELLING]]
    cases = [
        *itertools.product((2, 32, 384, 1536), CLUSTERS, [FEW]),
        *itertools.product((2, 32, 384, 1536), (CLUSTERS[0], HELD_OUT), [MANY]),
    ]
    for d, kind, learned in cases:
        number, cosine = kind
        half = "held out" if kind == HELD_OUT else "chosen by"
        line = [f"{d}", f"{number}, {cosine}" if d > 2 else f"{number}", f"{learned:,}", half]
        for name, estimator in TELLING.items():
            if name == "k-NN" and learned == MANY:
                line.append("not run")
                continue
            new, same = tell(clusters(d, number, cosine), d, number, learned, estimator)
            line.append(f"{new:.3f} / {same:.3f}")
        lines.append(line)
        print(*line, sep=", ", flush=True)
    return format_table(lines)


def main() -> None:
    asked = make_parser(__doc__, "results/dimensions", seeds=10).parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    rows = measure(asked.seeds, asked.out.with_suffix(".csv"))
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    tests = len(WORLDS) * (len(METHODS) - 1)
    few = explain_too_few_seeds(asked.seeds, tests)
    write_page(
        asked.out.with_suffix(".md"),
        TEXT + (f"{few}." if few else ""),
        "## In the descriptor's own space\n\n" + page(rows, asked.seeds, "own"),
        "## In the oracle's cells\n\n" + page(rows, asked.seeds, "oracle"),
        TOLD + "\n" + telling(),
        f"Command: `python benchmarks/dimensions.py --seeds {asked.seeds}`. Runs: commit "
        f"{commits}. Page: {format_provenance(collect_provenance())}",
    )


if __name__ == "__main__":
    main()
