"""The numbers of runs, by method, and their pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic_core import to_json
from rich.table import Table

from brns.cli.screen import console
from brns.metrics.measures import MEASURES, estimate, summary
from brns.metrics.numbers import number
from brns.metrics.saturation import SATURATED
from brns.pictures.records import methods, scene_of, without_search
from brns.runs.metadata import origin
from brns.runs.progress import track
from brns.runs.record import Record
from brns.runs.storage import RecordError
from brns.settings import assigned

NOTES = {
    "new": f"new < {SATURATED}: hardly anything new is found any more (saturated).",
    "eta": "eta < 1: visited places stay less novel (good).",
    "kappa": "kappa > 0: the search revisits old ground (bad).",
    "regained": "regained > 0: old places rank among the novel ones again (bad).",
}
DETAILS = (
    "uniformity_signatures",
    "age",
    "parent_distance",
    "eta_below_one",
    "kappa_share",
    "epsilon",
)
"""numbers that only `--all` shows"""


def conclude(
    directory: Path, found: Sequence[Record], redraw: bool = False, details: bool = False
) -> None:
    """Print a table for each method and draw an overview of each run that has none, or `redraw` all."""
    measured = track(found, "measuring", len(found))
    rows = {record.path: summary(record, of_paths=scene_of(record).paths) for record in measured}
    for label, runs in methods(found).items():
        told = runs[0].metadata
        task = assigned(
            {name: value for name, value in told.changed.items() if name.startswith("task.")}
        )
        title = ", ".join(filter(None, [told.world, label, task]))
        # A table's own title would be cut to the table's width.
        console.print(f"{directory}: {title}", style="italic", soft_wrap=True)
        console.print(_table(runs, [rows[record.path] for record in runs], details))
    there = dict.fromkeys(name for row in rows.values() for name in row)
    notes = [text for name, text in NOTES.items() if name in there]
    if details:
        notes = [f"{name.replace('_', ' ')}: {MEASURES[name].meaning}" for name in there]
    notes += map(_failures, found)
    notes += [*dict.fromkeys(origin(record.metadata) for record in found), without_search(found)]
    for note in filter(None, notes):
        console.print(note, soft_wrap=True)
    lacking = [record for record in found if redraw or not (record.path / "overview.png").exists()]
    if lacking:
        from brns.pictures import overview, save  # with matplotlib, which takes a second to load

        try:
            for record in track(lacking, "drawing", len(lacking)):
                save(overview(record), record.path / "overview.png")
        except RecordError as error:  # somebody else's run: its numbers stand above
            console.print(f"No picture: {error}", soft_wrap=True)
            return
    where = directory / "*" if len(found) > 1 else found[0].path
    console.print(f"Picture: {where / 'overview.png'}", soft_wrap=True)


def _failures(record: Record) -> str:
    """Who failed in a run, and where to read why; empty where nobody did."""
    failures = record.failures
    if not failures:
        return ""
    ids = ["a founder" if failure.id < 0 else str(failure.id) for failure in failures]
    first = f"{', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''}"
    return (
        f"{len(ids)} individuals failed ({first}), and were neither learned nor selected: "
        f"{record.path / 'failed'} has their genotypes and tracebacks, as record.failures"
    )


def print_json(found: Sequence[Record]) -> None:
    """Print the numbers of each run, unrounded, for other programs."""
    lines = []
    for label, runs in methods(found).items():
        for record in runs:
            line = {
                "path": str(record.path),
                "world": record.metadata.world,
                "method": label,
                "seed": record.seed,
            }
            lines.append(line | summary(record, of_paths=scene_of(record).paths))
    print(to_json(lines, indent=1, inf_nan_mode="null").decode())


def _table(runs: Sequence[Record], rows: Sequence[Mapping[str, float]], details: bool) -> Table:
    several = len(runs) > 1
    table = Table(box=None, header_style="bold")
    table.add_column()
    for head in (
        ["mean", "deviation", "least", "most", "seeds"] if several else [f"seed {runs[0].seed}"]
    ):
        table.add_column(head, justify="right")
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        if name in DETAILS and not details:
            continue
        values = [row[name] for row in rows if name in row]
        if several:
            mean, deviation, seeds = estimate(values)
            values = [mean, deviation, min(values), max(values), seeds]
        table.add_row(name.replace("_", " "), *map(number, values))
    return table
