"""What two settings of the ant maze change for the same genotypes: the integrator, and the rule for stuck ants.

    python benchmarks/ant_settings.py [RUN] [--steps 1500]

RUN is a directory that `brns run ant` made: its last offspring are taken; without it, 25 genotypes drawn from
the box. Contacts make an ant's path chaotic, so that paths under two integrators part in any case: the path under the
same integrator with weights moved by 1e-6 shows how fast.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from brns.tasks.ant.rules import POLICY, AntMaze


def compare(genotypes: np.ndarray, steps: int) -> None:
    moved = np.clip(genotypes + 1e-6 * np.sign(genotypes[:, ::-1]), -1, 1).astype(np.float32)
    runs = {
        "RK4": (AntMaze(steps=steps, integrator="RK4"), genotypes),
        "implicitfast": (AntMaze(steps=steps), genotypes),
        "RK4, weights moved by 1e-6": (AntMaze(steps=steps, integrator="RK4"), moved),
        "implicitfast, weights moved by 1e-6": (AntMaze(steps=steps), moved),
    }
    episodes = {name: task.episodes(rows) for name, (task, rows) in runs.items()}
    for name, told in episodes.items():
        reach = np.linalg.norm(told.path - told.path[:, :1], axis=2).max(axis=1)
        print(
            f"{name:36s} reach: median {np.median(reach):.1f} m, best {reach.max():.1f} m; areas {told.visited.sum()}; "
            f"unstable {told.unstable.sum()}"
        )
    marks = [t for t in (20, 40, 100, 200, 400, steps) if t <= steps]
    pairs = (
        ("RK4", "implicitfast"),
        ("RK4", "RK4, weights moved by 1e-6"),
        ("implicitfast", "implicitfast, weights moved by 1e-6"),
    )
    for a, b in pairs:
        apart = np.median(np.linalg.norm(episodes[a].path - episodes[b].path, axis=2), axis=0)
        listed = ", ".join(f"{apart[t]:.2g} m at {0.025 * t:g} s" for t in marks)
        print(f"apart (median), {a} and {b}: {listed}")

    free = episodes["implicitfast"]
    for distance, window in ((0.1, 100), (0.5, 100), (0.5, 200), (1.0, 200)):
        task = AntMaze(steps=steps, stuck_distance=distance, stuck_window=window)
        start = time.process_time()
        told = task.episodes(genotypes)
        error = np.abs(task.descriptor(told.path) - task.descriptor(free.path)).max(axis=1)
        print(
            f"stuck within {distance} m for {window} steps: {told.stuck.sum()} of {len(genotypes)} ended, "
            f"{1 - told.length.mean() / steps:.0%} of the steps saved; descriptors off by more than 1 m: "
            f"{(error > 1).sum()}, most {error.max():.1f} m; {time.process_time() - start:.1f} s of CPU"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=1500)
    arguments = parser.parse_args()
    if arguments.run:
        from brns.runs.record import Record

        record = Record(arguments.run)
        genotypes = record.column("offspring.genotype", record.generations[-1:])[0]
    else:
        rows = np.random.default_rng(0).uniform(-1, 1, (25, POLICY.genotype_length))
        genotypes = rows.astype(np.float32)
    compare(genotypes, arguments.steps)


if __name__ == "__main__":
    main()
