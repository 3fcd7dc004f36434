"""The paper's experiments from one command: runs, statistics, figures, and a page of claims and measurements.

OUT/runs/           the records, by part and method; large, and needed only to go on
OUT/maze/           results.json, curves.csv and figures, as in ablation/, ant/ and timing/
OUT/README.md       the page, written from those
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brns.estimators.archive import ArchiveKNN
from brns.pictures import draw, figures_of, save
from brns.reproduce import elsewhere, page, pictures, results
from brns.reproduce.alone import alone, cores
from brns.reproduce.costs import Costs
from brns.reproduce.plan import LABELS, SCALES, Runs, Scale, ant_methods, maze_methods, variants
from brns.reproduce.provenance import here, of_runs
from brns.reproduce.runs import Follow, run, unseen
from brns.runs.record import Record
from brns.runs.tracking import Track, untracked
from brns.search import NoveltySearch

PARTS = ("maze", "ablation", "ant", "timing")
OF_PATHS = ("signature", "signature-coverage")
"""the figures of what was tried, whatever the novelty"""


def reproduce(
    parts: Sequence[str],
    scale: str,
    out: str | os.PathLike,
    *,
    workers: int | None = None,
    dask: str | None = None,
    finished: bool = False,
    follow: Follow = unseen,
    count: Track = untracked,
) -> Path:
    """Run parts of the paper's experiments at a scale, go on where an earlier call was stopped, and write the page.

    `parts` are some of maze, ablation, ant and timing; `scale` is smoke, short or paper. `workers` searches of ants
    run side by side, by default one a core, each in a process of its own; `dask` is the address of a Dask cluster that
    evaluates the ants. The maze's seeds are one batch in this process, which is faster. With `finished`, no ants are
    run: their page is of the searches that are as long as planned, however many those are, and of the seeds that only
    the page of before has. `follow` and `count` show how far the runs and the measuring are. Returns the page's path.
    Errors: `ValueError`, before anything is run, where the folder has results of another scale or other settings, or a
    README.md that is no such page.
    """
    out, chosen = Path(out), planned(parts, scale)
    if finished and tuple(parts) != ("ant",):
        raise ValueError(f"a page of finished searches is of ant alone; got {', '.join(parts)}")
    page.check(out)
    before = {part: _before(part, out, scale, chosen) for part in parts}
    for part in PARTS:
        if part in parts:
            if part == "maze":
                _maze(out, scale, chosen, follow, count)
            elif part == "ablation":
                _ablation(out, scale, chosen, follow, count)
            elif part == "ant":
                _ant(out, scale, chosen, count, workers, dask, finished, before[part] if finished else None)
            else:
                _timing(out / part, scale, chosen)
            page.write(out)
    return page.write(out)


def planned(parts: Sequence[str], scale: str) -> Scale:
    """What the scale asks for; a `ValueError` where there is no such scale or part."""
    if scale not in SCALES:
        raise ValueError(f"the scale is one of {', '.join(SCALES)}; got {scale!r}")
    wrong = [part for part in parts if part not in PARTS]
    if wrong or not parts:
        raise ValueError(f"what is reproduced is some of {', '.join(PARTS)}; got {', '.join(wrong) or 'nothing'}")
    return SCALES[scale]


def _before(part: str, out: Path, scale: str, chosen: Scale) -> dict[str, Any] | None:
    """What an earlier call measured of a part; None where there is nothing, `ValueError` where it is something else."""
    if part == "timing":  # which keeps what it has, and measures what it lacks
        return None
    methods = {}
    if part != "ablation":
        methods = maze_methods() if part == "maze" else ant_methods(chosen.ant_steps, chosen.ant.generations)
    return elsewhere.earlier(out / part / "results.json", methods, _note(scale, getattr(chosen, part)))


def _maze(out: Path, scale: str, chosen: Scale, follow: Follow, count: Track) -> None:
    note = _note(scale, chosen.maze)
    runs = {
        name: run(search, chosen.maze, out / "runs" / "maze" / name, f"maze, {LABELS[name]}", follow)
        for name, search in maze_methods().items()
    }
    found = _measured(runs, note, chosen.maze, count)
    results.write_json(out / "maze" / "results.json", found)
    _drawn(out / "maze", runs, figures_of("planar"), count)


def _ant(
    out: Path,
    scale: str,
    chosen: Scale,
    count: Track,
    workers: int | None,
    dask: str | None,
    finished: bool,
    before: dict[str, Any] | None,
) -> None:
    from brns.reproduce import ants  # not above: Python warns where a module that it runs is imported

    plan, methods, folder = chosen.ant, ant_methods(chosen.ant_steps, chosen.ant.generations), out / "runs" / "ant"
    note, path = _note(scale, plan), out / "ant" / "results.json"
    if finished:
        runs = ants.finished(methods, plan, folder)
    else:
        runs = ants.run_ants(methods, plan, chosen.ant_steps, folder, workers or len(cores()), dask, count)
    found = _measured(runs, note, plan, count)
    seeds = {name: method["seeds"] for name, method in found["methods"].items()}
    draws = before is None or elsewhere.all_here(seeds, before)
    if before is not None:
        drawn = seeds if draws else elsewhere.drawn_of(before)
        found = {**elsewhere.joined(found, before), "drawn": drawn}
    notes = [f"An episode has {chosen.ant_steps} control steps. ", _which_are_one(plan, methods)]
    found["note"] = "".join([*notes, _unfinished(plan, methods, found["methods"])]).rstrip()
    results.write_json(path, found)
    if draws:
        _drawn(out / "ant", runs, figures_of("paths"), count)


def _which_are_one(plan: Runs, methods: Mapping[str, NoveltySearch]) -> str:
    """What archives have in common, in words."""
    from brns.reproduce.ants import shared

    told = ""
    if any(name.startswith("archive-") and name not in methods for name in LABELS):
        told += (
            f"In {plan.generations} generations no archive above {10 * plan.generations} entries fills up: those of "
            "2000, 4000 and 6000 that do not are one and the same search, and the largest stands for them. "
        )
    if forks := shared(methods, plan.keep_every):
        names = " and ".join(f"{LABELS[name]}, up to generation {at}" for name, at in sorted(forks.items()))
        told += f"Archives are one search until the smaller is full; what they share was run once: {names}. "
    return told


def _unfinished(plan: Runs, methods: Mapping[str, NoveltySearch], found: Mapping[str, Any]) -> str:
    """How many seeds of each method are finished, where not all are."""
    done = {name: len(found[name]["seeds"]) if name in found else 0 for name in methods}
    if all(seeds == plan.seeds for seeds in done.values()):
        return ""
    told = "; ".join(f"{LABELS[name]}: {seeds}" for name, seeds in done.items())
    return f"**Not all searches are finished.** How many are, of {plan.seeds} seeds of each: {told}."


def _note(scale: str, plan: Runs) -> str:
    return f"Scale `{scale}`: {plan.seeds} seeds, {plan.generations} generations."


def _measured(runs: dict[str, list[Record]], note: str, plan: Runs, count: Track) -> dict[str, Any]:
    rows = {name: _rows(records, count) for name, records in runs.items()}
    return {**results.of_methods(runs, rows, LABELS, plan.generations), "scale": note}


def _drawn(out: Path, runs: dict[str, list[Record]], names: Sequence[str], count: Track) -> None:
    """The curves and the pictures."""
    results.write_curves(out / "curves.csv", runs)
    for name in count(names, f"{out.name}, drawing", len(names)):
        # Random search has no novelty of its own: it is drawn where its paths were measured.
        drawn = [one for method in runs if method != "random" or name in OF_PATHS for one in runs[method]]
        if name == "archive":  # of a page of finished searches, which may have none
            drawn = [one for one in drawn if isinstance(one.search.estimator, ArchiveKNN)]
        if not drawn:
            continue
        figure, place = draw(name, drawn), out / f"{name}.png"
        if pictures.flat(figure):  # such as κ where nobody cycled: the table says it
            place.unlink(missing_ok=True)
        else:
            save(figure, place, overwrite=True, dpi=90)


def _rows(records: Sequence[Record], count: Track) -> list[dict[str, float]]:
    return [results.numbers(record) for record in count(records, "measuring", len(records))]


def _ablation(out: Path, scale: str, chosen: Scale, follow: Follow, count: Track) -> None:
    plan, note, rows, runs = chosen.ablation, _note(scale, chosen.ablation), {}, {}
    for name, variant in variants().items():
        if chosen.variants and name not in chosen.variants:
            continue
        records = run(variant.search, plan, out / "runs" / "ablation" / name, f"ablation, {variant.label}", follow)
        rows[name] = results.of_variant(variant, _rows(records, count))
        runs[variant.label] = [*runs.get(variant.label, []), *records]  # a reading of both methods has one label
    found = {"provenance": here(), "made": of_runs(runs), "scale": note, "variants": rows}
    results.write_json(out / "ablation" / "results.json", found)
    save(pictures.ablation(rows), out / "ablation" / "ablation.png", overwrite=True, dpi=90)


def _timing(out: Path, scale: str, chosen: Scale) -> None:
    """What the folder lacks is measured in a process of its own, which has one core."""
    plan = chosen.timing
    arguments = [str(out), "--repeats", str(plan.repeats), "--generations", str(plan.generations)]
    arguments += ["--dimensions", *map(str, plan.dimensions), "--entries", *map(str, plan.entries)]
    alone("brns.reproduce.timing", arguments)
    note = f"Scale `{scale}`: {plan.repeats} repeats."
    results.write_json(out / "results.json", {"provenance": here(), "scale": note, "asked": plan._asdict()})
    costs = Costs(out, plan)
    for name, picture in {
        "by-dimension": pictures.by_dimension,
        "by-entries": pictures.by_entries,
        "crossover": pictures.crossover,
        "over-time": pictures.over_time,
    }.items():
        save(picture(costs), out / f"{name}.png", overwrite=True, dpi=90)
