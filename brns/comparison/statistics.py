"""What the facts say: shares of the reference's coverage, tests, intervals, and their table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from brns.comparison.markdown import format_table
from brns.comparison.measure import POINTS, MethodResult
from brns.comparison.worlds import World
from brns.metrics import significance
from brns.metrics.measures import compute_mean_and_deviation

FRACTIONS = (0.1, 0.25, 0.5, 1.0)
"""of a run, at which coverage is told; some of POINTS"""
DRAWS = 10_000
"""of the bootstrap"""


class Verdict(NamedTuple):
    """The test of a method against the reference on one task, at a fraction of the run."""

    world: str
    method: str
    fraction: float
    share: float
    """mean coverage over the reference's mean coverage"""
    deviation: float
    """standard deviation over the method's seeds, in the same unit"""
    p: float
    """by `brns.metrics.significance`, corrected over all methods and worlds at this fraction;
    NaN where not tested"""
    effect: float
    """the share of seeds in which the method covers more, ties half; 0.5 is chance"""
    seeds: int

    @property
    def outcome(self) -> str:
        """`better`, `worse`, `undecided` or, of too few seeds, `not tested (n = 5)`."""
        verdict = significance.Difference(self.p, self.effect, self.seeds).verdict
        return {"higher": "better", "lower": "worse"}.get(verdict, verdict)


def compare_to_reference_by_world(
    results: Mapping[str, Mapping[str, MethodResult]], reference: str
) -> list[Verdict]:
    """Every method against the reference, in every world, at every fraction; row s is seed s."""
    rows = []
    for fraction in FRACTIONS:
        raw, tests = [], []
        for world, methods in results.items():
            theirs = methods[reference].get_covered_at(fraction)
            for method, facts in methods.items():
                if method != reference:
                    ours = facts.get_covered_at(fraction)
                    mean, deviation, _ = compute_mean_and_deviation((ours / theirs.mean()).tolist())
                    raw.append((world, method, fraction, mean, deviation))
                    tests.append(significance.compare_paired(ours, theirs))
        pairs = zip(raw, significance.correct_differences_by_holm(tests), strict=True)
        rows += [Verdict(*row, *test) for row, test in pairs]
    return rows


def explain_too_few_seeds(seeds: int, tests: int) -> str:
    """How many seeds are enough, in words, where these can confirm nothing in so many tests."""
    enough = significance.count_seeds_needed(tests)
    few = "1 seed is" if seeds == 1 else f"{seeds} seeds are"
    return f"{few} too few to test; {enough} are enough" if seeds < enough else ""


def bootstrap_coverage_ratio_interval(
    pairs: Sequence[tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]],
    resample_worlds: bool = False,
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean share of coverage; row s of a pair is seed s."""
    generator = np.random.default_rng(0)
    drawn_shares = []
    for ours, theirs in pairs:
        seeds = generator.integers(len(ours), size=(DRAWS, len(ours)))
        drawn_shares.append(ours[seeds].mean(axis=1) / theirs[seeds].mean(axis=1))
    shares = np.stack(drawn_shares, axis=1)
    if resample_worlds:
        worlds = generator.integers(len(pairs), size=shares.shape)
        shares = np.take_along_axis(shares, worlds, axis=1)
    low, high = np.quantile(shares.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


class Comparison(NamedTuple):
    """The results of `compare`: coverage, intervals and tests; a notebook shows them as a table."""

    worlds: dict[str, World]
    """by name"""
    results: dict[str, dict[str, MethodResult]]
    """by world, then by method"""
    seeds: list[int]
    """row s of all results is seed s of these"""
    reference: str
    """the method that the others are compared with: the first"""
    out: Path
    """the folder of the files"""
    mutation: str
    """the operators of the methods, where their names do not say them"""
    provenance: list[dict[str, Any]]
    """which commit, machine and versions made which methods (`rows`); each different answer once"""
    verdicts: list[Verdict]
    """each other method against the reference in every world, at 10, 25, 50 and 100 % of the run"""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a world, method, seed and measure, for `pandas.DataFrame(comparison.rows)`.

        What a seed does not have, such as a first solution, is absent.
        """
        rows = []
        names = [f"coverage_{round(100 * point)}" for point in POINTS]
        for world, methods in self.results.items():
            for method, facts in methods.items():
                measures = dict(zip(names, facts.covered.T, strict=True))
                for name in ("first_solved", "eta", "kappa", "milliseconds"):
                    measures[name] = getattr(facts, name)
                about = {"world": world, "method": method}
                for name, values in measures.items():
                    for seed, value in zip(self.seeds, values, strict=True):
                        row = {"seed": seed, "measure": name, "value": float(value)}
                        rows += [about | row] if np.isfinite(value) else []
        return rows

    @property
    def worlds_without_repeats(self) -> list[str]:
        """The worlds without those that repeat another of them in a larger box."""
        kept: dict[str, str] = {}
        for name, world in sorted(self.worlds.items(), key=lambda each: bool(each[1].repeats)):
            kept.setdefault(world.repeats or name, name)
        return [name for name in self.worlds if name in kept.values()]

    @property
    def untuned_worlds(self) -> list[str]:
        """Of these the worlds not used for tuning, in which no method looks better than it is."""
        return [name for name in self.worlds_without_repeats if self.worlds[name].split != "tune"]

    @property
    def table_versus_reference(self) -> list[list[str]]:
        """`make_table_versus_reference` of the distinct worlds."""
        return self.make_table_versus_reference(self.worlds_without_repeats)

    def make_table_versus_reference(self, worlds: Sequence[str]) -> list[list[str]]:
        """Every method at the end of the run.

        Args:
            worlds: names of some of the worlds.

        Returns:
            A head, and a line for each method with its coverage, the mean over worlds of the share
            of the reachable cells that all evaluated individuals visited; this over the
            reference's, with an interval over seeds and, of several worlds, over worlds too; and in
            how many worlds it is better, worse, undecided.
        """
        several = len(worlds) > 1
        of_worlds = ["95 % over worlds too"] if several else []
        outcome = "better / worse / undecided" if several else "difference"
        ratio = f"of {self.reference}'s (95 %)"
        lines = [["method", "coverage, evaluated", ratio, *of_worlds, outcome]]
        for method in self.results[worlds[0]]:
            cells = {name: self.results[name][method].get_covered_at(1.0) for name in worlds}
            shares = [cells[name].mean() / self.worlds[name].cells.reachable for name in worlds]
            against = [""] * (len(lines[0]) - 2)
            if method != self.reference:
                against = self._format_versus_reference(method, cells)
            lines.append([method, f"{np.mean(shares):.1%}", *against])
        return lines

    def _format_versus_reference(
        self, method: str, cells: Mapping[str, Float[np.ndarray, " s"]]
    ) -> list[str]:
        ends = [row for row in self.verdicts if (row.method, row.fraction) == (method, 1.0)]
        ends = [row for row in ends if row.world in cells]
        pairs = []
        for name, ours in cells.items():
            pairs.append((ours, self.results[name][self.reference].get_covered_at(1.0)))
        share = f"{np.mean([row.share for row in ends]):.2f}"
        if len(self.seeds) > 1:
            share += " ({:.2f} to {:.2f})".format(*bootstrap_coverage_ratio_interval(pairs))
        outcomes = [row.outcome for row in ends]
        if len(cells) == 1:
            return [share, *outcomes]
        least, most = bootstrap_coverage_ratio_interval(pairs, resample_worlds=True)
        counts = [f"{outcomes.count(outcome)}" for outcome in ("better", "worse", "undecided")]
        tested = not outcomes[0].startswith("not tested")  # all worlds have the same seeds
        outcome = " / ".join(counts) if tested else outcomes[0]
        return [share, f"{least:.2f} to {most:.2f}", outcome]

    def __repr__(self) -> str:
        seeds, tests = len(self.seeds), len(self.verdicts) // len(FRACTIONS)
        worlds = "1 world" if len(self.worlds) == 1 else f"{len(self.worlds)} worlds"
        if len(self.worlds_without_repeats) < len(self.worlds):
            worlds += f" ({len(self.worlds_without_repeats)} distinct)"
        over = "of one seed" if seeds == 1 else f"over {seeds} seeds"
        title = f"Coverage of all evaluated individuals, in {worlds} {over}"
        parts = [f"{title}; {self.mutation}.", format_table(self.table_versus_reference)]
        if 0 < len(self.untuned_worlds) < len(self.worlds_without_repeats):
            number = len(self.untuned_worlds)
            words = "the world" if number == 1 else f"the {number} worlds"
            parts.append(f"Of these, {words} not used for tuning:")
            parts.append(format_table(self.make_table_versus_reference(self.untuned_worlds)))
        if few := tests and explain_too_few_seeds(seeds, tests):
            parts.append(f"{few}.")
        return "\n\n".join(parts)

    _repr_markdown_ = __repr__
