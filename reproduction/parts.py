"""The parts of a reproduction, each from its runs to its results and pictures of single runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brns.pictures import draw, save
from brns.runs.provenance import collect_provenance, group_by_provenance
from brns.runs.record import Record
from brns.search import NoveltySearch
from reproduction import results, timing
from reproduction.plan import (
    LABELS,
    Runs,
    Scale,
    make_ant_methods,
    make_maze_methods,
    make_variants,
)
from reproduction.runs import make_jobs, open_process_pool, run_and_measure

Searches = Mapping[str, NoveltySearch]
MADE_BY = {"commit", "versions", "device", "xla_flags"}
"""what the page says of the making of runs"""


class Request(NamedTuple):
    """What to reproduce, and where."""

    out: Path
    scale: str
    plan: Scale
    workers: int


def reproduce_maze(request: Request) -> None:
    """Section 5.1's comparison."""
    compare_methods(request, "maze", request.plan.maze, make_maze_methods())


def reproduce_ant(request: Request) -> None:
    """Section 5.2's comparison, and random search."""
    plan = request.plan.ant
    methods = make_ant_methods(request.plan.ant_steps, plan.generations)
    note = f"An episode has {request.plan.ant_steps} control steps."
    if not all(name in methods for name in LABELS if name.startswith("archive-")):
        note += (
            f" In {plan.generations} generations no archive above {10 * plan.generations} entries "
            "fills up: those of 2000, 4000 and 6000 that do not are one and the same search, and "
            "the largest stands for them."
        )
    compare_methods(request, "ant", plan, methods, note)


def reproduce_ablation(request: Request) -> None:
    """The readings of the paper, one by one."""
    selected = make_variants()
    if request.plan.variants:
        selected = {name: selected[name] for name in request.plan.variants}
    searches = {name: variant.search for name, variant in selected.items()}
    labels = {name: variant.label for name, variant in selected.items()}
    rows, _, facts = run_all(request, "ablation", request.plan.ablation, searches, labels)
    estimates = {}
    for name, variant in selected.items():
        estimated = results.estimate_rows(list(rows[name].values()))
        estimates[name] = {"group": variant.group, "label": variant.label, **estimated}
    path = request.out / "ablation" / "results.json"
    results.write_json(path, facts | {"variants": estimates})


def reproduce_costs(request: Request) -> None:
    """What novelty costs, measured in a process of its own on one core."""
    plan, folder = request.plan.timing, request.out / "timing"
    folder.mkdir(parents=True, exist_ok=True)
    with open_process_pool(1) as pool:
        pool.submit(timing.measure_costs, folder, plan).result()
    scale = f"Scale `{request.scale}`: {plan.repeats} repeats."
    content = {"provenance": collect_provenance(), "scale": scale, "asked": plan._asdict()}
    results.write_json(folder / "results.json", content)


PICTURES = ("novelty-map", "behaviors", "population", "lineage", "archive", "q")
"""of single runs; those of the ant have no map of novelty"""
PARTS = {
    "maze": reproduce_maze,
    "ablation": reproduce_ablation,
    "ant": reproduce_ant,
    "timing": reproduce_costs,
}


def compare_methods(
    request: Request, part: str, plan: Runs, methods: Searches, note: str = ""
) -> None:
    """Methods over seeds: the runs, the results, the curves, and pictures of single runs."""
    folder = request.out / part
    rows, records, facts = run_all(request, part, plan, methods, LABELS)
    content = facts | results.summarize_methods(records, rows) | {"note": note}
    results.write_json(folder / "results.json", content)
    results.write_curves(folder / "curves.csv", records)
    selected = [record for name, runs in records.items() if name != "random" for record in runs]
    for name in PICTURES if part == "maze" else PICTURES[1:]:
        dpi = 85 if name == "novelty-map" else 110  # no picture above 100 kB
        save(draw(name, selected, width="page"), folder / f"{name}.png", dpi=dpi)


def run_all(
    request: Request, part: str, plan: Runs, methods: Searches, labels: Mapping[str, str]
) -> tuple[Mapping[str, results.Rows], dict[str, list[Record]], dict[str, Any]]:
    """Each method's numbers by seed, its records, and what made all of them."""
    scale = f"Scale `{request.scale}`: {plan.seeds} seeds, {plan.generations} generations."
    check_scale(request.out / part, scale)
    todo = make_jobs(methods, plan, request.out / "runs" / part)
    rows = run_and_measure(todo, request.workers, part)
    records: dict[str, list[Record]] = {}
    made = []
    for job in todo:
        record = Record(job.folder)
        records.setdefault(job.name, []).append(record)
        made.append((labels[job.name], record.metadata.model_dump(include=MADE_BY)))
    facts = {"provenance": collect_provenance(), "made": group_by_provenance(made), "scale": scale}
    return rows, records, facts


def check_scale(folder: Path, scale: str) -> None:
    """A `ValueError` where a folder has results of another scale."""
    path = folder / "results.json"
    if path.exists() and (there := results.read_json(path)["scale"]) != scale:
        advice = "take another folder (--out)"
        raise ValueError(f"{path} has results of another scale ({there}): {advice}")
