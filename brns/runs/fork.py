"""A fork: a run that goes on from a generation of another, with other settings.

It is a run of its own: generations 0 to the one that it was forked at are copied, with the states that were kept, so
that figures and measures see one search from its founders on. Its `run.json` says under `forked` which run it was,
which generation, what was changed, and which command, commit and versions made the generations up to there.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from brns.runs import bar
from brns.runs import facts as run_json
from brns.runs.locks import make
from brns.runs.loop import Saved, resume, whole
from brns.runs.places import folders, refuse_taken
from brns.runs.record import Record, records
from brns.runs.storage import RecordError, Seal, file_name, named_leaves, read_arrays
from brns.runs.tracking import Track, untracked
from brns.search import NoveltySearch, SearchState
from brns.settings import changes, describe

KEPT = ("population_size", "offspring_size", "founders")
"""settings that a fork cannot change: individuals are numbered by the sizes, and the founders lived long ago"""


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
    until: Callable[[Saved], bool] | None = None,
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
    batch; `ValueError` where the settings change the length of genotypes, the dimensions of behaviors, the sizes of
    population and offspring, the founders, or otherwise the shape of the search's state.
    """
    branch(run, at, search, out=out, generations=generations, track=bar.track if progress else untracked)
    return resume(out, search=search, until=until, progress=progress)


def branch(
    run: str | os.PathLike,
    at: SupportsIndex,
    search: NoveltySearch | None = None,
    *,
    out: str | os.PathLike,
    generations: SupportsIndex | None = None,
    track: Track = untracked,
) -> list[Record]:
    """The fork as it stands at generation `at`; `brns.resume` goes on with it. It appears whole or not at all.

    `track` sees how many generations are copied.
    """
    out, sources, at = Path(out), records(run), whole("at", at, 0)
    several = not (Path(run) / run_json.NAME).exists()
    if several and [source.seed for source in sources] != sorted(sources[0].seeds):
        raise RecordError(f"{run} holds runs that are not the seeds of one batch; fork one of them")
    search = search or sources[0].search
    generations = sources[0].planned if generations is None else whole("generations", generations)
    if not 0 <= at < generations:
        raise ValueError(
            f"a fork needs 0 <= at < generations; got at={at} and generations={generations}, the number in all"
        )
    seeds = [source.seed for source in sources]
    refuse_taken(out, folders(out, several, seeds))
    if not out.name.strip(".") or (out.exists() and not (out.is_dir() and next(out.iterdir(), None) is None)):
        raise RecordError(f"a fork needs a folder of its own, which is new or empty; got {out}: choose another place")
    for source in sources:
        _check(source, at, search)
    make(out.parent)
    aside = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        copies = (
            number
            for source, folder in zip(sources, folders(aside, several, seeds), strict=True)
            for number in _copied(source, at, search, folder, seeds, generations)
        )
        for _ in track(copies, "copying generations", len(sources) * (at + 1)):
            pass
        os.replace(aside, out)
    except OSError as error:
        raise RecordError(f"could not make {out} ({error.strerror or error}): choose another place") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return records(out, search)


def _check(source: Record, at: int, search: NoveltySearch) -> None:
    """A `ValueError` where the search cannot go on from there."""
    before, after = source.experiment, describe(search)
    for name in KEPT:
        if before[name] != after[name]:
            raise ValueError(
                f"a fork cannot change {name}: {source.path} has {before[name]!r}; got {after[name]!r}. "
                "Begin a run of its own for that"
            )
    if at not in source.snapshots:
        source.state(at, search)  # says which there are
    population = _state(source, at, search).population
    space, lengths = search.task.genotype_space, (population.genotype.shape[1], population.descriptor.shape[1])
    wanted = (space.dimension, search.task.behavior_space.dimension)
    for what, has, needs in zip(("genotypes", "behaviors"), lengths, wanted, strict=True):
        if has != needs:
            raise ValueError(
                f"the {what} of {source.path} have {has} dimensions, and with these settings they would have {needs}; "
                "a fork keeps them"
            )
    outside = ~((population.genotype >= space.low) & (population.genotype <= space.high)).all(axis=1)
    if outside.any():
        raise ValueError(
            f"{int(outside.sum())} of {len(outside)} genotypes of {source.path}, generation {at}, lie outside of the "
            "genotype space that these settings give; a fork keeps them"
        )
    _fitting(source, at, search)


def _copied(
    source: Record, at: int, search: NoveltySearch, folder: Path, seeds: Sequence[int], generations: int
) -> Iterator[int]:
    """Copy the history as a run of its own, with another identifier and so other seals; tells each generation."""
    record = Record.create(folder, search, source.seed, seeds, generations, source.keep_every)
    record.facts["forked"] = _forked(source, at, search)
    if len(seeds) == len(source.seeds):
        record.facts["lanes"] = source.lanes  # batches of another size round otherwise
    run_json.write(record.path, record.facts)
    for number in range(at + 1):
        path = source.path / "generations" / file_name(number)
        record.write(number, read_arrays(path, Seal(source.identifier, number)))
        yield number
    for number in source.snapshots:
        if number <= at:
            record.checkpoint(_fitting(source, number, search))


def _forked(source: Record, at: int, search: NoveltySearch) -> dict[str, Any]:
    known = ("command", "commit", "versions", "xla_flags", "forked")
    return {
        "path": os.fspath(source.path),
        "id": source.identifier,
        "generation": at,
        "changed": {name: list(pair) for name, pair in changes(source.experiment, describe(search)).items()},
        **{name: source.facts[name] for name in known if name in source.facts},
    }


def _state(source: Record, number: int, search: NoveltySearch) -> SearchState:
    """The run's state after a generation, in the structure of the search's and the shapes that it has."""
    arrays = read_arrays(source.path / "states" / file_name(number), Seal(source.identifier, number))
    shape = search.state_shape()
    names = named_leaves(shape)
    if set(names) != set(arrays):
        odd = ", ".join(sorted(set(names) ^ set(arrays))[:5])
        raise ValueError(
            f"with these settings the search's state is another than that of {source.path}, in {odd}; a fork goes on "
            "with the estimator of the run"
        )
    return jax.tree.unflatten(jax.tree.structure(shape), [jnp.asarray(arrays[name]) for name in names])


def _fitting(source: Record, number: int, search: NoveltySearch) -> SearchState:
    """The run's state after a generation as one of the search's; a `ValueError` where that is not possible."""
    state = _state(source, number, search)
    if isinstance(search.estimator, Resizes):
        try:
            state = state._replace(estimator=search.estimator.resized(state.estimator))
        except ValueError as error:
            raise ValueError(
                f"{source.path}, generation {number}: {error}; fork at an earlier generation, or give it more room"
            ) from None
    has, wanted = named_leaves(state), named_leaves(search.state_shape())
    for name, leaf in wanted.items():
        if (has[name].shape, has[name].dtype) != (leaf.shape, leaf.dtype):
            raise ValueError(
                f"with these settings {name} of the search's state has shape {list(leaf.shape)}, and in {source.path} "
                f"it has {list(has[name].shape)}; a fork goes on with the state that there is: leave out what changes "
                "its shape"
            )
    return state
