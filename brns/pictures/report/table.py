"""The table of a report: every measure of every method over its seeds, and what tests make of the differences."""

import math
from collections.abc import Mapping, Sequence

from brns.metrics.summary import Estimate, estimate, summary
from brns.metrics.tests import Tested, holm, mann_whitney, testable
from brns.pictures.scene import scene_of
from brns.runs.record import Record

NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


def rows(runs: Mapping[str, Sequence[Record]]) -> dict[str, list[tuple[Estimate | None, Tested | None]]]:
    """Of each measure, by its name: each method's estimate over seeds, and its test against the first method.

    p is corrected for the whole table.
    """
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    found = {name: [summary(record, of_paths=of_paths) for record in seeds] for name, seeds in runs.items()}
    measures = dict.fromkeys(measure for seeds in found.values() for seed in seeds for measure in seed)
    values = {(m, name): [seed[m] for seed in seeds if m in seed] for m in measures for name, seeds in found.items()}
    late = {(NEVER_LATE, name): [seed.get(NEVER_LATE, math.inf) for seed in seeds] for name, seeds in found.items()}
    told = tests(values | late if NEVER_LATE in measures else values, list(runs))
    over = {place: estimate(seeds) if seeds else None for place, seeds in values.items()}
    return {measure: [(over[measure, name], told.get((measure, name))) for name in runs] for measure in measures}


def tests(values: Mapping[tuple[str, str], Sequence[float]], names: Sequence[str]) -> dict[tuple[str, str], Tested]:
    """Each measure of each method against that of the first, where a test could confirm anything."""
    reference, *others = names
    places = [
        (measure, name)
        for measure, name in values
        if measure not in NOT_TESTED
        and name in others
        and testable(len(values[measure, name]), len(values[measure, reference]))
    ]
    found = [mann_whitney(values[measure, name], values[measure, reference]) for measure, name in places]
    corrected = holm([one.p for one in found])
    return {place: one._replace(p=p) for place, one, p in zip(places, found, corrected, strict=True)}
