"""The ant maze with the founders of the published code: what runs with uniform founders and with layers' found.

    brns run ant --estimator archive --generations 40 --out runs/uniform
    brns run ant --estimator archive --generations 40 --out runs/layers \
        --set founders=layers --set "founders.sizes=[29,10,10,10,8]"
    python benchmarks/ant_founders.py runs/uniform runs/layers [--out results/ant-founders.md]

Prints a table: a line a method and kind of founders, with the mean over seeds and every seed's number beside it. Of the
founders alone, and of everything evaluated up to the last generation that all runs of the method have: how far any path
went, how many cells of 2 m a path ended in, and the share of signature space's cells.
"""

import argparse
from pathlib import Path

import numpy as np

from brns.metrics import paths
from brns.metrics.recorded import evaluated
from brns.pictures import method
from brns.reproduce.page import provenance_text, table
from brns.reproduce.provenance import here, of_runs
from brns.reproduce.results import reach
from brns.runs.record import Record, records
from brns.runs.storage import write_bytes

FOUNDERS = {"UniformFounders": "uniform founders", "LayerFounders": "as in published code"}
SIDE = 2.0  # metres of a cell in which a path ends
COLUMNS = (
    "founders' reach (m)",
    "reach (m)",
    "founders' cells of 2 m",
    "cells of 2 m",
    "founders' coverage of signatures × 1e4",
    "coverage × 1e4",
)


def numbers(record: Record, last: int) -> list[float]:
    """A run's numbers after generation `last`, in the order of `COLUMNS`."""
    furthest, behaviors = reach(record)[1], evaluated(record, "descriptor")[: last + 1]
    ends = [len(np.unique(np.floor(rows[:, -2:] / SIDE), axis=0)) for rows in (behaviors[0], np.concatenate(behaviors))]
    covered = 1e4 * paths.coverage_of_record(record)
    return [furthest[0], furthest[last], *ends, covered[0], covered[last]]


def _text(seeds: np.ndarray) -> str:
    """The mean and, of several seeds, each."""
    return f"{seeds.mean():.3g}" + (f" ({', '.join(f'{seed:.3g}' for seed in seeds)})" if len(seeds) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    groups: dict[str, dict[str, list[Record]]] = {}
    for record in (one for path in asked.run for one in records(path)):
        founders = FOUNDERS[record.experiment["founders"]["name"]]
        groups.setdefault(method(record), {}).setdefault(founders, []).append(record)
    lines = [["method, founders", "generations", *COLUMNS]]
    for name, kinds in groups.items():
        last = min(record.generations[-1] for runs in kinds.values() for record in runs)
        for founders, runs in kinds.items():
            rows = np.array([numbers(record, last) for record in runs])
            lines.append([f"{name}, {founders}", f"{last}", *(_text(column) for column in rows.T)])
    made = of_runs({name: [one for runs in kinds.values() for one in runs] for name, kinds in groups.items()})
    seeds = max(len(runs) for kinds in groups.values() for runs in kinds.values())
    scale = f"{seeds} seed{'s' if seeds > 1 else ''}, 1500 control steps."
    found = f"{table(lines)}\n\n{provenance_text({'provenance': here(), 'made': made, 'scale': scale})}\n"
    print(found)
    if asked.out:
        write_bytes(asked.out, found.encode())


if __name__ == "__main__":
    main()
