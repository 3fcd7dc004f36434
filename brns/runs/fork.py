"""A run that goes on from a generation of another, with other settings."""

import dataclasses
import os
from typing import SupportsIndex

import numpy as np

from brns.checks.parts import require_integer
from brns.runs import metadata, paths
from brns.runs.active import ActiveRun
from brns.runs.provenance import read_sources
from brns.runs.record import Record
from brns.runs.remaking import GENOTYPE, warn_unless_exact
from brns.runs.store import Store
from brns.search import NoveltySearch
from brns.settings.description import descriptions_equal, part_from_json, part_to_json
from brns.settings.edits import diff_code_by_name

SHARED = ("population_size", "offspring_size", "founders")
"""which a fork cannot change: the sizes number individuals, and the founders are history"""


def fork(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
) -> Record:
    """Copy a run up to a generation as a new run, with other settings; `brns.resume(out)`
    continues it.

    It is a run of its own: generations 0 to `at` are copied, so that figures and coverage see one
    search from its founders on; of the states only the one that it goes on from. With other
    settings it stores everybody's genotypes up to there. Where it has other variation operators,
    their credit begins even. Its `run.json` says where it comes from. One seed of a batch is forked
    alone, and equals the batch's up to rounding. After an error nothing is made.

    Args:
        run: the directory of the other run, or its record.
        at: the generation to go on from; its state must be on disk.
        search: the experiment to go on with, by default the run's own, which ends in the same bits
            as the run itself.
        out: the directory of the new run.
        generations: how many there shall be in all, by default as many as the run was asked for.

    Returns:
        The new run, as far as it was copied.

    Raises:
        RecordError: where the generation has no state, where the search's state has another shape,
            or where `out` is taken.
        ValueError: where the settings change the space of behaviors, the length of genotypes, the
            sizes of population and offspring, the founders or the `regularization` of
            `ExactRecognition`, or where genotypes lie outside.
    """
    source = run if isinstance(run, Record) else Record(run)
    out, at = paths.resolve_output_folder(out), require_integer("at", at, 0)
    search = search or source.search
    before, after = source.experiment, part_to_json(search)
    changed = source.find_different_settings(search)
    behaviors = (source.behavior_space, search.task.behavior_space)
    length = source.read_generation_arrays(0)[GENOTYPE].shape[1]
    space = search.task.genotype_space
    fixed = [(name, before[name], after[name]) for name in SHARED]
    fixed.append(("the space of behaviors", *map(part_to_json, behaviors)))
    fixed.append(("the length of genotypes", length, space.dimension))
    same = type(search.estimator).__name__ == before["estimator"]["name"]
    if same:  # the state of exact recognition is of its own lambda
        weights = (each["estimator"].get("regularization") for each in (before, after))
        fixed.append(("estimator.regularization", *weights))
    for what, was, now in fixed:
        if not descriptions_equal(was, now):
            raise ValueError(f"a fork cannot change {what}: {run} has {was!r}; got {now!r}")
    state = source.state(at, search)
    if generations is None and source.planned_generations <= at:
        raise ValueError(
            f"{run} was planned for {source.planned_generations} generations: say by generations= "
            f"how many the fork shall have, from {at + 1} on"
        )
    total = source.planned_generations if generations is None else generations
    total = require_integer("generations", total, at + 1)
    genotypes = np.asarray(state.population.genotype)
    outside = ((genotypes < space.low) | (genotypes > space.high)).any(axis=1)
    if outside.any():
        raise ValueError(
            f"a fork cannot leave genotypes outside its genotype space: {outside.sum()} of "
            f"{len(genotypes)} who live in generation {at} of {run} are; give a wider one"
        )
    origin = source.metadata
    (facts,) = metadata.make_metadata_of_each_seed(
        search,
        [source.seed],
        total,
        source.checkpoint_every,
        origin.genotypes,
        name=origin.estimator if same else None,
    )
    facts.add_changing(origin.changing)
    edited = diff_code_by_name(origin.sources, read_sources(search), origin.changing)
    changed |= {f"the code of {name}": ("edited", "another") for name in edited}
    facts.forked = metadata.Forked(
        path=part_to_json(os.fspath(source)), id=origin.id, generation=at, changed=changed
    )
    paths.check_output_folder(out)
    makers = _make_record_with_original_operators(source, search)
    with paths.make_directory_atomically(out) as folder:
        store = Store(folder)
        metadata.write_metadata(store, facts)
        copy = Record(store, search)
        for number in range(at + 1):
            arrays = source.arrays("generations", number)
            if number == at and "mutate.operators" in changed:
                arrays["credit"] = np.asarray(search.mutate_as_mixture.initial_credit())
            if changed:  # another search may make other genotypes again
                (born,) = makers.column(GENOTYPE, [number])
                arrays |= {"stored": np.ones(len(born), bool), GENOTYPE: born}
            copy.write("generations", number, arrays, synced=False)
        for number in source.store.list_generations("failed"):
            if number <= at:
                copy.write("failed", number, source.arrays("failed", number))
        ActiveRun(copy, state, total, stored=-1).checkpoint(state)
    if source.made_elsewhere:
        warn_unless_exact(makers)
    return Record(out, search)


def _make_record_with_original_operators(source: Record, search: NoveltySearch) -> Record:
    """A record whose search varies genotypes as the run did."""
    if source.search_or_none is not None:
        return source
    before = source.experiment
    mutate = part_from_json(before["mutate"], search.mutate)
    makers = Record(source)
    makers.search = dataclasses.replace(search, mutate=mutate, tournament=before["tournament"])
    return makers
