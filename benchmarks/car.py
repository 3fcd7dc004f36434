"""A task that no default was chosen on: a car too weak to climb its mountain without a run-up,
20 seeds.

    python benchmarks/car.py [--individuals 20] [--generations 25] [--seeds 20]
        [--out results/car.md]

All seeds of brns.MountainCar run as one batch; the behavior is how far the car came to the left and
to the right. Few individuals and few generations: a test of novelty that is learned from little.
For each estimator the table says in how many seeds the car reached the top, when it first did
(median over all seeds; "never" where most did not), and how many of the suite's 20 x 20 cells were
visited, by the founders too. It is printed, and written as Markdown with where it comes from;
docs/reproduction.md includes it.
"""

import numpy as np
from pages import make_parser, write_page

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.comparison.measure import run_method
from brns.comparison.worlds import world
from brns.experiments import make_paper_brns

ESTIMATORS = {
    "archive k-NN": brns.ArchiveKNN(k=15, additions=6, capacity=10000),
    "population k-NN": brns.PopulationKNN(k=15),
    "exact recognition": brns.ExactRecognition(),
    "BR-NS, paper's settings": make_paper_brns(),
    "BR-NS, default": brns.BehaviorRecognition(),
    "the default, learning rate 3e-3": brns.BehaviorRecognition(learning_rate=3e-3),
    "the default, 10 epochs": brns.BehaviorRecognition(epochs=10),
    "the default, He's weights": brns.BehaviorRecognition(initialisation="he"),
    "the default, He's weights and small biases": brns.BehaviorRecognition(
        initialisation="he-biased"
    ),
    "the same, learning rate 3e-3": brns.BehaviorRecognition(
        initialisation="he-biased", learning_rate=3e-3
    ),
}


def main() -> None:
    sizes = {"individuals": 20, "generations": 25, "seeds": 20}
    asked = make_parser(__doc__, "results/car.md", **sizes).parse_args()
    rows = [["estimator", "reached the top", "first at generation", "cells visited, of 400"]]
    for name, estimator in ESTIMATORS.items():
        rows.append([name, *found(estimator, asked.individuals, asked.generations, asked.seeds)])
        print(f"{name:44s}", *rows[-1][1:], sep="  ", flush=True)
    size = f"{asked.individuals} individuals, {asked.generations} generations"
    scale = f"{size}; mean ± standard deviation over seeds."
    write_page(asked.out, format_table(rows), format_command_and_provenance(scale))


def found(
    estimator: brns.NoveltyEstimator, n: int, generations: int, seeds: int
) -> tuple[str, str, str]:
    """What a search of so many individuals found: tops, the first one's generation, cells."""
    search = brns.NoveltySearch(brns.MountainCar(), estimator, population_size=n, offspring_size=n)
    there = world("car")._replace(generations=generations)
    facts = run_method(search, there, list(range(seeds)))
    middle, covered = np.median(np.nan_to_num(facts.first_solved, nan=np.inf)), facts.covered[:, -1]
    return (
        f"{np.isfinite(facts.first_solved).sum()} of {seeds}",
        f"{middle:g}" if np.isfinite(middle) else "never",
        f"{covered.mean():.1f} ± {covered.std(ddof=1):.1f}",
    )


if __name__ == "__main__":
    main()
