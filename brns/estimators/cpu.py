"""For a CPU: matrices factored by one thread, one after another."""

import os
from functools import cache
from pathlib import Path

import jax.numpy as jnp
from jax.custom_batching import sequential_vmap
from jax.scipy import linalg

# One matrix after another: of JAX 0.10's batched LAPACK kernels two at a time can wait for ever.
qr = sequential_vmap(lambda rows: tuple(jnp.linalg.qr(rows)))
"""Q with orthonormal columns and an upper triangle R of a matrix, $Q R = B$"""
triangle = sequential_vmap(lambda rows: jnp.linalg.qr(rows, mode="r"))
"""R alone, so that $R^\\top R = B^\\top B$"""
solve_transposed = sequential_vmap(
    lambda upper, columns: linalg.solve_triangular(upper, columns, trans=1)
)
"""$R^{-\\top} B$ of an upper triangle and a matrix"""


@cache
def limit_blas_to_one_thread() -> None:
    """Let SciPy's OpenBLAS, by which JAX factors matrices on a CPU, use one thread here."""
    # Its threads wait for each other by spinning: at 256 features a second core is kept busy, and a
    # generation takes no less time. Their number would also change bits. Where the environment
    # names a number of threads, that stays.
    if {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
        return
    import scipy.linalg.lapack  # noqa: F401  (so that the library is there)
    import threadpoolctl

    for library in threadpoolctl.ThreadpoolController().lib_controllers:
        if library.user_api == "blas" and "scipy" in Path(library.filepath).parent.name:
            library.set_num_threads(1)
