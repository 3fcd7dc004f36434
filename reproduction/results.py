"""What is kept of a part: each seed's numbers and provenance as JSON, and curves as CSV."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json

from brns.formatting import format_csv
from brns.metrics.measures import compute_mean_and_deviation
from brns.runs.files import write_bytes
from brns.runs.record import Record
from reproduction.numbers import compute_curves
from reproduction.plan import LABELS

Rows = Mapping[int, Mapping[str, float]]
"""each seed's `numbers`"""


def summarize_methods(
    records: Mapping[str, Sequence[Record]], rows: Mapping[str, Rows]
) -> dict[str, Any]:
    """Every method's numbers: of each seed, and their mean and standard deviation over seeds."""
    methods = {}
    for name, those in records.items():
        methods[name] = {
            "label": LABELS[name],
            "estimator": those[0].experiment["estimator"],
            "seeds": list(rows[name]),
            **estimate_rows(list(rows[name].values())),
        }
    first = next(iter(records.values()))[0]
    experiment = {**first.experiment, "task": first.task_settings}
    del experiment["estimator"]
    planned = {"planned_generations": first.planned_generations}
    return {**planned, "experiment": experiment, "methods": methods}


def estimate_rows(rows: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The rows of the seeds, and the estimate of every number over them."""
    summary = {}
    for name in dict.fromkeys(key for row in rows for key in row):
        values = [row[name] for row in rows if name in row]
        summary[name] = compute_mean_and_deviation(values)._asdict()
    return {"rows": rows, "summary": summary}


def write_curves(path: Path, runs: Mapping[str, Sequence[Record]]) -> None:
    """Statistics over generations as CSV: method, measure, generation, mean, deviation, seeds."""
    rows = []
    for name, records in runs.items():
        by_seed = [compute_curves(record) for record in records]
        for measure in by_seed[0]:
            values = [dict(zip(*each[measure], strict=True)) for each in by_seed]
            for g in sorted(set.intersection(*map(set, values))):
                there = [float(each[g]) for each in values]
                mean, deviation, seeds = compute_mean_and_deviation(there)
                row = {"method": name, "measure": measure, "generation": g}
                row |= {"mean": f"{mean:.6g}", "deviation": f"{deviation:.6g}", "seeds": seeds}
                rows += [row] if np.isfinite(mean) else []
    write_bytes(path, format_csv(rows).encode())


def write_json(path: Path, content: Any) -> None:
    """Indented JSON; a number that is not finite becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, to_json(content, indent=1, inf_nan_mode="null") + b"\n")


def read_json(path: Path) -> Any:
    """What `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))
