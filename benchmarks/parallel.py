"""What `Processes` and `Dask` add to a generation: 100 individuals of a task that costs nothing, two workers.

    python benchmarks/parallel.py

Prints, for several chunks, the median milliseconds that one evaluation of the batch takes beyond the task in this
process, interleaved; both count what the search waits for, and what all its own threads compute.
"""

import statistics
import time

import equinox as eqx
import jax
import numpy as np

from brns import Box, Evaluation
from brns.parallel import Chunked, Dask, Processes

INDIVIDUALS, GENES, REPEATS = 100, 200, 30


class Nothing(eqx.Module):
    """The first two genes are the behavior."""

    genotype_space: Box = Box([-1.0] * GENES, [1.0] * GENES)
    behavior_space: Box = Box([-1.0, -1.0], [1.0, 1.0])
    traceable: bool = False

    def evaluate(self, genotypes, key):
        genotypes = np.asarray(genotypes)
        return Evaluation(genotypes[:, :2], np.zeros(len(genotypes)), np.zeros(len(genotypes), bool))


def milliseconds(task, genotypes, key) -> tuple[float, float]:
    """Wall and CPU time of one evaluation in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(task.evaluate(genotypes, key))
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)


def main() -> None:
    key = jax.random.key(0)
    genotypes = Nothing().genotype_space.uniform(key, INDIVIDUALS)
    print(f"{INDIVIDUALS} individuals, 2 workers, median of {REPEATS}: ms waited (ms computed by the search's process)")
    with Processes(Nothing(), workers=2) as processes, Dask(Nothing()) as dask:
        for chunk in (1, 4, 16, 50):
            tasks = {
                "Chunked": Chunked(Nothing(), chunk=chunk),
                "Processes": eqx.tree_at(lambda p: p.chunk, processes, chunk),
                "Dask": eqx.tree_at(lambda d: d.chunk, dask, chunk),
            }
            times = {name: [] for name in ["alone", *tasks]}
            for repeat in range(REPEATS + 3):  # the first three start workers and warm up
                for name, task in {"alone": Nothing(), **tasks}.items():
                    taken = milliseconds(task, genotypes, key)
                    if repeat >= 3:
                        times[name].append(taken)
            medians = {
                name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in times.items()
            }
            shown = ", ".join(f"{name} {wall:.1f} ({cpu:.1f})" for name, (wall, cpu) in medians.items())
            print(f"chunk {chunk:3d}: {shown}")


if __name__ == "__main__":
    main()
