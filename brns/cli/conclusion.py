"""The numbers of runs, by method, and their pictures."""

import datetime
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from rich.table import Table

from brns.cli.screen import console, print_message
from brns.formatting import escape_control, format_number
from brns.metrics.coverage import choose_grid_shape_or_none
from brns.metrics.measures import (
    MEASURES,
    compute_mean_and_deviation,
    list_seed_values,
    summarize_run,
)
from brns.metrics.saturation import LEAST, SATURATED
from brns.pictures.records import (
    explain_figures_omitted_without_search,
    group_by_method,
    has_paths,
    label_method,
)
from brns.progress import show_progress_of
from brns.runs.files import RecordError
from brns.runs.metadata import describe_fork
from brns.runs.record import Record
from brns.settings.differences import format_changed_settings
from brns.settings.parts import CLASSES

DETAILS = (
    "uniformity_signatures",
    "age",
    "parent_distance",
    "eta_below_one",
    "kappa_share",
    "epsilon",
)
"""numbers that only `--all` shows"""
SELDOM = 0.05
"""the share of later generations below which regained novelty is little; as in the reproduction"""
KINDS = 3
"""of errors, that are told; the others are counted together"""
NOTHING = 1e-9
"""what is below it is 0"""
VERDICTS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "new": (
        (SATURATED,),
        ("saturated, hardly any new places", "still finding new places"),
    ),
    "eta": ((1.0,), ("what was visited became less novel", "what was visited stayed novel")),
    "kappa": ((NOTHING,), ("forgot nothing", "forgot: what was known became novel again")),
    "regained": (
        (NOTHING, SELDOM),
        (
            "no old place ranked as novel again",
            "old places seldom ranked as novel again",
            "old places ranked as novel again",
        ),
    ),
}
"""limits, and what a number says below the first, between two, and from the last on"""


def print_conclusion_and_draw(
    directory: Path, records: Sequence[Record], redraw: bool = False, details: bool = False
) -> None:
    """Print each method's table, what it says and how runs ended; draw missing pictures, or all."""
    measured = show_progress_of(records, "measuring", len(records))
    without = () if details else DETAILS
    rows = {
        record.path: summarize_run(record, of_paths=has_paths(record), without=without)
        for record in measured
    }
    for label, runs in group_by_method(records).items():
        # A table's own title would be cut to the table's width.
        print_message(f"{directory}: {_make_title(label, runs[0])}", style="bold")
        base = [rows[record.path] for record in runs]
        console.print(_make_statistics_table(runs, base))
        for line in explain_measures_in_words(base):
            print_message(line)
    there = dict.fromkeys(name for row in rows.values() for name in row)
    notes = [f"{name.replace('_', ' ')}: {MEASURES[name].meaning}" for name in there if details]
    if "coverage_evaluated" in there:
        cells = " x ".join(map(str, choose_grid_shape_or_none(records[0].behavior_space) or ()))
        notes.append(f"coverage: the share of {cells} cells of the behavior space")
    notes += map(_describe_failures, records)
    notes += dict.fromkeys(describe_fork(record.metadata) for record in records)
    notes.append(explain_figures_omitted_without_search(records))
    spans: dict[str, float] = {}
    for record in records:
        words = _describe_ending(record)
        spans[words] = max(spans.get(words, 0.0), record.seconds)
    for words, seconds in spans.items():
        notes.append(f"{words} {datetime.timedelta(seconds=round(seconds))} of work.")
    for note in filter(None, notes):
        print_message(note)
    _draw_and_print_overviews(directory, records, redraw)


def _draw_and_print_overviews(directory: Path, records: Sequence[Record], redraw: bool) -> None:
    files = {record.path / "overview.png": record for record in records}
    lacking = [file for file in files if redraw or not _is_picture_of_all(file, files[file])]
    if lacking:
        from brns.pictures import overview, save  # with matplotlib, which takes a second to load

        try:
            for file in show_progress_of(lacking, "drawing", len(lacking)):
                save(overview(files[file]), file)
        except RecordError as error:  # somebody else's run: its numbers stand above
            print_message(f"No picture: {error}")
            return
    where = directory / "*" if len(records) > 1 else records[0].path
    console.print(f"Picture: {where / 'overview.png'}", soft_wrap=True)


def _is_picture_of_all(file: Path, record: Record) -> bool:
    """Whether there is a picture, drawn after the last generation was saved."""
    return file.exists() and file.stat().st_mtime >= record.store.last_saved_at().timestamp()


def _describe_failures(record: Record) -> str:
    """How many failed in a run, of which errors, and where to read more; empty where nobody did."""
    failures = record.failures
    if not failures:
        return ""
    errors = format_error_counts([failure.text for failure in failures])
    return (
        f"{len(failures)} individuals failed: {errors}; they were neither learned nor selected. "
        f"{record.path / 'failed'} has their genotypes and tracebacks, as record.failures"
    )


def format_error_counts(texts: Sequence[str]) -> str:
    """How often each error came, the most frequent first; those that differ in numbers are one."""
    kinds: dict[str, list[str]] = {}
    for text in texts:
        line = text.strip().partition("\n")[0].rpartition("(rows from 0) ")[2]
        line = line.removeprefix("raised ")
        kinds.setdefault(re.sub(r"[\W\d]+", " ", line), []).append(escape_control(line))
    ranked = sorted(kinds.values(), key=len, reverse=True)
    words = []
    for lines in ranked[:KINDS]:
        words.append(f"{len(lines)} {'such as ' if len(set(lines)) > 1 else ''}{lines[0]}")
    if rest := sum(map(len, ranked[KINDS:])):
        words.append(f"and {rest} more")
    return ", ".join(words)


def _make_title(label: str, record: Record) -> str:
    """Such as `maze, counts, mixed mutation`, with the task's changed settings."""
    metadata = record.metadata
    task = {name: value for name, value in metadata.changed.items() if name.startswith("task.")}
    words = [metadata.task, label, format_changed_settings(task)]
    if "mutate" not in metadata.changed:  # else it stands in the label
        name = record.experiment["mutate"]["name"]
        words.append(f"{CLASSES[name].name if name in CLASSES else name} mutation")
    return ", ".join(filter(None, words))


def _describe_ending(record: Record) -> str:
    """How a run ended, or that it goes on; what it took is still to follow."""
    reason = f" ({record.error})" if record.error else ""
    if record.status == "saturated":
        reason = f" (less than {SATURATED:.0%} of the places visited were new)"
    generations = f"{record.last_generation} of {record.planned_generations} generations"
    return f"{record.status.capitalize()} after {generations}{reason},"


def explain_measures_in_words(rows: Sequence[Mapping[str, float]]) -> list[str]:
    """What the numbers of a method's seeds say, such as `kappa 0: forgot nothing`."""
    lines = []
    for name, (limits, verdict) in VERDICTS.items():
        least = LEAST if name in ("new", "regained") else 0  # of a few states it is chance
        values = [row[name] for row in rows if name in row and row["generations"] >= least]
        if not values:
            continue
        counts = Counter(verdict[bisect_right(limits, value)] for value in values)
        words = "; ".join(
            text if len(counts) == 1 else f"{text} in {count} of {len(values)} seeds"
            for text, count in counts.items()
        )
        mean, _, _ = compute_mean_and_deviation(values)
        lines.append(f"{name} {format_number(mean)}: {words}")
    return lines


def print_json(records: Sequence[Record]) -> None:
    """Print the numbers of each run, unrounded, for other programs."""
    lines = []
    for record in records:
        line: dict[str, Any] = {"path": str(record.path), "task": record.metadata.task}
        line |= {"method": label_method(record), "seed": record.seed}
        lines.append(line | summarize_run(record, of_paths=has_paths(record)))
    print(to_json(lines, indent=1, inf_nan_mode="null").decode())


def _make_statistics_table(runs: Sequence[Record], rows: Sequence[Mapping[str, float]]) -> Table:
    several = len(runs) > 1
    heads = [f"seed {runs[0].seed}"]
    if several:
        heads = ["mean", "deviation", "least", "most", "seeds"]
    table = Table(box=None, header_style="bold")
    table.add_column()
    for head in heads:
        table.add_column(head, justify="right")
    for name in MEASURES:
        values = list_seed_values(name, rows)
        if not values:
            continue
        if several:
            mean, deviation, seeds = compute_mean_and_deviation(values)
            values = [mean, deviation, min(values), max(values), seeds]
        table.add_row(name.replace("_", " "), *map(format_number, values))
    return table
