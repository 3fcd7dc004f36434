"""The page of the paper's claims and what was measured, written from the results alone."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.comparison.markdown import (
    check_safe_to_overwrite,
    format_command_and_provenance,
    format_table,
)
from brns.formatting import read_csv
from brns.metrics.measures import MEASURES
from brns.metrics.paths import TERMS
from brns.pictures import FIGURES
from brns.runs import provenance
from brns.runs.files import write_bytes
from reproduction import ant_claims, claims
from reproduction.claims import Claim, format_estimate
from reproduction.cost_claims import judge_cost_claims
from reproduction.costs import TREE, WIDE, Costs
from reproduction.numbers import COVERAGE_AT
from reproduction.plan import Timing
from reproduction.results import read_json

HEADING = "# The paper's claims, and what was measured"
TITLES = {
    **{name: measure.title for name, measure in MEASURES.items()},
    "eta_root": "η of the root of novelty",
    "kappa_root": "κ per later generation, of the root",
    "full_coverage_evaluated": "Full coverage, evaluated (generation)",
    "full_coverage_survivors": "Full coverage, survivors (generation)",
    **{f"coverage_evaluated_at_{g}": f"Coverage, evaluated, generation {g}" for g in COVERAGE_AT},
    **{f"coverage_survivors_at_{g}": f"Coverage, survivors, generation {g}" for g in COVERAGE_AT},
    "uniformity_first": "JS distance to uniform, first (nothing learned, but founders count as "
    "seen by exact recognition and visit counts; the archive's first entries)",
    "uniformity_last": "JS distance to uniform, last",
    "uniformity_visits": "Uniformity of visits, signatures",
    "reach": "Reach (m)",
    "areas": "Most areas visited by one ant",
    **{f"deviation_{term}": f"Standard deviation of signature term {term}" for term in TERMS},
}
CAPTIONS = {
    name: f"{figure.title} [{', '.join(figure.paper) or 'no figure of the paper'}]"
    for name, figure in FIGURES.items()
}
OF_COSTS = {
    "by-dimension": "Figure 6: cost against the descriptor's dimension",
    "by-entries": "Cost against the archive's size",
    "crossover": "The archive size from which on a method without an archive is cheaper",
    "over-time": "Cost and memory over a long search, d = 32, 25 + 25 individuals, 10 entries a "
    "generation",
}

MEANINGS = "\n".join(
    f"- *{MEASURES[name].title}*: {MEASURES[name].meaning}."
    for name in ("solutions", "new", "age", "epsilon")
)
"""of numbers whose titles do not say what they are; `brns show --all` has the others'"""

INTRODUCTION = """\
`python -m reproduction` writes this page from stored results. *The paper* is Salehi, Coninx & \
Doncieux, GECCO 2021 ([doi:10.1145/3449639.3459303](https://doi.org/10.1145/3449639.3459303)). \
Numbers are means ± one standard deviation over seeds (over n − 1). *BR-NS, default* has inputs \
scaled to [-1, 1], uniform initial weights, hidden layers of 64 and 32 outputs; *visit counts* are \
the library's default novelty. Figures name methods as the command line does: *paper*, \
*recognition*, *exact*, *counts*, *archive*. An archive of 6000 computes the novelty of random \
search; it does not influence selection.

`python -m reproduction all --scale smoke` makes such a page in minutes, `--scale paper` with the \
paper's numbers of seeds and generations. If you stop the command, give it again and it goes on. \
Methods are compared seed by seed by Wilcoxon's signed ranks, two-sided and exact. A sign test \
compares a number with a limit, or with its value at the beginning. The p of a claim is the \
largest of its comparisons'; Holm's method corrects the claims of a table together. The verdicts:

- *holds*: p < 0.05, and all comparisons are as claimed; or a claim that is counted, not tested, \
is true of enough seeds or sizes.
- *holds partly*: the same, but a difference is smaller than claimed; or a claim that is counted \
is true of some seeds or sizes.
- *mixed*: p < 0.05; some comparisons are as claimed, and the others are the opposite.
- *the opposite is confirmed*: p < 0.05, and all comparisons are the opposite.
- *not confirmed*: p is larger; some comparisons are as claimed.
- *does not hold*: p is larger, and no comparison is as claimed; or a claim that is counted is \
true of too few seeds or sizes.
- *not tested (n = ...)*: so few seeds could confirm nothing. *Cannot be tested at this scale*: \
runs or sizes are smaller than the claim needs.

The effect beside a verdict is the share of seeds in which a comparison is as claimed: the least \
of all comparisons, or the least to the largest if they point both ways. 0.5 is no difference."""


def check_has_results(out: Path) -> None:
    """A `ValueError` where `out` has a `README.md` that is no such page."""
    check_safe_to_overwrite(out / "README.md", HEADING)


def write_page(out: Path) -> Path:
    """Write `README.md` of the parts whose results are in `out`; returns its path."""
    check_has_results(out)
    sections = {
        "maze": _format_maze_part,
        "ablation": _format_ablation_part,
        "ant": _format_ant_part,
        "timing": _format_timing_part,
    }
    paths = {name: out / name / "results.json" for name in sections}
    results = {name: read_json(path) for name, path in paths.items() if path.exists()}
    blocks = [HEADING, INTRODUCTION, *_format_summary(out, results)]
    for name, content in results.items():
        blocks += sections[name](out, content)
    path = out / "README.md"
    write_bytes(path, ("\n\n".join(blocks) + "\n").encode())
    return path


def _format_summary(out: Path, results: Mapping[str, Any]) -> list[str]:
    """The verdict on each claim of the paper in short, and how many there are of each."""
    judges = {
        "maze": claims.judge_maze_claims,
        "ant": ant_claims.judge_ant_claims,
        "timing": lambda content: judge_cost_claims(_read_costs(out, content)),
    }
    counts: Counter[str] = Counter()
    lines = [["where", "the paper", "verdict"]]
    for name in [name for name in judges if name in results]:
        for claim in judges[name](results[name]):
            if claim.source != "ours":
                words = re.sub(r" \(rule: .*\)$", "", claim.paper)
                lines.append([f"{name}, {claim.source}", words, f"**{claim.verdict}**"])
                counts[claim.verdict] += 1
    numbers = "; ".join(f"{verdict}: {number}" for verdict, number in counts.most_common())
    return ["## Summary", f"Of {counts.total()} claims: {numbers}.", format_table(lines)]


def _read_costs(out: Path, results: Mapping[str, Any]) -> Costs:
    return Costs(out / "timing", Timing(**results["asked"]))


def _format_provenance(results: Mapping[str, Any]) -> str:
    """Where numbers come from; a command that has another name today is given with that."""
    command = results["provenance"]["command"]
    text = format_command_and_provenance(results["scale"], results["made"], results["provenance"])
    return text.replace(f"`{command}`", _format_command(command))


def _format_command(command: str) -> str:
    """A command as it was given, and as it is given today, where that is another."""
    today = command.replace("brns reproduce", "python -m reproduction").replace(" --finished", "")
    return f"`{command}`" + (f", today `{today}`" if today != command else "")


def _format_maze_part(out: Path, results: Mapping[str, Any]) -> list[str]:
    return [
        "## The deceptive maze (section 5.1)",
        _format_provenance(results),
        _format_claims_table(claims.judge_maze_claims(results)),
        *_format_own_methods(results, claims.judge_maze_claims),
        "### Numbers",
        MEANINGS,
        _format_numbers_table(results),
        *_format_figures(out, "maze", CAPTIONS),
    ]


def _format_ant_part(out: Path, results: Mapping[str, Any]) -> list[str]:
    return [
        "## The ant maze (section 5.2)",
        _format_provenance(results),
        results["note"],
        _format_claims_table(ant_claims.judge_ant_claims(results)),
        *_format_own_methods(results, ant_claims.judge_ant_claims),
        "### What selection adds",
        _format_claims_table(ant_claims.judge_selection_claims(results)),
        "### Numbers",
        MEANINGS,
        _format_numbers_table(results),
        *_format_figures(out, "ant", CAPTIONS),
    ]


def _format_own_methods(
    results: Mapping[str, Any], claims_of: Callable[[Mapping[str, Any], str], list[Claim]]
) -> list[str]:
    """The tables of our own methods, judged by the paper's claims."""
    names = {
        "recognition": "BR-NS with our defaults",
        "exact": "Exact recognition",
        "counts": "Visit counts",
    }
    blocks = []
    for name, words in names.items():
        if name in results["methods"]:
            blocks += [
                f"### {words}, judged by the same rows",
                "In these rows BR-NS stands for this method.",
                _format_claims_table(claims_of(results, name)),
            ]
    return blocks


def _format_ablation_part(out: Path, results: Mapping[str, Any]) -> list[str]:
    columns = {
        "first_solved": "first solution",
        "full_coverage_evaluated": "full coverage",
        "coverage_evaluated_at_10": "coverage at 10",
        "coverage_evaluated_at_25": "at 25",
        "coverage_evaluated_at_50": "at 50",
        "coverage_evaluated_at_100": "at 100",
        "kappa_share": "κ per later generation",
        "kappa_share_most": "largest",
        "kappa_root": "of the root",
        "eta": "η",
        "parent_distance": "distance to parent",
    }
    tables: dict[str, list[list[str]]] = {}
    for row in results["variants"].values():
        seeds = row["rows"]
        solved = sum(seed.get("first_solved") is not None for seed in seeds)
        lines = tables.setdefault(row["group"], [["variant", "solved", *columns.values()]])
        lines.append([row["label"], f"{solved} of {len(seeds)}"])
        for name in columns:
            if name == "kappa_share_most":
                shares = [seed.get("kappa_share") for seed in seeds]
                cell = f"{max(share for share in shares if share is not None):.2f}"
            else:
                cell = format_estimate(row["summary"].get(name), len(seeds)).replace(" seeds", "")
            lines[-1].append(cell)
    blocks = [
        "## What each reading and each change does (maze)",
        _format_provenance(results),
        "Each variant changes only the named settings of BR-NS with the paper's settings, or of "
        "the archive. Times are generations, means over the seeds that got there. Coverage is of "
        "all evaluated individuals. The root of a squared novelty orders individuals alike, so "
        "the search is the same: only η and κ differ.",
    ]
    for group, lines in tables.items():
        blocks += [f"### {group[0].upper()}{group[1:]}", format_table(lines)]
    return [*blocks, "![Each variant a line, each seed a dot](ablation/ablation.png)"]


def _format_timing_part(out: Path, results: Mapping[str, Any]) -> list[str]:
    costs = _read_costs(out, results)
    sizes = [n for n in costs.entries if n <= 10_000] or costs.entries
    others = [name for name in costs.estimators if name != WIDE]
    head = ["d", WIDE, *others]
    for n in sizes:
        head += [f"{TREE}, {n}", f"best exact, {n}"]
    ratios, crossings = [head], [["d"]]
    for name in costs.estimators:
        crossings[0] += [f"{name} against {TREE}", f"{name} against best exact"]
    for d in costs.dimensions:
        ours_ms = costs.medians[WIDE, d, 0, 50]
        cells = [costs.medians[name, d, 0, 50] for name in others]
        for n in sizes:
            cells += [costs.medians[TREE, d, n, 50], costs.get_best_exact_milliseconds(d, n, 50)]
        ratios.append([str(d), f"{ours_ms:.3g} ms", *(f"{cell / ours_ms:.2g}" for cell in cells)])
        crossings.append([str(d)])
        for name in costs.estimators:
            for theirs in (TREE, "exact"):
                crossings[-1].append(costs.find_crossover(name, theirs, d, 50).text)
    return [
        "## What novelty costs (table I, figure 6)",
        _format_timing_provenance(results, out / "timing"),
        "One generation of novelty: scoring all individuals and learning the new ones. CPU time "
        "on one core, one thread, warm, medians over repeats in which the methods take turns.",
        _format_claims_table(judge_cost_claims(costs)),
        "### A generation of 25 + 25: BR-NS's cost, and the others as multiples of it",
        format_table(ratios),
        "### The number of archive entries from which on a method without an archive is cheaper",
        format_table(crossings),
        *_format_figures(out, "timing", OF_COSTS),
    ]


def _format_claims_table(rows: Sequence[Claim]) -> str:
    lines = [["source", "the paper", "measured", "tests", "verdict"]]
    for row in rows:
        lines.append([row.source, row.paper, row.measured, row.evidence, f"**{row.verdict}**"])
    return format_table(lines)


def _format_numbers_table(results: Mapping[str, Any]) -> str:
    methods = results["methods"].values()
    lines = [["", *(f"{method['label']} (n = {len(method['seeds'])})" for method in methods)]]
    for name in dict.fromkeys(name for method in methods for name in method["summary"]):
        lines.append([TITLES.get(name, name.replace("_", " "))])
        for method in methods:
            lines[-1].append(format_estimate(method["summary"].get(name), len(method["seeds"])))
    return format_table(lines)


def _format_figures(out: Path, part: str, captions: Mapping[str, str]) -> list[str]:
    blocks = ["### Figures"]
    for name, words in captions.items():
        if (out / part / f"{name}.png").exists():
            blocks += [f"{words}:", f"![{words}]({part}/{name}.png)"]
    return blocks


def _format_timing_provenance(results: Mapping[str, Any], folder: Path) -> str:
    """Where the rows of each call were measured."""
    files = (folder / "timing.csv", folder / "cost-over-time.csv")
    rows = Counter(row["session"] for file in files for row in read_csv(file))
    lines = [f"{results['scale']} Measured by:", ""]
    for number, session in enumerate(read_json(folder / "sessions.json")):
        if count := rows[str(number)]:
            before, after = (session["load"][when][0] for when in ("before", "after"))
            made = provenance.format_provenance(session)
            lines.append(
                f"- {count} rows: {_format_command(session['command'])}. {made} The "
                f"machine's load (running processes, mean of a minute) was {before:.2f} before "
                f"the timing and {after:.2f} at its end; the timing itself is 1 of them."
            )
    return "\n".join(lines)
