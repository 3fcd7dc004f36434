"""A fork: a run that goes on from a generation of another, with other settings.

It is a run of its own: generations 0 to the one that it was forked at are copied, so that figures and coverage see one
search from its founders on; of the states only the one that it goes on from. Its `run.json` says where it comes from.
"""

import os
from pathlib import Path
from typing import SupportsIndex

import equinox as eqx

from brns.runs import metadata
from brns.runs.metadata import Forked
from brns.runs.paths import building, refuse_taken, whole
from brns.runs.record import Record
from brns.search import NoveltySearch
from brns.settings import changes, describe

KEPT = ("population_size", "offspring_size", "founders")
"""settings that a fork cannot change: individuals are numbered by the sizes, and the founders lived long ago"""


def fork(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
) -> Record:
    """A copy of a run up to generation `at`, in a folder of its own; `brns.resume(out)` continues it.

    `search` is the experiment to go on with, by default the run's own, which ends in the same bits as the run itself.
    `generations` is how many there shall be in all, by default as many as the run was asked for. One seed of a batch is
    forked alone, and equals the batch's up to rounding.

    Errors: `RecordError` where the generation has no state, where the search's state has another shape, or where `out`
    is taken; `ValueError` where the settings change the space of behaviors, the length of genotypes, the sizes of
    population and offspring or the founders. Then nothing is made.
    """
    source = run if isinstance(run, Record) else Record(run)
    out, at = Path(out), whole("at", at, 0)
    search = search or source.search
    total = whole("generations", source.planned if generations is None else generations, at + 1)
    before, after = source.experiment, describe(search)
    for name in KEPT:
        if before[name] != after[name]:
            raise ValueError(f"a fork cannot change {name}: {run} has {before[name]!r}; got {after[name]!r}")
    if not eqx.tree_equal(source.behavior_space, search.task.behavior_space):
        raise ValueError(f"a fork cannot change the space of behaviors: {run} has {source.behavior_space}")
    state = source.state(at, search)
    genes, known = search.task.genotype_space.dimension, state.population.genotype.shape[1]
    if genes != known:
        raise ValueError(f"a fork cannot change the length of genotypes: {run} has {known}; got {genes}")
    made = metadata.new(search, source.seed, [source.seed], total, source.checkpoint_every)
    changed = changes(before, after)
    made.forked = Forked(path=os.fspath(run), id=source.metadata.id, generation=at, changed=changed)
    refuse_taken(out)
    with building(out) as aside:
        metadata.create(aside, made)
        copy = Record(aside)
        for number in range(at + 1):
            copy.write("generations", number, source.arrays("generations", number))
        copy.checkpoint(search, state, before=-1)
    return Record(out, search)
