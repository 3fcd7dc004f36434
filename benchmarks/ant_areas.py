"""When ants first visit one, two and all three areas, with the published 25,000 steps.

    python benchmarks/ant_areas.py RUN [RUN ...] [--out results/ant-areas]

RUN is a folder of `brns run ant --set task.steps=25000 --generations 100`, most with the rule for
stuck ants: `--set task.stuck_distance=1 --set task.stuck_window=400`. OUT.csv gets a row for each
run and keeps those of runs that are gone, because a run is many megabytes; OUT.md is the page.
"""

from pathlib import Path
from typing import Any

from pages import make_parser, write_page

from brns import Record
from brns.comparison.markdown import format_command_and_provenance, format_table
from brns.formatting import format_csv, read_csv
from brns.metrics.recorded import read_valid_rows_by_generation
from brns.pictures.records import label_method
from brns.runs.files import write_bytes

AREAS = ("one area", "two", "all three")
NEVER = "never"


def row_of(record: Record) -> dict[str, Any]:
    """What a run says of the areas."""
    visits = read_valid_rows_by_generation(record, "fitness")
    row: dict[str, Any] = {
        "method": label_method(record).split(",")[0],  # the founders have a column of their own
        "founders": record.experiment["founders"]["name"],
        "seed": record.seed,
        "generations": record.generations[-1],
    }
    for number, name in enumerate(AREAS, 1):
        generations = [g for g, visited in enumerate(visits) if (visited >= number).any()]
        row[name] = generations[0] if generations else NEVER
    row["individuals at all three"] = int(sum((visited >= len(AREAS)).sum() for visited in visits))
    task = record.experiment["task"]
    task = task.get("task", task)  # with --workers it is in Processes
    row["steps"] = task["steps"]
    distance = task["stuck_distance"]
    row["stuck"] = f"{distance:g} m for {task['stuck_window']}" if distance else NEVER
    row["commit"] = record.metadata.commit
    return row


def text(rows: list[dict[str, Any]]) -> list[str]:
    """The blocks of the page."""
    columns = list(rows[0])
    lines = [columns, *([str(row[column]) for column in columns] for row in rows)]
    return [
        "# The ant's areas with the published number of steps",
        "The first generation in which an ant visited one, two or three areas in an episode. "
        'The paper says that "every method solves the task within the first hundred '
        'generations". Its published settings have 25,000 control steps. *Stuck*: an ant that '
        "stays within such a square for so many steps is stopped, which costs areas "
        "(`ant-stuck.md`); *never* is without this rule. 25 + 25 ants, NSGA-II, the default "
        "mixture of operators. A row of fewer than 100 generations was stopped, and *never* "
        "among its areas means in these generations.",
        format_table(lines),
        format_command_and_provenance("Runs: see *commit*."),
    ]


def main() -> None:
    parser = make_parser(__doc__, "results/ant-areas")
    parser.add_argument("runs", nargs="*", type=Path)
    asked = parser.parse_args()
    page, file = asked.out.with_suffix(".md"), asked.out.with_suffix(".csv")
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in [*read_csv(file), *map(row_of, map(Record, asked.runs))]:
        rows[tuple(str(row[column]) for column in ("method", "founders", "stuck", "seed"))] = row
    ordered = [rows[key] for key in sorted(rows)]
    write_bytes(file, format_csv(ordered).encode())
    write_page(page, *text(ordered))


if __name__ == "__main__":
    main()
