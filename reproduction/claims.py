"""The paper's claims on the maze as data: what is said and measured, and the verdict's rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.verdicts import (
    UNTESTED,
    Finding,
    Judged,
    Seeds,
    above,
    below,
    combine_findings,
    falls,
    judge,
    judge_seed_share,
    larger,
    no_larger,
)

GENERATIONS = 200
"""the fewest for claims on a whole run in the maze: those of the paper's figures"""
BEYOND = 1e300
"""stands for an infinite number, which JSON has as null"""
CYCLES = 0.05
"""the share of later generations below which novelty that rises again counts as close to none"""


class Claim(NamedTuple):
    """One row of the page."""

    source: str
    paper: str
    measured: str
    verdict: str
    evidence: str = ""
    """p and effect of the tests, where the verdict rests on tests"""


class Method:
    """One method's rows of a results file; `method[measure]` are its seeds' numbers."""

    def __init__(self, results: Mapping[str, Any], name: str):
        entry = results["methods"][name]
        self.label: str = entry["label"]
        self.rows = dict(zip(entry["seeds"], entry["rows"], strict=True))
        self.summary = entry["summary"]

    def __getitem__(self, measure: str) -> Seeds:
        """The seeds that have this number; an infinite one, as η may be, is above all others."""
        numbers = {seed: row[measure] for seed, row in self.rows.items() if measure in row}
        return {seed: BEYOND if value is None else value for seed, value in numbers.items()}

    def judge_everywhere(self, measure: str, partly: float = 0.5) -> Finding:
        """Whether every seed has this number."""
        return judge_seed_share(len(self[measure]), len(self.rows), partly)

    def text(self, measure: str) -> str:
        """Mean ± standard deviation, and the number of seeds where not all have it."""
        return format_estimate(self.summary.get(measure), len(self.rows))


class Sides(NamedTuple):
    """Who is compared."""

    ours: Method
    archives: Sequence[Method]
    """from the smallest to the largest"""

    @property
    def archive(self) -> Method:
        return self.archives[-1]

    @property
    def everybody(self) -> list[Method]:
        return [*self.archives, self.ours]


class Row(NamedTuple):
    """A claim before it is judged."""

    source: str
    paper: str
    measures: Mapping[str, str]
    """the measures that are shown, each with its words"""
    rule: Callable[[Sides], Finding]
    shown: Callable[[Sides], Sequence[Method]] = lambda s: s.everybody
    """whose numbers"""
    least: int | None = None
    """generations below which it is not judged, if not the table's"""
    where_measured: bool = False
    """whether the row is left out where one of those shown lacks the measure"""


def _judge_full_coverage(method: Method) -> Finding:
    """Whether the survivors of every seed cover all cells in the end."""
    shares = method["coverage_survivors"].values()
    return judge_seed_share(sum(share == 1 for share in shares), len(method.rows))


MAZE = (
    Row(
        "5.1",
        "novelty search finds the goal",
        {"first_solved": "generation of the first solution"},
        lambda s: combine_findings(
            method.judge_everywhere("first_solved") for method in s.everybody
        ),
    ),
    Row(
        "5.1, figure 3a",
        "both methods reach full coverage of the 6 × 6 cells, by survivors, as the figure shows it",
        {"coverage_survivors": "coverage of survivors in the end"},
        lambda s: combine_findings(_judge_full_coverage(method) for method in s.everybody),
    ),
    Row(
        "5.1, figure 3a",
        "BR-NS covers a little later than the archive, by survivors, as the figure shows it",
        {"coverage_survivors_at_50": "coverage of survivors at generation 50"},
        lambda s: larger(s.archive["coverage_survivors_at_50"], s.ours["coverage_survivors_at_50"]),
        where_measured=True,
    ),
    Row(
        "5.1, by all evaluated",
        "both methods reach full coverage, by everything evaluated",
        {"full_coverage_evaluated": "generation in which everything evaluated covers all"},
        lambda s: combine_findings(
            method.judge_everywhere("full_coverage_evaluated") for method in s.everybody
        ),
    ),
    Row(
        "5.1, by all evaluated",
        "BR-NS covers a little later than the archive, by everything evaluated",
        {"coverage_evaluated_at_50": "coverage of everything evaluated at generation 50"},
        lambda s: larger(s.archive["coverage_evaluated_at_50"], s.ours["coverage_evaluated_at_50"]),
    ),
    Row(
        "5.1, figure 3f",
        "BR-NS's novelty converges to a uniform distribution (rule: the distance falls to less "
        "than half)",
        {
            "uniformity_first": "JS distance in generation 0 (nothing learned; for exact "
            "recognition and visit counts the founders, who live, count as seen)",
            "uniformity_last": "at last",
        },
        lambda s: falls(s.ours["uniformity_first"], s.ours["uniformity_last"]),
        lambda s: [s.ours],
    ),
    Row(
        "5.1, figure 2b",
        "the archive converges to a uniform sampling (rule: the same)",
        {"uniformity_first": "JS distance with the first entries", "uniformity_last": "at last"},
        lambda s: falls(s.archive["uniformity_first"], s.archive["uniformity_last"]),
        lambda s: [s.archive],
    ),
    Row(
        "5.1, figure 3c",
        "ages stay low: the whole population is continually replaced (rule: mean age below 5 "
        "generations)",
        {"age": "mean age"},
        lambda s: combine_findings(below(method["age"], 5.0) for method in s.everybody),
    ),
    Row(
        "5.1, figure 3b",
        "individuals live further from their parents with BR-NS",
        {"parent_distance": "distance to the parent"},
        lambda s: larger(s.ours["parent_distance"], s.archive["parent_distance"]),
    ),
    Row(
        "5.1",
        "η < 1 in all generations, for both (rule: in more than 99 % of them)",
        {"eta_below_one": "share of generations with η < 1"},
        lambda s: combine_findings(above(method["eta_below_one"], 0.99) for method in s.everybody),
    ),
    Row(
        "5.1",
        "κ is close to zero for both: no cycling (rule: below 0.05 of the later generations)",
        {"kappa_share": "κ per later generation"},
        lambda s: combine_findings(below(method["kappa_share"], CYCLES) for method in s.everybody),
    ),
    Row(
        "5.1, published code",
        "the same by the root of BR-NS's novelty, which is a distance as κ's margin is",
        {"kappa_root": "κ per later generation, of the root"},
        lambda s: below(s.ours["kappa_root"], CYCLES),
        lambda s: [s.ours],
        where_measured=True,
    ),
    Row(
        "5.1, our measure",
        "what was visited does not become novel again, by ranks, which mean the same for both "
        "(rule: below 0.05 of the later generations)",
        {"regained": "novelty regained"},
        lambda s: combine_findings(below(method["regained"], CYCLES) for method in s.everybody),
        where_measured=True,
    ),
)
OURS = (
    Row(
        "ours",
        "by everything evaluated it covers all cells in every seed, and no later than the archive "
        "(rule: by at most a tenth)",
        {"full_coverage_evaluated": "generation in which everything evaluated covers all"},
        lambda s: combine_findings(
            [
                s.ours.judge_everywhere("full_coverage_evaluated", 1.0),
                no_larger(s.ours["full_coverage_evaluated"], s.archive["full_coverage_evaluated"]),
            ]
        ),
    ),
)
"""our claims on our own methods"""


def judge_maze_claims(results: Mapping[str, Any], ours: str = "paper") -> list[Claim]:
    """Section 5.1, of one of our methods; `results` is `maze/results.json`."""
    sides = Sides(Method(results, ours), [Method(results, "archive")])
    rows = MAZE if ours == "paper" else (*MAZE, *OURS)
    return judge_table(rows, sides, results, GENERATIONS)


def judge_table(
    rows: Sequence[Row], sides: Sides, results: Mapping[str, Any], least: int
) -> list[Claim]:
    """The table of these rows, whose claims need so many generations at least."""
    rows = [row for row in rows if not row.where_measured or _is_measured_for_all(row, sides)]
    planned = results["planned_generations"]
    findings = [row.rule(sides) if planned >= (row.least or least) else UNTESTED for row in rows]
    claims = []
    for row, one in zip(rows, judge(findings), strict=True):
        measured, evidence = _describe_measures(row, sides), _describe_evidence(one)
        claims.append(Claim(row.source, row.paper, measured, one.verdict, evidence))
    return claims


def _is_measured_for_all(row: Row, sides: Sides) -> bool:
    return all(set(row.measures) <= set(method.summary) for method in row.shown(sides))


def _describe_measures(row: Row, sides: Sides) -> str:
    parts = []
    for measure, words in row.measures.items():
        numbers = [f"{method.label} {method.text(measure)}" for method in row.shown(sides)]
        parts.append(f"{words}: {'; '.join(numbers)}")
    return ". ".join(parts)


def _describe_evidence(one: Judged) -> str:
    if one.effects is None:
        return ""
    least, most = one.effects
    effect = f"effect {least:.2f} to {most:.2f}" if least <= 0.5 < most else f"effect {least:.2f}"
    return effect if one.p is None else f"p = {one.p:.2g}, {effect}"


def format_estimate(estimate: Mapping[str, Any] | None, runs: int) -> str:
    """Mean ± standard deviation over seeds, as the tables print it."""
    if estimate is not None and estimate["mean"] is None:
        return "not finite"
    if estimate is None:
        return f"in none of {runs} seeds" if runs > 1 else "in no seed"
    spread = f" ± {_format_rounded(estimate['deviation'], 2)}" if estimate["seeds"] > 1 else ""
    return f"{_format_rounded(estimate['mean'], 3)}{spread}" + (
        f" in {estimate['seeds']} of {runs} seeds" if estimate["seeds"] < runs else ""
    )


def _format_rounded(value: float, digits: int) -> str:
    """The number with so many digits, without an exponent if it is large."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text
