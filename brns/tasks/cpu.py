"""For a CPU: its cores, its threads, and a loop as one piece of machine code."""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float


def count_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_one_thread_variables() -> dict[str, str]:
    """The environment variables of a process that shall use one thread."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(threads, "1"), "XLA_FLAGS": flags}


def scan_in_one_kernel(advance: Callable, state: Any, length: int, *arguments: Any) -> Any:
    """`jax.lax.scan` of `advance(state, *arguments)` on a CPU in one piece of machine code: the
    last state, and what was kept of each step.

    XLA makes each operation of a loop's body a task for its threads, which takes most of the time
    of a robot's 2000 small steps. The metadata says that this loop is small. It can contain no
    matrix product and no constant array; arrays must be among `arguments`. The bits are the same
    for 16 rows or more (`pad_to_at_least_16_rows`).
    """

    def scan_steps(state: Any, arguments: Any) -> Any:
        return jax.lax.scan(lambda state, _: advance(state, *arguments), state, length=length)

    if jax.default_backend() != "cpu":
        return scan_steps(state, arguments)
    with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
        return jax.jit(scan_steps)(state, jax.lax.optimization_barrier(arguments))


def pad_to_at_least_16_rows(rows: Float[Array, "n p"]) -> Float[Array, "m p"]:
    """The rows in float32, with zeros up to 16: of 3 or fewer the compiler rounds less often."""
    return jnp.pad(jnp.asarray(rows, jnp.float32), ((0, max(0, 16 - len(rows))), (0, 0)))
