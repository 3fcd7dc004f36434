"""Runs put together by method, what a method is called, and its colour."""

from collections.abc import Iterable, Sequence
from typing import Any

from brns.runs.record import Record
from brns.settings import changes, describe, leaves, parts, told

LINES = ("#cf4a4a", "#2f7fd1", "#1d9a74", "#e07b16", "#c2559d", "#8a6fd1", "#a58a1f", "#4aa3b8", "#6b7280")
_KNOWN = parts("estimator", "preset")
NAMES = {part.attribute: part.title for part in parts("estimator").values()}
"""what estimators are called, by their classes"""
COLORS = dict(zip((part.title for part in _KNOWN.values()), LINES, strict=False))
"""a method has its colour in every figure"""
LONGEST = 60
"""letters of a label"""
Runs = Record | Sequence[Record]


def method(record: Record) -> str:
    """A run's method as a reader calls it."""
    if record.experiment["mutate"]["name"] == "Redraw":
        return "random search"
    estimator = record.experiment["estimator"]
    for preset in parts("preset").values():
        same = estimator["name"] == preset.attribute
        if same and estimator == describe(preset.load()()):  # others need not wait for optax
            return preset.title
    return NAMES.get(estimator["name"], estimator["name"])


def methods(records: Runs) -> dict[str, list[Record]]:
    """Runs by method, the seeds of each in order.

    Runs of one method have the same experiment; methods of one name are told apart by the settings in which they
    differ. Runs of different tasks are a `ValueError`, and so is the same run given twice.
    """
    records = [records] if isinstance(records, Record) else list(records)
    if not records:
        raise ValueError("a figure needs at least one run; got none")
    groups: list[list[Record]] = []
    for record in records:
        _refuse_other_task(record, records[0])
        group = next((g for g in groups if _made_by(g[0]) == _made_by(record)), None)
        if group is None:
            groups.append([record])
        elif any(other.seed == record.seed for other in group):
            raise ValueError(f"{record.path} is seed {record.seed} of its experiment once more; give each run once")
        else:
            group.append(record)
    labels = _labels([group[0] for group in groups])
    return {label: sorted(group, key=lambda r: r.seed) for label, group in zip(labels, groups, strict=True)}


def _refuse_other_task(record: Record, first: Record) -> None:
    if different := changes(first.world, record.world):
        raise ValueError(
            f"{first.path} and {record.path} are runs of different tasks; compare runs of one task: {told(different)}"
        )
    if not record.generations:
        raise ValueError(f"{record.path} holds no finished generation; let it run, or resume it")


def _labels(firsts: Sequence[Record]) -> list[str]:
    """What methods are called; those of one name with the settings in which they differ."""
    names = [method(record) for record in firsts]
    settings = [leaves(_made_by(record)) for record in firsts]
    labels: list[str] = []
    for name, own in zip(names, settings, strict=True):
        same = [other for one, other in zip(names, settings, strict=True) if one == name]
        differing = [k for k in own if any(other.get(k) != own[k] for other in same)]
        label = ", ".join([name, *(f"{k.removeprefix('estimator.')}={own[k]}" for k in differing)])
        label = label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
        labels.append(f"{label} ({len(labels) + 1})" if label in labels else label)
    return labels


def colors_of(labels: Iterable[str]) -> dict[str, str]:
    """The colour of each method, in whatever order the labels come.

    Of methods that differ in settings alone the alphabet's first has the method's own colour. The others and unknown
    methods share what is left, in the alphabet's order.
    """
    given: dict[str, str] = {}
    labels = sorted(labels)
    for label in labels:
        known = [name for name in COLORS if label == name or label.startswith(f"{name}, ")]
        own = COLORS[max(known, key=len)] if known else None
        if own and own not in given.values():
            given[label] = own
    free = [color for color in LINES if color not in given.values()] or list(LINES)
    others = [label for label in labels if label not in given]
    return given | {label: free[i % len(free)] for i, label in enumerate(others)}


def _made_by(record: Record) -> dict[str, Any]:
    """The experiment without workers and chunks, which change no answer."""
    return {**record.experiment, "task": record.world}
