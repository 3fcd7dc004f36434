"""All methods in one world or in the suite, one after another and resumable."""

import dataclasses
import json
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import numpy as np

from brns.checks.parts import require_integer
from brns.comparison import page, statistics
from brns.comparison.batches import (
    Batch,
    Job,
    append_batch_to_file,
    choose_batches,
    list_changed_settings,
    read_batches_of_seeds,
    to_json_with_infinity,
)
from brns.comparison.measure import MethodResult, name_method_in_errors, run_method
from brns.comparison.peers import Peer
from brns.comparison.statistics import Comparison
from brns.comparison.tessellation import Searches, load_or_place_cells
from brns.comparison.worlds import SUITE, Cells, Tessellation, World, make_world_of_task, world
from brns.core import Mutation, NoveltyEstimator, Task
from brns.core.population import take_rows
from brns.estimators.archive import PopulationKNN
from brns.operators.mutation import PolynomialMutation
from brns.progress import show_progress_of
from brns.runs.paths import Seeds, expand_home, explain_folder_errors, resolve_seeds
from brns.runs.provenance import collect_provenance, group_by_provenance, read_sources
from brns.search import NoveltySearch
from brns.settings.description import part_to_json
from brns.settings.edits import (
    discard_compiled_if_edited,
    ignore_side_effects,
    list_evaluation_side_effects,
)
from brns.settings.parts import CLASSES

LOG = logging.getLogger("brns")
_Method = tuple[NoveltyEstimator, Mutation | None, Peer | None]
"""without a mutation it has the search's own"""


def compare(
    what: Task | NoveltySearch | World | Sequence[World | str] | str,
    estimators: Mapping[str, NoveltyEstimator | Peer],
    *,
    seeds: Seeds = 20,
    generations: int | None = None,
    out: str | os.PathLike = "runs/comparison",
    mutations: Mapping[str, Mutation] | None = None,
    cells: Cells | Tessellation | None = None,
    progress: bool = True,
) -> Comparison:
    """Compare estimators on a task, a search, or built-in tasks (the suite's worlds), over seeds:
    coverage, cycling and cost.

    Offspring are made as `NoveltySearch` makes them by default, or as the search that is given
    does. Methods of pyribs have the same founders and as many evaluations.

    `out` gets a file for each world and method when it is done: a second call continues a stopped
    one, and can add worlds, methods and seeds. At the end it gets runs.csv, with all numbers, and
    comparison.png; the page is OUT.md. Ctrl-C loses the numbers of the method that is running.
    Results of your own code before you edited it are refused.

    Args:
        what: a task or a search of your own, a `World`, the name of one, several of them, or
            "suite".
        estimators: by name; the first is the reference, with which the others are compared. Also
            methods of pyribs, such as `brns.comparison.peers.PEERS`, or any function that makes a
            scheduler of its `PeerConfig`.
        seeds: how many, from 0 on, or a list.
        generations: of each run; by default the world's own, and 200 for a task of your own.
        out: the folder of the results.
        mutations: operators by name; each estimator runs with each, as "estimator, mutation". By
            default the search's own.
        cells: `Cells`, where in a plane individuals of your task lie; or `Tessellation()`, of what
            the methods of the first call evaluate with a seed that is not counted, 3,000 at most,
            also in place of a world's own cells. By default a planar behavior of your task has 400
            cells of its box, and another one a tessellation.
        progress: whether a bar is shown.

    Returns:
        The numbers of all methods, worlds and seeds, and every method's test against the reference.

    Raises:
        ValueError: for settings that make no comparison, such as `cells` for a world that has its
            own.
        RecordError: where a file in `out` is damaged, or other settings or code made it.
        ImportError: where a method needs pyribs, and it is not installed.
    """
    seeds = resolve_seeds(seeds=seeds)
    generations = None if generations is None else require_integer("generations", generations, 2)
    if isinstance(what, Task):
        what = NoveltySearch(what)
    worlds, out = _resolve_worlds(what, generations, cells), expand_home(out)
    page.resolve_page_path(out)
    methods = _make_methods(estimators, mutations or {"": None})
    tests = (len(methods) - 1) * len(worlds)
    if few := tests and statistics.explain_too_few_seeds(len(seeds), tests):
        LOG.warning("%s", few)
    jobs = _make_jobs(what, worlds, methods, out, progress)
    for job in jobs:
        discard_compiled_if_edited(job.code)
    _run_missing_jobs(jobs, seeds, progress)
    results: dict[str, dict[str, MethodResult]] = {each.name: {} for each in worlds}
    makers: dict[tuple[str, str], list[str]] = {}
    order = list(methods)
    for job in sorted(jobs, key=lambda job: order.index(job.method)):
        batches = choose_batches(read_batches_of_seeds(job), seeds)
        rows = [take_rows(batch.facts, row) for batch, row in batches]
        results[job.world.name][job.method] = MethodResult(*map(np.array, zip(*rows, strict=True)))
        answers = [json.dumps(batch.provenance, sort_keys=True) for batch, _ in batches]
        makers[job.method, job.world.name] = answers
    reference = jobs[0].method
    comparison = Comparison(
        worlds={job.world.name: job.world for job in jobs},
        results=results,
        seeds=seeds,
        reference=reference,
        out=out,
        mutation=_describe_mutations(jobs, mutations or {}),
        provenance=group_by_provenance(_name_makers(makers)),
        verdicts=statistics.compare_to_reference_by_world(results, reference),
    )
    page.write_page_figure_and_csv(comparison)
    return comparison


def _name_makers(
    makers: Mapping[tuple[str, str], Sequence[str]],
) -> list[tuple[str, dict[str, Any]]]:
    """The provenance of each method, of which `makers` has that of every seed in each world; what
    differs from the method's most frequent one says where.
    """
    of_methods: dict[str, Counter[str]] = {}
    for (method, _), answers in makers.items():
        of_methods.setdefault(method, Counter()).update(answers)
    pairs = []
    for (method, where), answers in makers.items():
        ((usual, _),) = of_methods[method].most_common(1)
        for answer, number in Counter(answers).items():
            name = method
            if answer != usual:
                name += f" in {where}"
                name += f", {number} of {len(answers)} seeds" if number < len(answers) else ""
            pairs.append((name, json.loads(answer)))
    return pairs


def _describe_mutations(jobs: Sequence[Job], mutations: Mapping[str, Mutation]) -> str:
    """The operators of all methods in words; of several the methods' names say which."""
    if any(mutations):
        return "the name of a method names its operator"
    classes = dict.fromkeys(type(job.search.mutate).__name__ for job in jobs if job.peer is None)
    names = [CLASSES[name].name if name in CLASSES else name for name in classes]
    return f"offspring by {' and '.join(names)} mutation" if names else "offspring as each makes it"


def _resolve_worlds(
    what: Any, generations: int | None, cells: Cells | Tessellation | None
) -> list[World]:
    """The worlds that are meant by a task, a search, worlds, their names, or "suite"."""
    if not isinstance(cells, Cells | Tessellation | None):
        raise ValueError(
            f"cells must be Cells or Tessellation() of brns.comparison.worlds; got {cells!r}"
        )
    if isinstance(what, NoveltySearch):
        user_world = make_world_of_task(what.task, what.population_size, 200, cells)
        worlds = [user_world._replace(offspring=what.offspring_size)]
    elif isinstance(cells, Cells):
        raise ValueError(
            "Cells are for a task or search of your own; a world has its own "
            f"(world._replace(cells=...)); got {cells}"
        )
    else:
        if not isinstance(what, Iterable) or isinstance(what, Mapping):
            raise ValueError(f"a comparison needs a task, a search or worlds; got {what!r:.80}")
        names = [what] if isinstance(what, str | World) else list(what)
        if not names:
            raise ValueError("a comparison needs at least one world; got none")
        names = SUITE if names == ["suite"] else names
        worlds = [world(each) if isinstance(each, str) else each for each in names]
        for each in worlds:
            if not isinstance(each, World):
                raise ValueError(
                    "several tasks of your own are compared as worlds: give each as "
                    f"brns.comparison.worlds.make_world_of_task(...); got {each!r:.80}"
                )
    if isinstance(cells, Tessellation):
        worlds = [each._replace(cells=cells) for each in worlds]
    worlds = [each._replace(generations=generations or each.generations) for each in worlds]
    for each in worlds:
        require_integer(f"generations of {each.name}", each.generations, 2)
        if isinstance(each.cells, Cells):
            low, high, side, reachable, *_ = each.cells
            if (np.subtract(high, low) <= 0).any() or not 1 <= reachable <= side**2:
                raise ValueError(
                    "Cells need low below high, and reachable from 1 to side x side cells; got "
                    f"{each.cells}"
                )
    return worlds


def _make_methods(
    estimators: Mapping[str, Any], mutations: Mapping[str, Mutation | None]
) -> dict[str, _Method]:
    """Each estimator with each operator, and each peer once."""
    by_name = isinstance(estimators, Mapping) and all(isinstance(name, str) for name in estimators)
    if not by_name or not estimators:
        raise ValueError(
            f'a comparison needs estimators by name, as in {{"counts": VisitCounts()}}; got '
            f"{estimators!r}"
        )
    if not isinstance(mutations, Mapping):
        raise ValueError(
            'mutations are operators by name, as in {"gauss": GaussianMutation()}; got '
            f"{mutations!r}"
        )
    methods: dict[str, _Method] = {}
    for name, estimator in estimators.items():
        if isinstance(estimator, NoveltyEstimator) or not callable(estimator):
            for label, mutation in mutations.items():
                methods[f"{name}, {label}" if label else name] = estimator, mutation, None
        elif find_spec("ribs") is None:
            raise ImportError(f"{name} needs pyribs: pip install 'brns[peers]'")
        else:
            methods[name] = PopulationKNN(k=1), PolynomialMutation(), estimator
    return methods


def _make_jobs(
    what: Any, worlds: Sequence[World], methods: dict[str, _Method], out: Path, progress: bool
) -> list[Job]:
    """Each method in each world; cells that a world lacks are placed first."""
    jobs: list[Job] = []
    paths = _make_paths(worlds, methods, out)
    for each in worlds:
        searches = _make_searches(what, each, methods)
        if isinstance(each.cells, Tessellation) and not each.cells.reachable:
            file = out / "methods" / each.name / "cells.npz"
            _make_folder(file.parent)
            placed = load_or_place_cells(each, searches, file, progress)
            each = each._replace(cells=placed)
        cells = {key: part_to_json(value) for key, value in each.cells._asdict().items()}
        del cells["counted"]
        for name, (search, peer) in searches.items():
            settings = {"search": part_to_json(search), "generations": each.generations}
            settings["cells"] = cells
            if peer is not None:
                settings["peer"] = part_to_json(peer)
            settings = json.loads(to_json_with_infinity(settings))
            code = read_sources(search, each.cells, peer)
            path = paths[each.name, name]
            jobs.append(Job(each, name, search, peer, path, settings, code))
    return jobs


def _make_paths(
    worlds: Sequence[World], methods: Iterable[str], out: Path
) -> dict[tuple[str, str], Path]:
    """The file of each method in each world, by their names."""
    paths: dict[tuple[str, str], Path] = {}
    for each in worlds:
        for name in methods:
            file = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
            path = out / "methods" / each.name / f"{file}.json"
            if path in paths.values():
                raise ValueError(f"worlds and methods need names unlike in files; got {path} twice")
            paths[each.name, name] = path
    return paths


def _make_searches(what: Any, world: World, methods: Mapping[str, _Method]) -> Searches:
    """The search of each method in a world, and the peer in its place."""
    base = what if isinstance(what, NoveltySearch) else NoveltySearch(world.task())
    sizes = {"population_size": world.population_size, "offspring_size": world.offspring_size}
    searches = {}
    for name, (estimator, mutation, peer) in methods.items():
        parts = {"estimator": estimator, "mutate": mutation or base.mutate}
        searches[name] = dataclasses.replace(base, **parts, **sizes), peer
    return searches


def _run_missing_jobs(jobs: Sequence[Job], seeds: list[int], progress: bool) -> None:
    """Run each job with the seeds that its file does not hold."""
    missing = []
    for job in jobs:
        there = {seed for batch in read_batches_of_seeds(job) for seed in batch.seeds}
        if unknown := [seed for seed in seeds if seed not in there]:
            missing.append((job, unknown))
            _make_folder(job.path.parent)  # before work begins
    for job, unknown in show_progress_of(missing, "comparing", len(missing), progress):
        _run_job(job, unknown)


def _make_folder(folder: Path) -> None:
    """Make a folder that can be written, or say what to do."""
    with explain_folder_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def _run_job(job: Job, seeds: list[int]) -> None:
    with name_method_in_errors(job.method, job.world):
        result = run_method(job.search, job.world, seeds, job.peer)
    after = read_sources(job.search, job.world.cells, job.peer)
    ignore_side_effects(job.code.texts, after)
    jax.clear_caches()  # some fifty compiled methods are all that Linux lets a process map
    provenance = {key: value for key, value in collect_provenance().items() if key != "command"}
    if job.peer is not None:
        provenance["versions"] |= {"ribs": version("ribs")}
    changing = [*list_changed_settings(job), *list_evaluation_side_effects(after)]
    append_batch_to_file(
        job, Batch(seeds, job.settings, provenance, result, job.code.texts, changing)
    )
