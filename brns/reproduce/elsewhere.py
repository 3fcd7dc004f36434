"""The numbers of searches whose records are not here: an earlier page has them, and they stay on the new one.

Records of ants are large and stay where they were made. What a folder's `results.json` has of other seeds is joined
with what is measured now: so searches of several machines, or of a page that came without its records, make one page.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.reproduce.plan import LABELS
from brns.reproduce.provenance import grouped
from brns.reproduce.results import TAKE_ANOTHER, estimated, read_json
from brns.search import NoveltySearch
from brns.settings import describe


def earlier(path: Path, methods: Mapping[str, NoveltySearch]) -> dict[str, Any] | None:
    """What an earlier page measured of these methods; None where there is none, `ValueError` of another experiment."""
    if not path.exists():
        return None
    found = read_json(path)
    settings = {name: describe(search) for name, search in methods.items()}
    first = next(iter(found["methods"]))
    said = {name: {"estimator": method["estimator"]} for name, method in found["methods"].items()}
    said[first] |= found["experiment"]
    for name, one in said.items():
        if name not in settings or not one.items() <= settings[name].items():
            raise ValueError(
                f"{path} has numbers of {LABELS.get(name, name)} with other settings, which cannot stand beside those "
                f"of this version: {TAKE_ANOTHER}"
            )
    return found


def joined(found: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The results `found`, and beside them the seeds that only the results `before` have."""
    there = _seeds(before)
    for name, seeds in _seeds(found).items():
        there[name] = {seed: row for seed, row in there.get(name, {}).items() if seed not in seeds}
    there = {name: rows for name, rows in there.items() if rows}
    if not there:
        return dict(found)
    methods = {}
    for name in (name for name in LABELS if name in found["methods"] or name in there):
        rows = there.get(name, {}) | _seeds(found).get(name, {})
        seeds = sorted(rows)
        known = found["methods"].get(name) or before["methods"][name]
        methods[name] = {**known, "seeds": seeds, **estimated([rows[seed] for seed in seeds])}
    labels = {LABELS[name] for name in there}
    return {
        **found,
        "experiment": (found if next(iter(methods)) in found["methods"] else before)["experiment"],
        "made": _together([*_only(before["made"], labels), *found["made"]]),
        "measured_before": _together(
            [
                *_only(before.get("measured_before", []), labels),
                {**before["provenance"], "rows": [LABELS[name] for name in there]},
            ]
        ),
        "methods": methods,
    }


def all_here(seeds: Mapping[str, Sequence[int]], before: Mapping[str, Any]) -> bool:
    """Whether these seeds of each method are all of which the curves and pictures of an earlier page were drawn."""
    return all(set(seeds.get(name, [])) >= set(drawn) for name, drawn in drawn_of(before).items())


def drawn_of(results: Mapping[str, Any]) -> dict[str, list[int]]:
    """The seeds of each method that curves and pictures were drawn of."""
    return results.get("drawn") or {name: method["seeds"] for name, method in results["methods"].items()}


def _seeds(results: Mapping[str, Any]) -> dict[str, dict[int, dict[str, float]]]:
    """Each seed's numbers; JSON has no infinity, and says null."""
    return {
        name: {
            seed: {key: math.inf if value is None else value for key, value in row.items()}
            for seed, row in zip(method["seeds"], method["rows"], strict=True)
        }
        for name, method in results["methods"].items()
    }


def _only(made: Sequence[Mapping[str, Any]], labels: set[str]) -> list[dict[str, Any]]:
    kept = [{**one, "rows": [label for label in one["rows"] if label in labels]} for one in made]
    return [one for one in kept if one["rows"]]


def _together(made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return grouped((label, {k: v for k, v in one.items() if k != "rows"}) for one in made for label in one["rows"])
