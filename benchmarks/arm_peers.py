"""The planar arm at equal evaluations: brns beside pyribs' novelty search and its MAP-Elites.

    python benchmarks/arm_peers.py [--joints 7 20] [--evaluations 20000] [--seeds 5] [--out results/arm-peers.md]

Needs `pip install ribs` for theirs. What is told, and how, stands in TEXT below, with which the page begins.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from brns import IsoLineDD, MixedMutation, NoveltySearch, PlanarArm, PolynomialMutation
from brns.comparison.markdown import provenance_text, table
from brns.comparison.worlds import world
from brns.runs.provenance import here
from brns.runs.storage import write_bytes
from brns.settings import parts

OURS = ("counts", "exact", "archive")
OPERATORS = {"": MixedMutation(), ", polynomial": PolynomialMutation(), ", Iso+LineDD": IsoLineDD()}
BATCH = 100
FRACTIONS = (0.1, 0.25, 0.5, 1.0)
SIDE = world("arm").cells.side
ISO, LINE = 0.02, 0.2
Batches = Iterator[np.ndarray]
"""the tips of the arms that a method evaluates, batch by batch, without end"""

TEXT = """# The planar arm, beside pyribs

Cells that everything evaluated covered at 10, 25, 50 and 100 % of the evaluations, and CPU time of a generation of 100,
evaluation included, without the first ten, in which code is compiled. The arm and the cells are those of the suite.

brns has 100 + 100 individuals and three novelties, with the default mixture of polynomial mutation and Iso+LineDD,
and with each of the two alone. pyribs' novelty search
is as its documentation has it, a ProximityArchive ranked by novelty with five CMA-ES emitters of 20; its MAP-Elites has
Iso+LineDD on a grid of the same cells, in batches of 100. There Iso+LineDD has deviations of 0.02 and 0.2,
here of 0.01 and 0.2, the library's defaults.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joints", type=int, nargs="+", default=[7, 20])
    parser.add_argument("--evaluations", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    blocks = [TEXT]
    for joints in asked.joints:
        print(f"{joints} joints", flush=True)
        rows = [["method", *(f"{fraction:.0%}" for fraction in FRACTIONS), "CPU ms a generation"]]
        for name, method in methods().items():
            try:
                rows.append([name, *told(PlanarArm(joints), method, asked.evaluations // BATCH, asked.seeds)])
            except ImportError as error:
                print(f"{name}: left out ({error})")
                continue
            print(*rows[-1], sep="  ", flush=True)
        blocks.append(f"## {joints} joints\n\n{table(rows)}")
    if asked.out:
        scale = (
            f"{asked.evaluations} evaluations, {asked.seeds} seeds, {SIDE} x {SIDE} cells; mean ± standard deviation."
        )
        blocks.append(provenance_text({"provenance": here(), "scale": scale}))
        write_bytes(asked.out, ("\n\n".join(blocks) + "\n").encode())


def methods() -> dict[str, Callable[[PlanarArm, int], Batches]]:
    """Each method by its name: the tips that it evaluates, given the arm and a seed."""
    brns: dict[str, Callable[[PlanarArm, int], Batches]] = {
        f"brns, {name}{operator}": partial(ours, estimator=parts("estimator", "preset")[name].load()(), mutate=mutate)
        for operator, mutate in OPERATORS.items()
        for name in OURS
    }
    return brns | {"pyribs, novelty search": ribs_novelty, "pyribs, MAP-Elites": ribs_elites}


def told(arm: PlanarArm, method: Callable[[PlanarArm, int], Batches], batches: int, seeds: int) -> list[str]:
    """Cells covered at each fraction, and the CPU time of a batch."""
    covered, took = np.zeros((seeds, batches), int), []
    for seed in range(seeds):
        seen, tips = np.zeros((SIDE, SIDE), bool), method(arm, seed)
        for batch in range(batches):
            if batch == min(10, batches - 1):
                began = time.process_time()
            column, row = np.clip(next(tips) * SIDE, 0, SIDE - 1).astype(int).T
            seen[column, row] = True
            covered[seed, batch] = seen.sum()
        took.append(1000 * (time.process_time() - began) / (batches - min(10, batches - 1)))
    at = [covered[:, max(0, round(fraction * batches) - 1)] for fraction in FRACTIONS]
    return [f"{c.mean():.0f} ± {np.std(c, ddof=min(1, seeds - 1)):.0f}" for c in at] + [f"{np.median(took):.2g}"]


def tips(arm: PlanarArm, genotypes) -> np.ndarray:
    evaluation = arm.evaluate(jnp.asarray(genotypes, jnp.float32), jax.random.key(0))
    return np.asarray(evaluation.descriptor)


def ours(arm: PlanarArm, seed: int, estimator, mutate) -> Batches:
    search, key = NoveltySearch(arm, estimator, mutate=mutate), jax.random.key(seed)
    state = search.init(key)
    yield np.asarray(state.population.descriptor)
    while True:
        state, generation = search.step(state, key)
        yield np.asarray(generation.offspring.descriptor)


def ribs_novelty(arm: PlanarArm, seed: int) -> Batches:
    from ribs.archives import ProximityArchive
    from ribs.emitters import EvolutionStrategyEmitter
    from ribs.schedulers import Scheduler

    archive = ProximityArchive(
        solution_dim=arm.joints,
        measure_dim=2,
        k_neighbors=15,
        novelty_threshold=0.02,
        initial_capacity=32768,
        seed=seed,
    )
    emitters = [
        EvolutionStrategyEmitter(
            archive,
            x0=np.full(arm.joints, 0.5),
            sigma0=0.2,
            ranker="nov",
            selection_rule="mu",
            restart_rule="basic",
            batch_size=BATCH // 5,
            bounds=[(0.0, 1.0)] * arm.joints,
            seed=5 * seed + i,
        )
        for i in range(5)
    ]
    return _asked(Scheduler(archive, emitters), arm, without_objective=True)


def ribs_elites(arm: PlanarArm, seed: int) -> Batches:
    from ribs.archives import GridArchive
    from ribs.emitters import IsoLineEmitter
    from ribs.schedulers import Scheduler

    archive = GridArchive(solution_dim=arm.joints, dims=(SIDE, SIDE), ranges=[(0, 1), (0, 1)], seed=seed)
    drawn = np.random.default_rng(seed).random((BATCH, arm.joints))
    emitter = IsoLineEmitter(
        archive,
        iso_sigma=ISO,
        line_sigma=LINE,
        initial_solutions=drawn,
        bounds=[(0.0, 1.0)] * arm.joints,
        batch_size=BATCH,
        seed=seed,
    )
    return _asked(Scheduler(archive, [emitter]), arm, without_objective=False)


def _asked(scheduler, arm: PlanarArm, without_objective: bool) -> Batches:
    while True:
        genotypes = scheduler.ask()
        places = tips(arm, genotypes)
        if without_objective:
            scheduler.tell(np.zeros(len(genotypes)), places)
        else:
            scheduler.tell(-np.var(genotypes, axis=1), places)
        yield places


if __name__ == "__main__":
    main()
