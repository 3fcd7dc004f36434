"""At which number of control steps the ant maze can be solved.

    python benchmarks/ant_steps.py RUN [--generation G] [--steps 25000] [--out results/ant-steps.md]

RUN is a directory that `brns run ant` made. The survivors of one of its generations, by default the last, walk again
for `--steps` control steps, however many they were evolved with: an ant does not know how long its episode is, so that
nothing changes up to there. From the step at which each area is first visited follows what would have been solved with
any number of steps.
"""

import argparse
from pathlib import Path

import numpy as np

from brns.metrics.recorded import survivors
from brns.parallel import innermost
from brns.record import Record
from brns.reproduce.results import provenance, provenance_text, table
from brns.settings import configure
from brns.storage import write_bytes
from brns.tasks.ant import ARENAS, within

STEPS = (1500, 2500, 5000, 7500, 10000, 12500, 15000, 20000, 25000)


def first_visits(path: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """The step at which each ant first stood in each area, infinite where it never did: `(n, areas)`."""
    inside = np.stack([within(way, areas) for way in path])
    return np.where(inside.any(axis=1), inside.argmax(axis=1), np.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--generation", type=int)
    parser.add_argument("--steps", type=int, default=STEPS[-1])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()

    record = Record(asked.run)
    generation = record.generations[-1] if asked.generation is None else asked.generation
    (who,), (born,) = (survivors(record, name, [generation]) for name in ("id", "born"))
    evolved_with = innermost(record.search.task)
    task = configure(evolved_with, {"steps": asked.steps})
    areas = ARENAS[task.arena].areas
    first = first_visits(task.episodes(record.genotypes(who, born)).path, np.array(list(areas.values())))

    rows = [["control steps", *(f"{n} areas or more" for n in range(1, len(areas))), f"all {len(areas)} areas"]]
    for steps in [steps for steps in STEPS if steps < asked.steps] + [asked.steps]:
        visited = (first <= steps).sum(axis=1)
        rows.append([f"{steps}", *(f"{(visited >= n).sum()} of {len(who)}" for n in range(1, len(areas) + 1))])
    best = first.max(axis=1).argmin()
    order = sorted(zip(first[best], areas, strict=True))
    found = "Nobody visited all areas."
    if np.isfinite(first[best]).all():
        way = ", ".join(f"{name} at step {step:.0f}" for step, name in order)
        found = f"The first to have visited all, individual {who[best]}, born in generation {born[best]}: {way}."
    scale = (
        f"The {len(who)} survivors of generation {generation}, evolved with {evolved_with.steps} steps and "
        f"{record.experiment['estimator']['name']}, seed {record.seed}. The run: `{record.description['command']}`."
    )
    text = f"{table(rows)}\n\n{found}\n\n{provenance_text({'provenance': provenance(), 'scale': scale})}\n"
    print(text)
    if asked.out:
        write_bytes(asked.out, text.encode())


if __name__ == "__main__":
    main()
