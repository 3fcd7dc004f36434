"""The linear projection of pyribs' documentation: coverage over evaluations,
beside the published numbers.

    python benchmarks/published.py [--seeds 20] [--generations 10000] [--out results/published]
    python benchmarks/published.py --seeds 0 --time

Resumable: OUT/ gets a file a terms, method and seed, and one of all times;
then OUT.md and OUT.png are written of all that is there.
"""

import functools
import itertools
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from pages import format_spread, make_parser, write_page
from ribs.archives import k_means_centroids

import brns
from brns.comparison import peers
from brns.comparison.markdown import format_table
from brns.comparison.worlds import Cells, Tessellation, world
from brns.core import Population
from brns.jit import deterministic_jit
from brns.pictures import style
from brns.pictures.records import choose_looks
from brns.runs.files import write_bytes
from brns.runs.provenance import collect_provenance, format_provenance
from brns.tasks.projection import BOUND, CENTER

INDIVIDUALS = 540
STEP = 100  # generations between two points of a curve
TURNS = 5
CENTROIDS, SAMPLES = 10_000, 50_000
TOLD = (216_000, 540_000, 1_080_000, 2_160_000, 5_400_000)
DIFFERENTIAL = brns.MixedMutation(
    (
        brns.DifferentialEvolution(),
        brns.IsoLineDD(sigma_iso=0.0),
        brns.IsoLineDD(sigma_iso=0.0, sigma_line=0.5),
        brns.Crossover(mutated=0.0),
        brns.Crossover(points=2, mutated=0.0),
    )
)
"""its steps are as long as parents differ"""
OPERATORS = brns.MixedMutation().operators
METHODS = {
    "counts, mixed": (brns.VisitCounts(), brns.MixedMutation()),
    "counts, mixed without crossover": (
        brns.VisitCounts(),
        brns.MixedMutation(
            tuple(each for each in OPERATORS if not isinstance(each, brns.Crossover))
        ),
    ),
    "counts, mixed, first four operators": (
        brns.VisitCounts(),
        brns.MixedMutation(OPERATORS[:4]),
    ),
    "counts, differential mixture": (brns.VisitCounts(), DIFFERENTIAL),
    "counts, polynomial": (brns.VisitCounts(), brns.PolynomialMutation()),
    "exact, mixed": (brns.ExactRecognition(), brns.MixedMutation()),
    "archive, mixed": (brns.ArchiveKNN(), brns.MixedMutation()),
}
PEERS = {
    "pyribs, novelty search": peers.NoveltyCMA(sigma=0.5, threshold=0.037),
    "pyribs, density descent": peers.DensityDescent(sigma=1.5),
    "pyribs, CMA-MAE": peers.CMAMAE(sigma=0.5),
}  # with the settings of pyribs' examples/sphere.py
REFERENCE = "counts, mixed"
EARLIER = "counts, earlier mixture"  # nothing makes more of it; its files are read
DISCOUNT = "discount model search, a neural network"
PUBLISHED = {
    "folded": {
        "novelty search with CMA-ES": "19.19 ± 1.38",
        "the same with local competition": "63.01",
        "density descent": "72.72 ± 3.21",
        "density descent, kernel density": "75.88 ± 3.15",
        "CMA-MAE": "81.02",
        DISCOUNT: "95.99 ± 1.43",
    },
    "10 measures": {"CMA-MAE": "7.0", DISCOUNT: "89.2"},
    "20 measures": {"CMA-MAE": "9.1", DISCOUNT: "96.0"},
    "50 measures": {"CMA-MAE": "24.2", DISCOUNT: "87.0"},
}
TEXT = """# A benchmark that others published

The linear projection of the sphere: 100 genes, 100 x 100 cells over [-256, 256]^2, 540 evaluations
a generation. Numbers are the percent of cells in which any evaluated individual lies, mean ±
standard deviation over seeds. With 10, 20 and 50 measures, each of a group of genes, the cells are
the 10,000 of a centroidal tessellation of the box.

Grids and crossover were also chosen with these tables in view (`worlds/README.md` says how), so
they are no held-out evidence.

*Shuffled*: the genes lie in a random order. Otherwise genes of one measure are neighbours, and
two-point crossover keeps neighbours together.

*Folded*: genes reach to ±10.24, a gene beyond ±5.12 counts as 5.12 / x, and all founders are 0.
The last two are as in pyribs' table, whose genes have no bound. *Box of 51.2* and *of 512* are
folded too, with genes that reach so far. There the steps of three of the default's seven operators
grow with the box. Those of the *differential mixture* do not: `DifferentialEvolution()`, and
Iso+LineDD and crossover without other steps (`sigma_iso=0`, `mutated=0`).

pyribs' methods have the settings of its `examples/sphere.py`, which made its table: 15 strategies
of 36, begun at 0 with a standard deviation of 0.5 (density descent 1.5). They need
`pip install 'brns[peers]'`.

*Without crossover* has the first five operators of the default, with differential evolution. The
*first four operators* leave out differential evolution, too.

*Earlier mixture*: the default until commit 165700b80d52. It had no differential evolution, its
crossover mutated, and its smaller line had an isotropic step. Operators got credit for offspring
that survived, not for the most novel tenth. The same credit was in runs of the *differential
mixture* until then, and in those of the *first four operators* whose genes are in order.

*Made by* is the number of the commit, versions and machine, listed below. A row with two numbers
has seeds of both; their settings are the same, and their grids are drawn differently.
"""
COMMAND = """Runs: `python benchmarks/published.py --methods METHOD ... --seeds N`.
With `--seeds 0` it writes this page of what is there."""


class Reaching(brns.LinearProjection):
    """Genes with another bound: at `BOUND` they are never folded; a box that is wider than the
    reach of the sums has more to search.
    """

    furthest: float = 2 * BOUND

    @property
    def genotype_space(self) -> brns.Box:
        return brns.Box(np.full(self.genes, -self.furthest), np.full(self.genes, self.furthest))


class Shuffled(Reaching):
    """A measure's genes are no neighbours: two-point crossover cannot keep them together."""

    def evaluate(self, genotypes: jax.Array, key: jax.Array) -> brns.Evaluation:
        order = np.random.default_rng(0).permutation(self.genes)
        return super().evaluate(genotypes[:, order], key)


@functools.cache
def cells_of(task: brns.LinearProjection) -> Cells | Tessellation:
    """The cells by which coverage is counted."""
    if task.measures == 2:
        return world("projection").cells
    furthest = float(task.behavior_space.high[0])
    ranges = [(-furthest, furthest)] * task.measures
    centroids = k_means_centroids(centroids=CENTROIDS, ranges=ranges, samples=SAMPLES, seed=0)[0]
    return Tessellation(np.ones(task.measures), np.asarray(centroids, np.float32))


ZEROS = brns.GivenFounders(np.zeros((INDIVIDUALS, brns.LinearProjection().genes)))
TERMS = {
    "folded": (brns.LinearProjection(), ZEROS),
    "bounded": (Reaching(furthest=BOUND), brns.UniformFounders()),
}
TERMS |= {f"{d} measures": (brns.LinearProjection(measures=d), ZEROS) for d in (10, 20, 50)}
TERMS |= {"folded, shuffled": (Shuffled(), ZEROS)}
TERMS |= {f"{d} measures, shuffled": (Shuffled(measures=d), ZEROS) for d in (10, 20, 50)}
TERMS |= {f"box of {x:g}, shuffled": (Shuffled(furthest=x), ZEROS) for x in (51.2, 512.0)}


@eqx.filter_jit
def further(search, cells, state, visited, key):
    """`STEP` generations, and the cells that they visited too."""

    def generation(carry, _):
        state, visited = carry
        state, facts = search.step(state, key)
        return (state, visited | cells.find_visited_cells(facts.offspring)), None

    return jax.lax.scan(generation, (state, visited), length=STEP)[0]


def ours(terms: str, method: str, seed: int) -> Iterator[jax.Array]:
    """The cells that a search of ours visited, every `STEP` generations."""
    (task, founders), (estimator, mutate) = TERMS[terms], METHODS[method]
    cells = cells_of(task)
    search = brns.NoveltySearch(
        task, estimator, INDIVIDUALS, INDIVIDUALS, mutate, founders=founders
    )
    key = jax.random.key(seed)
    state = search.init(key)
    visited = cells.find_visited_cells(state.population)
    while True:
        state, visited = further(search, cells, state, visited, key)
        yield visited


def theirs(method: str, seed: int) -> Iterator[np.ndarray]:
    """The cells that a pyribs method visited, every `STEP` generations, with unbounded genes."""
    task = brns.LinearProjection()
    cells: Any = world("projection").cells
    # Within +-5.12; pyribs' example has 0 where fitness is from 0 to 100.
    worst = -task.genes * (BOUND + CENTER) ** 2
    ranges, dims = ((cells.low[0], cells.high[0]),) * 2, (cells.side,) * 2
    terms = peers.PeerConfig(np.zeros(task.genes), INDIVIDUALS, ranges, dims, worst, seed)
    seen, visited = jax.jit(cells.find_visited_cells), np.zeros(cells.side**2, bool)
    scheduler, key = PEERS[method](terms), jax.random.key(seed)
    evaluate = deterministic_jit(task.evaluate)
    for number in itertools.count(1):
        genotypes = jnp.asarray(scheduler.ask(), jnp.float32)
        found = evaluate(genotypes, jax.random.fold_in(key, number))
        scheduler.tell(np.asarray(found.fitness), np.asarray(found.descriptor))
        visited |= np.asarray(seen(Population.from_descriptors(found.descriptor)))
        if number % STEP == 0:
            yield visited


def stretches_of(terms: str, method: str, seed: int) -> Iterator[jax.Array | np.ndarray]:
    return ours(terms, method, seed) if method in METHODS else theirs(method, seed)


def curve(terms: str, method: str, seed: int, generations: int) -> dict:
    """Coverage in percent every `STEP` generations."""
    stretches = itertools.islice(stretches_of(terms, method, seed), generations // STEP)
    covered = [100 * float(visited.mean()) for visited in stretches]
    return {"covered": covered, "made": collect_provenance()}


def times() -> dict:
    """A generation's CPU milliseconds: medians over stretches in turns, after one to compile."""
    folded = {("folded", method): method for method in [*METHODS, *PEERS]}
    measures = {(f"{d} measures, shuffled", REFERENCE): f"{d} measures" for d in (10, 20, 50)}
    named = folded | measures
    running = {of: stretches_of(*of, seed=0) for of in named}
    taken: dict[str, list[float]] = {name: [] for name in named.values()}
    for _ in range(1 + TURNS):
        for of, name in named.items():
            began = time.process_time()
            jax.block_until_ready(next(running[of]))
            taken[name].append(1000 * (time.process_time() - began) / STEP)
    medians = {name: float(np.median(each[1:])) for name, each in taken.items()}
    return {"milliseconds": medians, "made": collect_provenance()}


def time_section(measured: dict, number: int) -> str:
    rows = [["method", "ms"]]
    for name, milliseconds in measured["milliseconds"].items():
        rows.append([f"{REFERENCE}, {name}" if "measures" in name else name, f"{milliseconds:.1f}"])
    return (
        "## Time\n\nCPU time of a generation of 540 evaluations, all included: medians over "
        f"{TURNS} stretches of {STEP} generations, from the {STEP}th on, in which the methods take "
        f"turns in one process. Folded, or shuffled where it says measures. Made by {number}.\n\n"
        + format_table(rows)
    )


def page(found: dict[str, dict[str, list[dict]]], measured: dict | None, out: Path) -> list[str]:
    """Its blocks."""
    blocks = [TEXT, f"![Coverage over evaluations]({out.name}.png)"]
    makers: dict[str, int] = {}

    def number_of(made: dict) -> int:
        return makers.setdefault(format_provenance(made), len(makers) + 1)

    for terms, methods in found.items():
        rows = [["method", *(f"{n:,}" for n in TOLD), "seeds", "made by"]]
        for method, runs in methods.items():
            length = min(len(run["covered"]) for run in runs)
            curves = np.array([run["covered"][:length] for run in runs])
            at = [n // INDIVIDUALS // STEP - 1 for n in TOLD]
            cells = [format_spread(curves[:, i]) if i < length else "" for i in at]
            by = sorted({number_of(run["made"]) for run in runs})
            rows.append([method, *cells, str(len(runs)), ", ".join(map(str, by))])
        rows += [
            [f"*{name}* (published)", *[""] * (len(TOLD) - 1), number, "20", ""]
            for name, number in PUBLISHED.get(terms, {}).items()
        ]
        blocks.append(f"## {terms.capitalize()}\n\n{format_table(rows)}")
    if measured:
        blocks.append(time_section(measured, number_of(measured["made"])))
    lines = [f"{number}. {maker}" for maker, number in makers.items()]
    return [*blocks, "## Made by", "\n".join(lines), COMMAND]


def picture(found: dict[str, dict[str, list[dict]]]) -> Figure:
    looks = choose_looks([*METHODS, EARLIER, *PEERS])
    with style.use_figure_style():
        columns = math.ceil(len(found) / 2)
        figure = Figure(figsize=(4 * columns, 7), layout="constrained")
        panels = figure.subplots(2, columns, squeeze=False).ravel()
        for axes in panels[len(found) :]:
            axes.remove()
        for axes, (terms, methods) in zip(panels, found.items(), strict=False):
            for method, runs in methods.items():
                look: dict[str, Any] = style.make_line_style(looks[method]) | {
                    "lw": 1,
                    "marker": "",
                }
                for run in runs:
                    evaluations = INDIVIDUALS * STEP * (1 + np.arange(len(run["covered"])))
                    label = method if run is runs[0] else None
                    axes.plot(evaluations, run["covered"], label=label, **look)
            axes.set(xscale="log", xlabel="evaluations", ylabel="% of the cells")
            axes.set(title=terms, ylim=(0, 101))
            style.use_plain_tick_labels(axes.xaxis)
        style.add_legend_below(figure)
    return figure


def main() -> None:
    parser = make_parser(__doc__, "results/published", seeds=20, generations=10_000)
    parser.add_argument("--terms", nargs="+", default=list(TERMS), choices=TERMS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=[*METHODS, *PEERS])
    parser.add_argument("--time", action="store_true", help="measure times, too")
    asked = parser.parse_args()
    timing = asked.out / "time.json"
    if asked.time:
        write_bytes(timing, json.dumps(times()).encode())
    for seed in range(asked.seeds):
        for terms in asked.terms:
            for method in asked.methods:
                path = asked.out / terms / method.replace(", ", "-") / f"{seed}.json"
                if path.exists() or (method in PEERS and terms != "folded"):
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                run = curve(terms, method, seed, asked.generations)
                write_bytes(path, json.dumps(run).encode())
                print(f"{terms}, {method}, {seed}: {run['covered'][-1]:.2f} %", flush=True)
    runs: dict[str, dict[str, list[dict]]] = {}
    for terms in TERMS:
        for method in [*METHODS, EARLIER, *PEERS]:
            files = sorted((asked.out / terms / method.replace(", ", "-")).glob("*.json"))
            if files:
                contents = [json.loads(file.read_bytes()) for file in files]
                runs.setdefault(terms, {})[method] = contents
    measured = json.loads(timing.read_bytes()) if timing.exists() else None
    write_page(asked.out.with_name(f"{asked.out.name}.md"), *page(runs, measured, asked.out))
    style.save(picture(runs), asked.out.with_name(f"{asked.out.name}.png"))


if __name__ == "__main__":
    main()
