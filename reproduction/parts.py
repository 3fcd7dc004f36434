"""The parts of a reproduction, each from its runs to its results and figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from brns.estimators.archive import ArchiveKNN
from brns.pictures import draw, figures_of, save
from brns.runs.provenance import describe_process
from brns.runs.record import Record
from brns.search import NoveltySearch
from reproduction import pictures, results, timing
from reproduction.costs import Costs
from reproduction.plan import LABELS, Runs, Scale, ant_methods, maze_methods, variants
from reproduction.runs import jobs, measured, side_by_side


class Asked(NamedTuple):
    """What to reproduce, and where."""

    out: Path
    scale: str
    plan: Scale
    workers: int


def maze(asked: Asked) -> None:
    """Section 5.1's comparison."""
    compared(asked, "maze", asked.plan.maze, maze_methods(), figures_of("planar"))


def ant(asked: Asked) -> None:
    """Section 5.2's comparison, and random search."""
    methods = ant_methods(asked.plan.ant_steps, asked.plan.ant.generations)
    compared(asked, "ant", asked.plan.ant, methods, figures_of("paths"))


def ablation(asked: Asked) -> None:
    """The readings of the paper, one by one."""
    plan, folder = asked.plan.ablation, asked.out / "ablation"
    scale = words(asked, plan)
    keep(folder, scale)
    chosen = {
        name: one for name, one in variants().items() if name in (asked.plan.variants or variants())
    }
    todo = jobs(
        {name: one.search for name, one in chosen.items()}, plan, asked.out / "runs" / "ablation"
    )
    rows = measured(todo, asked.workers, "ablation")
    runs = {name: [Record(job.folder) for job in todo if job.name == name] for name in chosen}
    labels: dict[str, list[Record]] = {}
    for name, one in chosen.items():  # a reading of both methods has one label
        labels.setdefault(one.label, []).extend(runs[name])
    told = {
        name: {
            "group": one.group,
            "label": one.label,
            **results.estimated(list(rows[name].values())),
        }
        for name, one in chosen.items()
    }
    found = {
        "provenance": describe_process(),
        "made": results.of_runs(labels),
        "scale": scale,
        "variants": told,
    }
    results.write_json(folder / "results.json", found)
    save(pictures.ablation(told), folder / "ablation.png", dpi=90)


def time(asked: Asked) -> None:
    """What novelty costs, measured in a process of its own on one core."""
    plan, folder = asked.plan.timing, asked.out / "timing"
    folder.mkdir(parents=True, exist_ok=True)
    with side_by_side(1) as pool:
        pool.submit(timing.measure, folder, plan).result()
    told = f"Scale `{asked.scale}`: {plan.repeats} repeats."
    results.write_json(
        folder / "results.json",
        {"provenance": describe_process(), "scale": told, "asked": plan._asdict()},
    )
    costs = Costs(folder, plan)
    for picture in (
        pictures.by_dimension,
        pictures.by_entries,
        pictures.crossover,
        pictures.over_time,
    ):
        name = picture.__name__.replace("_", "-")
        save(picture(costs), folder / f"{name}.png", dpi=90)


PARTS = {"maze": maze, "ablation": ablation, "ant": ant, "timing": time}


def compared(
    asked: Asked,
    part: str,
    plan: Runs,
    methods: Mapping[str, NoveltySearch],
    figures: Sequence[str],
) -> None:
    """Methods over seeds: the runs, the results and the figures."""
    folder, scale = asked.out / part, words(asked, plan)
    keep(folder, scale)
    todo = jobs(methods, plan, asked.out / "runs" / part)
    rows = measured(todo, asked.workers, part)
    records = {name: [Record(job.folder) for job in todo if job.name == name] for name in methods}
    found = results.of_methods(records, rows) | {"scale": scale}
    if part == "ant":
        found["note"] = (
            f"An episode has {asked.plan.ant_steps} control steps. {_which(methods, plan)}".rstrip()
        )
    results.write_json(folder / "results.json", found)
    _drawn(folder, records, figures)


def words(asked: Asked, plan: Runs) -> str:
    """A part's scale in words."""
    return f"Scale `{asked.scale}`: {plan.seeds} seeds, {plan.generations} generations."


def keep(folder: Path, scale: str) -> None:
    """A `ValueError` where a folder has results of another scale."""
    path = folder / "results.json"
    if path.exists() and (there := results.read_json(path)["scale"]) != scale:
        raise ValueError(
            f"{path} has results of another scale ({there}): take another folder (--out)"
        )


def _which(methods: Mapping[str, NoveltySearch], plan: Runs) -> str:
    """Which archives are one search."""
    if all(name in methods for name in LABELS if name.startswith("archive-")):
        return ""
    return (
        f"In {plan.generations} generations no archive above {10 * plan.generations} entries "
        "fills up: those of 2000, 4000 and 6000 that do not are one and the same search, and the "
        "largest stands for them."
    )


def _drawn(out: Path, runs: Mapping[str, Sequence[Record]], names: Sequence[str]) -> None:
    """The curves and the pictures."""
    results.write_curves(out / "curves.csv", runs)
    for name in names:
        # Random search has no novelty of its own: it is drawn where its paths were measured.
        shown = [
            one
            for method in runs
            if method != "random" or name == "signature"
            for one in runs[method]
        ]
        if name == "archive":
            shown = [one for one in shown if isinstance(one.search.estimator, ArchiveKNN)]
        if shown:
            # The maze's coverage is the paper's figure, whose cells are coarser than ours.
            figure = "3a" if name == "coverage" else name
            save(draw(figure, shown), out / f"{name}.png", dpi=90)
