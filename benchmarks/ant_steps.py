"""At which number of control steps the ant maze can be solved.

    python benchmarks/ant_steps.py RUN [RUN ...] [--steps 25000] [--out results/ant-steps.md]

RUN is a directory that `brns run ant` made, of one seed or of several. What its search found is counted; then the
survivors of its last generation walk again for `--steps` control steps, however many they were evolved with: an ant
does not know how long its episode is, so that nothing changes up to there. From the step at which each area is first
visited follows what would have been visited with any number of steps. Several seeds of a method are told together
first.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from brns.metrics.recorded import evaluated, survivors
from brns.metrics.summary import estimate
from brns.pictures import method, methods
from brns.reproduce.claims import estimate_text
from brns.reproduce.page import provenance_text, table
from brns.reproduce.provenance import here
from brns.runs.record import Record, records
from brns.runs.storage import write_bytes
from brns.settings import configure
from brns.tasks.ant.rules import ARENAS, AntMaze, within
from brns.workers.chunks import innermost

STEPS = (1500, 2500, 5000, 7500, 10000, 12500, 15000, 20000, 25000)


def together(runs: Mapping[str, Sequence[Record]], areas: int) -> str:
    """Of every method, over its seeds: how many individuals visited so many areas, and when the first one did."""
    rows = [["method", "areas visited", "individuals", "first in generation"]]
    for name, seeds in runs.items():
        found = [[np.concatenate(evaluated(record, column)) for column in ("fitness", "born")] for record in seeds]
        for n, told in enumerate(visits(areas), 1):
            those = [born[fitness >= n] for fitness, born in found]
            count = estimate([float(one.size) for one in those])
            first = [float(one.min()) for one in those if one.size]
            cells = [count._asdict(), estimate(first)._asdict() if first else None]
            rows.append([f"{name} (n = {len(seeds)})", told, *(estimate_text(cell, len(seeds)) for cell in cells)])
    return table(rows)


def visits(areas: int) -> list[str]:
    """How many areas were visited, in words."""
    return [*(f"{n} or more" for n in range(1, areas)), f"all {areas}"]


def searched(record: Record, areas: int) -> str:
    """How many of all that were evaluated visited so many areas, and when the first one did."""
    fitness, born = (np.concatenate(evaluated(record, name)) for name in ("fitness", "born"))
    rows = [["areas visited", "individuals", "first in generation"]]
    for n, told in enumerate(visits(areas), 1):
        those = born[fitness >= n]
        when = f"{those.min()}" if those.size else "never"
        rows.append([told, f"{those.size} of {born.size}", when])
    return table(rows)


def walked(record: Record, task: AntMaze, areas: Mapping[str, tuple[float, float]]) -> str:
    """How many of the last survivors visited so many areas within so many steps, and who first visited all."""
    last = [record.generations[-1]]
    (who,), (born,) = survivors(record, "id", last), survivors(record, "born", last)
    first = first_visits(task.episodes(record.genotypes(who, born)).path, np.array(list(areas.values())))
    rows = [["control steps", *visits(len(areas))]]
    for steps in [steps for steps in STEPS if steps < task.steps] + [task.steps]:
        visited = (first <= steps).sum(axis=1)
        rows.append([f"{steps}", *(f"{(visited >= n).sum()} of {who.size}" for n in range(1, len(areas) + 1))])
    best = first.max(axis=1).argmin()
    told = "Nobody visited all areas."
    if np.isfinite(first[best]).all():
        way = ", ".join(f"{name} at step {step:.0f}" for step, name in sorted(zip(first[best], areas, strict=True)))
        told = f"Fewest steps for all: individual {who[best]}, born in generation {born[best]}: {way}."
    return f"{table(rows)}\n\n{told}"


def first_visits(path: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """The step at which each ant first stood in each area, infinite where it never did: `(n, areas)`."""
    inside = np.stack([within(way, areas) for way in path])
    return np.where(inside.any(axis=1), inside.argmax(axis=1), np.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=STEPS[-1])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    runs = [record for path in asked.run for record in records(path)]
    several = methods(runs) if len(set(map(method, runs))) < len(runs) else {}
    blocks, areas = [], {}
    for record in runs:
        evolved = innermost(record.search.task)
        if not isinstance(evolved, AntMaze):
            parser.error(f"{record} is no run of the ant maze")
        areas = ARENAS[evolved.arena].areas
        blocks += [
            f"**{method(record)}**, seed {record.seed}, {record.generations[-1]} generations with {evolved.steps} "
            f"steps, stuck within {evolved.stuck_distance:g} m for {evolved.stuck_window} steps; run at commit "
            f"{record.facts['commit']}. In the search:",
            searched(record, len(areas)),
            f"The survivors of generation {record.generations[-1]}, with more or fewer steps:",
            walked(record, configure(evolved, {"steps": asked.steps}), areas),
        ]
        print(*blocks[-4:], sep="\n\n", end="\n\n", flush=True)
    if several:
        blocks.insert(0, together(several, len(areas)))
        print(blocks[0])
    if asked.out:
        source = provenance_text({"provenance": here(), "scale": f"Runs: {len(runs)}."})
        write_bytes(asked.out, "\n\n".join([*blocks, source, ""]).encode())


if __name__ == "__main__":
    main()
