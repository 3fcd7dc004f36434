"""`jax.jit` whose results no number of cores changes, by a bit."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

FOR_ANY_CORES = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
    "xla_disable_hlo_passes": "transpose-folding",
}
"""what tells XLA to give matrix products to YNNPACK, which sums each number in one order. Its own
sums, and Eigen's products, as of folded transposes, would be cut by the number of threads.
"""


@cache
def _find_compiler_options() -> dict[str, str]:
    """Those of a CPU, where JAX's compiler knows them."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(jnp.negative, compiler_options=FOR_ANY_CORES)(jnp.zeros(1)).block_until_ready()
    except jax.errors.JaxRuntimeError:
        return {}
    return FOR_ANY_CORES


def _to_device(leaf: Any) -> Any:
    return jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf


def is_traced(tree: PyTree) -> bool:
    """Whether JAX traces any of these arrays, in a program of `jit` or many at once by `vmap`."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def deterministic_jit(function: Callable) -> Callable:
    """`equinox.filter_jit`, with which the number of cores changes no bit of what is computed."""
    part = eqx.filter_jit(function)

    @cache
    def jit_with_options_once() -> Callable:
        options = _find_compiler_options()
        jit = eqx.filter_jit(compiler_options=options)  # ty: ignore[no-matching-overload]
        return jit(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        # Without compiling, arrays of the host would stay as they are.
        if jax.config.jax_disable_jit:  # ty: ignore[missing-attribute]
            arguments = jax.tree.map(_to_device, arguments)
        # Within another program it is a part of that one, which has options of its own.
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return (part if is_traced(arguments) else jit_with_options_once())(*arguments)

    return call
