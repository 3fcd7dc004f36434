"""The seeds of a run, computed side by side, and ahead: while a generation is saved, the next is on its way.

The seeds of a traceable task are cut into lanes: one for each core of a CPU, or for each accelerator. A lane is a batch
(`jax.vmap`). Batches of other sizes round otherwise, so a record keeps the number of lanes, and a run goes on with as
many, wherever that is. Seeds of a host task whose workers take from one queue go on each by itself. Those of any other
host task are computed in turn, in the thread that asks, and nothing ahead.

Several lanes are begun by threads, which JAX's settings made by `with` do not reach; `jax.config.update` does.
"""

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from brns.core import Generation, Task, take
from brns.estimators.cpu import program
from brns.metrics.numbers import ranges
from brns.runs.storage import named_leaves
from brns.search import NoveltySearch, SearchState
from brns.tasks.cpu import cores
from brns.workers import has_workers

Step = tuple[SearchState, Generation]

AHEAD = 2
"""generations that a seed with workers may be ahead, so that one with quick individuals waits for no other"""


def lanes(task: Task, seeds: int) -> int:
    """How many lanes a new run of this task gets."""
    if not task.traceable:
        return 1
    return min(seeds, cores() if jax.default_backend() == "cpu" else jax.local_device_count())


def cut(seeds: int, lanes: int) -> list[slice]:
    """The seeds of each lane, as even as can be with all but the last of one size, so that one shape is compiled."""
    size = -(-seeds // lanes)
    return [slice(first, min(first + size, seeds)) for first in range(0, seeds, size)]


def generations(
    search: NoveltySearch, keys: list[Key[Array, ""]], states: list[SearchState], count: int, lanes: int
) -> Generator[list[Step], None, None]:
    """The next `count` generations, each of all seeds and with arrays on the host."""
    if count < 1:
        return
    if not search.task.traceable:
        by = _by_workers if has_workers(search.task) else _in_turn
        yield from by(search, keys, states, count)
    elif len(keys) == 1:
        yield from _alone(search, keys[0], states[0], count)
    else:
        yield from _in_lanes(search, keys, states, count, lanes)


def _in_turn(
    search: NoveltySearch, keys: list[Key[Array, ""]], states: list[SearchState], count: int
) -> Iterator[list[Step]]:
    for _ in range(count):
        after = [search.step(state, key) for state, key in zip(states, keys, strict=True)]
        states = [state for state, _ in after]
        yield jax.device_get(after)


def _alone(search: NoveltySearch, key: Key[Array, ""], state: SearchState, count: int) -> Iterator[list[Step]]:
    return _one_ahead(search.step, [(state, key)], count)


def _in_lanes(
    search: NoveltySearch, keys: list[Key[Array, ""]], states: list[SearchState], count: int, lanes: int
) -> Iterator[list[Step]]:
    now = [(stacked(states[part]), jnp.stack(keys[part])) for part in cut(len(keys), lanes)]
    now = [jax.device_put(lane, place) for lane, place in zip(now, itertools.cycle(jax.local_devices()), strict=False)]
    for after in _one_ahead(partial(_batch, search), now, count):
        yield [take(lane, i) for lane in after for i in range(len(lane[0].generation))]


def _one_ahead(
    step: Callable[[SearchState, Key[Array, "..."]], Step],
    lanes: list[tuple[SearchState, Key[Array, "..."]]],
    count: int,
) -> Iterator[list[Step]]:
    """Each lane's generations, computed in a thread of its own, one ahead of those that were asked for.

    On a CPU JAX may compute at once where it would else only begin, and computes what one thread begins in turn.
    """

    def after(before: Future[Step], keys: Key[Array, "..."]) -> Step:
        return step(before.result()[0], keys)

    with contextlib.ExitStack() as opened:
        threads = [opened.enter_context(ThreadPoolExecutor(1)) for _ in lanes]
        ahead = [thread.submit(step, *lane) for thread, lane in zip(threads, lanes, strict=True)]
        for left in reversed(range(count)):
            begun, ahead = ahead, []
            if left:
                further = zip(threads, begun, lanes, strict=True)
                ahead = [thread.submit(after, before, keys) for thread, before, (_, keys) in further]
            yield jax.device_get([one.result() for one in begun])


def _batched(search: NoveltySearch, state: SearchState, keys: Key[Array, " s"]) -> Step:
    return jax.vmap(search.step)(state, keys)


_batch = program(_batched)


def stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _by_workers(
    search: NoveltySearch, keys: list[Key[Array, ""]], states: list[SearchState], count: int
) -> Iterator[list[Step]]:
    """Each seed goes on in a thread of its own, `AHEAD` generations beyond what was asked for.

    So all seeds have chunks in the workers' queue. Where not all generations are asked for, the workers are ended.
    """

    def after(before: Future[Step], key: Key[Array, ""]) -> Step:
        return jax.device_get(search.step(before.result()[0], key))

    threads = [ThreadPoolExecutor(1) for _ in keys]
    begun: list[Future] = [
        thread.submit(lambda state: (state, None), state) for thread, state in zip(threads, states, strict=True)
    ]
    ahead: deque[list[Future[Step]]] = deque()
    try:
        for number in range(count + AHEAD):
            if number < count:
                further = zip(threads, begun, keys, strict=True)
                begun = [thread.submit(after, before, key) for thread, before, key in further]
                ahead.append(begun)
            if number >= AHEAD:
                yield [one.result() for one in ahead.popleft()]
    finally:
        for thread in threads:
            thread.shutdown(wait=False, cancel_futures=True)
        if not all(one.done() for one in begun):
            search.task.close()  # ty: ignore[missing-attribute]
        for thread in threads:
            thread.shutdown()


SAFE = "Nothing of this generation was saved; the generations before it are safe"


def refuse_not_finite(
    search: NoveltySearch, number: int, generation: Generation, state: SearchState, before: SearchState | None = None
) -> None:
    """A `ValueError` where a generation, or the estimator's state after it, holds what is not a finite number.

    An estimator may mark what is empty by infinity: an array of its state may hold some if it did so `before`, or
    among the founders. NaN is nowhere allowed.
    """
    sources = {
        "genotype": search.founders if number == 0 else search.mutate,
        "descriptor": search.task,
        "fitness": search.task,
        "novelty": search.estimator,
    }
    for individuals, (column, source) in itertools.product((generation.offspring, generation.parents), sources.items()):
        values = np.asarray(getattr(individuals, column))
        bad = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        if bad.any():
            ids = np.asarray(individuals.id)[bad].tolist()
            raise ValueError(
                f"{_name(source)} gave a {column} that is not finite for {len(ids)} of {bad.size} individuals of "
                f"generation {number} (ids {ranges(ids)}). {SAFE}"
            )
    marks = {} if before is None else named_leaves(before.estimator)
    for name, leaf in named_leaves(state.estimator).items():
        array = np.asarray(leaf)
        if jnp.issubdtype(array.dtype, jnp.inexact):
            marked = before is None or not np.isfinite(marks[name]).all()
            wrong = np.isnan(array) if marked else ~np.isfinite(array)
            if wrong.any():
                raise ValueError(
                    f"{_name(search.estimator)} has {wrong.sum()} numbers in its state that are not finite after "
                    f"generation {number} (in {name}); a smaller learning rate may help. {SAFE}"
                )


def _name(part: Any) -> str:
    """A part's class, or the name of a function."""
    return getattr(part, "__name__", type(part).__name__)
