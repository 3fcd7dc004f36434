"""What is run at which scale: the paper's comparisons, and the ablations of its readings."""

from dataclasses import replace
from typing import Any, NamedTuple

from brns.estimators.archive import ArchiveKNN, PopulationKNN
from brns.estimators.counts import VisitCounts
from brns.estimators.exact import ExactRecognition
from brns.estimators.recognition import BehaviorRecognition
from brns.experiments import ant, make_paper_brns, maze
from brns.operators.founders import LayerFounders
from brns.operators.mutation import UniformResampling
from brns.operators.selection import Generational
from brns.search import NoveltySearch
from brns.settings.configuration import configure

LABELS = {
    "paper": "BR-NS, paper's settings",
    "recognition": "BR-NS, default",
    "exact": "exact recognition",
    "counts": "visit counts",
    "archive": "archive k-NN",
    **{f"archive-{capacity}": f"archive k-NN, {capacity}" for capacity in (2000, 4000, 6000)},
    "random": "random search",
}
"""the methods of the comparisons"""


class Runs(NamedTuple):
    """The numbers of seeds and generations, and the stride of the states that statistics use."""

    seeds: int
    generations: int
    checkpoint_every: int


class Timing(NamedTuple):
    """What is timed."""

    dimensions: tuple[int, ...]
    entries: tuple[int, ...]
    repeats: int
    generations: int
    """of the search whose cost is followed over time"""


class Scale(NamedTuple):
    """The size of a reproduction."""

    maze: Runs
    ablation: Runs
    variants: tuple[str, ...]
    """of the ablation; () is all"""
    ant: Runs
    ant_steps: int
    timing: Timing


SCALES = {
    "smoke": Scale(
        maze=Runs(2, 6, 2),
        ablation=Runs(2, 3, 1),
        variants=("paper", "default", "archive"),
        ant=Runs(2, 4, 1),
        ant_steps=32,
        timing=Timing((2, 4), (200,), 3, 40),
    ),
    "short": Scale(
        maze=Runs(9, 200, 10),  # enough for every claim of the maze to be judged
        ablation=Runs(3, 100, 10),
        variants=(),
        ant=Runs(3, 150, 5),
        ant_steps=1500,
        timing=Timing((2, 32, 128), (2000, 10000), 3, 400),
    ),
    "paper": Scale(
        maze=Runs(20, 400, 10),
        ablation=Runs(10, 120, 10),
        variants=(),
        ant=Runs(5, 1000, 10),
        ant_steps=1500,
        timing=Timing((2, 4, 8, 16, 32, 64, 128, 256), (2000, 6000, 10000, 30000, 100000), 5, 4000),
    ),
}
"""smoke takes minutes, short hours on two cores, paper days"""


def make_maze_methods() -> dict[str, NoveltySearch]:
    """Section 5.1: BR-NS against an archive of 10000; exact recognition and visit counts."""
    return {
        "paper": maze(make_paper_brns()),
        "recognition": maze(BehaviorRecognition()),
        "exact": maze(ExactRecognition()),
        "counts": maze(VisitCounts()),
        "archive": maze(ArchiveKNN(k=15, additions=6, capacity=10000)),
    }


def make_ant_methods(steps: int, generations: int) -> dict[str, NoveltySearch]:
    """Section 5.2: BR-NS against archives of 2000, 4000 and 6000 entries; exact recognition; visit
    counts; and no selection at all.

    Archives that never fill up in so many generations are the same search, so only the largest of
    them is run. In random search every offspring is drawn anew and takes a parent's place; the
    largest archive measures its novelty.
    """
    additions, largest = 10, 6000
    estimators = {
        "paper": make_paper_brns(),
        "recognition": BehaviorRecognition(),
        "exact": ExactRecognition(),
        "counts": VisitCounts(),
    }
    for capacity in (2000, 4000, largest):
        if capacity < additions * generations or capacity == largest:
            archive = ArchiveKNN(k=15, additions=additions, capacity=capacity)
            estimators[f"archive-{capacity}"] = archive
    methods = {name: ant(estimator) for name, estimator in estimators.items()}
    methods["random"] = replace(
        methods[f"archive-{largest}"], mutate=UniformResampling(), select=Generational()
    )
    return {name: change_settings(search, "task", steps=steps) for name, search in methods.items()}


class Variant(NamedTuple):
    """One row of the ablation."""

    group: str
    """the heading under which it stands"""
    label: str
    search: NoveltySearch


def make_variants() -> dict[str, Variant]:
    """In the maze: other readings of the paper, ways to a more reliable BR-NS, other archives."""
    paper, archive = maze(make_paper_brns()), maze(ArchiveKNN(k=15, additions=6, capacity=10000))
    readings = {
        "paper": ("the paper's settings", {}),
        "survivors": ("trained on survivors (published code)", {"learn_from": "survivors"}),
        "uniform": ("uniform initial weights (published code)", {"initialisation": "uniform"}),
        "scaled": ("inputs scaled to [-1, 1]", {"inputs": "scaled"}),
        "divergence-50": ("50 steps of divergence (published code)", {"divergence_steps": 50}),
        "divergence-0": ("no divergence", {"divergence_steps": 0}),
    }
    scaled = {"inputs": "scaled", "initialisation": "uniform"}
    best: dict[str, Any] = scaled | {"width": 64, "embedding": 32}
    biased, slower = best | {"initialisation": "he-biased"}, {"learning_rate": 3e-3}
    he_biased = "the default, but He's weights and small biases"
    ways = {
        "scaled-uniform": ("scaled, uniform weights", scaled),
        "scaled-uniform-64": ("the same, width 64", best | {"embedding": None}),
        "default": ("the same, 32 outputs: BR-NS's default", best),
        "he": ("the default, but He's weights", best | {"initialisation": "he"}),
        "he-biased": (he_biased, biased),
        "he-biased-slower": ("the same, learning rate 3e-3", biased | slower),
        "raw": ("the default, but raw inputs", best | {"inputs": "raw"}),
        "slower": ("the default, but learning rate 3e-3", best | slower),
        "epochs-1": ("the default, but 1 epoch", best | {"epochs": 1}),
        "epochs-10": ("the default, but 10 epochs", best | {"epochs": 10}),
    }
    archives = {
        "archive": ("k = 15, random entry, 10000", {}),
        "archive-14": ("k = 14 (published code)", {"k": 14}),
        "archive-200": ("200 entries at most (published configuration)", {"capacity": 200}),
        "archive-most-novel": ("the most novel enter", {"entry": "most_novel"}),
    }
    reading, baseline = "readings of the paper", "archive-based novelty search"
    rows_by_name = {}
    for group, base, rows in (
        (reading, paper, readings),
        ("ways to a reliable BR-NS", paper, ways),
        (baseline, archive, archives),
    ):
        for name, (label, settings) in rows.items():
            rows_by_name[name] = Variant(
                group, label, change_settings(base, "estimator", **settings)
            )
    drawn, founders = LayerFounders(), "founders as in published code"
    code = {"learn_from": "survivors", "initialisation": "uniform", "divergence_steps": 50}
    as_published = replace(change_settings(paper, "estimator", **code), founders=drawn)
    stale, living = configure(paper, {"rescore_parents": False}), maze(PopulationKNN(k=15))
    return rows_by_name | {
        "founders": Variant(reading, founders, replace(paper, founders=drawn)),
        "code": Variant(reading, "all of the published code's readings", as_published),
        "stale-parents": Variant(reading, "parents keep an old novelty", stale),
        "archive-founders": Variant(baseline, founders, replace(archive, founders=drawn)),
        "population": Variant(baseline, "no archive: k-NN in the population", living),
    }


def change_settings(search: NoveltySearch, part: str, **settings: Any) -> NoveltySearch:
    """The search with other settings of one of its parts."""
    return replace(search, **{part: configure(getattr(search, part), settings)})
