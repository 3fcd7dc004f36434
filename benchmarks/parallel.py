"""What `Processes` and `Dask` add to a generation, and what `Processes` gains for the ant maze; two workers.

    python benchmarks/parallel.py [--repeats 30] [--ant-steps 300] [--ant-repeats 5]

Prints, for 100 individuals of a task that costs nothing and several chunks, the median milliseconds that one evaluation
of the batch takes: what the search waits for, and what all its own threads compute. Then, for 25 ants, the median over
repeats of how many times faster the batch is on two workers than on one thread, and than on the task's own two threads.
All take turns within a repeat; the waiting means something on a machine with two idle cores only.
"""

import argparse
import statistics
import time

import equinox as eqx
import jax
import numpy as np

from brns import AntMaze, Box, Evaluation
from brns.workers.chunks import Chunked
from brns.workers.dask import Dask
from brns.workers.processes import Processes

INDIVIDUALS, GENES, ANTS = 100, 200, 25


class Nothing(eqx.Module):
    """The first two genes are the behavior."""

    genotype_space: Box = Box([-1.0] * GENES, [1.0] * GENES)
    behavior_space: Box = Box([-1.0, -1.0], [1.0, 1.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        genotypes = np.asarray(genotypes)
        columns = genotypes[:, :2], np.zeros(len(genotypes)), np.zeros(len(genotypes), bool)
        return Evaluation(*columns)  # ty: ignore[invalid-argument-type]


def milliseconds(task, genotypes, key) -> tuple[float, float]:
    """Wall and CPU time of one evaluation in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(task.evaluate(genotypes, key))
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def overhead(repeats: int) -> None:
    key = jax.random.key(0)
    genotypes = Nothing().genotype_space.uniform(key, INDIVIDUALS)
    print(f"{INDIVIDUALS} individuals, 2 workers, median of {repeats}: ms waited (ms computed by the search's process)")
    with Processes(Nothing(), workers=2) as processes, Dask(Nothing()) as dask:
        for chunk in (1, 4, 16, 50):
            tasks = {
                "Chunked": Chunked(Nothing(), chunk=chunk),
                "Processes": eqx.tree_at(lambda p: p.chunk, processes, chunk),
                "Dask": eqx.tree_at(lambda d: d.chunk, dask, chunk),
            }
            times = {name: [] for name in ["alone", *tasks]}
            for repeat in range(repeats + 3):  # the first three start workers and warm up
                for name, task in {"alone": Nothing(), **tasks}.items():
                    taken = milliseconds(task, genotypes, key)
                    if repeat >= 3:
                        times[name].append(taken)
            medians = {
                name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in times.items()
            }
            shown = ", ".join(f"{name} {wall:.1f} ({cpu:.1f})" for name, (wall, cpu) in medians.items())
            print(f"chunk {chunk:3d}: {shown}")


def ants(steps: int, repeats: int) -> None:
    task, key = AntMaze(steps=steps), jax.random.key(0)
    genotypes = np.asarray(task.genotype_space.uniform(key, ANTS))
    with Processes(task, workers=2) as processes:
        runs = {
            "one thread": lambda: task.episodes(genotypes, 1),
            "two threads": lambda: task.episodes(genotypes, 2),
            "two workers": lambda: jax.block_until_ready(processes.evaluate(genotypes, key)),
        }
        times = {name: [] for name in runs}
        for repeat in range(repeats + 1):  # the first starts workers and loads MuJoCo
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if repeat:
                    times[name].append(time.perf_counter() - start)
    print(f"{ANTS} ants x {steps} control steps, median of {repeats}: two workers are")
    for name in ("one thread", "two threads"):
        ratios = [slow / fast for slow, fast in zip(times[name], times["two workers"], strict=True)]
        print(f"  {statistics.median(ratios):.2f} times as fast as {name} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--ant-steps", type=int, default=300)
    parser.add_argument("--ant-repeats", type=int, default=5)
    arguments = parser.parse_args()
    overhead(arguments.repeats)
    ants(arguments.ant_steps, arguments.ant_repeats)


if __name__ == "__main__":
    main()
