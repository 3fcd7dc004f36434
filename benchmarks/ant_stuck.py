"""What the rule for stuck ants costs: the same ants with and without it.

    python benchmarks/ant_stuck.py RUN [--out results/ant-stuck.md]

RUN is a folder of a run of the ant maze with the rule. Of ten generations, evenly over the run, ten
of the offspring each are evaluated again without it; that takes some minutes.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from pages import make_parser, write_page

from brns import AntMaze, Record
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.pictures.records import label_method

GENERATIONS, ANTS = 10, 10
NEAR = 1.0  # metres, within which an ant is still where the rule had stopped it


def sample(record: Record) -> np.ndarray:
    """Genotypes of offspring, evenly over the run."""
    generations = np.linspace(1, record.generations[-1], GENERATIONS).round().astype(int)
    return np.concatenate(
        [rows[:ANTS] for rows in record.column("offspring.genotype", generations.tolist())]
    )


def text(record: Record, task: AntMaze) -> list[str]:
    """The blocks of the page."""
    genotypes = sample(record)
    ruled, free = (each.episodes(genotypes) for each in (task, replace(task, stuck_distance=0.0)))
    stuck = ruled.stuck
    moved = np.linalg.norm(free.path[:, -1] - ruled.path[:, -1], axis=1) > NEAR
    more = free.visited.sum(axis=1) > ruled.visited.sum(axis=1)
    lines = [
        ["ants", ""],
        ["evaluated", f"{len(genotypes)}"],
        ["stopped by the rule", f"{stuck.sum()}"],
        [
            f"stopped, and without the rule more than {NEAR:g} m away at the end",
            f"{(stuck & moved).sum()}",
        ],
        ["stopped, and without the rule in more areas", f"{(stuck & more).sum()}"],
        ["control steps with the rule", f"{ruled.length.sum():,}"],
        ["without", f"{free.length.sum():,}"],
    ]
    return [
        "# The rule for stuck ants",
        f"In an episode of {task.steps:,} control steps, an ant that stays within a square of "
        f"{task.stuck_distance:g} m for {task.stuck_window} steps is stopped. Here {ANTS} "
        f"offspring of each of {GENERATIONS} generations of a run ({label_method(record)}, seed "
        f"{record.seed}) were evaluated again, with the rule and without it.",
        format_table(lines),
        format_command_and_provenance(f"The run: commit {record.metadata.commit}."),
    ]


def main() -> None:
    parser = make_parser(__doc__, "results/ant-stuck.md")
    parser.add_argument("run", type=Path)
    asked = parser.parse_args()
    record = Record(asked.run)
    task = record.search.task
    if not isinstance(task, AntMaze) or not task.stuck_distance:
        parser.error(f"{asked.run} is no run of the ant maze with the rule")
    write_page(asked.out, *text(record, task))


if __name__ == "__main__":
    main()
