"""The processor beside an accelerator: what novelty and a search cost, and whether bits agree.

    python benchmarks/accelerator.py [--out results/accelerator.md]

Both take turns in one process. Without an accelerator there is only the processor's column.
"""

import functools
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pages import make_parser, write_page

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.core import Population
from brns.pictures.cost import NoveltyStep, measure_cpu_and_wall_milliseconds

ESTIMATORS = {
    "visit counts": brns.VisitCounts(),
    "exact recognition": brns.ExactRecognition(),
    "BR-NS": brns.BehaviorRecognition(),
    "archive k-NN, 10,000 entries": brns.ArchiveKNN(capacity=10_000),
}
SIZES = tuple(itertools.product((2, 32, 384), (100, 10_000)))
"""dimensions, and N of N + N individuals"""
SEARCHES = {
    "deceptive maze": (brns.DeceptiveMaze(), 25),
    "deceptive maze, 1,000 + 1,000": (brns.DeceptiveMaze(), 1000),
    "planar arm": (brns.PlanarArm(20), 100),
    "planar arm, 10,000 + 10,000": (brns.PlanarArm(20), 10_000),
    "projection of 1,000 genes": (brns.LinearProjection(), 540),
}
DIMENSIONS = (2, 32, 384, 1536)
REPEATS = 5
TEXT = f"""# The processor beside an accelerator

Wall time, medians of {REPEATS} calls in which the two take turns. *Novelty*: scoring and learning a
generation of N + N individuals, whose behaviors are uniform and new. *Search*: one whole
generation, with visit counts. *Bits*: each learns three times a thousand behaviors and scores
others; the share of bit-identical novelties, and the largest difference over the largest novelty.
"""


def devices() -> dict[str, Any]:
    """The processor, and the accelerator if there is one."""
    accelerator = jax.devices()[0]
    both = {"processor": jax.devices("cpu")[0]}
    return both if accelerator.platform == "cpu" else both | {"accelerator": accelerator}


class SearchStep:
    """A generation of a search a call."""

    def __init__(self, task: brns.Task, n: int):
        self.search = brns.NoveltySearch(task, population_size=n, offspring_size=n)
        self.key = jax.random.key(0)
        self.state = self.search.init(self.key)
        self()  # compiles

    def __call__(self) -> None:
        self.state, _ = jax.block_until_ready(self.search.step(self.state, self.key))


def measure_on_devices(make_step: Callable[[], Any], min_seconds: float) -> list[str]:
    """Milliseconds of a step on each device, which take turns."""
    steps, times = {}, {}
    for name, device in devices().items():
        with jax.default_device(device):
            steps[name], times[name] = make_step(), []
    for _ in range(REPEATS):
        for name, device in devices().items():
            with jax.default_device(device):
                times[name].append(measure_cpu_and_wall_milliseconds(steps[name], min_seconds).wall)
    return [f"{statistics.median(those):.3g}" for those in times.values()]


def novelty_after_learning(estimator: brns.core.NoveltyEstimator, d: int) -> np.ndarray:
    """Of 1,000 behaviors after 3,000, half of which lie near them."""
    random = np.random.default_rng(d)
    learned = random.random((3, 1000, d), dtype=np.float32)
    near = learned[0, :500] + 0.01 * random.normal(size=(500, d)).astype(np.float32)
    asked = np.concatenate([near.clip(0, 1), random.random((500, d), dtype=np.float32)])
    state = estimator.init(brns.Box([0.0] * d, [1.0] * d), jax.random.key(0))
    for number, behaviors in enumerate(learned):
        generation = brns.core.Generation.from_descriptors(behaviors, number + 1)
        state = jax.jit(estimator.update)(state, generation, jax.random.key(number))
    people = Population.from_descriptors(jnp.asarray(asked), 4, 10_000)
    return np.asarray(jax.jit(estimator.score)(state, people.descriptor, people))


def compare_bits(estimator: brns.core.NoveltyEstimator, d: int) -> str:
    """How novelty on the accelerator differs from the processor's."""
    answers = []
    for device in devices().values():
        with jax.default_device(device), jax.default_matmul_precision("highest"):
            answers.append(novelty_after_learning(estimator, d))
    same = (answers[0] == answers[-1]).mean()
    apart = np.abs(answers[0] - answers[-1]).max() / np.abs(answers[0]).max()
    return f"{same:.1%}, {apart:.1g}"


def blocks() -> Iterator[tuple[str, list[list[str]]]]:
    """The titles and tables, each as soon as it is measured."""
    times = [f"ms, {name}" for name in devices()]
    lines = [["novelty", "d", "N", *times]]
    for method, (d, n) in itertools.product(ESTIMATORS, SIZES):
        step = functools.partial(NoveltyStep, ESTIMATORS[method], d, 2 * n)
        lines.append([method, str(d), f"{n:,}", *measure_on_devices(step, 0.05)])
        print(*lines[-1], flush=True)
    yield "Novelty", lines
    lines = [["task", "N", *times]]
    for name, (task, n) in SEARCHES.items():
        step = functools.partial(SearchStep, task, n)
        lines.append([name, f"{n:,}", *measure_on_devices(step, 0.1)])
        print(*lines[-1], flush=True)
    yield "Search", lines
    lines = [["novelty", *(f"d = {d}" for d in DIMENSIONS)]]
    for method, estimator in ESTIMATORS.items():
        lines.append([method, *(compare_bits(estimator, d) for d in DIMENSIONS)])
        print(*lines[-1], flush=True)
    yield "Bits", lines


def main() -> None:
    asked = make_parser(__doc__, "results/accelerator.md").parse_args()
    parts = [TEXT + "\n" + format_command_and_provenance("")]
    for title, lines in blocks():
        parts.append(f"## {title}\n\n{format_table(lines)}")
        write_page(asked.out, *parts)


if __name__ == "__main__":
    main()
