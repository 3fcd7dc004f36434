"""For a CPU: how many cores there are, and a loop as one piece of machine code."""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float


def cores() -> int:
    """The cores of the CPU that this process may use, which are fewer than it has where a scheduler says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> dict[str, str]:
    """The environment of a process that shall use one thread."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(threads, "1"), "XLA_FLAGS": flags}


def scan(advance: Callable, state: Any, length: int, *given: Any) -> Any:
    """`jax.lax.scan` of `advance(state, *given)`: the state after `length` steps, and what each gave beside it.

    XLA gives each operation of a loop's body to its threads as a task of its own, which is most of the time of robots
    that take 2000 small steps. The metadata says that this loop is small, so that it becomes one piece of machine code.
    It can hold no matrix product, and no constant array, which must be `given`. The bits are the same where there are
    enough rows (`filled`).
    """

    def loop(state: Any, given: Any) -> Any:
        return jax.lax.scan(lambda state, _: advance(state, *given), state, length=length)

    if jax.default_backend() != "cpu":
        return loop(state, given)
    with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
        return jax.jit(loop)(state, jax.lax.optimization_barrier(given))


def filled(rows: Float[Array, "n p"]) -> Float[Array, "m p"]:
    """Rows and, where they are fewer than 16, zeros up to there.

    Of 3 rows or fewer the compiler keeps numbers in registers from one operation to the next, and rounds once for two.
    """
    return jnp.pad(rows, ((0, max(0, 16 - len(rows))), (0, 0)))
