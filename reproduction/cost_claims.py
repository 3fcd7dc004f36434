"""The paper's claims on cost, and our own: medians over repeats, compared without a test."""

from collections.abc import Mapping

import numpy as np

from reproduction.claims import Claim
from reproduction.costs import KNN, NARROW, TREE, WIDE, Costs
from reproduction.verdicts import FAILS, HOLDS, PARTLY, UNTESTED


def judge_cost_claims(costs: Costs) -> list[Claim]:
    """Section 5.2's table I and figure 6, by CPU time on one core."""
    sizes = [n for n in costs.entries if n <= 10_000]
    d = min(costs.dimensions, key=lambda d: abs(d - 32))
    ours_ms = costs.medians[WIDE, d, 0, 50]
    trees = {n: costs.medians[TREE, d, n, 50] / ours_ms for n in sizes}
    exact = {n: costs.get_best_exact_milliseconds(d, n, 50) / ours_ms for n in sizes}
    largest = min(costs.entries, key=lambda n: abs(n - 10_000))
    growth = {}
    for name, n in ((WIDE, 0), (NARROW, 0), (TREE, largest), (KNN, largest)):
        least, most = (costs.medians[name, costs.dimensions[end], n, 200] for end in (0, -1))
        growth[name] = most / least
    over = f"from d = {costs.dimensions[0]} to {costs.dimensions[-1]}"
    grows = HOLDS if growth[WIDE] < growth[KNN] else PARTLY
    drift = {name: costs.compute_drift(name) for name in (WIDE, TREE, KNN)}
    top = costs.dimensions[-1]
    narrow, wide = (costs.medians[name, top, 0, 50] for name in (NARROW, WIDE))
    saved = narrow / wide
    return [
        Claim(
            "table I",
            "a generation of BR-NS costs less than one of an archive of any size",
            f"at d = {d}, 25 + 25 individuals, BR-NS {_format_ms(ours_ms)}; rebuilt KD-trees take "
            f"{_format_ratios(trees)}",
            _grade(np.mean([ratio > 1 for ratio in trees.values()]), 1.0, 0.01),
        ),
        Claim(
            "table I, our baseline",
            "the same against the best exact k-NN",
            f"the better of two exact searches takes {_format_ratios(exact)}",
            _grade(np.mean([ratio > 1 for ratio in exact.values()]), 1.0, 0.01),
        ),
        Claim(
            "figure 6",
            f"with {largest} entries and 100 + 100 individuals an archive's cost grows faster "
            "with d than BR-NS's",
            f"{over}: " + ", ".join(f"{name} × {ratio:.3g}" for name, ratio in growth.items()),
            grows if growth[WIDE] < growth[TREE] else FAILS,
        ),
        Claim(
            "3.3",
            "BR-NS's cost is constant over generations, an archive's grows",
            f"last tenth against first tenth of {costs.generations} generations: "
            f"BR-NS × {drift[WIDE]:.3g}, KD-tree × {drift[TREE]:.3g}; k-NN × {drift[KNN]:.3g}",
            _judge_constant_cost(drift, costs.generations),
        ),
        Claim(
            "ours",
            "a fixed width of 64 makes BR-NS 20 to 50 times cheaper in high dimension",
            f"at d = {top}: {_format_ms(narrow)} against {_format_ms(wide)}, {1 / saved:.3g} times "
            "cheaper; cheaper than the best exact k-NN from "
            f"{costs.find_crossover(NARROW, 'exact', top, 50).text} entries, the paper's width "
            f"from {costs.find_crossover(WIDE, 'exact', top, 50).text}",
            UNTESTED if top < 256 else _grade(1 / saved, 20.0, 5.0),
        ),
    ]


def _grade(value: float, holds: float, partly: float) -> str:
    return HOLDS if value >= holds else PARTLY if value >= partly else FAILS


def _judge_constant_cost(drift: Mapping[str, float], generations: int) -> str:
    """BR-NS's cost stays within a tenth, and that of archives grows by more."""
    if generations < 1000:
        return UNTESTED
    grow = [drift[TREE] > 1.1, drift[KNN] > 1.1]
    constant = 0.9 < drift[WIDE] < 1.1
    return HOLDS if constant and all(grow) else PARTLY if constant and any(grow) else FAILS


def _format_ms(value: float) -> str:
    return f"{value:.3g} ms"


def _format_ratios(ratios: Mapping[int, float]) -> str:
    return ", ".join(f"{ratio:.2g} times that with {n} entries" for n, ratio in ratios.items())
