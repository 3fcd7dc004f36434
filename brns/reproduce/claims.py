"""The paper's claims, each with what was measured and a verdict that follows from it by the rule stated here.

Two methods differ where a Mann-Whitney test over seeds says so (two-sided, p < 0.05); a difference of means that it
does not confirm is "holds partly". Three seeds a side cannot give p < 0.05.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from brns.reproduce.costs import KNN, NARROW, TREE, WIDE, Costs

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds partly", "does not hold", "cannot be tested at this scale"
MAZE_GENERATIONS, ANT_GENERATIONS = 200, 1000
"""the fewest generations at which the paper's claims on a whole run mean something: those that its figures show"""


class Claim(NamedTuple):
    """One row of the page."""

    source: str
    paper: str
    measured: str
    verdict: str


def of_maze(results: Mapping[str, Any]) -> list[Claim]:
    """Section 5.1; `results` are those of `maze.json`. BR-NS has the paper's settings."""
    ours, theirs = Method(results, "paper"), Method(results, "archive")
    both = (ours, theirs)
    whole = results["planned_generations"] >= MAZE_GENERATIONS

    def judged(verdict: str) -> str:
        return verdict if whole else UNTESTED

    full = [method.share("full_coverage") for method in both]
    solved = [method.share("first_solved") for method in both]
    below = [method.mean("eta_below_one") for method in both]
    shares = [method.mean("kappa_share") for method in both]
    ages = [method.mean("age") for method in both]
    return [
        Claim(
            "5.1",
            "novelty search finds the goal",
            _each(both, "first_solved", "generation of the first solver"),
            judged(_graded(min(solved), 1.0, 0.5)),
        ),
        Claim(
            "5.1, figure 3a",
            "both methods reach full coverage of the 6 × 6 cells",
            _each(both, "full_coverage", "generation in which everything evaluated covers all"),
            judged(_graded(min(full), 1.0, 0.5)),
        ),
        Claim(
            "5.1, figure 3a",
            "BR-NS covers a little later than the archive",
            _each(both, "coverage_at_50", "coverage of everything evaluated at generation 50"),
            judged(_larger(theirs, ours, "coverage_at_50")),
        ),
        Claim(
            "5.1, figure 3f",
            "BR-NS's novelty converges to a uniform distribution",
            f"JS distance from {ours.text('uniformity_first')} to {ours.text('uniformity_last')}",
            judged(_falls(ours)),
        ),
        Claim(
            "5.1, figure 2b",
            "the archive converges to a uniform sampling",
            f"JS distance from {theirs.text('uniformity_first')} to {theirs.text('uniformity_last')}",
            judged(_falls(theirs)),
        ),
        Claim(
            "5.1, figure 3c",
            "ages stay low: the whole population is continually replaced (rule: mean age below 5 generations)",
            _each(both, "age", "mean age"),
            judged(HOLDS if max(ages) < 5 else PARTLY if min(ages) < 5 else FAILS),
        ),
        Claim(
            "5.1, figure 3b",
            "individuals live further from their parents with BR-NS",
            _each(both, "parent_distance", "distance to the parent"),
            judged(_larger(ours, theirs, "parent_distance")),
        ),
        Claim(
            "5.1",
            "η < 1 in all generations, for both (rule: in 99 % of them)",
            _each(both, "eta_below_one", "share of generations with η < 1"),
            judged(_graded(min(below), 0.99, 0.5)),
        ),
        Claim(
            "5.1",
            "κ is close to zero for both: no cycling (rule: below 0.05 of the later generations)",
            _each(both, "kappa_share", "κ per later generation") + f"; BR-NS by the root {ours.text('kappa_root')}",
            judged(HOLDS if max(shares) < 0.05 else PARTLY if min(shares) < 0.05 else FAILS),
        ),
    ]


def of_defaults(results: Mapping[str, Any]) -> list[Claim]:
    """What this library says of its own defaults, by the same results as section 5.1."""
    ours, theirs = Method(results, "recognition"), Method(results, "archive")
    both = (ours, theirs)
    whole = results["planned_generations"] >= MAZE_GENERATIONS

    def judged(verdict: str) -> str:
        return verdict if whole else UNTESTED

    later = _larger(ours, theirs, "full_coverage") if ours.share("full_coverage") == 1 else HOLDS
    return [
        Claim(
            "ours",
            "BR-NS with the defaults finds the goal in every seed",
            _each(both, "first_solved", "generation of the first solver"),
            judged(_graded(ours.share("first_solved"), 1.0, 0.9)),
        ),
        Claim(
            "ours",
            "it does not cycle (rule: κ below 0.05 of the later generations, of novelty and of its root)",
            _each(both, "kappa_share", "κ per later generation") + f"; of the root {ours.text('kappa_root')}",
            judged(HOLDS if max(ours.mean("kappa_share"), ours.mean("kappa_root")) < 0.05 else FAILS),
        ),
        Claim(
            "ours",
            "it covers all cells in every seed, and no later than the archive",
            _each(both, "full_coverage", "generation in which everything evaluated covers all"),
            judged({HOLDS: FAILS, PARTLY: PARTLY, FAILS: HOLDS}[later]),
        ),
    ]


def of_ant(results: Mapping[str, Any]) -> list[Claim]:
    """Section 5.2; `results` are those of `ant.json`. BR-NS has the paper's settings."""
    ours = Method(results, "paper")
    archives = [Method(results, name) for name in results["methods"] if name.startswith("archive-")]
    largest, everybody = archives[-1], [*archives, ours]
    enough = results["planned_generations"]
    sizes = len(archives) > 1

    def judged(verdict: str, least: int = ANT_GENERATIONS) -> str:
        return verdict if enough >= least else UNTESTED

    solved = [method.share("first_solved") for method in everybody]
    soon = [all(row.get("first_solved", np.inf) <= 100 for row in method.rows) for method in everybody]
    uniform = [method.mean("uniformity_signatures") for method in archives]
    ratios = [ours.mean(name) / largest.mean(name) for name in largest.names("deviation_")]
    return [
        Claim(
            "5.2",
            "every method solves the task within the first hundred generations",
            _each(everybody, "first_solved", "generation of the first solver")
            + ". "
            + _each(everybody, "areas", "most areas visited by one ant"),
            judged(HOLDS if all(soon) else PARTLY if any(solved) else FAILS, 100),
        ),
        Claim(
            "5.2, figures 4e and 4f",
            "a larger archive gives lower η and κ",
            _each(archives, "eta", "η") + ". " + _each(archives, "kappa_share", "κ per later generation"),
            judged(_ordered(archives)) if sizes else UNTESTED,
        ),
        Claim(
            "5.2, figure 4e",
            "every archive has η < 1 in all generations (rule: in 99 % of them)",
            _each(archives, "eta_below_one", "share of generations with η < 1"),
            judged(_graded(min(method.mean("eta_below_one") for method in archives), 0.99, 0.5)),
        ),
        Claim(
            "5.2, figure 4f",
            "archives have a high κ: novelty rises again (rule: above 0.05 of the later generations)",
            _each(archives, "kappa_share", "κ per later generation"),
            judged(_graded(min(method.mean("kappa_share") for method in archives), 0.05, 0.01)),
        ),
        Claim(
            "5.2, figures 4e and 4f",
            "BR-NS gives the lowest η and κ",
            _each(everybody, "eta", "η") + ". " + _each(everybody, "kappa_share", "κ per later generation"),
            judged(_lowest(ours, archives)),
        ),
        Claim(
            "table I",
            "BR-NS's novelty is the nearest to uniform (the paper: 0.05 against 0.12 to 0.18)",
            _each(everybody, "uniformity_signatures", "JS distance"),
            judged(HOLDS if ours.mean("uniformity_signatures") < min(uniform) else FAILS),
        ),
        Claim(
            "table I",
            "an archive of 6000 covers signature space a little better than BR-NS (the paper: 5e-4 against 3e-4)",
            _each((largest, ours), "coverage_signatures", "coverage"),
            judged(_larger(largest, ours, "coverage_signatures")),
        ),
        Claim(
            "figure 5",
            "both reach equally far in signature space (rule: the six standard deviations within a factor of 1.5)",
            "BR-NS's standard deviations are " + ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times the archive's",
            judged(HOLDS if all(1 / 1.5 < ratio < 1.5 for ratio in ratios) else FAILS),
        ),
    ]


def of_timing(costs: Costs) -> list[Claim]:
    """Section 5.2's table I and figure 6, by CPU time on one core."""
    sizes = [n for n in costs.entries if n <= 10_000]
    d = min(costs.dimensions, key=lambda d: abs(d - 32))
    mine = costs.ms(WIDE, d, 0, 50)
    trees = {n: costs.ms(TREE, d, n, 50) / mine for n in sizes}
    exact = {n: costs.best_exact(d, n, 50) / mine for n in sizes}
    largest = min(costs.entries, key=lambda n: abs(n - 10_000))
    growth = {
        name: costs.ms(name, costs.dimensions[-1], n, 200) / costs.ms(name, costs.dimensions[0], n, 200)
        for name, n in ((WIDE, 0), (NARROW, 0), (TREE, largest), (KNN, largest))
    }
    over = f"from d = {costs.dimensions[0]} to {costs.dimensions[-1]}"
    faster_than_tree = growth[WIDE] < growth[TREE]
    drift = {name: costs.drift(name) for name in (WIDE, TREE, KNN)}
    top = costs.dimensions[-1]
    saved = costs.ms(NARROW, top, 0, 50) / costs.ms(WIDE, top, 0, 50)
    return [
        Claim(
            "table I",
            "a generation of BR-NS costs less than one of an archive of any size",
            f"at d = {d}, 25 + 25 individuals, BR-NS {_ms(mine)}; rebuilt KD-trees take {_times(trees)}",
            _graded(np.mean([ratio > 1 for ratio in trees.values()]), 1.0, 0.01),
        ),
        Claim(
            "table I, our baseline",
            "the same against the best exact k-NN",
            f"the better of two exact searches takes {_times(exact)}",
            _graded(np.mean([ratio > 1 for ratio in exact.values()]), 1.0, 0.01),
        ),
        Claim(
            "figure 6",
            f"with {largest} entries and 100 + 100 individuals an archive's cost grows faster with d than BR-NS's",
            f"{over}: " + ", ".join(f"{name} × {ratio:.3g}" for name, ratio in growth.items()),
            HOLDS if faster_than_tree and growth[WIDE] < growth[KNN] else PARTLY if faster_than_tree else FAILS,
        ),
        Claim(
            "3.3",
            "BR-NS's cost is constant over generations, an archive's grows",
            f"last tenth against first tenth of {costs.generations} generations: "
            f"BR-NS × {drift[WIDE]:.3g}, KD-tree × {drift[TREE]:.3g}; k-NN × {drift[KNN]:.3g}",
            _constant(drift, costs.generations),
        ),
        Claim(
            "ours",
            "a fixed width of 64 makes BR-NS 20 to 50 times cheaper in high dimension",
            f"at d = {top}: {_ms(costs.ms(NARROW, top, 0, 50))} against {_ms(costs.ms(WIDE, top, 0, 50))}, "
            f"{1 / saved:.3g} times cheaper; cheaper than the best exact k-NN from "
            f"{costs.crossover(NARROW, 'exact', top, 50).text} entries, the paper's width from "
            f"{costs.crossover(WIDE, 'exact', top, 50).text}",
            UNTESTED if top < 256 else _graded(1 / saved, 20, 5),
        ),
    ]


class Method:
    """One method's rows of a results file."""

    def __init__(self, results: Mapping[str, Any], name: str):
        found = results["methods"][name]
        self.label, self.rows, self.summary = found["label"], found["rows"], found["summary"]

    def values(self, measure: str) -> list[float]:
        return [row[measure] for row in self.rows if measure in row]

    def mean(self, measure: str) -> float:
        return self.summary[measure]["mean"] if measure in self.summary else float("nan")

    def share(self, measure: str) -> float:
        """The share of seeds that have this number at all."""
        return len(self.values(measure)) / len(self.rows)

    def names(self, prefix: str) -> list[str]:
        return [name for name in self.summary if name.startswith(prefix)]

    def text(self, measure: str) -> str:
        """Mean ± standard deviation, and how many seeds have the number where not all do."""
        return estimate_text(self.summary.get(measure), len(self.rows))


def estimate_text(estimate: Mapping[str, Any] | None, runs: int) -> str:
    """Mean ± standard deviation over seeds, as the tables print it."""
    if estimate is None:
        return f"in none of {runs} seeds"
    spread = f" ± {_number(estimate['deviation'], 2)}" if estimate["seeds"] > 1 else ""
    return f"{_number(estimate['mean'], 3)}{spread}" + (
        f" in {estimate['seeds']} of {runs} seeds" if estimate["seeds"] < runs else ""
    )


def _number(value: float, digits: int) -> str:
    """So many digits, but large numbers whole."""
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def _each(methods: Sequence[Method], measure: str, words: str) -> str:
    return f"{words}: " + "; ".join(f"{method.label} {method.text(measure)}" for method in methods)


def _graded(value: float, holds: float, partly: float) -> str:
    return HOLDS if value >= holds else PARTLY if value >= partly else FAILS


def _larger(one: Method, other: Method, measure: str) -> str:
    """Whether a number is larger with one method than with the other."""
    a, b = one.values(measure), other.values(measure)
    if not a or not b or not np.mean(a) > np.mean(b):
        return FAILS
    return HOLDS if mannwhitneyu(a, b).pvalue < 0.05 else PARTLY


def _falls(method: Method) -> str:
    """To less than half of what it was in the mean, or at least in most seeds."""
    pairs = list(zip(method.values("uniformity_first"), method.values("uniformity_last"), strict=True))
    if np.mean([last for _, last in pairs]) < np.mean([first for first, _ in pairs]) / 2:
        return HOLDS
    return PARTLY if np.mean([last < first for first, last in pairs]) > 0.5 else FAILS


def _ordered(archives: Sequence[Method]) -> str:
    falls = [all(np.diff([method.mean(measure) for method in archives]) < 0) for measure in ("eta", "kappa_share")]
    return HOLDS if all(falls) else PARTLY if any(falls) else FAILS


def _lowest(ours: Method, others: Sequence[Method]) -> str:
    below = [ours.mean(measure) < min(other.mean(measure) for other in others) for measure in ("eta", "kappa_share")]
    return HOLDS if all(below) else PARTLY if any(below) else FAILS


def _constant(drift: Mapping[str, float], generations: int) -> str:
    """Ours stays within a tenth; every archive's cost grows by more, or at least that of one."""
    if generations < 1000:
        return UNTESTED
    grow = [drift[TREE] > 1.1, drift[KNN] > 1.1]
    constant = 0.9 < drift[WIDE] < 1.1
    return HOLDS if constant and all(grow) else PARTLY if constant and any(grow) else FAILS


def _ms(value: float) -> str:
    return f"{value:.3g} ms"


def _times(ratios: Mapping[int, float]) -> str:
    return ", ".join(f"{ratio:.2g} times that with {n} entries" for n, ratio in ratios.items())
