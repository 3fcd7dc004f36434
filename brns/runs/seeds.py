"""The seeds of a run, computed side by side, and ahead: while a generation is saved,
the next is on its way.

The seeds of a traceable task are cut into batches (`jax.vmap`): one for each core of a CPU, or each
accelerator; one in all where the devices share a population (`brns.Sharded`). Batches of other
sizes round otherwise, so a record keeps the number of batches, and a run goes on with as many.
Seeds of a host task with workers go on each by itself; those of any other are computed in turn, and
nothing ahead. JAX's settings made by `with` do not reach the threads that compute them;
`jax.config.update` does.
"""

import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from brns.core import Generation, Task
from brns.core.population import copy_to_host, take_rows
from brns.jit import deterministic_jit
from brns.search import NoveltySearch, SearchState
from brns.tasks.chunked import has_workers
from brns.tasks.cpu import count_cores
from brns.tasks.sharded import Sharded

Step = tuple[SearchState, Generation]

AHEAD = 2
"""generations that a seed with workers may be ahead, so that it waits for no other"""


def count_parallel_batches(task: Task, seeds: int) -> int:
    """How many batches the seeds of a new run get: at most one a core, or one a device.

    Seeds are not batched with JAX's generators that give a batch the numbers of one of its keys, as
    rbg does: no genotype could be made again.
    """
    if not task.traceable or isinstance(task, Sharded):
        return 1
    if jax.config.jax_default_prng_impl != "threefry2x32":  # ty: ignore[missing-attribute]
        return seeds
    most = count_cores() if jax.default_backend() == "cpu" else jax.local_device_count()
    return len(slice_seeds_into_batches(seeds, min(seeds, most)))


def slice_seeds_into_batches(seeds: int, batches: int) -> list[slice]:
    """The seeds of each batch: equal batches but for the last, so that one shape is compiled."""
    size = -(-seeds // batches)
    return [slice(first, min(first + size, seeds)) for first in range(0, seeds, size)]


def compute_generations(
    search: NoveltySearch,
    keys: list[Key[Array, ""]],
    states: list[SearchState],
    count: int,
    batches: int,
) -> Generator[list[Step], None, None]:
    """The next `count` generations: each seed's state and generation, with arrays on the host."""
    runs = [_iterate_generations(search.step, *each) for each in zip(states, keys, strict=True)]
    if has_workers(search.task):
        task: Any = search.task
        yield from _compute_generations_ahead(runs, count, AHEAD, task.close)
    elif not search.task.traceable:
        for _ in range(count):
            yield copy_to_host([next(run) for run in runs])
    elif len(keys) == 1:
        yield from _compute_generations_ahead(runs, count)
    else:
        parts = slice_seeds_into_batches(len(keys), batches)
        begun = [(stack_trees(states[part]), jnp.stack(keys[part])) for part in parts]
        if len(begun) > 1:
            pairs = zip(begun, itertools.cycle(jax.local_devices()), strict=False)
            begun = [jax.device_put(batch, device) for batch, device in pairs]
        runs = [_iterate_generations(partial(_step_batch, search), *batch) for batch in begun]
        for after in _compute_generations_ahead(runs, count):
            yield [take_rows(batch, i) for batch in after for i in range(len(batch[0].generation))]


def _iterate_generations(
    step: Callable[..., Step], state: SearchState, keys: Key[Array, "..."]
) -> Iterator[Step]:
    """A seed's or a batch's generations, one after another."""
    while True:
        state, generation = step(state, keys)
        yield state, generation


def _compute_generations_ahead(
    runs: list[Iterator[Step]],
    generations: int,
    ahead: int = 1,
    cancel: Callable[[], None] | None = None,
) -> Iterator[list[Step]]:
    """The next generations of each run, computed ahead by threads; `cancel` ends the last."""
    # On a CPU JAX computes in turn what one thread begins,
    # and may compute at once where it would else only begin.
    threads = [ThreadPoolExecutor(1) for _ in runs]
    newest: list[Future[Step]] = []
    begun: deque[list[Future[Step]]] = deque()
    try:
        for number in range(generations + ahead):
            if number < generations:
                pairs = zip(threads, runs, strict=True)
                newest = [thread.submit(run.__next__) for thread, run in pairs]
                begun.append(newest)
            if number >= ahead:
                yield copy_to_host([future.result() for future in begun.popleft()])
    finally:
        for thread in threads:
            thread.shutdown(wait=False, cancel_futures=True)
        if cancel is not None and not all(future.done() for future in newest):
            cancel()
        for thread in threads:
            thread.shutdown()


@deterministic_jit
def _step_batch(search: NoveltySearch, state: SearchState, keys: Key[Array, " s"]) -> Step:
    return jax.vmap(search.step)(state, keys)


@jax.jit
def stack_trees(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
