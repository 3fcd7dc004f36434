"""What the integrator changes in a search's outcome: a run with RK4 beside the page's seeds with implicitfast.

    python benchmarks/ant_integrator.py METHOD RUN [--page results/ant/results.json] [--out results/ant-integrator.md]

METHOD is a method of the page, such as archive-6000, and RUN a directory that `brns run ant` made with its settings and
`--set task.integrator=RK4`, of one seed or of several. The seeds of the page show how far a number moves by chance.
"""

import argparse
import math
from pathlib import Path

from brns.metrics.numbers import number
from brns.reproduce.page import TITLES, provenance_text, table
from brns.reproduce.provenance import here, of_runs
from brns.reproduce.results import numbers, read_json
from brns.runs.record import Record, records
from brns.runs.storage import write_bytes
from brns.settings import changes


def beside(record: Record, method: dict) -> str:
    """Every number of a run, that of the page's same seed, and the range of all its seeds."""
    of_seed = dict(zip(method["seeds"], method["rows"], strict=True)).get(record.seed, {})
    name = record.world["integrator"]
    lines = [["", f"{name}, seed {record.seed}", f"the page's seed {record.seed}", "the page's seeds", f"{name} is"]]
    for measure, value in numbers(record).items():
        others = [row[measure] for row in method["rows"] if row.get(measure) is not None]
        if not others:
            continue
        low, high = min(others), max(others)
        place = "-" if math.isnan(value) else "below" if value < low else "above" if value > high else "among them"
        same = number(of_seed[measure]) if of_seed.get(measure) is not None else "-"
        lines.append([TITLES.get(measure, measure), number(value), same, f"{number(low)} to {number(high)}", place])
    return table(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("run", type=Path)
    parser.add_argument("--page", type=Path, default=Path("results/ant/results.json"))
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    page, runs = read_json(asked.page), records(asked.run)
    if asked.method not in page["methods"]:
        parser.error(f"{asked.page} has no {asked.method}; it has {', '.join(page['methods'])}")
    method, planned = page["methods"][asked.method], page["planned_generations"]
    blocks = [f"**{method['label']}**, {planned} generations; the page has {len(method['seeds'])} seeds of it:"]
    alike = page["experiment"] | {"estimator": method["estimator"]}
    for record in runs:
        other = [name for name in changes(alike, record.experiment) if name != "task.integrator"]
        if other or record.last != planned:
            parser.error(f"{record} is no search of {planned} generations as {method['label']} ({', '.join(other)})")
        blocks.append(beside(record, method))
    made = {"provenance": here(), "made": of_runs({asked.method: runs}), "scale": f"Runs: {len(runs)}."}
    told = "\n\n".join([*blocks, provenance_text(made), ""])
    if asked.out:
        write_bytes(asked.out, told.encode())
    print(told)


if __name__ == "__main__":
    main()
