"""At which number of control steps the ant maze can be solved.

    python benchmarks/ant_steps.py RUN [RUN ...] [--steps 25000] [--out results/ant-steps]

RUN is a directory that `brns run ant` made, of one seed or of several. What its search found is counted; then the
survivors of its last generation walk again for `--steps` control steps, however many they were evolved with: an ant
does not know how long its episode is, so that nothing changes up to there. From the step at which each area is first
visited follows what would have been visited with any number of steps.

OUT.json keeps what was found, and OUT.md tells it. Runs of an earlier call stay, but those of the same method and seed;
so records of ants, which are large, need not be kept.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from brns.metrics.recorded import evaluated, survivors
from brns.metrics.summary import estimate
from brns.pictures import method
from brns.reproduce import provenance
from brns.reproduce.claims import estimate_text
from brns.reproduce.page import table
from brns.reproduce.provenance import grouped, here
from brns.reproduce.results import read_json, write_json
from brns.runs.record import Record, records
from brns.runs.storage import write_bytes
from brns.settings import configure
from brns.tasks.ant.rules import ARENAS, AntMaze, within
from brns.workers import innermost

STEPS = (1500, 2500, 5000, 7500, 10000, 12500, 15000, 20000, 25000)


def measured(record: Record, task: AntMaze, steps: int) -> dict[str, Any]:
    """What a search found, and what its last survivors do in so many steps."""
    areas = ARENAS[task.arena].areas
    counts = range(1, len(areas) + 1)
    fitness, born = (np.concatenate(evaluated(record, name)) for name in ("fitness", "born"))
    found = [born[fitness >= n] for n in counts]
    last = [record.generations[-1]]
    (who,), (lived,) = survivors(record, "id", last), survivors(record, "born", last)
    path = configure(task, {"steps": steps}).episodes(record.genotypes(who, lived)).path
    first = first_visits(path, np.array(list(areas.values())))
    best = first.max(axis=1).argmin()
    way = sorted(zip(first[best].tolist(), areas, strict=True)) if np.isfinite(first[best]).all() else None
    return {
        "method": method(record),
        "seed": record.seed,
        "estimator": record.experiment["estimator"],
        "generations": record.last,
        "task": {"steps": task.steps, "stuck_distance": task.stuck_distance, "stuck_window": task.stuck_window},
        "commit": record.facts["commit"],
        "evaluations": born.size,
        "individuals": [those.size for those in found],
        "first": [int(those.min()) if those.size else None for those in found],
        "survivors": who.size,
        "walked": {
            f"{t}": [int(((first <= t).sum(axis=1) >= n).sum()) for n in counts]
            for t in [*(t for t in STEPS if t < steps), steps]
        },
        "best": way and {"individual": int(who[best]), "born": int(lived[best]), "way": way},
        "provenance": here(),
    }


def first_visits(path: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """The step at which each ant first stood in each area, infinite where it never did: `(n, areas)`."""
    inside = np.stack([within(way, areas) for way in path])
    return np.where(inside.any(axis=1), inside.argmax(axis=1), np.inf)


def together(runs: Sequence[Mapping[str, Any]]) -> str:
    """Of every method, over its seeds: how many individuals visited so many areas, and when the first one did."""
    lines = [["method", "areas visited", "individuals", "first in generation"]]
    for name in dict.fromkeys(run["method"] for run in runs):
        seeds = [run for run in runs if run["method"] == name]
        for n, told in enumerate(visits(len(seeds[0]["first"]))):
            count = estimate([float(run["individuals"][n]) for run in seeds])
            first = [float(run["first"][n]) for run in seeds if run["first"][n] is not None]
            cells = [count._asdict(), estimate(first)._asdict() if first else None]
            lines.append([f"{name} (n = {len(seeds)})", told, *(estimate_text(cell, len(seeds)) for cell in cells)])
    return table(lines)


def page(runs: Sequence[Mapping[str, Any]]) -> str:
    """All runs in tables: over seeds, each search, and what its last survivors do with more or fewer steps."""
    names = visits(len(runs[0]["first"]))
    searches = [["", "generations", "evaluated", *names, "first in generation", "run at commit"]]
    steps = sorted({steps for run in runs for steps in run["walked"]}, key=int)
    walks, solvers = [["", *steps]], []
    for run in runs:
        name = f"{run['method']}, seed {run['seed']}"
        first = ", ".join("never" if g is None else f"{g}" for g in run["first"])
        searches.append(
            [name, *map(str, [run["generations"], run["evaluations"], *run["individuals"]]), first, run["commit"]]
        )
        walks.append([name, *(", ".join(map(str, run["walked"].get(one, "-"))) for one in steps)])
        if best := run["best"]:
            way = ", ".join(f"{area} at step {step:.0f}" for step, area in best["way"])
            solvers.append(f"- {name}: individual {best['individual']}, born in generation {best['born']}: {way}")
    survivors = ", ".join(dict.fromkeys(f"{run['survivors']}" for run in runs))
    tasks = " or ".join(dict.fromkeys(_task(run["task"]) for run in runs))
    made = grouped((f"{run['method']}, seed {run['seed']}", run["provenance"]) for run in runs)
    return "\n\n".join(
        [
            f"Searches with {tasks} steps. Individuals that visited so many areas, over seeds:",
            together(runs),
            "Each search:",
            table(searches),
            f"How many of the {survivors} last survivors visited {', '.join(names)} with more or fewer control steps:",
            table(walks),
            "\n".join(["Last survivors that visited all, by the fewest steps:", "", *solvers])
            if solvers
            else "No last survivor visited all areas.",
            "Measured by:",
            "\n".join(f"- {'; '.join(one['rows'])}: `{one['command']}`. {provenance.text(one)}\n" for one in made),
        ]
    )


def _task(settings: Mapping[str, Any]) -> str:
    return "{steps} control steps, stuck within {stuck_distance:g} m for {stuck_window}".format(**settings)


def visits(areas: int) -> list[str]:
    """How many areas were visited, in words."""
    return [*(f"{n} or more" for n in range(1, areas)), f"all {areas}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=STEPS[-1])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    found = {}
    if asked.out and (kept := asked.out.with_suffix(".json")).exists():
        found = {(run["method"], run["seed"]): run for run in read_json(kept)["runs"]}
    measured_now = set()
    for record in (record for path in asked.run for record in records(path)):
        evolved = innermost(record.search.task)
        if not isinstance(evolved, AntMaze):
            parser.error(f"{record} is no run of the ant maze")
        run = measured(record, evolved, asked.steps)
        key = run["method"], run["seed"]
        other = [name for name in ("task", "estimator") if found.get(key, run).get(name, run[name]) != run[name]]
        if other or key in measured_now:
            parser.error(f"{record} is {key[0]} of seed {key[1]} once more; give each once, or another --out")
        measured_now.add(key)
        found[key] = run
    runs = [found[key] for key in sorted(found)]
    text = page(runs)
    if asked.out:
        write_json(asked.out.with_suffix(".json"), {"runs": runs})
        write_bytes(asked.out.with_suffix(".md"), text.encode())
    print(text)


if __name__ == "__main__":
    main()
