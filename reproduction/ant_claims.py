"""The paper's claims on the ant maze, and what selection adds to random search."""

from collections.abc import Mapping
from typing import Any

from brns.metrics.paths import TERMS
from reproduction.claims import CYCLES, Claim, Method, Row, Sides, judge_table
from reproduction.verdicts import (
    Finding,
    above,
    alike,
    combine_findings,
    judge_seed_share,
    larger,
    lowest,
    ordered,
)

GENERATIONS = 1000
"""the fewest with which claims on a whole run are judged: those of the paper's figures"""
DEVIATIONS = {f"deviation_{term}": term for term in TERMS}


def _judge_early_solutions(method: Method) -> Finding:
    """Whether it solved the task within 100 generations, in every seed or some."""
    early = sum(generation <= 100 for generation in method["first_solved"].values())
    return judge_seed_share(early, len(method.rows), 0.01)


def _judge_lowest(sides: Sides, *measures: str) -> Finding:
    """Whether ours are below those of every archive."""
    return combine_findings(
        lowest(sides.ours[name], [method[name] for method in sides.archives]) for name in measures
    )


ANT = (
    Row(
        "5.2",
        "every method solves the task within the first hundred generations",
        {
            "first_solved": "generation of the first solution",
            "areas": "most areas visited by one ant",
        },
        lambda s: combine_findings(map(_judge_early_solutions, s.everybody)),
        least=100,
    ),
    Row(
        "5.2, figures 4e and 4f",
        "a larger archive gives lower η and κ",
        {"eta": "η", "kappa_share": "κ per later generation"},
        lambda s: combine_findings(
            ordered([method[name] for method in s.archives]) for name in ("eta", "kappa_share")
        ),
        lambda s: s.archives,
    ),
    Row(
        "5.2, figure 4e",
        "every archive has η < 1 in all generations (rule: in more than 99 % of them)",
        {"eta_below_one": "share of generations with η < 1"},
        lambda s: combine_findings(above(method["eta_below_one"], 0.99) for method in s.archives),
        lambda s: s.archives,
    ),
    Row(
        "5.2, figure 4f",
        "archives have a high κ: novelty rises again (rule: above 0.05 of the later generations)",
        {"kappa_share": "κ per later generation"},
        lambda s: combine_findings(above(method["kappa_share"], CYCLES) for method in s.archives),
        lambda s: s.archives,
    ),
    Row(
        "5.2, figures 4e and 4f",
        "BR-NS gives the lowest η and κ",
        {"eta": "η", "kappa_share": "κ per later generation"},
        lambda s: _judge_lowest(s, "eta", "kappa_share"),
    ),
    Row(
        "5.2, our measure",
        "BR-NS regains the least novelty, by ranks, which mean the same for all",
        {"regained": "novelty regained"},
        lambda s: _judge_lowest(s, "regained"),
        where_measured=True,
    ),
    Row(
        "table I",
        "BR-NS's novelty is the nearest to uniform (the paper: 0.05 against 0.12 to 0.18)",
        {"uniformity_signatures": "JS distance"},
        lambda s: _judge_lowest(s, "uniformity_signatures"),
    ),
    Row(
        "table I",
        "an archive of 6000 covers signature space a little better than BR-NS (the paper: 5e-4 "
        "against 3e-4)",
        {"coverage_signatures": "coverage"},
        lambda s: larger(s.archive["coverage_signatures"], s.ours["coverage_signatures"]),
    ),
    Row(
        "figure 5",
        "both reach equally far in signature space (rule: each of the six standard deviations "
        "within a factor of 1.5)",
        DEVIATIONS,
        lambda s: combine_findings(
            alike(s.ours[name], s.archive[name], 1.5) for name in DEVIATIONS
        ),
    ),
)

SELECTION = (
    Row(
        "ours, beside table I",
        "every method covers more of signature space than random search of as many evaluations",
        {"coverage_signatures": "coverage"},
        lambda s: combine_findings(
            larger(m["coverage_signatures"], s.ours["coverage_signatures"]) for m in s.archives
        ),
    ),
    Row(
        "ours, beside table I",
        "the visits of every method lie nearer to uniform over all cells than those of random "
        "search",
        {"uniformity_visits": "JS distance of visits"},
        lambda s: combine_findings(
            larger(s.ours["uniformity_visits"], m["uniformity_visits"]) for m in s.archives
        ),
    ),
)


def judge_ant_claims(results: Mapping[str, Any], ours: str = "paper") -> list[Claim]:
    """Section 5.2, of one of our methods; `results` is `ant/results.json`."""
    archives = [Method(results, name) for name in results["methods"] if name.startswith("archive-")]
    return judge_table(ANT, Sides(Method(results, ours), archives), results, GENERATIONS)


def judge_selection_claims(results: Mapping[str, Any]) -> list[Claim]:
    """Every method, in the place of the archives, against random search."""
    others = [Method(results, name) for name in results["methods"] if name != "random"]
    return judge_table(SELECTION, Sides(Method(results, "random"), others), results, GENERATIONS)
