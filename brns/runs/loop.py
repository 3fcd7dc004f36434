"""Running an experiment: the loop over generations and seeds, on disk from the first to the last."""

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from brns.core import Generation, take
from brns.runs.progress import Progress, Row
from brns.runs.record import Record, records, refuse_existing
from brns.runs.settings import describe
from brns.runs.storage import RecordError, locked
from brns.search import NoveltySearch, SearchState, founding


class Saved(NamedTuple):
    """One seed's generation, on disk by now: what a progress display or a live statistic may look at."""

    record: Record
    number: int
    generation: Generation
    row: Row
    """its line of progress.csv"""


def run(
    search: NoveltySearch,
    generations: int,
    *,
    out: str | os.PathLike,
    seeds: int | Sequence[int] = 0,
    keep_every: int = 10,
) -> list[Record]:
    """Run an experiment and return one record per seed.

    `out` is the run's directory; with several seeds it holds one directory per seed. Seeds of a traceable task are
    computed together (`jax.vmap`), those of a host task in turn. The same list of seeds gives the same bits on the
    same machine and versions; a seed within a batch equals the seed alone up to rounding, which chaos in a task can
    amplify. `keep_every` is the stride of the states kept for statistics (the last is always kept, so that
    `resume` can go on).
    """
    for _ in start(search, generations, out=out, seeds=seeds, keep_every=keep_every):
        pass
    return records(out)


def resume(
    path: str | os.PathLike, generations: int | None = None, *, search: NoveltySearch | None = None
) -> list[Record]:
    """Go on with a run, or the runs of a batch of seeds, to the same bits as if it had never stopped.

    `generations` is how many there shall be in all, by default as many as the run was started for.
    `search` is needed where the task or the estimator is your own: it must be the experiment that made the run.
    """
    for _ in go_on(path, generations, search=search):
        pass
    return records(path)


def start(
    search: NoveltySearch,
    generations: int,
    *,
    out: str | os.PathLike,
    seeds: int | Sequence[int] = 0,
    keep_every: int = 10,
) -> Iterator[list[Saved]]:
    """`run`, one generation of all seeds at a time: each item was saved before it is handed out."""
    several = not isinstance(seeds, int)
    seeds = [seeds] if isinstance(seeds, int) else sorted(seeds)
    if generations < 1 or keep_every < 1:
        raise ValueError(f"a run needs at least 1 generation and keep_every >= 1; got {generations} and {keep_every}")
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise ValueError(f"a run needs one or more different seeds from 0 on; got {seeds}")
    paths = [Path(out) / f"seed{seed:04d}" for seed in seeds] if several else [Path(out)]
    for path in paths:
        refuse_existing(path)
    states = [search.init(jax.random.key(seed)) for seed in seeds]
    for state in states:
        _check(search, 0, founding(state))
    runs = [
        Record.create(path, search, s, seeds, generations, keep_every) for path, s in zip(paths, seeds, strict=True)
    ]
    progress = [Progress(record, search.task.behavior_space) for record in runs]
    with locked([record.path for record in runs]):
        yield _save(progress, 0, [(state, founding(state)) for state in states])
        yield from _advance(search, progress, states, generations)


def go_on(
    path: str | os.PathLike, generations: int | None = None, *, search: NoveltySearch | None = None
) -> Iterator[list[Saved]]:
    """`resume`, one generation of all seeds at a time."""
    runs = records(path)
    search = search or runs[0].search
    if [r.seed for r in runs] != sorted(runs[0].seeds):
        raise RecordError(
            f"{path} holds seeds {[r.seed for r in runs]} of a batch of {runs[0].seeds}, which was computed together; "
            "resume the directory that holds them all"
        )
    for record in runs:
        if record.experiment != describe(search):
            raise RecordError(f"{record.path} was made by another experiment: {_difference(record, search)}")
    with locked([record.path for record in runs]):
        common = set.intersection(*(set(r.snapshots) & set(r.generations) for r in runs))
        if not common:
            raise RecordError(
                f"{path} has no state to go on from; it was stopped before its first generation: start anew"
            )
        states = [record.state(max(common), search) for record in runs]
        generations = generations or runs[0].planned
        for record in runs:
            record.plan(generations)
            record.tidy(max(common))
        progress = [Progress(record, search.task.behavior_space) for record in runs]
        for one in progress:
            one.restore(max(common))
        yield from _advance(search, progress, states, generations)


def _advance(
    search: NoveltySearch, progress: list[Progress], states: list[SearchState], generations: int
) -> Iterator[list[Saved]]:
    keys = [jax.random.key(one.record.seed) for one in progress]
    steps = _steps(search, keys, states)
    for number in range(int(states[0].generation) + 1, generations + 1):
        after = next(steps)
        for _, generation in after:
            _check(search, number, generation)
        yield _save(progress, number, after)


def _steps(
    search: NoveltySearch, keys: list[Key[Array, ""]], states: list[SearchState]
) -> Iterator[list[tuple[SearchState, Generation]]]:
    """Generation after generation of every seed: of a traceable task all at once, of a host task in turn."""
    n = len(states)
    if n > 1 and search.task.traceable:
        batch, batch_keys = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), jnp.stack(keys)
        while True:
            batch, facts = _batch_step(search, batch, batch_keys)
            on_host = jax.device_get((batch, facts))
            yield [take(on_host, i) for i in range(n)]
    while True:
        after = [search.step(state, key) for state, key in zip(states, keys, strict=True)]
        states = [state for state, _ in after]
        yield jax.device_get(after)


@eqx.filter_jit
def _batch_step(search: NoveltySearch, state: SearchState, keys: Key[Array, " s"]) -> tuple[SearchState, Generation]:
    return jax.vmap(search.step)(state, keys)


def _save(progress: list[Progress], number: int, after: Sequence[tuple[SearchState, Generation]]) -> list[Saved]:
    """Facts, then states, and only then drop what the stride does not keep: a crash between leaves enough to go on.

    The seeds' files are written side by side, since most of the time goes by until the disk has confirmed each.
    """

    def write(one: Progress, saved: tuple[SearchState, Generation]) -> None:
        state, generation = saved
        one.record.append(number, generation)
        one.record.checkpoint(state)

    with ThreadPoolExecutor(min(len(progress), 8)) as pool:
        for _ in pool.map(write, progress, after):  # raises what a write raised
            pass
    for one in progress:
        if number:
            one.record.forget(number - 1)
    return [
        Saved(one.record, number, generation, one.add(number, generation))
        for one, (_, generation) in zip(progress, after, strict=True)
    ]


def _check(search: NoveltySearch, number: int, generation: Generation) -> None:
    """Nothing that is not a finite number goes into a record."""
    sources = [("descriptor", search.task), ("fitness", search.task), ("novelty", search.estimator)]
    for individuals, (column, source) in itertools.product((generation.offspring, generation.parents), sources):
        values = np.asarray(getattr(individuals, column))
        bad = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        if bad.any():
            ids = np.asarray(individuals.id)[bad]
            listed = ", ".join(map(str, ids[:5])) + (" ..." if ids.size > 5 else "")
            raise ValueError(
                f"{type(source).__name__} gave a {column} that is not finite for {ids.size} of {bad.size} "
                f"individuals of generation {number} (ids {listed}). Nothing of this generation was saved; the "
                "generations before it are safe"
            )


def _difference(record: Record, search: NoveltySearch) -> str:
    def leaves(tree, prefix=""):
        if isinstance(tree, dict):
            return {k: v for name, part in tree.items() for k, v in leaves(part, f"{prefix}.{name}").items()}
        return {prefix.lstrip("."): tree}

    old, new = leaves(record.experiment), leaves(describe(search))
    odd = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return "; ".join(f"{name} was {old.get(name)!r} and is {new.get(name)!r}" for name in odd[:5])
