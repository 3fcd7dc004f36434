"""Runs put together by method, what a method is called, and its colour."""

import json
from collections.abc import Iterable, Sequence

from brns.runs.record import Record
from brns.settings import assigned, changes, parts, told

LINES = ("#cf4a4a", "#2f7fd1", "#1d9a74", "#e07b16", "#c2559d", "#8a6fd1", "#a58a1f", "#4aa3b8", "#6b7280")
COLORS = dict(zip(parts("estimator", "preset"), LINES, strict=False))
"""a method has its colour in every figure"""
LONGEST = 60
"""letters of a label"""
Runs = Record | Sequence[Record]


def method(record: Record) -> str:
    """A run's method as the command line calls it: its estimator, and the settings that were changed."""
    if record.experiment["mutate"]["name"] == "Redraw":
        return "random search"
    changed = {name: value for name, value in record.metadata.changed.items() if not name.startswith("task.")}
    told = f"{record.metadata.estimator}, {assigned(changed)}".rstrip(", ").replace("estimator.", "")
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"


def methods(records: Runs) -> dict[str, list[Record]]:
    """Runs by method, the seeds of each in order.

    Runs of one method have the same experiment. Runs of different tasks are a `ValueError`, and so is the same run
    given twice.
    """
    records = [records] if isinstance(records, Record) else list(records)
    if not records:
        raise ValueError("a figure needs at least one run; got none")
    first = records[0]
    groups: dict[str, dict[int, Record]] = {}
    for record in records:
        if different := changes(first.world, record.world):
            both = f"{first.path} and {record.path}"
            raise ValueError(f"{both} are runs of different tasks; compare runs of one task: {told(different)}")
        # Workers and chunks change no answer.
        experiment = {**record.experiment, "task": record.world}
        group = groups.setdefault(json.dumps(experiment, sort_keys=True), {})
        if record.seed in group:
            both = f"{group[record.seed].path} and {record.path}"
            raise ValueError(f"{both} are the same seed of the same experiment; give one of them")
        group[record.seed] = record
    found = {}
    for group in groups.values():
        seeds = [group[seed] for seed in sorted(group)]
        label = method(seeds[0])
        label = f"{label} ({len(found) + 1})" if label in found else label
        found[label] = seeds
    return found


def colors_of(labels: Iterable[str]) -> dict[str, str]:
    """The colour of each method, in whatever order the labels come.

    Of methods that differ in settings alone the alphabet's first has the method's own colour. The others and unknown
    methods share what is left, in the alphabet's order.
    """
    given: dict[str, str] = {}
    labels = sorted(labels)
    for label in labels:
        own = COLORS.get(label.partition(", ")[0])
        if own and own not in given.values():
            given[label] = own
    free = [color for color in LINES if color not in given.values()] or list(LINES)
    others = [label for label in labels if label not in given]
    return given | {label: free[i % len(free)] for i, label in enumerate(others)}
