"""The table of a report: every measure of every method over its seeds, and what tests make of the differences."""

import html
import math
from collections.abc import Mapping, Sequence

from brns.metrics.measures import MEASURES
from brns.metrics.numbers import number
from brns.metrics.summary import estimate
from brns.metrics.summary import summary as numbers
from brns.metrics.tests import LEVEL, holm, mann_whitney, testable
from brns.pictures.scene import scene_of
from brns.runs.record import Record

NOT_TESTED = ("generations", "evaluations", "epsilon")
"""measures that are settings, or have an estimator's own unit"""
NEVER_LATE = "first_solved"
"""a seed that never solved it is later than all others"""


def summary(runs: Mapping[str, list[Record]]) -> str:
    """The table as HTML: mean ± deviation over seeds, and each method held against the first."""
    of_paths = scene_of(next(iter(runs.values()))[0]).paths
    rows = {name: [numbers(record, of_paths=of_paths) for record in seeds] for name, seeds in runs.items()}
    measures = list(dict.fromkeys(measure for seeds in rows.values() for row in seeds for measure in row))
    values = {(m, n): [row[m] for row in seeds if m in row] for m in measures for n, seeds in rows.items()}
    tested = {
        (m, n): [row.get(m, math.inf) for row in seeds] if m == NEVER_LATE else values[m, n]
        for m in measures
        for n, seeds in rows.items()
    }
    tests = _tests(tested, list(runs))
    heads = "".join(
        f'<th scope="col" class="number">{html.escape(name)} <span class="meaning">n = {len(seeds)}</span></th>'
        for name, seeds in runs.items()
    )
    lines = []
    for measure in measures:
        title, meaning = html.escape(MEASURES[measure].title), html.escape(MEASURES[measure].meaning)
        cells = "".join(
            f"<td class='number'>{_estimate(values[measure, name], len(seeds))}{tests.get((measure, name), '')}</td>"
            for name, seeds in runs.items()
        )
        lines.append(f'<tr><th scope="row">{title}</th>{cells}<td class="meaning">{meaning}</td></tr>')
    return f"<table><thead><tr><th></th>{heads}<th></th></tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _tests(values: Mapping[tuple[str, str], Sequence[float]], names: Sequence[str]) -> dict[tuple[str, str], str]:
    """What a test against the first method says of each cell of the table, where it could confirm anything."""
    reference, *others = names
    places = [
        (measure, name)
        for measure in dict.fromkeys(measure for measure, _ in values)
        if measure not in NOT_TESTED
        for name in others
        if testable(len(values[measure, name]), len(values[measure, reference]))
    ]
    tested = [mann_whitney(values[measure, name], values[measure, reference]) for measure, name in places]
    told = {}
    for place, one, p in zip(places, tested, holm([one.p for one in tested]), strict=True):
        strong = " confirmed" if p < LEVEL else ""
        told[place] = f'<br><span class="spread{strong}">A = {one.effect:.2f}, p = {p:.2g}</span>'
    return told


def _estimate(values: Sequence[float], runs: int) -> str:
    if not values:
        return "–"
    found = estimate(values)
    spread = f" ± {number(found.deviation)}" if found.seeds > 1 else ""
    seeds = f" (n = {found.seeds})" if found.seeds != runs else ""
    return f'{number(found.mean)}<span class="spread">{spread}{seeds}</span>'


def tests_note(runs: Mapping[str, list[Record]]) -> str:
    """What the tests of the table are, or why there are none."""
    reference, *others = runs
    if not others:
        return "No statistical test was made: there is one method."
    if not any(testable(len(runs[reference]), len(runs[name])) for name in others):
        return "No statistical test was made: with so few seeds none could confirm a difference."
    return (
        f"Below, each method is held against {html.escape(reference)}: Vargha and Delaney's A, how probably a seed has "
        "the larger number, and p of the two-sided Mann-Whitney test, corrected by Holm over the table. "
        '<span class="confirmed">Strong</span>: p &lt; 0.05.'
    )
