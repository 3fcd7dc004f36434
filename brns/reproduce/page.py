"""The page that sets the paper's claims beside what was measured, written from the results alone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.pictures import FIGURES
from brns.pictures.report.page import MEASURES
from brns.reproduce import claims
from brns.reproduce.claims import Claim, estimate_text
from brns.reproduce.costs import Costs
from brns.reproduce.pictures import NARROW, WIDE
from brns.runs.storage import write_bytes

MORE = {
    "eta_root": "η of the root of novelty",
    "kappa_root": "κ per later generation, of the root",
    "full_coverage": "Full coverage by all evaluated (generation)",
    **{f"coverage_at_{g}": f"Coverage, evaluated, generation {g}" for g in (10, 25, 50, 100, 200, 400)},
    "uniformity_first": "JS distance to uniform, first",
    "uniformity_last": "JS distance to uniform, last",
    "reach": "Reach (m)",
    "areas": "Most areas visited by one ant",
    **{
        f"deviation_{term}": f"Standard deviation of signature term {term}"
        for term in ("x", "y", "xx", "xy", "yx", "yy")
    },
}
CAPTIONS = {
    name: f"{figure.title} [{', '.join(figure.paper) or 'no figure of the paper'}]" for name, figure in FIGURES.items()
}
OF_COSTS = {
    "by-dimension": "Figure 6: cost against the descriptor's dimension",
    "by-entries": "Cost against the archive's size",
    "crossover": "From which archive size on BR-NS is the cheaper",
    "over-time": "Cost and memory over a long search, d = 32, 25 + 25 individuals, 10 entries a generation",
}


def write(out: Path) -> Path:
    """Write `README.md` into `out` of the parts whose results are there; returns its path."""
    parts = [_intro()]
    for name, section in (("maze", _maze), ("ablation", _ablation), ("ant", _ant), ("timing", _timing)):
        if (out / name / "results.json").exists():
            parts.append(section(out, json.loads((out / name / "results.json").read_text())))
    path = out / "README.md"
    write_bytes(path, ("\n\n".join(parts) + "\n").encode())
    return path


def _intro() -> str:
    return (
        "# The paper's claims, and what was measured\n\n"
        "This page is written by `brns reproduce`; nothing on it was typed in by hand. *The paper* is Salehi, Coninx & "
        "Doncieux, GECCO 2021 ([doi:10.1145/3449639.3459303](https://doi.org/10.1145/3449639.3459303)). Numbers are "
        "means ± one standard deviation over seeds (over n − 1). *BR-NS, paper's settings* is what the claims are "
        "judged by; *BR-NS, default* is what this library gives when nothing is said: inputs scaled to [-1, 1], "
        "uniform initial weights, hidden layers of 64, 32 outputs. It keeps no past behaviors.\n\n"
        "`brns reproduce all --scale smoke` makes such a page in minutes, `--scale paper` with the paper's numbers of "
        "seeds and generations; a command that was stopped goes on when it is given again. The rules by which verdicts "
        "are given stand in `brns/reproduce/claims.py`: where two methods are compared, a difference of means that a "
        "Mann-Whitney test over seeds does not confirm (two-sided, p < 0.05) *holds partly*."
    )


def _maze(out: Path, results: Mapping[str, Any]) -> str:
    return "\n\n".join(
        [
            "## The deceptive maze (section 5.1)",
            provenance_text(results),
            _claims(claims.of_maze(results)),
            "### The defaults",
            _claims(claims.of_defaults(results)),
            "### Numbers",
            _numbers(results),
            _figures(out, "maze", CAPTIONS),
        ]
    )


def _ant(out: Path, results: Mapping[str, Any]) -> str:
    return "\n\n".join(
        [
            "## The ant maze (section 5.2)",
            provenance_text(results),
            results["note"],
            _claims(claims.of_ant(results)),
            "### Numbers",
            _numbers(results),
            _figures(out, "ant", CAPTIONS),
        ]
    )


def _ablation(out: Path, results: Mapping[str, Any]) -> str:
    columns = {
        "first_solved": "first solver",
        "full_coverage": "full coverage",
        "coverage_at_10": "coverage at 10",
        "coverage_at_25": "at 25",
        "coverage_at_50": "at 50",
        "coverage_at_100": "at 100",
        "kappa_share": "κ per later generation",
        "kappa_share_most": "largest",
        "kappa_root": "of the root",
        "eta": "η",
        "parent_distance": "distance to parent",
    }
    blocks = []
    for group in dict.fromkeys(row["group"] for row in results["variants"].values()):
        lines = [["variant", "solved", *columns.values()]]
        for row in (row for row in results["variants"].values() if row["group"] == group):
            runs = len(row["rows"])
            solved = sum("first_solved" in seed for seed in row["rows"])
            most = max(seed["kappa_share"] for seed in row["rows"])
            cells = [
                f"{most:.2f}" if name == "kappa_share_most" else estimate_text(row["summary"].get(name), runs)
                for name in columns
            ]
            lines.append([row["label"], f"{solved} of {runs}", *(cell.replace(" seeds", "") for cell in cells)])
        blocks.append(f"### {group[0].upper()}{group[1:]}\n\n{table(lines)}")
    lead = (
        "Each variant changes the settings named and nothing else: of BR-NS with the paper's settings, or of the "
        "archive. Times are generations, means over the seeds that got there. Coverage is of everything evaluated. The "
        "root of a squared novelty orders individuals alike, so that the search is the same: only η and κ differ."
    )
    figure = "![Each variant a line, each seed a dot](ablation/ablation.png)"
    return "\n\n".join(
        ["## What each reading and each change does (maze)", provenance_text(results), lead, *blocks, figure]
    )


def _timing(out: Path, results: Mapping[str, Any]) -> str:
    costs = Costs(out / "timing")
    shown = [n for n in costs.entries if n <= 10_000] or costs.entries
    head = ["d", WIDE, NARROW, *(f"{name}, {n}" for n in shown for name in ("KD-tree", "best exact"))]
    lines = [head]
    for d in costs.dimensions:
        mine = costs.ms(WIDE, d, 0, 50)
        cells = [
            ratio for n in shown for ratio in (costs.ms("KD-tree", d, n, 50) / mine, costs.best_exact(d, n, 50) / mine)
        ]
        lines.append(
            [str(d), f"{mine:.3g} ms", f"{costs.ms(NARROW, d, 0, 50) / mine:.2g}", *(f"{cell:.2g}" for cell in cells)]
        )
    crossing = [
        [
            "d",
            *(f"{name} against {theirs}" for name in ("width 3d", "width 64") for theirs in ("KD-tree", "best exact")),
        ]
    ]
    for d in costs.dimensions:
        points = [
            costs.crossover(name, theirs, d, 50).text for name in (WIDE, NARROW) for theirs in ("KD-tree", "exact")
        ]
        crossing.append([str(d), *points])
    return "\n\n".join(
        [
            "## What novelty costs (table I, figure 6)",
            provenance_text(results),
            "One generation of novelty: all individuals scored, and what was seen taken in. CPU time on one core, one "
            "thread, warm, medians over repeats in which the methods take turns.",
            _claims(claims.of_timing(costs)),
            "### A generation of 25 + 25: BR-NS's cost, and the others as multiples of it",
            table(lines),
            "### The number of archive entries from which on BR-NS is cheaper",
            table(crossing),
            _figures(out, "timing", OF_COSTS),
        ]
    )


def _claims(rows: Sequence[Claim]) -> str:
    lines = [["source", "the paper", "measured", "verdict"]]
    return table(lines + [[row.source, row.paper, row.measured, f"**{row.verdict}**"] for row in rows])


def _numbers(results: Mapping[str, Any]) -> str:
    methods = results["methods"].values()
    titles = {name: title for name, (title, _) in MEASURES.items()} | MORE
    lines = [["", *(f"{method['label']} (n = {len(method['seeds'])})" for method in methods)]]
    for name in dict.fromkeys(name for method in methods for name in method["summary"]):
        cells = [estimate_text(method["summary"].get(name), len(method["seeds"])) for method in methods]
        lines.append([titles.get(name, name.replace("_", " ")), *cells])
    return table(lines)


def _figures(out: Path, part: str, captions: Mapping[str, str]) -> str:
    there = [(name, words) for name, words in captions.items() if (out / part / f"{name}.png").exists()]
    return "### Figures\n\n" + "\n\n".join(f"{words}:\n\n![{words}]({part}/{name}.png)" for name, words in there)


def provenance_text(results: Mapping[str, Any]) -> str:
    made = results["provenance"]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    machine = f"{made['machine']['processor']}, {made['machine']['cores']} cores"
    return f"Command: `{made['command']}`. Commit {made['commit']}; {versions}; {machine}. {results['scale']}"


def table(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])
