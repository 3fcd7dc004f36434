"""How exact recognition's defaults, precision and cost were measured.

    python benchmarks/exact.py explore METHODS WORLDS [SEEDS]
    python benchmarks/exact.py precision [SIZE]
    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python benchmarks/exact.py cost

`explore` runs methods (names of METHODS, by commas) in worlds (names of WORLDS), all seeds at once, and adds
the coverage at 10, 25, 50 and 100 % of the run to results/worlds/exploration.csv. Coverage counts the oracle's cells
that anything evaluated fell in. Defaults were chosen on the half of the worlds called "tune" alone.
"""

import csv
import sys
import time
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.stats
from jax.scipy.linalg import solve_triangular

from brns import ArchiveKNN, BehaviorRecognition, Box, ExactRecognition, NoveltySearch, PopulationKNN, observed
from brns.core import Generation, take
from brns.estimators.exact import shrunk
from brns.tasks.arm import PlanarArm
from brns.tasks.car import MountainCar
from brns.tasks.loose import LooseBox
from brns.tasks.maze.path import MazePath
from brns.tasks.maze.rooms import RoomsMaze
from brns.tasks.maze.rules import DeceptiveMaze

TABLE = Path(__file__).parent.parent / "results/worlds/exploration.csv"
COLUMNS = ("world", "half", "method", "seed", "fraction", "coverage")
FRACTIONS = (0.1, 0.25, 0.5, 1.0)

# half, task, population, generations, oracle's coordinates of a descriptor, their low and high, cells along an axis
WORLDS = {
    "maze 20 + 20": ("tune", DeceptiveMaze(steps=1000), 20, 200, slice(0, 2), 0, 600, 20),
    "rooms 1": ("tune", RoomsMaze(seed=1), 60, 100, slice(0, 2), 0, 600, 20),
    "arm": ("tune", PlanarArm(joints=7), 100, 150, slice(-2, None), 0, 1, 26),
    "joints": ("tune", PlanarArm(joints=20, descriptor="joints"), 100, 150, slice(-2, None), 0, 1, 26),
    "rooms 2": ("report", RoomsMaze(seed=2), 60, 100, slice(0, 2), 0, 600, 20),
    "arm 20 + 20": ("report", PlanarArm(joints=7), 20, 300, slice(-2, None), 0, 1, 26),
    "arm, loose box": ("report", LooseBox(PlanarArm(joints=7), 10.0), 100, 150, slice(-2, None), 0, 1, 26),
    "car": ("report", MountainCar(), 20, 150, slice(0, 2), -1.2, 0.6, 26),
    "maze path": ("report", MazePath(DeceptiveMaze(steps=1000)), 60, 100, slice(-2, None), 0, 600, 20),
}

METHODS = {
    "archive": ArchiveKNN(k=15, capacity=10000),
    "population": PopulationKNN(k=15),
    "recognition": BehaviorRecognition(),
}
for size in (256, 384, 512):
    for low, high in ((0.03, 16), (0.125, 16), (0.25, 16), (0.25, 32), (0.5, 32), (1, 32)):
        METHODS[f"exact {size} {low:g}-{high:g}"] = ExactRecognition(size=size, frequencies=(float(low), float(high)))
    METHODS[f"exact {size} relu"] = ExactRecognition(size=size, features="relu")


def explore(methods, worlds, seeds):
    """Coverage of each method in each world, a row for every seed and fraction."""
    new = not TABLE.exists()
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if new:
            rows.writerow(COLUMNS)
        for world in worlds:
            for method in methods:
                begun = time.process_time()
                found = coverage(world, METHODS[method], seeds)
                for seed, values in enumerate(found):
                    for fraction, value in zip(FRACTIONS, values, strict=True):
                        rows.writerow([world, WORLDS[world][0], method, seed, fraction, value])
                file.flush()
                spent = time.process_time() - begun
                mean, deviation = found.mean(0).round(0), found.std(0).round(0)
                print(f"{world:14} {method:20} {mean} +- {deviation} {spent:.0f} s", flush=True)


def coverage(world, estimator, seeds):
    """The cells reached by everything evaluated, at each fraction of the run: `(seeds, fractions)`."""
    _, task, n, generations, columns, low, high, cells = WORLDS[world]
    search = NoveltySearch(task, estimator, n, n)
    keys = jax.random.split(jax.random.key(0), seeds)

    @eqx.filter_jit
    def whole(search, keys):
        def generation(states, _):
            states, facts = jax.vmap(search._step)(states, keys)
            return states, facts.offspring.descriptor[..., columns]

        states = jax.vmap(search.init)(keys)
        founders = states.population.descriptor[..., columns]
        return founders, jax.lax.scan(generation, states, None, generations)[1]

    founders, offspring = (np.asarray(x) for x in whole(search, keys))
    place = np.concatenate([founders[None], offspring])
    cell = np.clip(((place - low) / (high - low) * cells).astype(int), 0, cells - 1) @ [cells, 1]
    ends = [1 + round(f * generations) for f in FRACTIONS]
    return np.array([[len(np.unique(cell[:end, s])) for end in ends] for s in range(seeds)])


def precision(size, batches=10000):
    """Float32 against float64 at 10^4, 10^5 and 10^6 behaviors: the root that is kept, and its rivals.

    They are the inverse changed by Woodbury's formula, and A summed and factored anew. Behaviors spread over the
    square, or all fall within a thousandth of it. Prints the largest relative error of novelty, by how much of itself a
    novelty was ever above the lowest before, and the error of A as `merge` finds it.
    """
    estimator, box, key = ExactRecognition(size=size), Box([-1.0, -1.0], [1.0, 1.0]), jax.random.key(0)
    empty = eqx.filter_jit(estimator.init)(box, key)
    probes = empty.features(box.uniform(key, 400))

    @eqx.filter_jit
    def hundred(root, inverse, total, number, spread):
        def learn(carry, key):
            root, inverse, total = carry
            phi = empty.features(0.1 + spread * jax.random.uniform(key, (100, 2), minval=-1.0))
            rows = phi @ inverse
            half = solve_triangular(jnp.linalg.cholesky(jnp.eye(100) + rows @ phi.T), rows, lower=True)
            return (shrunk(root, phi @ root.T, 1.0), inverse - half.T @ half, total + phi.T @ phi), phi

        keys = jax.random.split(jax.random.fold_in(key, number), 100)
        (root, inverse, total), phi = jax.lax.scan(learn, (root, inverse, total), keys)
        return root, inverse, total, phi.reshape(-1, size), jnp.sum((probes @ root.T) ** 2, axis=1)

    for name, spread in (("spread", 0.9), ("one spot", 1e-3)):
        root = inverse = total = jnp.eye(size)
        exact, lowest, above = np.eye(size), np.full(len(probes), np.inf), 0.0
        for number in range(1, batches // 100 + 1):
            root, inverse, total, phi, found = hundred(root, inverse, total, number, jnp.float32(spread))
            phi, found = np.asarray(phi, np.float64), np.asarray(found, np.float64)
            exact, above = exact + phi.T @ phi, max(above, np.max(found / lowest - 1))
            lowest = np.minimum(lowest, found)
            if number in (1, 10, 100):
                probed = np.asarray(probes, np.float64)
                right = np.sum(probed * np.linalg.solve(exact, probed.T).T, axis=1)
                factored = scipy.linalg.solve_triangular(np.linalg.cholesky(total), probes.T, lower=True)
                others = np.sum((probes @ inverse) * probes, axis=1), np.sum(factored**2, axis=0)
                errors = [np.max(np.abs(x / right - 1)) for x in (found, *others)]
                back = np.linalg.inv(np.asarray(root, np.float64))
                lost = np.max(np.abs(back @ back.T - exact)) / np.max(np.abs(exact))
                print(
                    f"m = {size}, {name}, {number * 10000} behaviors: root {errors[0]:.1e}, inverse {errors[1]:.1e}, "
                    f"sum {errors[2]:.1e}; above the lowest {above:.1e}; A of the root {lost:.1e}; "
                    f"rank {scipy.stats.spearmanr(found, right)[0]:.6f}",
                    flush=True,
                )


def cost(repeats=30):
    """CPU time in ms of a generation (score of the union, update), the methods in turn; medians."""
    methods = {
        "BR-NS": BehaviorRecognition(),
        "archive of 2000": ArchiveKNN(k=15, capacity=2000),
        "archive of 6000": ArchiveKNN(k=15, capacity=6000),
        **{f"exact {size}": ExactRecognition(size=size) for size in (128, 256, 384, 512)},
    }
    for d in (2, 32, 256):
        turns = {(name, n): _turn(method, d, n) for name, method in methods.items() for n in (25, 100)}
        spent = {turn: [] for turn in turns}
        for _ in range(repeats):
            for turn, generation in turns.items():
                begun = time.process_time()
                generation()
                spent[turn].append(1000 * (time.process_time() - begun))
        for name in methods:
            print(
                f"d = {d:3} {name:16} " + " / ".join(f"{np.median(spent[name, n]):.2f}" for n in (25, 100)), flush=True
            )


def _turn(estimator, d, n):
    """A function that takes one generation of n + n individuals further; archives are full."""
    space, key = Box(np.zeros(d), np.ones(d)), jax.random.key(0)

    @partial(jax.jit, donate_argnums=0)
    def step(state, union):
        novelty = estimator.score(state, union.descriptor, union)
        union = union._replace(novelty=novelty)
        generation = Generation(take(union, slice(n)), take(union, slice(n, None)), take(union, slice(n)))
        return estimator.update(state, generation, key), novelty

    union = observed(np.random.default_rng(1).uniform(size=(2 * n, d)), 1).offspring
    held = [jax.tree.map(jnp.copy, estimator.init(space, key))]  # donated: no two leaves may be one
    if isinstance(estimator, ArchiveKNN):
        rows = estimator.capacity
        full = observed(np.random.default_rng(0).uniform(size=(rows, d)), 1).offspring
        held[0] = held[0]._replace(descriptor=full.descriptor, id=full.id + 10**6)

    def generation():
        held[0], novelty = step(held[0], union)
        jax.block_until_ready(novelty)

    generation()
    return generation


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "explore":
        explore(arguments[0].split(","), arguments[1].split(","), int(arguments[2]) if arguments[2:] else 4)
    elif command == "precision":
        precision(int(arguments[0]) if arguments else 256)
    elif command == "cost":
        cost()
    else:
        raise SystemExit(__doc__)
