"""How fast the deceptive maze is, beside the literal rules in numba: ratios of medians, interleaved in one run.

    python benchmarks/maze.py                    # on one core; --json FILE keeps the raw numbers

Both sides run the same policies for 2000 steps in float32 on one core. Times are the process's CPU time, so that what
else the machine does disturbs them little. The last line is the price of a fresh process.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STEPS = 2000
FRESH = (
    "import jax, brns; brns.DeceptiveMaze().evaluate(jax.numpy.zeros((100, 302)), jax.random.key(0))[0].sum().item()"
)


def cpu_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(n: int, repeats: int) -> dict:
    """CPU seconds of `n` policies, tables and literal rules in turn, after a warm-up of both."""
    import jax
    import maze_reference
    import numpy as np

    from brns.tasks.maze import DeceptiveMaze

    maze, key = DeceptiveMaze(steps=STEPS), jax.random.key(0)
    genotypes = jax.block_until_ready(maze.genotype_space.uniform(key, n))
    obstacles, start, weights = maze.obstacles, np.array(maze.start, np.float32), np.asarray(genotypes)
    sides = {
        "tables": lambda: jax.block_until_ready(maze.evaluate(genotypes, key)),
        "literal": lambda: maze_reference.final_poses(obstacles, start, weights, STEPS),
    }
    for side in sides.values():
        side()
    seconds = {name: [] for name in sides}
    for _ in range(repeats):
        for name, side in sides.items():
            seconds[name].append(cpu_time(side))
    return {"n": n, "steps": STEPS, "cpu_seconds": seconds}


def report(row: dict) -> str:
    medians = {name: statistics.median(times) for name, times in row["cpu_seconds"].items()}
    speeds = {name: row["n"] * row["steps"] / median / 1e6 for name, median in medians.items()}
    pairs = zip(row["cpu_seconds"]["literal"], row["cpu_seconds"]["tables"], strict=True)
    ratios = [slow / fast for slow, fast in pairs]
    return (
        f"N = {row['n']:4}: {speeds['tables']:5.2f} M steps/s, literal rules {speeds['literal']:5.2f}; "
        f"ratio {medians['literal'] / medians['tables']:.1f} (pairs {min(ratios):.1f} to {max(ratios):.1f})"
    )


def fresh_process() -> float:
    """CPU seconds of a second process: imports, tables, compilation and one evaluation."""
    seconds = []
    for _ in range(2):
        before = os.times()
        subprocess.run([sys.executable, "-c", FRESH], check=True)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return seconds[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="where to keep the raw numbers")
    arguments = parser.parse_args()
    # Before jax is imported: one core, one thread, for both sides.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    rows = []
    for n in arguments.n:
        rows.append(measure(n, arguments.repeats))
        print(report(rows[-1]), flush=True)
    fresh = fresh_process()
    print(f"a fresh process, to its first 100 x {STEPS} steps: {fresh:.1f} s of CPU time")
    if arguments.json:
        import jax
        import numba

        versions = {"python": platform.python_version(), "jax": jax.__version__, "numba": numba.__version__}
        facts = {"machine": platform.machine(), "versions": versions, "rows": rows, "fresh_process": fresh}
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
