"""For a CPU: programs whose bits no number of cores changes, and matrices factored by one thread, one after another."""

import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_batching import sequential_vmap
from jax.scipy import linalg

FOR_ANY_CORES = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
    "xla_disable_hlo_passes": "transpose-folding",
}
"""what tells XLA to give matrix products to YNNPACK, which sums each number in one order, and sums to nobody.

YNNPACK's sums, and Eigen's products, are cut by the number of threads. Products of folded transposes would be Eigen's.
"""


@cache
def _options() -> dict[str, str]:
    """Those of this machine: none for accelerators, and none where JAX's compiler does not know them."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(jnp.negative, compiler_options=FOR_ANY_CORES)(jnp.zeros(1)).block_until_ready()
    except jax.errors.JaxRuntimeError:
        return {}
    return FOR_ANY_CORES


def _from_host(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf


def program(function: Callable) -> Callable:
    """`equinox.filter_jit` of the function, so that the number of cores changes no bit of what it computes."""
    part = eqx.filter_jit(function)

    @cache
    def whole() -> Callable:
        return eqx.filter_jit(compiler_options=_options())(function)  # ty: ignore[no-matching-overload]

    @wraps(function)
    def call(*arguments: Any) -> Any:
        # Without compiling, arrays of the host would stay as they are.
        if jax.config.jax_disable_jit:  # ty: ignore[missing-attribute]
            arguments = jax.tree.map(_from_host, arguments)
        # Within another program it is a part of that one, which has options of its own.
        traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arguments))
        return (part if traced else whole())(*arguments)

    return call


# Of several seeds one matrix after another. LAPACK's kernels for batches, in JAX 0.10, wait in XLA's threads for XLA's
# threads, and two of them at a time can wait for ever.
qr = sequential_vmap(lambda rows: tuple(jnp.linalg.qr(rows)))
"""Q with orthonormal columns and an upper triangle R of a matrix, $Q R = B$"""
triangle = sequential_vmap(lambda rows: jnp.linalg.qr(rows, mode="r"))
"""R alone, so that $R^\\top R = B^\\top B$"""
solve_transposed = sequential_vmap(
    lambda upper, columns: linalg.solve_triangular(upper, columns, trans=1)
)
"""$R^{-\\top} B$ of an upper triangle and a matrix"""


@cache
def one_blas_thread() -> None:
    """Let SciPy's copy of OpenBLAS, by which JAX factors matrices on a CPU, use one thread in this process."""
    # Its threads wait for each other by spinning: at 256 features a second core is kept busy, and a generation takes no
    # less time. Their number would also change bits. Where the environment names a number of threads, that stays.
    if {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
        return
    import scipy.linalg.lapack  # noqa: F401  (so that the library is there)
    import threadpoolctl

    for library in threadpoolctl.ThreadpoolController().lib_controllers:
        if library.user_api == "blas" and "scipy" in os.path.basename(
            os.path.dirname(library.filepath)
        ):
            library.set_num_threads(1)
