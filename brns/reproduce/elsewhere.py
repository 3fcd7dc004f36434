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
from brns.reproduce.results import estimated, read_json
from brns.search import NoveltySearch
from brns.settings import changes, describe, told


def earlier(path: Path, methods: Mapping[str, NoveltySearch], scale: str) -> dict[str, Any] | None:
    """What an earlier page measured; None where there is none.

    Errors: `ValueError` where it is of another scale, or of other settings of a method; both would be lost.
    """
    if not path.exists():
        return None
    found = read_json(path)
    another = "what was computed is never removed, so take another folder (--out), or move that file away yourself"
    if found["scale"] != scale:
        raise ValueError(f"{path} has results of another scale (there: {found['scale']} asked for: {scale}): {another}")
    for name, method in found["methods"].items() if methods else ():
        if name not in methods or method["estimator"] != describe(methods[name].estimator):
            raise ValueError(f"{path} has numbers of {LABELS.get(name, name)} with another estimator: {another}")
    if methods:
        first = next(iter(found["methods"]))
        whole = found["experiment"] | {"estimator": found["methods"][first]["estimator"]}
        if whole != (now := describe(methods[first])):
            raise ValueError(f"{path} has numbers of other settings ({told(changes(whole, now))}): {another}")
    return found


def joined(found: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The results `found`, and beside them the seeds that only the results `before` have."""
    there, here = _seeds(before), _seeds(found)
    for name, seeds in here.items():
        there[name] = {seed: row for seed, row in there.get(name, {}).items() if seed not in seeds}
    there = {name: rows for name, rows in there.items() if rows}
    if not there:
        return dict(found)
    methods = {}
    for name in (name for name in LABELS if name in here or name in there):
        rows = there.get(name, {}) | here.get(name, {})
        seeds = sorted(rows)
        known = found["methods"].get(name) or before["methods"][name]
        methods[name] = {**known, "seeds": seeds, **estimated([rows[seed] for seed in seeds])}
    return {
        **found,
        "experiment": (found if next(iter(methods)) in found["methods"] else before)["experiment"],
        "made": _together([*_made(before, there), *found["made"]]),
        "measured_before": _measured(before, there),
        "methods": methods,
    }


def _made(before: Mapping[str, Any], there: Mapping[str, Mapping[int, Any]]) -> list[dict[str, Any]]:
    """What made the runs of the methods that are elsewhere."""
    labels = {LABELS[name] for name in there}
    kept = [{**one, "rows": [label for label in one["rows"] if label in labels]} for one in before.get("made", [])]
    return [one for one in kept if one["rows"]]


def _measured(before: Mapping[str, Any], there: Mapping[str, Mapping[int, Any]]) -> list[dict[str, Any]]:
    """What measured the seeds that are elsewhere: of each different answer those `seeds`, by method."""
    left = {name: set(rows) for name, rows in there.items()}
    found = []
    for one in [*before.get("measured_before", []), {**before["provenance"], "seeds": _numbers(before)}]:
        seeds = {name: sorted(left[name] & set(one["seeds"].get(name, []))) for name in left}
        for name, those in seeds.items():
            left[name] -= set(those)
        if seeds := {name: those for name, those in seeds.items() if those}:
            found.append({**one, "seeds": seeds})
    return found


def _numbers(results: Mapping[str, Any]) -> dict[str, list[int]]:
    return {name: method["seeds"] for name, method in results["methods"].items()}


def all_here(seeds: Mapping[str, Sequence[int]], before: Mapping[str, Any]) -> bool:
    """Whether these seeds of each method are all of which the curves and pictures of an earlier page were drawn."""
    return all(set(seeds.get(name, [])) >= set(drawn) for name, drawn in drawn_of(before).items())


def drawn_of(results: Mapping[str, Any]) -> dict[str, list[int]]:
    """The seeds of each method that curves and pictures were drawn of."""
    return results.get("drawn") or _numbers(results)


def _seeds(results: Mapping[str, Any]) -> dict[str, dict[int, dict[str, float]]]:
    """Each seed's numbers; JSON has no infinity, and says null."""
    return {
        name: {
            seed: {key: math.inf if value is None else value for key, value in row.items()}
            for seed, row in zip(method["seeds"], method["rows"], strict=True)
        }
        for name, method in results["methods"].items()
    }


def _together(made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return grouped((label, {k: v for k, v in one.items() if k != "rows"}) for one in made for label in one["rows"])
