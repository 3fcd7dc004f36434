"""Behaviors of kinds by which no default was chosen: seen from unseen clusters.

python benchmarks/kinds.py [--seeds 3] [--out results/kinds.md]
"""

import itertools
from collections.abc import Callable

import dimensions
import numpy as np
from jaxtyping import Float
from pages import make_parser, write_page

from brns.comparison.markdown import format_command_and_provenance, format_table

CLUSTERS, BATCH, LEARNED = 60, 500, 5000
DIMENSIONS = (16, 128, 768)
TEXT = """# Behaviors of other kinds

Each estimator learned 5,000 behaviors of half of 60 clusters. *New* is the AUC: the probability
that a behavior of an unseen cluster is more novel than one of a seen cluster. *Same* is the
probability that a fresh behavior of a seen cluster is more novel than one that was learned first.
Both are means over draws. *k-NN* is the mean distance to the 15 nearest of all learned behaviors.
No default was chosen with any of these kinds.

- *embeddings with a mean*: on a sphere, around one direction; the spread falls with the root of the
  axis number, as that of language models' embeddings does.
- *of low rank*: on a sphere in 20 dimensions, rotated into more, with noise.
- *pictures*: pixels of -1 and 1, of which a seventh are flipped.
- *sparse*: the excess of normal numbers over a threshold, or 0.
- *paths*: random walks in the plane.
"""
Draw = Callable[[np.ndarray, int], Float[np.ndarray, "n d"]]


def embeddings_with_a_mean(d: int, generator: np.random.Generator) -> Draw:
    spread = np.arange(1, d + 1) ** -0.5
    turn = np.linalg.qr(generator.normal(size=(d, d)))[0]
    mean = dimensions.unit(generator.normal(size=(1, d)))
    centers = spread * generator.normal(size=(CLUSTERS, d))

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        points = centers[generator.choice(chosen, n)]
        points = points + 0.75 * spread * generator.normal(size=(n, d))
        return dimensions.unit(mean + points @ turn.T / np.linalg.norm(spread))

    return draw


def of_low_rank(d: int, generator: np.random.Generator) -> Draw:
    rank = min(20, d // 2)
    basis = np.linalg.qr(generator.normal(size=(d, rank)))[0]
    centers = dimensions.unit(generator.normal(size=(CLUSTERS, rank)))

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        points = centers[generator.choice(chosen, n)] + 0.18 * generator.normal(size=(n, rank))
        return dimensions.unit(points @ basis.T + 0.02 * generator.normal(size=(n, d)))

    return draw


def pictures(d: int, generator: np.random.Generator) -> Draw:
    centers = generator.random((CLUSTERS, d)) < 0.3

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        turned = generator.random((n, d)) < 0.15
        return 2.0 * (centers[generator.choice(chosen, n)] ^ turned) - 1

    return draw


def sparse(d: int, generator: np.random.Generator) -> Draw:
    centers = np.maximum(generator.normal(size=(CLUSTERS, d)) - 1, 0)

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        noise = np.maximum(0.8 * generator.normal(size=(n, d)) - 0.5, 0)
        return np.clip((centers[generator.choice(chosen, n)] + noise) / 4, -1, 1)

    return draw


def paths(d: int, generator: np.random.Generator) -> Draw:
    centers = 0.1 * np.cumsum(generator.normal(size=(CLUSTERS, d // 2, 2)), axis=1)

    def draw(chosen: np.ndarray, n: int) -> np.ndarray:
        noise = 0.05 * np.cumsum(generator.normal(size=(n, d // 2, 2)), axis=1)
        return np.clip((centers[generator.choice(chosen, n)] + noise).reshape(n, d) / 2, -1, 1)

    return draw


KINDS = {
    "embeddings with a mean": embeddings_with_a_mean,
    "of low rank": of_low_rank,
    "pictures": pictures,
    "sparse": sparse,
    "paths": paths,
}


def main() -> None:
    asked = make_parser(__doc__, "results/kinds.md", seeds=3).parse_args()
    lines = [["kind", "dimensions", *dimensions.TELLING]]
    for kind, d in itertools.product(KINDS, DIMENSIONS):
        line = [kind, f"{d}"]
        for estimator in dimensions.TELLING.values():
            told = []
            for seed in range(asked.seeds):
                draw = KINDS[kind](d, np.random.default_rng(seed))
                told.append(dimensions.tell(draw, d, CLUSTERS, LEARNED, estimator, BATCH))
            new, same = np.mean(told, axis=0)
            line.append(f"{new:.3f} / {same:.3f}")
        lines.append(line)
        print(*line, sep=", ", flush=True)
    write_page(asked.out, TEXT, format_table(lines), format_command_and_provenance(""))


if __name__ == "__main__":
    main()
