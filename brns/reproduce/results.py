"""What is kept of a comparison: numbers of every seed, curves over generations, figures, and where they come from."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from brns.core import Box, Generation, NoveltyEstimator, Population
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.metrics import coverage, cycling, dynamics, paths, uniformity
from brns.metrics.numbers import finite
from brns.metrics.recorded import evaluated
from brns.metrics.spread import spread
from brns.metrics.summary import estimate, summary
from brns.pictures.measured import cycling_of_record, uniformity_of_record
from brns.pictures.scene import scene
from brns.reproduce.plan import Variant
from brns.reproduce.provenance import here, of_runs
from brns.runs.record import Record
from brns.runs.storage import RecordError, replacing, write_bytes
from brns.search import NoveltySearch

COVERAGE_AT = (10, 25, 50, 100, 200, 400)
"""the generations at which coverage is told"""
Curve = tuple[Sequence[int], np.ndarray]
"""generations and the value at each"""


Rows = Sequence[Mapping[str, float]]
"""the `numbers` of every seed"""


def of_methods(
    runs: Mapping[str, list[Record]], rows: Mapping[str, Rows], labels: Mapping[str, str], planned: int
) -> dict[str, Any]:
    """The numbers of every method: those of each seed, and their mean and standard deviation over seeds."""
    methods = {}
    for name, records in runs.items():
        methods[name] = {
            "label": labels[name],
            "estimator": records[0].experiment["estimator"],
            "seeds": [record.seed for record in records],
            **estimated(rows[name]),
        }
    first = next(iter(runs.values()))[0]
    return {
        "provenance": here(),
        "made": of_runs({labels[name]: records for name, records in runs.items()}),
        "planned_generations": planned,
        "experiment": {k: v for k, v in first.experiment.items() if k != "estimator"} | {"task": first.world},
        "methods": methods,
    }


def of_variant(variant: Variant, rows: Rows) -> dict[str, Any]:
    """The numbers of one row of the ablation."""
    return {"group": variant.group, "label": variant.label, **estimated(rows)}


def rooted(search: NoveltySearch) -> NoveltySearch:
    """The experiment with the root of its estimator's novelty: a distance where that is a squared one."""
    return eqx.tree_at(lambda s: s.estimator, search, Rooted(search.estimator))


class Rooted(eqx.Module):
    """The root of an estimator's novelty."""

    squared: NoveltyEstimator

    def init(self, space: Box, key: Key[Array, ""]) -> PyTree:
        return self.squared.init(space, key)

    def score(self, state: PyTree, descriptors: Float[Array, "n d"], population: Population) -> Float[Array, " n"]:
        return jnp.sqrt(self.squared.score(state, descriptors, population))

    def update(self, state: PyTree, generation: Generation, key: Key[Array, ""]) -> PyTree:
        return self.squared.update(state, generation, key)

    def embed(self, state: PyTree, descriptors: Float[Array, "n d"]) -> Float[Array, "n e"]:
        return self.squared.embed(state, descriptors)  # ty: ignore[missing-attribute]


def estimated(rows: Rows) -> dict[str, Any]:
    """The rows of the seeds, and the estimate of every number over them."""
    names = dict.fromkeys(key for row in rows for key in row)
    return {
        "rows": rows,
        "summary": {key: estimate([row[key] for row in rows if key in row])._asdict() for key in names},
    }


def numbers(record: Record) -> dict[str, float]:
    """The summary of a run, and what the claims need beyond it.

    `eta_root` and `kappa_root` are eta and the share kappa of BR-NS by the root of its novelty, as the published code's
    analysis takes it: a distance, like kappa's margin. The squared novelty of a well trained network is far below it.
    """
    of_paths = scene(record.search.task).paths
    row = summary(record, of_paths=of_paths)
    if isinstance(record.search.estimator, BehaviorRecognition | ExactRecognition):
        found = cycling.of_record(record, search=rooted(record.search))
        row["eta_root"], row["kappa_root"] = float(found.eta.mean()), float(found.kappa_share.mean())
    if of_paths:
        signed = paths.signatures(np.concatenate(evaluated(record, "descriptor")))
        space = paths.signature_space(record.behavior_space)
        row["uniformity_visits"] = uniformity.of_points(signed, space, paths.GRID)
        row["reach"] = float(reach(record)[1][-1])
        row["areas"] = float(max(rows.max() for rows in evaluated(record, "fitness")))
        deviations = spread(signed)
        row |= {f"deviation_{term}": float(value) for term, value in zip(paths.TERMS, deviations, strict=True)}
        return row
    shares = coverage.of_record(record, individuals="evaluated")
    row |= {f"coverage_at_{g}": float(shares[g]) for g in COVERAGE_AT if g < len(shares)}
    if shares[-1] == 1:
        row["full_coverage"] = float(np.argmax(shares == 1))
    _, uniform = uniformity_of_record(record)
    known = uniform[np.isfinite(uniform)]
    row["uniformity_first"], row["uniformity_last"] = float(known[0]), float(known[-1])
    return row


def reach(record: Record) -> Curve:
    """The furthest distance from the start at which any path evaluated so far was sampled, in metres."""
    start = np.asarray(scene(record.search.task).start)
    furthest = [
        np.linalg.norm(rows.reshape(len(rows), -1, 2) - start, axis=-1).max()
        for rows in evaluated(record, "descriptor")
    ]
    return record.generations, np.maximum.accumulate(furthest)


def areas(record: Record) -> Curve:
    """The most areas that one ant evaluated so far has visited."""
    return record.generations, np.maximum.accumulate([rows.max() for rows in evaluated(record, "fitness")])


def write_curves(path: Path, runs: Mapping[str, list[Record]]) -> None:
    """Every statistic over generations as CSV: method, measure, generation, mean, deviation, seeds."""
    of_paths = scene(next(iter(runs.values()))[0].search.task).paths
    with replacing(path) as temporary, open(temporary, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["method", "measure", "generation", "mean", "deviation", "seeds"])
        for name, records in runs.items():
            for measure, statistic in (CURVES | (OF_PATHS if of_paths else OF_PLANE)).items():
                known = [dict(zip(*statistic(record), strict=True)) for record in records]
                for g in sorted(set.intersection(*map(set, known))):
                    mean, deviation, seeds = estimate([float(one[g]) for one in known])
                    if np.isfinite(mean):
                        writer.writerow([name, measure, g, f"{mean:.6g}", f"{deviation:.6g}", seeds])


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """JSON that a person can read and that differs between two calls only where its content does.

    JSON has no NaN or infinity: a number that is not finite is written as null. The folder is made where it is lacking.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, (json.dumps(finite(content), indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """What `write_json` wrote; also the NaN of files of before, as None."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    except ValueError as error:
        raise RecordError(
            f"{path} is not JSON ({error}); it was edited or cut short: mend it, or move it away"
        ) from None


def _over_kept(values: Callable[[cycling.Cycling], np.ndarray]) -> Callable[[Record], Curve]:
    def curve(record: Record) -> Curve:
        found = cycling_of_record(record)
        return found.generations[:-1].tolist(), values(found)

    return curve


CURVES: dict[str, Callable[[Record], Curve]] = {
    "parent_distance": lambda record: (record.generations, dynamics.parent_distance_of_record(record)),
    "age": lambda record: (record.generations, dynamics.age_of_record(record)),
    "eta": _over_kept(lambda found: found.eta),
    "kappa": _over_kept(lambda found: found.kappa),
    "kappa_share": _over_kept(lambda found: found.kappa_share),
}
OF_PLANE: dict[str, Callable[[Record], Curve]] = {
    "coverage_survivors": lambda record: (record.generations, coverage.of_record(record)),
    "coverage_evaluated": lambda record: (record.generations, coverage.of_record(record, individuals="evaluated")),
    "uniformity": uniformity_of_record,
}
OF_PATHS: dict[str, Callable[[Record], Curve]] = {
    "coverage_signatures": lambda record: (record.generations, paths.coverage_of_record(record)),
    "uniformity_signatures": lambda record: (record.generations, paths.uniformity_of_record(record)),
    "reach": reach,
    "areas": areas,
}
