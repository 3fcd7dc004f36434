"""What a run waits for: the disk, cores that do nothing, workers that do nothing,
and its own start.

    python benchmarks/waiting.py [saving] [seeds] [workers] [dask] [start] [small] [large] [devices]
        [--repeats 7]

Without a name saving, seeds, workers, start and small, in two minutes on an idle machine: on others
ratios mean nothing. What is compared takes turns within a repeat, and the median over repeats is
printed, with the least and the most.

saving   the maze with its record and its progress bar, against the bare search: wall time of a
         generation
seeds    8 seeds of the maze: in batches, against one batch with the compiler's threads and against
         one batch on one core
workers  the share of 16 processes that is busy: 4 seeds of 25 individuals that sleep unevenly,
         together and in turn
dask     the same on a Dask cluster of 16 threads
start    CPU time of a second process from its start to the first generation of the maze
small    20 + 20 individuals of the car: a generation bare, 10 at a time by `lax.scan`, and with its
         record
large    10,000 and 100,000 individuals of the arm: a generation bare, and with its record
devices  2000 individuals of the maze on one device and on all; the CPU has as many as
         XLA_FLAGS=--xla_force_host_platform_device_count=2 says
"""

import argparse
import contextlib
import dataclasses
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from brns import Box, Evaluation, NoveltySearch, PlanarArm, PopulationKNN, Sharded
from brns.experiments import car, maze
from brns.runs import seeds as side_by_side
from brns.runs.active import SavedGeneration
from brns.runs.loop import run
from brns.tasks.chunked import Chunked
from brns.tasks.cpu import cores
from brns.tasks.workers import Dask, Processes

Timed = Callable[[], tuple[float, float]]
"""seconds a generation: of wall time, and of CPU time"""


def clocks() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def compare(ways: dict[str, Timed], repeats: int) -> None:
    """Print each way's milliseconds, and by how much the last is faster than each."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for repeat in range(repeats + 1):  # the first compiles
        for name, way in ways.items():
            taken = way()
            if repeat:
                times[name].append(taken)
    *_, last = ways
    for name, taken in times.items():
        wall, cpu = (1e3 * statistics.median(column) for column in zip(*taken, strict=True))
        ratios = [one[0] / ours[0] for one, ours in zip(taken, times[last], strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(
            f"  {name:34s} {wall:8.2f} ms  CPU {cpu:8.2f} ms  time over that of the last: {spread}",
            flush=True,
        )


def bare(search: NoveltySearch, generations: int) -> Timed:
    key = jax.random.key(0)
    first = search.init(key)

    def way() -> tuple[float, float]:
        state, before = first, clocks()
        for _ in range(generations):
            state, facts = search.step(state, key)
        jax.block_until_ready((state, facts))
        return _each(before, generations)

    return way


def recorded(
    search: NoveltySearch, generations: int, seeds: range | None = None, bar: bool = True
) -> Timed:
    """With its record, from generation 1 to the last."""

    def way() -> tuple[float, float]:
        began = []

        def note(saved: SavedGeneration) -> bool:
            if saved.number == 1 and not began:
                began.append(clocks())
            return False

        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            run(search, generations + 1, out=out, seeds=seeds, until=note, progress=bar)
            return _each(began[0], generations)

    return way


def _each(before: tuple[float, float], generations: int) -> tuple[float, float]:
    wall, cpu = clocks()
    return (wall - before[0]) / generations, (cpu - before[1]) / generations


def saving(repeats: int) -> None:
    print("saving: the maze, 40 generations; goal: the first is 0.97 of the last")
    search = maze()
    compare(
        {"bare": bare(search, 40), "recorded, with a progress bar": recorded(search, 40)},
        2 * repeats,
    )


def several_seeds(repeats: int) -> None:
    print(f"seeds: 8 of the maze, 5 generations, {cores()} cores; goal on two: 1.8")
    search, keys = maze(), [jax.random.key(seed) for seed in range(8)]
    states = [search.init(key) for key in keys]
    whole = side_by_side.stack(states), jnp.stack(keys)

    def batch(step: Callable) -> Timed:
        def way() -> tuple[float, float]:
            (state, batch_keys), before = whole, clocks()
            for _ in range(5):
                state, facts = step(search, state, batch_keys)
                jax.device_get((state, facts))
            return _each(before, 5)

        return way

    def in_batches() -> tuple[float, float]:
        before = clocks()
        for _ in side_by_side.generations(
            search, keys, states, 5, side_by_side.count_parallel_batches(search.task, 8)
        ):
            pass
        return _each(before, 5)

    ways = {
        "one batch": batch(side_by_side._step_batch),
        "in batches, with records": recorded(search, 5, range(8), bar=False),
        "in batches": in_batches,
    }
    compare(ways, repeats)


class Sleeping(eqx.Module):
    """The first two genes are the behavior; the third says how long it takes, 0 to 0.2 seconds."""

    genotype_space: Box = Box([-1.0] * 5, [1.0] * 5)
    behavior_space: Box = Box([-1.0, -1.0], [1.0, 1.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        genotypes = np.asarray(genotypes)
        time.sleep(float(seconds(genotypes).sum()))
        columns = genotypes[:, :2], np.zeros(len(genotypes)), np.zeros(len(genotypes), bool)
        return Evaluation(*columns)  # ty: ignore[invalid-argument-type]


def seconds(genotypes: np.ndarray) -> np.ndarray:
    return 0.1 * (1 + genotypes[:, 2])


def busy(task: Chunked, workers: int = 16, generations: int = 14) -> None:
    """From the handing out of generation 2 to that of the last but 2."""
    search = NoveltySearch(task, PopulationKNN(k=3), population_size=25, offspring_size=25)
    keys = [jax.random.key(seed) for seed in range(4)]
    states = [search.init(key) for key in keys]
    slept, moments = 0.0, []
    for number, after in enumerate(
        side_by_side.generations(search, keys, states, generations, 1), 1
    ):
        if 2 < number <= generations - 2:
            slept += sum(
                float(seconds(np.asarray(facts.offspring.genotype)).sum()) for _, facts in after
            )
        if number in (2, generations - 2):
            moments.append(time.perf_counter())
    print(f"  {slept / (moments[1] - moments[0]) / workers:.2f} of the workers busy", flush=True)


def by_processes() -> None:
    print("workers: 4 seeds x 25 individuals, chunks of 4, 16 processes; goal: 0.9")
    with Processes(Sleeping(), workers=16) as task:
        task.evaluate(
            np.zeros((64, 5)), jax.random.key(0)
        )  # starts all; on two cores that takes most of a minute
        busy(task)


def by_dask() -> None:
    import distributed

    print("dask: the same on a cluster of 2 workers with 8 threads each; goal: 0.9")
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONPATH"] = here  # the workers import `Sleeping` from this file
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=8, dashboard_address=None
        ) as cluster,
        Dask(Sleeping(), cluster.scheduler_address) as task,
    ):
        busy(task)


FIRST_GENERATION = """
import jax
from brns.experiments import maze
search, key = maze(), jax.random.key(0)
state, _ = search.step(search.init(key), key)
jax.block_until_ready(state)
"""


def starting(repeats: int) -> None:
    print("start: CPU seconds to the first generation of the maze, in a second process; goal: 2.5")
    with tempfile.TemporaryDirectory() as folder:
        own = {name: value for name, value in os.environ.items() if "_CACHE_" not in name}
        environment = own | {"XDG_CACHE_HOME": folder}
        command = ["-m", "brns.cli", "run", "maze", "--generations", "100000", "--out"]
        for name, arguments in {
            "JAX alone": ["-c", "import jax"],
            "Python": ["-c", FIRST_GENERATION],
        }.items():
            report(
                name, [cpu_of([sys.executable, *arguments], environment) for _ in range(repeats)]
            )
        runs = [Path(folder) / f"run{repeat}" for repeat in range(repeats)]
        until = Path("generations", "000001.npz")
        report(
            "command line",
            [cpu_of([sys.executable, *command, run], environment, run / until) for run in runs],
        )


def cpu_of(command: list, environment: dict[str, str], until: Path | None = None) -> float:
    """CPU seconds of a process, until it ends, or until there is a file, when it is ended."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while until is not None and not until.exists() and process.poll() is None:
        time.sleep(0.01)
    if until is not None:
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    if until is None and status:
        raise SystemExit(f"{command} ended with {status}")
    return used.ru_utime + used.ru_stime


def report(name: str, taken: list[float]) -> None:
    first, *later = taken
    print(
        f"  {name:13s} {statistics.median(later):.2f} s (the first process {first:.2f} s)",
        flush=True,
    )


def small(repeats: int) -> None:
    print(
        "small: the car, 20 + 20, 100 generations; scan is worth it from 1.3 for the whole search"
    )
    search, key = car(), jax.random.key(0)
    first = search.init(key)

    @eqx.filter_jit
    def ten(search, state, key):
        return jax.lax.scan(lambda state, _: search.step(state, key), state, length=10)

    def scanned() -> tuple[float, float]:
        state, before = first, clocks()
        for _ in range(10):
            state, facts = ten(search, state, key)
        jax.block_until_ready((state, facts))
        return _each(before, 100)

    ways = {
        "bare": bare(search, 100),
        "bare, 10 at a time": scanned,
        "recorded": recorded(search, 100, bar=False),
    }
    compare(ways, repeats)


def large(repeats: int) -> None:
    for n, goal in (10_000, 150), (100_000, 2000):
        print(f"large: the arm, {n} + {n}; goal for the last: {goal} ms of CPU")
        search = NoveltySearch(PlanarArm(), population_size=n, offspring_size=n)
        compare(
            {"bare": bare(search, 3), "recorded, with a progress bar": recorded(search, 3)}, repeats
        )


def devices(repeats: int) -> None:
    print(
        f"devices: the maze, 2000 + 2000, {jax.device_count()} devices; goal of two on two cores: "
        "1.7"
    )
    alone = dataclasses.replace(maze(), population_size=2000, offspring_size=2000)
    shared = dataclasses.replace(alone, task=Sharded(alone.task))
    compare({"one device": bare(alone, 2), "all devices": bare(shared, 2)}, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = {
        "saving": saving,
        "seeds": several_seeds,
        "workers": lambda _: by_processes(),
        "dask": lambda _: by_dask(),
        "start": starting,
        "small": small,
        "large": large,
        "devices": devices,
    }
    parser.add_argument("parts", nargs="*", help=", ".join(every))
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    with contextlib.suppress(OSError):
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f} as this begins")
    for name in arguments.parts or ["saving", "seeds", "workers", "start", "small"]:
        every[name](arguments.repeats)


if __name__ == "__main__":
    main()
