"""For a CPU: a loop as one piece of machine code, and matrices factored by one thread, one after another."""

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import sequential_vmap
from jax.experimental.xla_metadata import set_xla_metadata
from jax.scipy import linalg
from jaxtyping import Array, Float

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""by which a user says how many threads OpenBLAS may have"""


def cores() -> int:
    """The cores of the CPU that this process may use, which are fewer than it has where a scheduler says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> dict[str, str]:
    """The environment of a process that shall use one thread."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    return {**dict.fromkeys((*BLAS_THREADS, "MKL_NUM_THREADS"), "1"), "XLA_FLAGS": flags}


def scan(advance: Callable, state: Any, length: int, *given: Any) -> Any:
    """`jax.lax.scan` of `advance(state, *given)`, on a CPU one piece of machine code: the state after `length` steps,
    and what each gave beside it.

    XLA gives each operation of a loop's body to its threads as a task of its own; for robots that take 2000 small steps
    that is most of the time. Loops that it thinks small enough it compiles whole, and the metadata says that this is
    one. It can hold no matrix product and no constant array, which must be `given`, and compiles half as fast. The bits
    are the same where there are enough rows (`filled`).
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


# Of several seeds one matrix after another. LAPACK's kernels for batches, in JAX 0.10, wait in XLA's threads for XLA's
# threads, and two of them at a time can wait for ever.
cholesky = sequential_vmap(jnp.linalg.cholesky)
"""the lower factor C of a positive definite matrix, $C C^\\top$"""
solve = sequential_vmap(partial(linalg.solve_triangular, lower=True))
"""$C^{-1} B$ of a lower factor and a matrix"""
solve_transposed = sequential_vmap(partial(linalg.solve_triangular, lower=True, trans=1))
"""$C^{-\\top} B$"""


@cache
def one_blas_thread() -> None:
    """Let SciPy's copy of OpenBLAS, by which JAX factors matrices on a CPU, use one thread in this process.

    Its threads wait for each other by spinning: at 256 features a second core is kept busy, and a generation takes no
    less time. Their number would also change bits. Where the environment names a number of threads, that stays.
    """
    if any(name in os.environ for name in BLAS_THREADS):
        return
    import scipy.linalg.lapack  # noqa: F401  (so that the library is there)
    import threadpoolctl

    for library in threadpoolctl.ThreadpoolController().lib_controllers:
        if library.user_api == "blas" and "scipy" in os.path.basename(os.path.dirname(library.filepath)):
            library.set_num_threads(1)
