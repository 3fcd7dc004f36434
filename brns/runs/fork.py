"""A fork: a run that goes on from a generation of another, with other settings.

It is a run of its own: generations 0 to the one that it was forked at are copied, so that figures and coverage see one
search from its founders on; of the states only the one that it goes on from, so that measures of states begin there.
Its `run.json` says under `forked` which run it was, which generation, what was changed, and what made the generations
up to there.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from brns.core import Evaluation
from brns.runs import metadata
from brns.runs.loop import SavedGeneration, resume
from brns.runs.metadata import Forked, Made, Metadata
from brns.runs.paths import building, folders, refuse_taken, whole
from brns.runs.record import FACTS, GENOTYPE, Record, records
from brns.runs.storage import RecordError, named_leaves
from brns.search import NoveltySearch, SearchState
from brns.settings import build, changes, describe

KEPT = ("population_size", "offspring_size", "founders")
"""settings that a fork cannot change: individuals are numbered by the sizes, and the founders lived long ago"""
PARTS = ("estimator", "mutate", "select")


@runtime_checkable
class Resizes(Protocol):
    """An estimator that makes a state of other settings one of its own, as an archive does of another capacity."""

    def resized(self, state: PyTree) -> PyTree:
        """The state in the shape of this estimator's; a `ValueError` where that is not possible."""
        ...


def fork(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
    until: Callable[[SavedGeneration], bool] | None = None,
    progress: bool = True,
) -> list[Record]:
    """Go on from generation `at` of a run with other settings, in a folder of its own; one record per seed.

    `search` is the experiment to go on with, by default the run's own, which ends in the same bits as the run itself.
    `generations` is how many there shall be in all, by default as many as the run was asked for. A batch of seeds is
    forked as a batch; one seed of it goes on by itself, equal to the batch's up to rounding. `until` and `progress` are
    those of `brns.run`.

    What a setting decided before `at` stays decided: parents keep the behavior that they had, networks the weights
    that were drawn. An archive's capacity may change, as long as its entries fit.

    Errors: `RecordError` where the generation has no state, where `out` is taken, or for a folder of runs that are no
    batch; `ValueError` where the settings change the space of behaviors, the sizes of population and offspring, the
    founders, otherwise the shape of the search's state, or only what was drawn when the run began.
    """
    branch(run, at, search, out=out, generations=generations)
    return resume(out, search=search, until=until, progress=progress)


def branch(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
) -> list[Record]:
    """The fork as it stands at generation `at`; `brns.resume` goes on with it. It appears whole or not at all."""
    out, sources, at = Path(out), records(run), whole("at", at, 0)
    several = not (Path(run) / metadata.NAME).exists()
    if several and [source.seed for source in sources] != sorted(sources[0].seeds):
        raise RecordError(f"{run} holds runs that are not the seeds of one batch; fork one of them")
    search = search or sources[0].search
    generations = sources[0].planned if generations is None else whole("generations", generations)
    if not 0 <= at < generations:
        raise ValueError(
            f"a fork needs 0 <= at < generations; got at={at} and generations={generations}, the number in all"
        )
    seeds = [source.seed for source in sources]
    refuse_taken(out)
    states = [_state(source, at, search) for source in sources]
    with building(out) as aside:
        for source, state, folder in zip(sources, states, folders(aside, several, seeds), strict=True):
            record = Record.create(folder, _metadata(source, at, search, seeds, generations))
            for number in range(at + 1):
                record.write(number, source.read(number, (*FACTS, GENOTYPE)))
            record.checkpoint(search, state)
    return records(out, search)


def _state(source: Record, at: int, search: NoveltySearch) -> SearchState:
    """The run's state after a generation as one of the search's; a `ValueError` where it cannot go on from there."""
    before, after = source.experiment, describe(search)
    for name in KEPT:
        if before[name] != after[name]:
            raise ValueError(f"a fork cannot change {name}: {source.path} has {before[name]!r}; got {after[name]!r}")
    box, space = source.behavior_space, search.task.behavior_space
    if not eqx.tree_equal(box, space):
        raise ValueError(f"a fork cannot change the space of behaviors: {source.path} has {box}; got {space}")
    arrays, like = source.state_arrays(at), search.state_shape()
    names = named_leaves(like)
    if isinstance(search.estimator, Resizes) and set(names) == set(arrays):
        leaves = [jnp.asarray(arrays[name]) for name in names]
        held = jax.tree.unflatten(jax.tree.structure(like), leaves)
        resized = held._replace(estimator=search.estimator.resized(held.estimator))
        arrays = {name: np.asarray(leaf) for name, leaf in named_leaves(resized).items()}
    state = source.restored(search, like, arrays, at)
    _refuse_without_effect(source, state, search)
    return state


def _refuse_without_effect(source: Record, state: SearchState, search: NoveltySearch) -> None:
    """A `ValueError` where a changed setting plays no part in any later generation, as what only `init` reads.

    Each setting is taken back by itself: where what is computed stays the same to the last operation, it has no effect.
    """
    computed = _computed(search, state)
    for name in changes(source.experiment, describe(search)):
        part, _, setting = name.partition(".")
        if part not in PARTS:
            continue
        try:
            old = getattr(build(source.experiment[part]), setting)
            back = dataclasses.replace(getattr(search, part), **{setting: old})
            same = _computed(dataclasses.replace(search, **{part: back}), state) == computed
        except (AttributeError, TypeError, ValueError):  # another kind of part, a user's own, or another state
            continue
        if same:
            raise ValueError(
                f"a fork cannot change {name}, which has no effect after the founders; begin a run of its own for that"
            )


def _computed(search: NoveltySearch, state: SearchState) -> str:
    """What a generation computes, the task aside, as the text of a program."""
    key = jax.random.key(0)
    n, d = search.offspring_size, search.task.behavior_space.dimension

    def generation(state: SearchState, descriptor: Any, fitness: Any, solved: Any) -> Any:
        offspring = search.ask(state, key)
        return search.tell(state, offspring, Evaluation(descriptor, fitness, solved), key)

    evaluation = jnp.zeros((n, d)), jnp.zeros(n), jnp.zeros(n, bool)
    return str(eqx.filter_make_jaxpr(generation)(state, *evaluation)[0])


def _metadata(source: Record, at: int, search: NoveltySearch, seeds: Sequence[int], generations: int) -> Metadata:
    """The fork's run.json: a run of its own, with another identifier."""
    made = metadata.new(search, source.seed, seeds, generations, source.checkpoint_every)
    if len(seeds) == len(source.seeds):
        made.lanes = source.metadata.lanes  # batches of another size round otherwise
    made.forked = Forked(
        path=os.fspath(source.path),
        id=source.metadata.id,
        generation=at,
        changed=changes(source.experiment, describe(search)),
        forked=source.metadata.forked,
        **{name: getattr(source.metadata, name) for name in Made.model_fields},
    )
    return made
