"""How the cost of a generation's novelty grows: with the population, the dimension and the archive.

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false OMP_NUM_THREADS=1 taskset -c 0
        python benchmarks/growth.py [--limit 20] [--out results/growth]

Makes OUT.md, OUT.csv and OUT.png. Timed is one generation of N + N individuals whose behaviors are
uniform and new: their novelty, and what the estimator learns or keeps; of NSGA-II, the choice of N
of 2 N. CPU time on one core, the median over three calls. Memory is that of the compiled code: what
it is given, gives and needs in between. A call that the law so far takes to last longer than
`limit` seconds is not made; its memory is told all the same.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure
from pages import make_parser, write_page

import brns
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.formatting import format_csv
from brns.pictures import style
from brns.pictures.cost import NoveltyStep, measure_cpu_and_wall_milliseconds
from brns.pictures.records import choose_looks
from brns.runs.files import write_bytes

SIZES = (100, 1000, 10_000, 100_000)
DIMENSIONS = (2, 32, 256, 1024)
ENTRIES = (10_000, 100_000, 1_000_000)
COMMAND_LINE = {
    "BR-NS": "recognition",
    "visit counts": "counts",
    "exact recognition": "exact",
    "population k-NN": "population",
    "archive k-NN": "archive",
}
SHORTEST = 0.002  # seconds, from which on a time shows how a cost grows


def estimators(entries: int = 10_000) -> dict[str, brns.NoveltyEstimator]:
    return {
        "BR-NS": brns.BehaviorRecognition(),
        "visit counts": brns.VisitCounts(),
        "exact recognition": brns.ExactRecognition(),
        "population k-NN": brns.PopulationKNN(),
        f"archive k-NN, {entries:,} entries": brns.ArchiveKNN(capacity=entries),
    }


class Point(NamedTuple):
    """One row of the table."""

    grows: str
    method: str
    size: int
    ms: float
    """NaN where it was not run"""
    megabytes: float


class Selection:
    """One choice of N of 2 N by NSGA-II a call."""

    def __init__(self, n: int):
        objectives = jax.random.uniform(jax.random.key(0), (2, 2 * n))
        self.state = brns.Generation.from_descriptors(np.zeros((2 * n, 2)), 1).offspring._replace(
            novelty=objectives[0], fitness=objectives[1]
        )
        self.given = ()
        self.step = jax.jit(lambda union: brns.NSGA2()(union, n))

    def __call__(self) -> None:
        jax.block_until_ready(self.step(self.state))


def novelty(estimator: brns.NoveltyEstimator, d: int, n: int, entries: int) -> NoveltyStep:
    """What is timed of an estimator, where an archive has so many entries."""
    return NoveltyStep(estimator, d, 2 * n, entries, ready=False)


def megabytes(call: NoveltyStep | Selection) -> float:
    used: Any = call.step.lower(call.state, *call.given).compile().memory_analysis()
    both = used.argument_size_in_bytes + used.output_size_in_bytes - used.alias_size_in_bytes
    return (both + used.temp_size_in_bytes) / 1e6


def grown(
    grows: str,
    method: str,
    sizes: tuple[int, ...],
    make: Callable[[int], NoveltyStep | Selection],
    limit: float,
) -> Iterator[Point]:
    """The points of one line, from the smallest; those that would take too long have no time."""
    known: list[tuple[int, float]] = []
    for size in sizes:
        call = make(size)
        memory = megabytes(call)
        seconds = math.nan
        if not known or predicted(known, size) < limit:
            measure_cpu_and_wall_milliseconds(call, min_seconds=0)  # compiles
            seconds = (
                statistics.median(
                    measure_cpu_and_wall_milliseconds(call, min_seconds=0.2)[0] for _ in range(3)
                )
                / 1000
            )
            known.append((size, seconds))
        yield Point(grows, method, size, 1000 * seconds, memory)


def predicted(known: list[tuple[int, float]], size: int) -> float:
    """Seconds, by the power law of the last two sizes, or by a square where there is none."""
    return known[-1][1] * (size / known[-1][0]) ** max(power(known) or 2.0, 1.0)


def power(known: list[tuple[int, float]]) -> float | None:
    """The exponent of time over the last two sizes, None where those times say nothing."""
    if len(known) < 2 or known[-1][1] < SHORTEST:
        return None
    (small, before), (large, after) = known[-2:]
    return math.log(after / before) / math.log(large / small)


def measured(limit: float) -> Iterator[Point]:
    for name, estimator in estimators(100_000).items():
        yield from grown("N", name, SIZES, lambda n, e=estimator: novelty(e, 2, n, 100_000), limit)
    yield from grown("N", "NSGA-II", SIZES, Selection, limit)
    for name, estimator in estimators().items():
        yield from grown(
            "d", name, DIMENSIONS, lambda d, e=estimator: novelty(e, d, 100, 10_000), limit
        )
    for d in (2, 32):

        def archive(n: int, d: int = d) -> NoveltyStep:
            return novelty(brns.ArchiveKNN(capacity=n), d, 100, n)

        yield from grown("entries", f"archive k-NN, d = {d}", ENTRIES, archive, limit)


def main() -> None:
    asked = make_parser(__doc__, "results/growth", limit=20.0).parse_args()
    points = []
    for point in measured(asked.limit):
        cost = f"{point.ms:.2f} ms, {point.megabytes:.1f} MB"
        print(f"{point.grows} = {point.size}: {point.method} {cost}", flush=True)
        points.append(point)
    rows = [
        point._asdict() | {"ms": f"{point.ms:.5g}", "megabytes": f"{point.megabytes:.5g}"}
        for point in points
    ]
    write_bytes(asked.out.with_name(f"{asked.out.name}.csv"), format_csv(rows).encode())
    write_page(asked.out.with_name(f"{asked.out.name}.md"), *page(points, asked.out))
    style.save(picture(points), asked.out.with_name(f"{asked.out.name}.png"))


TITLES = {
    "N": "Population and offspring of N each, d = 2",
    "d": "Dimensions of the descriptor, 100 + 100 individuals",
    "entries": "Entries of the archive, 100 + 100 individuals",
}
TEXT = """# How the cost of novelty grows

CPU time for the novelty of one generation on one core, and the memory of the compiled code: inputs,
outputs and temporary arrays. *Power* is the exponent with which time grows over the last two sizes
that were timed; a dash means that these times are too short to tell. *Not run*: by extrapolation a
call would last longer than the limit of the command.
"""
PAPER = """## On paper: what more cores, a cluster or a GPU would change

- **Visit counts** look up and add, so the cost for N individuals is divided by the number of cores,
  also of a GPU. Islands exchange their counts, 4 MB each way in the plane, 8 MB in four dimensions,
  16 MB from eight on.
- **BR-NS and exact recognition** learn and score each row by itself, so the cost for N individuals
  is divided by the number of cores. The factorization of exact recognition (256 x 256, or n x n if
  n is smaller) is not divided. Islands on other machines can exchange what they have seen by
  `merge`, 0.25 MB each way whatever N.
- **k-NN** compares every individual with every reference. This work, too, is divided by the number
  of cores. Every machine that scores needs the whole archive. In the plane a KD-tree is quicker
  from some thousand individuals on:
  `scipy.spatial.KDTree(points).query(some, 16)`, built anew, takes 2.3 ms of one core for 200 of
  10,200 points, 40 ms for 20,000 of 30,000 and 0.55 s for 200,000 of 200,000.
- **NSGA-II** sorts, and stays on one core.
"""


def page(points: list[Point], out: Path) -> list[str]:
    """Its blocks."""
    blocks = [TEXT, format_command_and_provenance(""), f"![Time and memory]({out.name}.png)"]
    for grows, title in TITLES.items():
        mine = [point for point in points if point.grows == grows]
        sizes = dict.fromkeys(f"{point.size:,}" for point in mine)
        lines = [["method", *sizes, "power"]]
        for method in dict.fromkeys(point.method for point in mine):
            line = [point for point in mine if point.method == method]
            law = power([(point.size, point.ms / 1000) for point in line if point.ms == point.ms])
            cells = [f"{time_of(point)}, {memory_of(point)}" for point in line]
            lines.append([method, *cells, "-" if law is None else f"{law:.2f}"])
        blocks.append(f"## {title}\n\n{format_table(lines)}")
    return [*blocks, PAPER.rstrip()]


def time_of(point: Point) -> str:
    if math.isnan(point.ms):
        return "not run"
    return f"{point.ms / 1000:.3g} s" if point.ms >= 1000 else f"{point.ms:.3g} ms"


def memory_of(point: Point) -> str:
    megabytes = point.megabytes
    return f"{megabytes / 1000:.3g} GB" if megabytes >= 1000 else f"{megabytes:.3g} MB"


def color_name(method: str) -> str:
    """What the command line calls a method; an archive has one colour, however many entries."""
    name = method.split(",")[0]
    return COMMAND_LINE.get(name, name)


def picture(points: list[Point]) -> Figure:
    """Above time, below memory; a column for what grows."""
    with style.use_figure_style():
        figure = Figure(figsize=(11.5, 6.4), layout="constrained")
        axes = figure.subplots(2, len(TITLES), sharex="col")
        looks = choose_looks({color_name(point.method) for point in points})
        for column, (grows, title) in enumerate(TITLES.items()):
            mine = [point for point in points if point.grows == grows]
            for method in dict.fromkeys(point.method for point in mine):
                line = [point for point in mine if point.method == method]
                sizes = [point.size for point in line]
                look: dict[str, Any] = style.make_line_style(looks[color_name(method)]) | {
                    "label": method
                }
                look["lw"] = 0.8 if method.endswith("d = 32") else 1.6
                axes[0, column].plot(sizes, [point.ms for point in line], **look)
                axes[1, column].plot(sizes, [point.megabytes for point in line], **look)
            axes[0, column].set_title("\n".join(title.split(", ")), fontsize=9)
            axes[1, column].set_xlabel(grows)
            for row in (0, 1):
                axes[row, column].set(xscale="log", yscale="log")
                style.use_plain_tick_labels(axes[row, column].xaxis)
                style.use_plain_tick_labels(axes[row, column].yaxis)
        axes[0, 0].set_ylabel("ms of CPU a generation")
        axes[1, 0].set_ylabel("MB")
        style.add_legend_below(figure)
    return figure


if __name__ == "__main__":
    main()
